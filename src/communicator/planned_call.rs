//! A planned call, and the key by which it is cached.

use std::sync::Arc;

use super::cache::Footprint;
use super::element::Element;
use super::timing::Timing;
use crate::collective::Collective;
use crate::error::ArgumentError;
use crate::plan::Plan;
use crate::transport::Signature;
use crate::transport::native::{NativeCall, Predefined, Regular, Varying};

/// A call that is ready to be executed, again and again.
#[derive(Debug)]
pub(super) struct PlannedCall {
    /// The description that members must agree on.
    pub(super) signature: Signature,
    pub(super) executor: Executor,
    /// The result of a reduction that this rank gets, if it gets one.
    pub(super) result: Option<CombinedResult>,
    /// The name of the algorithm, for the calls that [`explain`](super::Communicator::explain) shows.
    pub(super) algorithm: Option<Box<str>>,
    pub(super) timing: Timing,
}

/// The result of a reduction on one rank, at the start of the receive buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct CombinedResult {
    pub(super) contributions: usize,
    pub(super) bytes: usize,
}

/// The executor of a call.
#[derive(Debug)]
pub(super) enum Executor {
    /// This crate, by a schedule.
    Plan {
        plan: Plan,
        /// Aligned for every primitive type.
        scratch: Vec<u128>,
    },
    /// The backend's own library.
    Library(LibraryCall),
}

impl PlannedCall {
    /// Makes a call that executes a plan. Fails if there is no memory for the plan's scratch
    /// buffer.
    pub(super) fn new(plan: Plan, signature: Signature) -> Result<Self, ArgumentError> {
        let bytes = plan.program().sizes().scratch;
        let no_memory = || ArgumentError::Memory { call: Arc::clone(&signature.description), bytes };
        let words = usize::try_from(bytes.div_ceil(size_of::<u128>() as u64)).map_err(|_| no_memory())?;
        let mut scratch = Vec::new();
        scratch.try_reserve_exact(words).map_err(|_| no_memory())?;
        scratch.resize(words, 0);
        Ok(Self::by(Executor::Plan { plan, scratch }, signature))
    }

    /// Makes a call that this executes.
    pub(super) fn by(executor: Executor, signature: Signature) -> Self {
        Self { signature, executor, result: None, algorithm: None, timing: Timing::default() }
    }

    /// Notes the name of the algorithm.
    pub(super) fn named(self, algorithm: String) -> Self {
        Self { algorithm: Some(algorithm.into()), ..self }
    }
}

/// A call of the backend's own library.
#[derive(Debug)]
pub(super) struct LibraryCall {
    pub(super) call: NativeCall,
    /// The barrier in which the members meet before they make the call for the first time. Without
    /// fingerprints all calls look alike, so the members meet once: a library may need all of them
    /// to begin.
    pub(super) barrier: Arc<Plan>,
    /// The number of the agreement on the call, if it is known.
    pub(super) agreed: Option<u64>,
}

impl Footprint for PlannedCall {
    fn footprint(&self) -> usize {
        match &self.executor {
            Executor::Plan { plan, scratch } => plan.footprint() + size_of_val(&scratch[..]),
            Executor::Library(LibraryCall { call: NativeCall::Varying(Varying { send, receive, .. }), .. }) => {
                send.footprint() + receive.footprint()
            }
            Executor::Library(_) => 0,
        }
    }
}

/// The key of a cached plan: everything that the plan depends on but the chosen algorithm.
///
/// When another algorithm is chosen for a collective, the cache drops the collective's plans.
#[derive(Clone, Debug)]
pub(super) struct PlanKey {
    pub(super) collective: Collective,
    pub(super) element: Element,
    /// The elements of the send buffer and of the receive buffer.
    pub(super) lengths: (usize, usize),
    /// The elements of a block. They follow from the lengths, so that a call whose plan is cached
    /// does not compute them.
    pub(super) elements: usize,
    pub(super) in_place: bool,
    /// The name of the operation, or another text that distinguishes the call.
    pub(super) purpose: std::borrow::Cow<'static, str>,
    /// The operation as libraries know it.
    pub(super) predefined: Option<Predefined>,
    /// Whether the operation commutes; true without an operation.
    pub(super) commutes: bool,
}

impl PlanKey {
    /// Tells whether this is an internal call of the communicator, such as the exchange in a split:
    /// it has a purpose, and it is no reduction.
    ///
    /// Internal calls use a schedule even if the backend has its own collectives, because members
    /// may not have agreed on anything yet.
    pub(super) fn is_internal(&self) -> bool {
        !self.purpose.is_empty() && !self.collective.is_reduction()
    }
}

impl PartialEq for PlanKey {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        let Self { collective, element, lengths, elements: _, in_place, purpose, predefined, commutes } = self;
        *lengths == other.lengths
            && *element == other.element
            && *in_place == other.in_place
            && *commutes == other.commutes
            && *collective == other.collective
            && purpose.len() == other.purpose.len()
            // Most calls have no purpose. The `memcmp` of glibc for AVX-512 was measured to take
            // 80 ns for two empty slices, more than an exchange takes.
            && (purpose.is_empty() || (*purpose == other.purpose && *predefined == other.predefined))
    }
}

impl PlanKey {
    /// Returns the call as a library would execute it, or `None` if its blocks are too long.
    pub(super) fn native(&self) -> Option<NativeCall> {
        let Self { collective, in_place, predefined, .. } = self;
        let (element, count) = (self.element.size as u64, self.elements as u64);
        element.checked_mul(count)?;
        let (collective, in_place, predefined) = (collective.clone(), *in_place, *predefined);
        Some(NativeCall::Regular(Regular { collective, element, count, in_place, predefined }))
    }
}

/// Returns what the description of a library's call adds to that of a schedule.
///
/// Members must agree on it for the library, though the messages of a schedule would be the same.
pub(super) fn native_qualifier(call: &NativeCall) -> &'static str {
    match call.predefined() {
        Some(_) => ", predefined",
        None if call.is_in_place() && call.collective().root().is_none() => ", in place",
        None => "",
    }
}
