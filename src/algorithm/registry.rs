//! The registry of algorithms.

use std::sync::{Arc, LazyLock};

use super::definition::Algorithm;
use super::parameters::Settings;
use super::{
    Native, OnGuest, allgather, allreduce, alltoall, barrier, broadcast, exscan, gather, reduce, reduce_scatter, scan,
    scatter, shift,
};
use crate::collective::Collective;
use crate::vocabulary::{BuildError, Problem};

/// Returns all built-in algorithms, with default parameters. On an embedded network they work on
/// the [guest](OnGuest).
#[must_use]
pub fn registry() -> &'static [Arc<dyn Algorithm>] {
    static ROWS: LazyLock<Vec<Arc<dyn Algorithm>>> = LazyLock::new(|| {
        let native = Native::all().map(|native| Arc::new(native) as Arc<dyn Algorithm>);
        let scheduled: Vec<Arc<dyn Algorithm>> = vec![
            Arc::new(alltoall::Direct),
            Arc::new(alltoall::DirectRotated),
            Arc::new(alltoall::DirectXor),
            Arc::new(alltoall::Ring),
            Arc::new(alltoall::RingBoth),
            Arc::new(alltoall::Bruck::default()),
            Arc::new(alltoall::ByDimension::default()),
            Arc::new(alltoall::TwoPhase::default()),
            Arc::new(alltoall::CubeLog),
            Arc::new(alltoall::CubeXor),
            Arc::new(alltoall::TorusExchange),
            Arc::new(alltoall::BidirectionalExchange),
            Arc::new(alltoall::MeshExchange::default()),
            Arc::new(alltoall::NecklaceExchange::default()),
            Arc::new(alltoall::CayleyExchange::default()),
            Arc::new(alltoall::HalfRings),
            Arc::new(alltoall::HowGreedy),
            Arc::new(alltoall::WindowExchange::default()),
            Arc::new(alltoall::DirectBalanced::default()),
            Arc::new(alltoall::BalancedRoutes::default()),
            Arc::new(allgather::Direct),
            Arc::new(allgather::Ring),
            Arc::new(allgather::RecursiveDoubling),
            Arc::new(allgather::Bruck),
            Arc::new(allgather::ByDimension),
            Arc::new(allgather::NeighbourExchange),
            Arc::new(allgather::BalancedTrees::default()),
            Arc::new(allgather::CircGos::default()),
            Arc::new(allgather::HighDimGos::default()),
            Arc::new(allgather::TorGos::default()),
            Arc::new(allgather::CubGos::default()),
            Arc::new(allgather::BlackWhite),
            Arc::new(allgather::TreePacking::default()),
            Arc::new(allgather::SlidingWindows::default()),
            Arc::new(allgather::TwoLevel),
            Arc::new(allreduce::Direct),
            Arc::new(allreduce::DirectParts),
            Arc::new(allreduce::RecursiveDoubling),
            Arc::new(allreduce::Rabenseifner),
            Arc::new(allreduce::ByDimension),
            Arc::new(allreduce::ReduceScatterAllgather),
            Arc::new(allreduce::Ring),
            Arc::new(allreduce::BalancedTrees::default()),
            Arc::new(allreduce::CircGos::default()),
            Arc::new(allreduce::HighDimGos::default()),
            Arc::new(allreduce::TorGos::default()),
            Arc::new(allreduce::CubGos::default()),
            Arc::new(allreduce::BlackWhite),
            Arc::new(allreduce::TreePacking::default()),
            Arc::new(allreduce::TwoLevel),
            Arc::new(scan::Direct),
            Arc::new(scan::RecursiveDoubling),
            Arc::new(scan::ByDimension),
            Arc::new(scan::Chain::default()),
            Arc::new(exscan::Direct),
            Arc::new(exscan::RecursiveDoubling),
            Arc::new(exscan::ByDimension),
            Arc::new(exscan::Chain::default()),
            Arc::new(broadcast::Direct),
            Arc::new(broadcast::Binomial),
            Arc::new(broadcast::ByDimension),
            Arc::new(broadcast::Halving),
            Arc::new(broadcast::Chain::default()),
            Arc::new(broadcast::BinaryTree::default()),
            Arc::new(broadcast::EdgeDisjointTrees::default()),
            Arc::new(broadcast::ScatterAllgather),
            Arc::new(broadcast::Bridgeheads::default()),
            Arc::new(broadcast::FarthestFirst),
            Arc::new(broadcast::SlidingWindows::default()),
            Arc::new(broadcast::TwoLevel),
            Arc::new(scatter::Direct),
            Arc::new(scatter::Binomial),
            Arc::new(scatter::ByDimension),
            Arc::new(scatter::Bridgeheads::default()),
            Arc::new(scatter::BalancedSpanningTree::default()),
            Arc::new(scatter::BalancedSpanningSubgraph::default()),
            Arc::new(scatter::Subtrees::default()),
            Arc::new(scatter::TwoLevel),
            Arc::new(gather::Direct),
            Arc::new(gather::Binomial),
            Arc::new(gather::ByDimension),
            Arc::new(gather::Bridgeheads::default()),
            Arc::new(gather::BalancedSpanningTree::default()),
            Arc::new(gather::BalancedSpanningSubgraph::default()),
            Arc::new(gather::Subtrees::default()),
            Arc::new(gather::TwoLevel),
            Arc::new(reduce::Direct),
            Arc::new(reduce::DirectParts),
            Arc::new(reduce::Binomial),
            Arc::new(reduce::ByDimension),
            Arc::new(reduce::Halving),
            Arc::new(reduce::ReduceScatterGather),
            Arc::new(reduce::Chain::default()),
            Arc::new(reduce::BinaryTree::default()),
            Arc::new(reduce::EdgeDisjointTrees::default()),
            Arc::new(reduce::Bridgeheads::default()),
            Arc::new(reduce::TwoLevel),
            Arc::new(reduce_scatter::Direct),
            Arc::new(reduce_scatter::Pairwise),
            Arc::new(reduce_scatter::RecursiveHalving),
            Arc::new(reduce_scatter::Ring),
            Arc::new(reduce_scatter::ByDimension),
            Arc::new(reduce_scatter::BalancedTrees::default()),
            Arc::new(reduce_scatter::CircGos::default()),
            Arc::new(reduce_scatter::HighDimGos::default()),
            Arc::new(reduce_scatter::TorGos::default()),
            Arc::new(reduce_scatter::CubGos::default()),
            Arc::new(reduce_scatter::BlackWhite),
            Arc::new(reduce_scatter::TreePacking::default()),
            Arc::new(shift::Direct),
            Arc::new(shift::ECube),
            Arc::new(shift::ByDimension),
            Arc::new(shift::Gray),
            Arc::new(shift::Ring),
            Arc::new(barrier::Direct),
            Arc::new(barrier::Dissemination),
            Arc::new(barrier::TwoLevel),
        ];
        let scheduled = scheduled.into_iter().map(|row| Arc::new(OnGuest::new(row)) as Arc<dyn Algorithm>);
        native.chain(scheduled).collect()
    });
    &ROWS
}

/// Returns the algorithms for a collective, by its name, in the registry's order.
fn all_for(collective: &str) -> impl Iterator<Item = &'static Arc<dyn Algorithm>> {
    registry().iter().filter(move |algorithm| algorithm.about().collective == collective)
}

/// Returns the candidates for a problem: the algorithms for its collective in the registry's order,
/// whether they fit or not, each followed by its [variants](Algorithm::variants) that fit. Of one
/// that leaves parameters [open](Algorithm::alternatives), only the variants, unless it is an
/// alternative itself.
#[must_use]
pub fn candidates(problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
    let with_variants = |row: &Arc<dyn Algorithm>| {
        let (open, own) = (row.alternatives(problem), row.settings());
        let is_candidate = open.is_empty() || open.iter().any(|one| one.settings() == own);
        let itself = is_candidate.then(|| Arc::clone(row));
        let variants = row.variants(problem).into_iter().filter(|variant| variant.fits(problem).is_ok());
        itself.into_iter().chain(variants).collect::<Vec<_>>()
    };
    all_for(problem.collective().name()).flat_map(with_variants).collect()
}

/// Finds the algorithm for a collective by its text: `name`, or `name:key=value,..` with
/// parameters.
///
/// # Errors
///
/// [`BuildError::Unknown`], with the known names; [`BuildError::Parameters`], with the accepted
/// texts.
pub fn find(collective: &Collective, text: &str) -> Result<Arc<dyn Algorithm>, BuildError> {
    let kind = collective.name();
    let (name, given) = text.split_once(':').map_or((text, None), |(name, given)| (name, Some(given)));
    let Some(row) = all_for(kind).find(|algorithm| algorithm.about().name == name) else {
        return Err(BuildError::Unknown {
            name: name.to_owned(),
            collective: kind.to_owned(),
            known: all_for(kind).map(|algorithm| algorithm.about().name.to_owned()).collect(),
        });
    };
    let settings = Settings::read(name, row.parameters(), given)?;
    Ok(row.with(&settings).unwrap_or_else(|| Arc::clone(row)))
}
