//! Code that tests run so often that it is compiled with optimisation, unlike the tests.

mod array;
pub mod path;

use necklace::op::{Product, by};
use necklace::{Communicator, Error};

pub use array::Array;

/// Multiplies the bytes of all ranks.
///
/// # Errors
///
/// Those of [`Communicator::allreduce`].
pub fn multiply(comm: &mut Communicator, send: &[u8], receive: &mut [u8]) -> Result<(), Error> {
    comm.allreduce(send, receive, Product)
}

/// Subtracts the bytes of each rank from what those before it have left: an operation that does not
/// commute.
///
/// # Errors
///
/// Those of [`Communicator::allreduce`].
pub fn subtract(comm: &mut Communicator, send: &[u8], receive: &mut [u8]) -> Result<(), Error> {
    comm.allreduce(send, receive, by("minus, of two", u8::wrapping_sub))
}
