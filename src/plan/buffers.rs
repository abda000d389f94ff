//! What a plan's bytes lie in.

/// One of the three buffers of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Buffer {
    /// The user's send buffer; absent (empty) in place. Never written.
    Input,
    /// The user's receive buffer.
    Output,
    /// The plan's own memory.
    Scratch,
}

/// The buffers of an execution.
#[derive(Debug)]
pub struct Buffers<'a> {
    /// What is sent from; empty in place.
    pub input: &'a [u8],
    /// What is received into.
    pub output: &'a mut [u8],
    /// The plan's own.
    pub scratch: &'a mut [u8],
}

impl Buffers<'_> {
    /// The same, lent on.
    #[must_use]
    pub fn reborrow(&mut self) -> Buffers<'_> {
        Buffers { input: self.input, output: &mut *self.output, scratch: &mut *self.scratch }
    }
}
