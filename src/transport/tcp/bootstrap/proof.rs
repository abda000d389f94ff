//! The proof that a process holds the job's key: HMAC-SHA256 over all that both sides have sent.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::hello::HelloBytes;
use super::key::Key;

/// Length of a proof in bytes.
pub(super) const PROOF: usize = 32;

/// Labels that differ, so that the proof of one side is never valid as that of the other.
const INITIATOR: &[u8; 16] = b"necklace caller\0";
const RESPONDER: &[u8; 16] = b"necklace answer\0";

/// Returns the proof of the initiator. It covers both hellos: the nonces of both sides (so an old
/// proof is invalid), their roles (so a proof cannot be sent back), and purpose, ranks, size, job
/// and version (so none of them can be changed on the way).
pub(super) fn of_initiator(key: &Key, initiator: &HelloBytes, responder: &HelloBytes) -> [u8; PROOF] {
    mac(key, &[INITIATOR, &length(key), initiator, responder])
}

/// Returns the proof of the responder. It also covers the responder's answer: whether it refuses
/// (0 if it accepts), and the reason.
pub(super) fn of_responder(
    key: &Key,
    initiator: &HelloBytes,
    responder: &HelloBytes,
    refused: u8,
    reason: &[u8],
) -> [u8; PROOF] {
    mac(key, &[RESPONDER, &length(key), initiator, responder, &[refused], reason])
}

/// Compares two proofs in constant time, so that the time does not tell where they differ.
pub(super) fn equal(one: &[u8; PROOF], other: &[u8; PROOF]) -> bool {
    one.ct_eq(other).into()
}

/// Returns the key's length, which is part of the proof. HMAC pads keys with zeros: without it, no
/// key and keys of zeros of any length would give the same proof.
fn length(key: &Key) -> [u8; 8] {
    (key.bytes().len() as u64).to_le_bytes()
}

/// Returns the HMAC of the parts. Only the last part may vary in length.
fn mac(key: &Key, parts: &[&[u8]]) -> [u8; PROOF] {
    // HMAC hashes a key that is longer than a block of the hash. Done here instead, the key has at
    // most the length of a block, and no error is left to be handled.
    let mut block = [0; 64];
    match block.get_mut(..key.bytes().len()) {
        Some(start) => start.copy_from_slice(key.bytes()),
        None => block[..32].copy_from_slice(&Sha256::digest(key.bytes())),
    }
    let mut mac = <Hmac<Sha256> as KeyInit>::new(&block.into());
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::super::hello::HELLO;
    use super::*;

    #[test]
    fn mac_matches_the_vectors_of_rfc_4231() {
        let hex = |mac: [u8; 32]| mac.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        // Test cases 3 and 6: a key of 20 bytes, and one longer than a block.
        let mac_of = |key: &[u8], parts: &[&[u8]]| hex(mac(&Key::new(key).unwrap(), parts));
        assert_eq!(
            mac_of(&[0xaa; 20], &[&[0xdd; 20], &[0xdd; 30]]),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
        );
        assert_eq!(
            mac_of(&[0xaa; 131], &[b"Test Using Larger Than Block-Size Key", b" - Hash Key First"]),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
    }

    #[test]
    fn keys_of_zeros_and_no_key_give_different_proofs() {
        let proofs = |key: &Key| {
            (of_initiator(key, &[1; HELLO], &[2; HELLO]), of_responder(key, &[1; HELLO], &[2; HELLO], 0, b""))
        };
        let keys = [Key::none(), Key::new(&[0; 16]).unwrap(), Key::new(&[0; 17]).unwrap(), Key::new(&[0; 65]).unwrap()];
        for (i, one) in keys.iter().enumerate() {
            for other in &keys[..i] {
                assert!(proofs(one).0 != proofs(other).0 && proofs(one).1 != proofs(other).1);
            }
        }
    }

    #[test]
    fn proofs_that_differ_in_one_bit_are_unequal() {
        let proof = [5; PROOF];
        assert!(equal(&proof, &[5; PROOF]));
        for at in 0..PROOF {
            let mut other = proof;
            other[at] ^= 0x80;
            assert!(!equal(&proof, &other));
        }
    }
}
