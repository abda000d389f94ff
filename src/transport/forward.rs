//! Implements the traits for references, boxes and `Arc`s of endpoints and transports.

use std::sync::Arc;

use super::native::NativeCollectives;
use super::{ContextId, Endpoint, Failure, History, OpenError, RoundIo, Transport};
use crate::ids::Rank;
use crate::machine::Machine;
use crate::vocabulary::Hosts;

macro_rules! forward_endpoint {
    ($($pointer:ty),*) => {$(
        impl<E: Endpoint + ?Sized> Endpoint for $pointer {
            fn rank(&self) -> Rank {
                (**self).rank()
            }

            fn size(&self) -> usize {
                (**self).size()
            }

            fn open(&self, context: ContextId, members: &[Rank]) -> Result<Box<dyn Transport>, OpenError> {
                (**self).open(context, members)
            }

            fn machine(&self) -> Machine {
                (**self).machine()
            }

            fn hosts(&self) -> Option<Hosts> {
                (**self).hosts()
            }
        }
    )*};
}

forward_endpoint!(&E, Box<E>, Arc<E>);

macro_rules! forward_transport {
    ($($pointer:ty),*) => {$(
        impl<T: Transport + ?Sized> Transport for $pointer {
            fn rank(&self) -> Rank {
                (**self).rank()
            }

            fn size(&self) -> usize {
                (**self).size()
            }

            fn round(&mut self, io: RoundIo<'_>) -> Result<(), Failure> {
                (**self).round(io)
            }

            fn abort(&mut self, failure: Failure) {
                (**self).abort(failure);
            }

            fn failure(&self) -> Option<Failure> {
                (**self).failure()
            }

            fn conclude(&mut self, history: History) {
                (**self).conclude(history);
            }

            fn native(&mut self) -> Option<&mut dyn NativeCollectives> {
                (**self).native()
            }
        }
    )*};
}

forward_transport!(&mut T, Box<T>);
