//! A connection with one other process: what is halfway through it.

use std::sync::Arc;

use super::frame::Header;
use super::limits::STAGE;
use crate::transport::ContextId;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) state: ConnectionState,
    /// Whether something may have come that was not read.
    pub(crate) readable: bool,
    /// Whether the other has closed it: then what is read last is not the end.
    pub(crate) closing: bool,
    /// How often something was read.
    pub(crate) reads: u64,
    /// Whether the wire takes no more for now.
    pub(crate) blocked: bool,
    /// Why nothing can be written any more. What has come is to be read first: it may say why.
    pub(crate) broken: Option<Arc<str>>,
    /// How many bytes have gone.
    pub(crate) bytes_written: u64,
    /// What is to go before anything else, but for the rest of a frame that is under way.
    pub(crate) queue: Vec<u8>,
    pub(crate) sending: Option<Sending>,
    /// What goes, and what comes, apart from the stream: nothing else does meanwhile.
    pub(crate) oob_send: Option<BufferOwner>,
    pub(crate) oob_receive: Option<BufferOwner>,
    /// The beginning of a header.
    pub(crate) partial_header: PartialHeader,
    pub(crate) receiving: Receiving,
    /// The contexts that the other had open when it said that it opens no more.
    pub(crate) goodbye: Option<Vec<ContextId>>,
    /// Whether the other has said that nothing follows, but that it has heard.
    pub(crate) fin_received: bool,
    /// Whether it has read everything that this process had to say.
    pub(crate) fin_acked: bool,
}

/// Whether there is somebody at the other end.
#[derive(Clone, Debug)]
pub(crate) enum ConnectionState {
    Open,
    /// It is gone, as it said it would be.
    Ended,
    /// It is gone without a word.
    Lost(Arc<str>),
}

/// A frame of a message that goes straight from the memory of a round.
#[derive(Debug)]
pub(crate) struct Sending {
    pub(crate) context: ContextId,
    pub(crate) header: [u8; Header::BYTES],
    /// How much of the header has gone.
    pub(crate) header_written: usize,
    /// How much of the text has not.
    pub(crate) left: usize,
    /// Whether the text goes apart from the stream.
    pub(crate) out_of_band: bool,
}

/// Whose memory is lent to what goes apart from the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BufferOwner {
    /// Nobody's.
    Engine,
    /// A round's, of that context.
    Round(ContextId),
}

/// The bytes of a header that have come so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartialHeader {
    pub(crate) bytes: [u8; Header::BYTES],
    pub(crate) len: usize,
}

/// What the next bytes are.
#[derive(Debug)]
pub(crate) enum Receiving {
    Header,
    /// So many bytes more of a message, for where its round wants it.
    Placed(ContextId, usize),
    /// So many bytes more of a message that is kept.
    Unexpected(ContextId, usize),
    /// So many bytes that nobody wants any more.
    Discarded(usize),
    /// So many bytes more of what is said in words, and what there is of it.
    Control(Header, Vec<u8>, usize),
}

impl Default for Connection {
    fn default() -> Self {
        Self {
            state: ConnectionState::Open,
            readable: true,
            closing: false,
            reads: 0,
            blocked: false,
            broken: None,
            // What the wire does not take is put back here, at any time; it is not touched before.
            queue: Vec::with_capacity(2 * STAGE),
            bytes_written: 0,
            sending: None,
            oob_send: None,
            oob_receive: None,
            partial_header: PartialHeader { bytes: [0; Header::BYTES], len: 0 },
            receiving: Receiving::Header,
            goodbye: None,
            fin_received: false,
            fin_acked: false,
        }
    }
}

impl Connection {
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, ConnectionState::Open)
    }

    /// Whether the other takes what it is told.
    pub(crate) fn accepts_frames(&self) -> bool {
        self.is_open() && !self.fin_received
    }

    /// Nothing comes or goes any more.
    pub(crate) fn close(&mut self, state: ConnectionState) {
        self.state = state;
        self.queue = Vec::new();
        (self.sending, self.readable, self.blocked) = (None, false, false);
    }
}
