//! The three buffers of a plan.

/// One of the three buffers of an execution. There will be no others: a transport handles each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Buffer {
    /// The user's send buffer, which is only read. Empty in place.
    Input,
    /// The user's receive buffer.
    Output,
    /// Memory of the plan.
    Scratch,
}

/// The buffers of an execution.
#[derive(Debug)]
pub struct Buffers<'a> {
    /// The send buffer; empty in place.
    pub input: &'a [u8],
    /// The receive buffer.
    pub output: &'a mut [u8],
    /// Memory of the plan.
    pub scratch: &'a mut [u8],
}

impl Buffers<'_> {
    /// Reborrows the buffers.
    #[must_use]
    pub fn reborrow(&mut self) -> Buffers<'_> {
        Buffers { input: self.input, output: &mut *self.output, scratch: &mut *self.scratch }
    }
}
