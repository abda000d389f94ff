//! Calls that the backend's own library does.
//!
//! A library does not look whether all members call the same: it hangs, or mixes things up. So before the members make a call
//! for the first time, they meet in a barrier of ours that goes by the call's own signature; it finds who calls something else,
//! and who does not come. What they have agreed on is remembered by the communicator and not by the plan, for a plan may be
//! made anew on one member (which let go of it, or makes persistent ones) and be there on another.

use std::collections::VecDeque;
use std::sync::Arc;

use super::cache::{Key, Prepared, Way};
use super::{Communicator, Wire};
use crate::block::Block;
use crate::collective::Collective;
use crate::error::{BuildError, Error};
use crate::ids::Rank;
use crate::plan::{Buffers, Layout, Plan, Reduction, compile};
use crate::transport::Signature;
use crate::transport::native::{self, Contributions, NativeCall, NativeIo};

/// A call that the backend does itself.
#[derive(Debug)]
pub(super) struct Native {
    call: NativeCall,
    /// In which the members meet before they make it for the first time. Where they compare nothing, all calls are alike, and
    /// they meet once: a library may need them all to begin.
    barrier: Arc<Plan>,
    /// The number of the agreement on it, if it is known.
    agreed: Option<u64>,
}

/// The calls that the members have agreed on last, by fingerprint.
///
/// Nothing but a further agreement changes it, and in that all take part: so it is the same on every member, and what one has
/// to agree on once more all have.
#[derive(Debug, Default)]
pub(super) struct Agreed {
    last: VecDeque<u64>,
    /// How many agreements there have been. They are numbered from 0.
    count: u64,
}

impl Agreed {
    /// How many are remembered.
    const MOST: usize = 256;

    /// Whether the agreement of that number is remembered.
    fn has(&self, number: u64) -> bool {
        number.saturating_add(Self::MOST as u64) >= self.count
    }

    /// The number of the agreement on a call, if it is remembered.
    fn find(&self, fingerprint: u64) -> Option<u64> {
        let back = self.last.iter().rev().position(|other| *other == fingerprint)?;
        self.count.checked_sub(back as u64 + 1)
    }

    /// Remembers an agreement; returns its number.
    fn add(&mut self, fingerprint: u64) -> u64 {
        if self.last.len() == Self::MOST {
            self.last.pop_front();
        }
        self.last.push_back(fingerprint);
        self.count += 1;
        self.count - 1
    }
}

impl Communicator {
    /// Whether the backend does such a call itself.
    pub(super) fn offers(&mut self, call: &NativeCall) -> bool {
        self.wire.transport.native().is_some_and(|native| native.offers(call))
    }

    /// That the backend does not do a call which was chosen to be native.
    pub(super) fn not_offered(&self, collective: &Collective, call: &NativeCall) -> Error {
        let unfit = BuildError::Unfit {
            algorithm: "native".to_owned(),
            collective: collective.to_string(),
            topology: self.topology.text(),
            needs: format!("the backend does not offer: {call}"),
        };
        unfit.into()
    }

    /// A native call, ready to be made.
    pub(super) fn prepare_native(&mut self, call: NativeCall, signature: Signature) -> Result<Prepared, Error> {
        let barrier = self.barrier_of_agreement()?;
        Ok(Prepared { signature, way: Way::Native(Native { call, barrier, agreed: None }) })
    }

    /// A barrier by messages, planned when it is first needed.
    pub(super) fn barrier_of_agreement(&mut self) -> Result<Arc<Plan>, Error> {
        if let Some(plan) = &self.barrier {
            return Ok(Arc::clone(plan));
        }
        let (rank, problem) = (Rank::new(self.rank()), self.problem(Collective::Barrier)?);
        let all: Vec<Block> = problem.all().map(Block::from).collect();
        let layout = Layout::consecutive(1, 0, &[Block::from(rank)], &all)?;
        let share = crate::algorithm::find(&Collective::Barrier, "dissemination")?.share(&problem, rank)?;
        let plan = Arc::new(compile(share, &layout)?);
        self.barrier = Some(Arc::clone(&plan));
        Ok(plan)
    }
}

/// What a library is asked to do for a regular call; `None` for one that none is asked for.
pub(super) fn native_call(key: &Key) -> Option<NativeCall> {
    let (element, count) = (key.element as u64, key.elements as u64);
    let block = element.checked_mul(count)?;
    let contributions = Contributions { element, count, predefined: key.predefined };
    Some(match key.collective {
        Collective::Alltoall => NativeCall::Alltoall { block, in_place: key.in_place },
        Collective::Allgather => NativeCall::Allgather { block },
        Collective::Allreduce => NativeCall::Allreduce(contributions),
        Collective::Scan => NativeCall::Scan(contributions),
        Collective::Broadcast { root } => NativeCall::Broadcast { root, bytes: block },
        Collective::Barrier => NativeCall::Barrier,
        _ => return None,
    })
}

/// What members must agree on where a library does the call, though a schedule's messages would be the same.
pub(super) fn native_manner(call: &NativeCall) -> &'static str {
    match call {
        NativeCall::Alltoall { in_place: true, .. } => ", in place",
        NativeCall::Allreduce(Contributions { predefined: Some(_), .. }) => ", predefined",
        NativeCall::Scan(Contributions { predefined: Some(_), .. }) => ", predefined",
        _ => "",
    }
}

impl Wire {
    /// Has the backend do a call.
    pub(super) fn call_native(
        &mut self,
        native: &mut Native,
        signature: &Signature,
        (input, output): (&[u8], &mut [u8]),
        reduction: Option<&dyn Reduction>,
    ) -> Result<(), Error> {
        let Native { call, barrier, agreed } = native;
        let (size, timeout) = (self.transport.size(), self.timeout);
        // Before anything moves.
        let io = NativeIo::new(call, size, (input, output), reduction, self.history.calls, signature, timeout);
        let Some(mut io) = io else {
            let words = "a buffer is shorter than the library's call needs, or not aligned as its elements are";
            return Err(Error::Argument(words.to_owned()));
        };
        self.agree(barrier, signature, agreed)?;
        io.call = self.history.calls;
        self.history.add(signature.fingerprint);
        native::call(&mut *self.transport, io).map_err(|failure| self.failed(failure))
    }

    /// Sees to it that all members make this call; a call of its own, unless they have agreed on it before.
    fn agree(&mut self, barrier: &Plan, signature: &Signature, agreed: &mut Option<u64>) -> Result<(), Error> {
        if agreed.is_none_or(|number| !self.agreed.has(number)) {
            *agreed = self.agreed.find(signature.fingerprint);
        }
        if agreed.is_none() {
            self.run(barrier, Buffers { input: &[], output: &mut [], scratch: &mut [] }, signature, None)?;
            *agreed = Some(self.agreed.add(signature.fingerprint));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_agreements_are_remembered_and_no_others() {
        let mut agreed = Agreed::default();
        let most = Agreed::MOST as u64;
        for number in 0..3 * most {
            assert_eq!(agreed.find(1000 + number), None);
            assert_eq!(agreed.add(1000 + number), number);
            for earlier in 0..=number {
                let kept = earlier + most > number;
                assert_eq!(agreed.find(1000 + earlier), kept.then_some(earlier), "{earlier} after {number}");
                assert_eq!(agreed.has(earlier), kept, "{earlier} after {number}");
            }
        }
        assert_eq!(agreed.last.len(), Agreed::MOST);
    }
}
