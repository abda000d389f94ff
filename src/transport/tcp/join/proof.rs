//! The proof that one holds the job's key: HMAC-SHA256 over all that both sides have said.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::hello::Bytes;
use super::key::Key;

/// How many bytes a proof has.
pub(super) const PROOF: usize = 32;

/// Proofs of different purpose are never alike.
const CALLER: &[u8; 16] = b"necklace caller\0";
const VERDICT: &[u8; 16] = b"necklace answer\0";

/// What the caller proves itself by. Both hellos are in it: the fresh numbers of both sides
/// (nothing old will do), the sides (nothing can be sent back), purpose, ranks, size, job and
/// version (nothing can be changed on the way).
pub(super) fn caller(key: &Key, call: &Bytes, answer: &Bytes) -> [u8; PROOF] {
    mac(key, &[CALLER, &length(key), call, answer])
}

/// What the answerer proves itself by, and that it says this: its verdict, 0 for welcome, and why.
pub(super) fn verdict(key: &Key, call: &Bytes, answer: &Bytes, refused: u8, words: &[u8]) -> [u8; PROOF] {
    mac(key, &[VERDICT, &length(key), call, answer, &[refused], words])
}

/// Whether they are equal, in a time that does not tell where they differ.
pub(super) fn equal(one: &[u8; PROOF], other: &[u8; PROOF]) -> bool {
    one.ct_eq(other).into()
}

/// To the hash no key is as one of zeros, of any length; here they differ.
fn length(key: &Key) -> [u8; 8] {
    (key.bytes().len() as u64).to_le_bytes()
}

/// The last part alone may vary in length.
fn mac(key: &Key, parts: &[&[u8]]) -> [u8; PROOF] {
    // A key longer than a block of the hash is hashed by HMAC itself; done here, the key has the
    // length of a block at most, and no error is left to be handled.
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
    fn it_is_the_hmac_of_rfc_4231() {
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
    fn a_key_of_zeros_is_not_none() {
        let proofs =
            |key: &Key| (caller(key, &[1; HELLO], &[2; HELLO]), verdict(key, &[1; HELLO], &[2; HELLO], 0, b""));
        let keys = [Key::none(), Key::new(&[0; 16]).unwrap(), Key::new(&[0; 17]).unwrap(), Key::new(&[0; 65]).unwrap()];
        for (i, one) in keys.iter().enumerate() {
            for other in &keys[..i] {
                assert!(proofs(one).0 != proofs(other).0 && proofs(one).1 != proofs(other).1);
            }
        }
    }

    #[test]
    fn proofs_are_equal_or_not() {
        let proof = [5; PROOF];
        assert!(equal(&proof, &[5; PROOF]));
        for at in 0..PROOF {
            let mut other = proof;
            other[at] ^= 0x80;
            assert!(!equal(&proof, &other));
        }
    }
}
