//! Calls that the backend's own library executes.
//!
//! A library does not check that all members make the same call: if they differ, it hangs or
//! corrupts data. So before the members make a call for the first time, they meet in a barrier of
//! this crate that carries the call's signature. The barrier finds members that call something
//! else, and members that do not come.
//!
//! The communicator remembers these agreements, not the plan. A member may have to plan a call anew
//! (its cache dropped the plan, or the plan is persistent) while another still has its plan.

use std::fmt;
use std::sync::Arc;

use super::Communicator;
use super::planned_call::{Executor, LibraryCall, PlannedCall};
use crate::block::Block;
use crate::collective::Collective;
use crate::error::{ArgumentError, BuildError};
use crate::ids::Rank;
use crate::plan::{Layout, Plan, compile};
use crate::transport::Signature;
use crate::transport::native::NativeCall;

impl Communicator {
    /// Tells whether the backend's library can execute a call.
    pub(super) fn offers(&mut self, call: &NativeCall) -> bool {
        self.context.transport.native().is_some_and(|native| native.offers(call))
    }

    /// Makes the error for a call that was chosen to be native but that the backend does not offer.
    pub(super) fn not_offered(&self, collective: &Collective, call: impl fmt::Display) -> BuildError {
        BuildError::Unfit {
            algorithm: "native".to_owned(),
            collective: collective.to_string(),
            topology: self.topology.text(),
            needs: format!("the backend does not offer: {call}"),
        }
    }

    /// Plans a call of the backend's library.
    pub(super) fn plan_library_call(
        &mut self,
        call: NativeCall,
        signature: Signature,
    ) -> Result<PlannedCall, ArgumentError> {
        let barrier = self.barrier_of_agreement()?;
        Ok(PlannedCall::by(Executor::Library(LibraryCall { call, barrier, agreed: None }), signature))
    }

    /// Returns the barrier in which members agree; plans it on first use. It sends messages of this
    /// crate.
    pub(super) fn barrier_of_agreement(&mut self) -> Result<Arc<Plan>, ArgumentError> {
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
