//! A call that can be made, and what it is kept by.

use std::sync::Arc;

use super::cache::Kept;
use super::element::Element;
use crate::collective::Collective;
use crate::error::ArgumentError;
use crate::plan::Plan;
use crate::transport::Signature;
use crate::transport::native::{NativeCall, Predefined, Regular};

/// A call that can be made: what its members must agree on, and how it goes.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) signature: Signature,
    pub(super) way: Way,
}

/// How a call goes.
#[derive(Debug)]
pub(super) enum Way {
    /// By a schedule.
    Plan {
        plan: Plan,
        /// Aligned for every primitive type.
        scratch: Vec<u128>,
    },
    /// By the backend's own library.
    Native(Native),
}

impl Prepared {
    pub(super) fn new(plan: Plan, signature: Signature) -> Result<Self, ArgumentError> {
        let bytes = plan.program().sizes().scratch;
        let lack = || ArgumentError::Memory { call: Arc::clone(&signature.words), bytes };
        let words = usize::try_from(bytes.div_ceil(size_of::<u128>() as u64)).map_err(|_| lack())?;
        let mut scratch = Vec::new();
        scratch.try_reserve_exact(words).map_err(|_| lack())?;
        scratch.resize(words, 0);
        Ok(Self { signature, way: Way::Plan { plan, scratch } })
    }
}

/// A call that the backend does itself.
#[derive(Debug)]
pub(super) struct Native {
    pub(super) call: NativeCall,
    /// In which the members meet before they make it for the first time. Where they compare
    /// nothing, all calls are alike, and they meet once: a library may need them all to begin.
    pub(super) barrier: Arc<Plan>,
    /// The number of the agreement on it, if it is known.
    pub(super) agreed: Option<u64>,
}

impl Kept for Prepared {
    fn bytes(&self) -> usize {
        match &self.way {
            Way::Plan { plan, scratch } => plan.footprint() + size_of_val(&scratch[..]),
            // Those that are kept have no lists.
            Way::Native(_) => 0,
        }
    }
}

/// What a cached plan is for. The algorithm is not in it: the cache lets go of a collective's plans
/// when another is chosen for it.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) collective: Collective,
    pub(super) element: Element,
    /// Elements of a block.
    pub(super) elements: usize,
    pub(super) in_place: bool,
    /// The operation's name, or what else sets the call apart.
    pub(super) purpose: std::borrow::Cow<'static, str>,
    /// What libraries call its operation.
    pub(super) predefined: Option<Predefined>,
    /// Whether its operation commutes; where there is none, it does.
    pub(super) commutes: bool,
}

impl Key {
    /// Whether it is a call of the communicator's own, which combines nothing but has a purpose.
    /// Such go by a schedule though the backend may have its own way: they are made where members
    /// may have agreed on nothing yet.
    pub(super) fn is_own(&self) -> bool {
        !self.purpose.is_empty() && !self.collective.is_reduction()
    }
}

impl PartialEq for Key {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        let Self { collective, element, elements, in_place, purpose, predefined, commutes } = self;
        *elements == other.elements
            && *element == other.element
            && *in_place == other.in_place
            && *commutes == other.commutes
            && *collective == other.collective
            && purpose.len() == other.purpose.len()
            // Most calls have no purpose. `memcmp` of two empty slices was measured to take 80 ns
            // with glibc's for AVX-512: more than an exchange does.
            && (purpose.is_empty() || (*purpose == other.purpose && *predefined == other.predefined))
    }
}

impl Key {
    /// What a library is asked to do for the call; `None` where its blocks are too long.
    pub(super) fn native(&self) -> Option<NativeCall> {
        let Self { collective, in_place, predefined, .. } = self;
        let (element, count) = (self.element.size as u64, self.elements as u64);
        element.checked_mul(count)?;
        let (collective, in_place, predefined) = (collective.clone(), *in_place, *predefined);
        Some(NativeCall::Regular(Regular { collective, element, count, in_place, predefined }))
    }
}

/// What members must agree on where a library does the call, though a schedule's messages would be
/// the same.
pub(super) fn native_manner(call: &NativeCall) -> &'static str {
    match call {
        NativeCall::Regular(Regular { predefined: Some(_), .. }) => ", predefined",
        NativeCall::Regular(Regular { in_place: true, collective, .. }) if collective.root().is_none() => ", in place",
        _ => "",
    }
}
