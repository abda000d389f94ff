//! Raw pointers to a rank's buffers, for backends that share them between threads.
#![allow(unsafe_code)]

use crate::plan::{Buffer, Buffers};

/// Pointers to the beginnings of a rank's three buffers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bases {
    pub(crate) input: *const u8,
    pub(crate) output: *mut u8,
    pub(crate) scratch: *mut u8,
}

impl Bases {
    pub(crate) fn of(buffers: &mut Buffers<'_>) -> Self {
        let Buffers { input, output, scratch } = buffers;
        Self { input: input.as_ptr(), output: output.as_mut_ptr(), scratch: scratch.as_mut_ptr() }
    }

    /// Returns a pointer to a buffer's byte at `offset`.
    ///
    /// # Safety
    ///
    /// The offset lies inside the buffer, or at its end.
    #[inline]
    pub(crate) unsafe fn at(&self, buffer: Buffer, offset: usize) -> *mut u8 {
        let base = match buffer {
            Buffer::Input => self.input.cast_mut(),
            Buffer::Output => self.output,
            Buffer::Scratch => self.scratch,
        };
        // SAFETY: as the caller promises.
        unsafe { base.add(offset) }
    }
}
