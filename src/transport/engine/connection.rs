//! The state of a connection with one other process, including partly sent and received frames.

use std::sync::Arc;

use super::frame::Header;
use super::frame_reader::FrameReader;
use super::limits::STAGE;
use crate::transport::ContextId;

/// The state of a connection; see the [module](self).
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) state: ConnectionState,
    /// Whether the wire may have unread bytes.
    pub(crate) readable: bool,
    /// Whether the peer has closed its end. Then the stream ends only where a read says so.
    pub(crate) closing: bool,
    /// Number of reads that returned bytes.
    pub(crate) reads: u64,
    /// Whether the wire accepts no more bytes for now.
    pub(crate) blocked: bool,
    /// The reason why nothing can be written any more. Bytes that have arrived are read first,
    /// since they may give the reason.
    pub(crate) broken: Option<Arc<str>>,
    /// Number of bytes written.
    pub(crate) bytes_written: u64,
    /// Control frames, and rests of frames. They are written before anything else but the rest of a
    /// partly written frame.
    pub(crate) queue: Vec<u8>,
    pub(crate) sending: Option<Sending>,
    /// The out-of-band transfers under way. While there is one, the stream in its direction stands
    /// still.
    pub(crate) oob_send: Option<BufferOwner>,
    pub(crate) oob_receive: Option<BufferOwner>,
    pub(crate) reader: FrameReader,
    /// The contexts that the peer had open when it announced that it opens no more.
    pub(crate) goodbye: Option<Vec<ContextId>>,
    /// Whether the peer has sent FIN: only its FIN acknowledgement may follow.
    pub(crate) fin_received: bool,
    /// Whether the peer has acknowledged this process's FIN, and so has read everything before it.
    pub(crate) fin_acked: bool,
}

/// Whether the peer can be reached.
#[derive(Clone, Debug)]
pub(crate) enum ConnectionState {
    Open,
    /// The peer has closed the connection after its FIN.
    Ended,
    /// The connection ended without a FIN.
    Lost(Arc<str>),
}

/// A frame that is sent straight from the memory of a round.
#[derive(Debug)]
pub(crate) struct Sending {
    pub(crate) context: ContextId,
    pub(crate) header: [u8; Header::BYTES],
    /// Number of header bytes that have been written.
    pub(crate) header_written: usize,
    /// Number of text bytes that have not been written.
    pub(crate) left: usize,
    /// Whether the text goes out of band.
    pub(crate) out_of_band: bool,
}

/// The owner of a buffer that an out-of-band transfer uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BufferOwner {
    /// The engine or the wire: a bounce buffer.
    Engine,
    /// The round of that context.
    Round(ContextId),
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
            // Bytes that the wire does not accept return to this queue. Its memory is touched only
            // then.
            queue: Vec::with_capacity(2 * STAGE),
            bytes_written: 0,
            sending: None,
            oob_send: None,
            oob_receive: None,
            reader: FrameReader::default(),
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

    /// Returns whether the peer still accepts frames.
    pub(crate) fn accepts_frames(&self) -> bool {
        self.is_open() && !self.fin_received
    }

    /// Closes the connection: nothing is sent or received any more.
    pub(crate) fn close(&mut self, state: ConnectionState) {
        self.state = state;
        self.queue = Vec::new();
        (self.sending, self.readable, self.blocked) = (None, false, false);
    }
}
