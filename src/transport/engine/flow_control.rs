//! Flow control of a lane.
//!
//! A short message, and the head of a long one, is sent eagerly, as long as the bytes that its
//! receiver has not consumed stay within the [`Credit`]. So the memory for a context that no thread
//! drives is bounded. The rest, and messages without credit, wait until the receiver is clear to
//! send (CTS), and go straight into their place. The sender may request that (RTS).

use super::frame::{Header, MessageId};

/// The limits on eager bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Credit {
    /// Maximum eager bytes of one message: its head.
    pub(crate) message: u64,
    /// Maximum eager bytes that are not consumed yet, headers included.
    pub(crate) lane: u64,
}

/// The window of the sending direction.
#[derive(Debug, Default)]
pub(crate) struct SendWindow {
    /// Eager bytes sent, and how many of them the receiver is known to have consumed.
    sent: u64,
    consumed: u64,
    /// The last call and round for which the receiver has sent a CTS.
    clear: Option<(u64, u32)>,
    /// The last message for which an RTS was sent.
    requested: Option<MessageId>,
}

/// The window of the receiving direction.
#[derive(Debug, Default)]
pub(crate) struct ReceiveWindow {
    /// Eager bytes that have arrived; how many of them are consumed; and how many of those are
    /// reported to the sender.
    arrived: u64,
    consumed: u64,
    reported: u64,
    /// The RTS of a message that waits at its sender.
    announced: Option<Header>,
}

/// Permission to send a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permit {
    /// Its head, on credit.
    Eager,
    /// All of it: the receiver is clear to send.
    Clear,
}

/// The peer exceeds its credit, or reports more than it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overdraft;

impl Credit {
    /// Returns the credit in a job of this many ranks. Each gets an equal share of the 64 MiB that
    /// a context queues at most.
    pub(crate) fn among(ranks: usize) -> Self {
        let lane = ((64 << 20) / ranks.max(1) as u64).clamp(16 << 10, 256 << 10);
        Self { message: lane / 4, lane }
    }

    /// Returns the length of the eager part of a message.
    pub(crate) fn head(self, bytes: u64) -> u64 {
        bytes.min(self.message)
    }

    /// Returns the credit that a message uses.
    pub(crate) fn cost(bytes: u64) -> u64 {
        Header::BYTES as u64 + bytes
    }
}

impl SendWindow {
    /// Returns how a message, or its rest if it has begun, may be sent now, if it may.
    pub(crate) fn permit(&self, message_id: MessageId, bytes: u64, begun: bool, credit: Credit) -> Option<Permit> {
        if self.clear.is_some_and(|clear| clear >= (message_id.call, message_id.round)) {
            return Some(Permit::Clear);
        }
        let open = self.sent - self.consumed;
        (!begun && open + Credit::cost(credit.head(bytes)) <= credit.lane).then_some(Permit::Eager)
    }

    /// Counts a text that is sent on credit.
    pub(crate) fn spend(&mut self, bytes: u64) {
        self.sent += Credit::cost(bytes);
    }

    /// Records how many bytes the receiver has consumed. Returns whether there is more credit now.
    ///
    /// # Errors
    ///
    /// If that is more than was sent.
    pub(crate) fn restore(&mut self, consumed: u64) -> Result<bool, Overdraft> {
        if consumed > self.sent {
            return Err(Overdraft);
        }
        let more = consumed > self.consumed;
        self.consumed = self.consumed.max(consumed);
        Ok(more)
    }

    /// Records a CTS for the messages of a round.
    pub(crate) fn clear(&mut self, call: u64, round: u32) {
        self.clear = Some((call, round));
    }

    /// Returns whether a CTS has come.
    #[cfg(test)]
    pub(crate) fn is_clear(&self) -> bool {
        self.clear.is_some()
    }

    /// Returns whether an RTS is to be sent for a message: not if the last one was for it.
    pub(crate) fn request(&mut self, message_id: MessageId) -> bool {
        self.requested.replace(message_id) != Some(message_id)
    }
}

impl ReceiveWindow {
    /// Counts an eager message that arrives with this header.
    ///
    /// # Errors
    ///
    /// If its sender had no credit for it, or it is not the head that the credit allows.
    pub(crate) fn arrive(&mut self, header: &Header, credit: Credit) -> Result<(), Overdraft> {
        self.arrived += Credit::cost(header.text.into());
        let within = self.arrived - self.consumed <= credit.lane;
        if within && u64::from(header.text) == credit.head(header.bytes) { Ok(()) } else { Err(Overdraft) }
    }

    /// Counts a text as consumed. Returns whether the sender should learn of it, because half of its
    /// credit is used.
    pub(crate) fn consume(&mut self, bytes: u64, credit: Credit) -> bool {
        self.consumed += Credit::cost(bytes);
        self.consumed - self.reported >= credit.lane / 2
    }

    /// Returns how many bytes are consumed, to be reported to the sender.
    pub(crate) fn report(&mut self) -> u64 {
        self.reported = self.consumed;
        self.consumed
    }

    /// Records the RTS of a message; `None` once a message arrives.
    pub(crate) fn announce(&mut self, header: Option<Header>) {
        self.announced = header;
    }

    /// Returns the RTS of a message that waits at its sender.
    pub(crate) fn announced(&self) -> Option<Header> {
        self.announced
    }
}

#[cfg(test)]
mod tests {
    use quickcheck::QuickCheck;

    use super::*;
    use crate::transport::ContextId;
    use crate::transport::engine::frame::Kind;

    fn message_id(call: u64, round: u32) -> MessageId {
        MessageId { call, round, index: 0 }
    }

    /// Sender and receiver, with reports that arrive late, keep what is in between within the
    /// credit, and the sender never waits while the receiver has consumed everything.
    #[test]
    fn eager_bytes_stay_within_the_credit() {
        let check = |lengths: Vec<u32>, ranks: usize| {
            let credit = Credit::among(ranks % 10_000);
            let (mut out, mut into) = (SendWindow::default(), ReceiveWindow::default());
            let (mut unconsumed, mut reports) = (Vec::new(), Vec::new());
            let mut between = 0;
            for length in lengths.into_iter().flat_map(|length| [u64::from(length % 1000), u64::from(length)]) {
                while out.permit(message_id(0, 0), length, false, credit).is_none() {
                    assert!(between + Credit::cost(credit.head(length)) > credit.lane / 2, "{between} of {credit:?}");
                    assert!(!unconsumed.is_empty() || !reports.is_empty(), "it waits for ever: {credit:?}");
                    for text in unconsumed.drain(..) {
                        between -= Credit::cost(text);
                        if into.consume(text, credit) {
                            reports.push(into.report());
                        }
                    }
                    for consumed in reports.drain(..) {
                        out.restore(consumed).unwrap();
                    }
                }
                let text = credit.head(length);
                out.spend(text);
                between += Credit::cost(text);
                assert!(between <= credit.lane);
                let header =
                    Header { bytes: length, text: text as u32, ..Header::new(Kind::Message, ContextId::WORLD) };
                into.arrive(&header, credit).unwrap();
                unconsumed.push(text);
            }
            true
        };
        QuickCheck::new().tests(300).quickcheck(check as fn(Vec<u32>, usize) -> bool);
    }

    #[test]
    fn message_past_the_credit_is_an_overdraft() {
        let (credit, mut into) = (Credit::among(2), ReceiveWindow::default());
        let header =
            |bytes: u64, text: u64| Header { bytes, text: text as u32, ..Header::new(Kind::Message, ContextId::WORLD) };
        let long = 2 * credit.message;
        for _ in 0..3 {
            assert_eq!(into.arrive(&header(long, credit.message), credit), Ok(()));
        }
        assert_eq!(into.arrive(&header(long, credit.message), credit), Err(Overdraft));
        // Not the head of the message: more, and less.
        for text in [credit.message + 1, credit.message - 1] {
            assert_eq!(ReceiveWindow::default().arrive(&header(long, text), credit), Err(Overdraft));
        }
    }

    #[test]
    fn reports_of_more_than_was_sent_are_refused() {
        let mut out = SendWindow::default();
        out.spend(100);
        assert_eq!(out.restore(Credit::cost(100) + 1), Err(Overdraft));
        assert_eq!(out.restore(Credit::cost(100)), Ok(true));
        // Reports may overtake each other.
        assert_eq!((out.restore(1), out.restore(Credit::cost(100))), (Ok(false), Ok(false)));
    }

    #[test]
    fn cts_admits_the_messages_up_to_its_round() {
        let (credit, mut out) = (Credit::among(2), SendWindow::default());
        out.spend(credit.lane);
        let permit = |out: &SendWindow, call, round| out.permit(message_id(call, round), 1, true, credit);
        assert_eq!(permit(&out, 0, 0), None);
        out.clear(3, 2);
        let cases = [((2, 9), true), ((3, 2), true), ((3, 3), false), ((4, 0), false)];
        for ((call, round), admitted) in cases {
            assert_eq!(permit(&out, call, round), admitted.then_some(Permit::Clear), "call {call}, round {round}");
        }
        // An RTS is sent once for a message.
        assert_eq!([1, 1, 2].map(|round| out.request(message_id(3, round))), [true, false, true]);
    }
}
