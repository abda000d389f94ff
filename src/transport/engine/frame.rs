//! Frames: the units that a connection carries after the bootstrap. A frame is a header of fixed
//! length, followed by a text whose length the header gives.

use crate::transport::ContextId;

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A message, or its beginning.
    Message = 1,
    /// The next bytes of the current message of the context.
    Continuation,
    /// Cancels the rest of the current message of the context.
    Cancel,
    /// Request to send (RTS): announces a message that waits for its receiver.
    RequestToSend,
    /// Clear to send (CTS): the sender has posted the receives of a round.
    ClearToSend,
    /// Returns credit: the sender has consumed more of the eager bytes.
    Credit,
    /// A proposed failure; the receiver is the coordinator and may decide.
    Proposal,
    /// The failure of the context, as decided.
    Decision,
    /// Asks for the receiver's status in the context, and what it called in a given call.
    StatusRequest,
    /// The answer to a status request.
    StatusReply,
    /// The sender has left the context.
    Leave,
    /// The sender opens no further context. The text lists those that it has open.
    Goodbye,
    /// The last frame of the sender, except for its FIN acknowledgement.
    Fin,
    /// FIN acknowledged: the sender has read everything up to the receiver's FIN.
    FinAck,
    /// The sender cannot decide on a failure, because it has not opened the context.
    CannotDecide,
    /// The sender retracts its proposal, and proposes to another coordinator.
    Retract,
    /// A failure that the sender will decide on, if no other process does.
    VoteRequest,
}

impl Kind {
    const ALL: [Self; 17] = [
        Self::Message,
        Self::Continuation,
        Self::Cancel,
        Self::RequestToSend,
        Self::ClearToSend,
        Self::Credit,
        Self::Proposal,
        Self::Decision,
        Self::StatusRequest,
        Self::StatusReply,
        Self::Leave,
        Self::Goodbye,
        Self::Fin,
        Self::FinAck,
        Self::CannotDecide,
        Self::Retract,
        Self::VoteRequest,
    ];

    /// Returns the maximum length of the text.
    fn max_text(self) -> u32 {
        match self {
            Self::Message | Self::Continuation => MAX_TEXT,
            Self::Proposal | Self::VoteRequest | Self::Decision | Self::StatusReply | Self::Leave | Self::Goodbye => {
                MAX_CONTROL
            }
            _ => 0,
        }
    }
}

/// Maximum text of a message in one frame: long enough that headers do not matter, short enough
/// that other contexts get their share.
pub(crate) const MAX_TEXT: u32 = 512 << 10;

/// Maximum text of a control frame.
pub(crate) const MAX_CONTROL: u32 = 64 << 10;

/// Identifies a message between two processes in a context. Messages arrive in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MessageId {
    pub(crate) call: u64,
    pub(crate) round: u32,
    pub(crate) index: u32,
}

/// The header of a frame. Fields that a kind does not use are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    /// Whether the frame was sent on credit, without a CTS.
    pub(crate) eager: bool,
    /// Whether the text does not follow in the stream, but arrives out of band.
    pub(crate) out_of_band: bool,
    /// The length of the text.
    pub(crate) text: u32,
    pub(crate) context: ContextId,
    pub(crate) message_id: MessageId,
    /// Of a message, its whole length; of a continuation, its offset; of a status request or reply,
    /// its number.
    pub(crate) bytes: u64,
    pub(crate) fingerprint: u64,
    /// The number of eager bytes that the sender has consumed in this context.
    pub(crate) consumed: u64,
}

/// The header is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid frame of kind {kind} with {text} bytes of {bytes}")]
pub(crate) struct InvalidFrame {
    kind: u8,
    text: u32,
    bytes: u64,
}

impl Header {
    pub(crate) const BYTES: usize = 56;

    pub(crate) fn new(kind: Kind, context: ContextId) -> Self {
        let (message_id, bytes, fingerprint) = (MessageId::default(), 0, 0);
        Self { kind, eager: false, out_of_band: false, text: 0, context, message_id, bytes, fingerprint, consumed: 0 }
    }

    pub(crate) fn encode(&self) -> [u8; Self::BYTES] {
        let Self { kind, eager, out_of_band, text, context, message_id: MessageId { call, round, index }, .. } = *self;
        let mut bytes = [0; Self::BYTES];
        let words = [
            u64::from(text) << 32 | u64::from(out_of_band) << 9 | u64::from(eager) << 8 | kind as u64,
            context.number(),
            call,
            u64::from(index) << 32 | u64::from(round),
            self.bytes,
            self.fingerprint,
            self.consumed,
        ];
        for (into, word) in bytes.chunks_exact_mut(8).zip(words) {
            into.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Decodes a header, and refuses one that no sender makes.
    pub(crate) fn decode(bytes: &[u8; Self::BYTES]) -> Result<Self, InvalidFrame> {
        let mut words = [0; Self::BYTES / 8];
        for (word, from) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*from);
        }
        let [first, context, call, place, bytes, fingerprint, consumed] = words;
        let (code, text) = (first as u8, (first >> 32) as u32);
        let fault = InvalidFrame { kind: code, text, bytes };
        let kind = Kind::ALL.into_iter().find(|kind| *kind as u8 == code).ok_or(fault.clone())?;
        let (eager, out_of_band) = (first >> 8 & 1 == 1, first >> 9 & 1 == 1);
        let some = text > 0 || kind != Kind::Continuation && (kind != Kind::Message || bytes == 0);
        let fits = text <= kind.max_text() && (kind != Kind::Message || u64::from(text) <= bytes) && some;
        let odd = eager && kind != Kind::Message && kind != Kind::RequestToSend
            || out_of_band && (text == 0 || kind != Kind::Message && kind != Kind::Continuation);
        if !fits || odd || first >> 8 & 0xff_ffff > 3 {
            return Err(fault);
        }
        let message_id = MessageId { call, round: place as u32, index: (place >> 32) as u32 };
        Ok(Self {
            kind,
            eager,
            out_of_band,
            text,
            context: ContextId::of(context),
            message_id,
            bytes,
            fingerprint,
            consumed,
        })
    }
}

#[cfg(test)]
mod tests {
    use quickcheck::QuickCheck;

    use super::*;

    fn header(word: u64) -> Header {
        Header {
            kind: Kind::Message,
            eager: word % 2 == 1,
            out_of_band: word % 3 == 1 && !word.is_multiple_of(1000),
            text: (word % 1000) as u32,
            context: ContextId::of(word ^ 77),
            message_id: MessageId { call: word ^ 5, round: word as u32, index: (word >> 32) as u32 },
            bytes: word % 1000,
            fingerprint: word.rotate_left(13),
            consumed: word ^ 99,
        }
    }

    #[test]
    fn encoded_header_decodes_to_itself() {
        fn same(word: u64) -> bool {
            Header::decode(&header(word).encode()) == Ok(header(word))
        }
        QuickCheck::new().quickcheck(same as fn(u64) -> bool);
        for kind in Kind::ALL {
            let header =
                Header { bytes: 9, text: u32::from(kind.max_text() > 0), ..Header::new(kind, ContextId::WORLD) };
            assert_eq!(Header::decode(&header.encode()), Ok(header), "{kind:?}");
        }
    }

    #[test]
    fn flags_are_accepted_only_on_kinds_that_use_them() {
        for kind in Kind::ALL {
            let reads = |eager, out_of_band, text| {
                let header = Header { bytes: 9, eager, out_of_band, text, ..Header::new(kind, ContextId::WORLD) };
                let read = Header::decode(&header.encode());
                assert!(read.as_ref().is_ok_and(|read| *read == header) || read.is_err(), "{header:?}");
                read.is_ok()
            };
            let is_text = matches!(kind, Kind::Message | Kind::Continuation);
            assert_eq!((reads(false, true, 9), reads(false, true, 0)), (is_text, false), "{kind:?}");
            let beginning = matches!(kind, Kind::Message | Kind::RequestToSend);
            let text = if kind.max_text() > 0 { 9 } else { 0 };
            assert_eq!((reads(true, false, text), reads(false, false, text)), (beginning, true), "{kind:?}");
            assert_eq!(reads(true, true, text), kind == Kind::Message, "{kind:?}");
        }
        // No other flags exist.
        let header = Header { text: 9, bytes: 9, ..Header::new(Kind::Message, ContextId::WORLD) };
        for bit in 10..32 {
            let mut bytes = header.encode();
            bytes[bit / 8] |= 1 << (bit % 8);
            assert!(Header::decode(&bytes).is_err(), "{bit}");
        }
    }

    #[test]
    fn corrupted_header_is_refused_or_decodes_to_itself() {
        // Changes some bytes of a valid header. What decodes is within its bounds and encodes to
        // the same bytes.
        fn bounded(word: u64, changes: Vec<(usize, u8)>) -> bool {
            let mut bytes = header(word).encode();
            changes.iter().for_each(|(at, change)| bytes[at % Header::BYTES] ^= change);
            match Header::decode(&bytes) {
                Ok(header) => {
                    header.text <= header.kind.max_text()
                        && (header.kind != Kind::Message || u64::from(header.text) <= header.bytes)
                        && header.encode() == bytes
                }
                Err(_) => !changes.is_empty(),
            }
        }
        QuickCheck::new().tests(100_000).max_tests(200_000).quickcheck(bounded as fn(u64, Vec<(usize, u8)>) -> bool);
    }
}
