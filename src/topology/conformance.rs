//! The conformance suite for implementations of [`Topology`].
//!
//! [`CHECKS`] has a check for each promise of the trait, named after it. [`run_all`] runs all of
//! them. A panic of the topology is reported like any other finding, after the panic hook, which
//! prints it by default. If a method does not return, neither does its check.
//!
//! # Cost
//!
//! All channels are checked. Distances, routes and other properties of pairs are checked for all
//! pairs of up to 128 nodes; on larger networks, for all pairs of 48 nodes, the same in every run,
//! among them the first and the last. A run takes memory in proportion to nodes and channels, and a
//! few hundred times as much time: seconds for a torus of 10,000 nodes, too much for
//! `complete:2000000000`.
//!
//! ```
//! use necklace::topology::{Grid, conformance};
//!
//! let torus = Grid::torus(&[3, 4]).expect("12 nodes");
//! assert_eq!(conformance::run_all(&torus), Ok(()));
//! ```

mod questions;

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use questions::{breadth_first, nodes, pairs, sample, sets};

use super::registry::is_ours;
use super::{Factor, ParseError, Part, Topology, parse};
use crate::ids::{MAX_NODES, Node};
use crate::quote::debug_as_text;

/// A promise that a topology breaks.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{topology} breaks {promise}: {description}")]
#[non_exhaustive]
pub struct Finding {
    /// The name of the check.
    pub promise: &'static str,
    /// The topology's text.
    pub topology: String,
    /// The description of the fault.
    pub description: String,
}

debug_as_text!(Finding);

/// A check of one promise. It does not catch panics.
pub type Check = fn(&dyn Topology) -> Result<(), Finding>;

macro_rules! checks {
    ($($name:ident),* $(,)?) => {
        &[$((stringify!($name), $name)),*]
    };
}

/// All checks, with their names. The others rely on the first.
pub const CHECKS: &[(&str, Check)] = checks![
    number_of_nodes_is_in_range,
    neighbours_are_distinct_and_ascending,
    neighbours_are_mutual,
    adjacent_agrees_with_neighbours,
    edges_list_each_link_once,
    channels_are_counted,
    the_network_is_connected,
    distances_are_shortest,
    routes_are_shortest_paths,
    results_are_reproducible,
    nodes_out_of_range_do_not_panic,
    text_parses_back,
    cube_has_its_links,
    product_has_the_links_of_its_factors,
    product_routes_correct_the_last_dimension_first,
    embedding_is_into_this_network,
    ranks_are_in_range,
    parts_are_induced,
    invalid_sets_have_no_part,
];

/// Runs all checks. If the first fails, the others are skipped.
///
/// # Errors
///
/// One finding for each broken promise.
pub fn run_all(topology: &dyn Topology) -> Result<(), Vec<Finding>> {
    let mut findings = Vec::new();
    for (i, &(promise, check)) in CHECKS.iter().enumerate() {
        let outcome = catch_unwind(AssertUnwindSafe(|| check(topology)));
        findings.extend(outcome.unwrap_or_else(|_| fail(promise, topology, "it panics".to_owned())).err());
        if i == 0 && !findings.is_empty() {
            break;
        }
    }
    if findings.is_empty() { Ok(()) } else { Err(findings) }
}

/// There are between 1 and [`MAX_NODES`] nodes.
fn number_of_nodes_is_in_range(topology: &dyn Topology) -> Result<(), Finding> {
    let nodes = topology.nodes();
    ensure((1..=MAX_NODES).contains(&nodes), || {
        finding("number_of_nodes_is_in_range", topology, format!("{nodes} nodes, not 1 to {MAX_NODES}"))
    })
}

/// Neighbours are in range, not the node itself, and in ascending order without repetition.
fn neighbours_are_distinct_and_ascending(topology: &dyn Topology) -> Result<(), Finding> {
    let fault = |node, description: String| {
        finding("neighbours_are_distinct_and_ascending", topology, format!("neighbours of {node}: {description}"))
    };
    for node in nodes(topology) {
        let others = topology.neighbours(node);
        for &other in &others {
            ensure(other != node, || fault(node, "the node itself".to_owned()))?;
            ensure(other.index() < topology.nodes(), || fault(node, format!("{other} is out of range")))?;
        }
        for pair in others.windows(2) {
            ensure(pair[0] < pair[1], || fault(node, format!("{} before {}", pair[0], pair[1])))?;
        }
    }
    Ok(())
}

/// A node is among the neighbours of each of its neighbours.
fn neighbours_are_mutual(topology: &dyn Topology) -> Result<(), Finding> {
    let from = |from| topology.neighbours(from).into_iter().map(move |to| (from, to));
    let channels: HashSet<(Node, Node)> = nodes(topology).flat_map(from).collect();
    // The smallest, so that the finding is the same in every run.
    match channels.iter().filter(|&&(from, to)| !channels.contains(&(to, from))).min() {
        None => Ok(()),
        Some((from, to)) => {
            fail("neighbours_are_mutual", topology, format!("a channel from {from} to {to}, but none back"))
        }
    }
}

/// [`Topology::adjacent`] is true for neighbours and false for all others.
fn adjacent_agrees_with_neighbours(topology: &dyn Topology) -> Result<(), Finding> {
    let check = |from, to, expected: bool| {
        ensure(topology.adjacent(from, to) == expected, || {
            let description = format!("adjacent({from}, {to}) is {}, but neighbours says {expected}", !expected);
            finding("adjacent_agrees_with_neighbours", topology, description)
        })
    };
    for node in nodes(topology) {
        topology.neighbours(node).into_iter().try_for_each(|other| check(node, other, true))?;
    }
    let sample = sample(topology);
    for &from in &sample {
        let others = topology.neighbours(from);
        sample.iter().try_for_each(|&to| check(from, to, others.contains(&to)))?;
    }
    Ok(())
}

/// [`Topology::edges`] lists every pair of neighbours once, the smaller number first, in ascending
/// order.
fn edges_list_each_link_once(topology: &dyn Topology) -> Result<(), Finding> {
    let up = |from| topology.neighbours(from).into_iter().filter(move |&to| from < to).map(move |to| (from, to));
    let expected: Vec<(Node, Node)> = nodes(topology).flat_map(up).collect();
    let edges = topology.edges();
    let description = match expected.iter().zip(&edges).position(|(a, b)| a != b) {
        Some(i) => format!("at {i} there is {:?}, expected {:?}", edges[i], expected[i]),
        None => format!("there are {}, expected {}", edges.len(), expected.len()),
    };
    ensure(edges == expected, || finding("edges_list_each_link_once", topology, description))
}

/// [`Topology::channels`] is the sum of the numbers of neighbours.
fn channels_are_counted(topology: &dyn Topology) -> Result<(), Finding> {
    let counted: usize = nodes(topology).map(|node| topology.neighbours(node).len()).sum();
    let channels = topology.channels();
    ensure(channels == counted, || {
        let description = format!("channels() is {channels}, but the neighbours are {counted}");
        finding("channels_are_counted", topology, description)
    })
}

/// Every node can be reached from every other.
fn the_network_is_connected(topology: &dyn Topology) -> Result<(), Finding> {
    let hops = breadth_first(topology, Node::new(0));
    match hops.iter().position(Option::is_none) {
        None => Ok(()),
        Some(node) => fail("the_network_is_connected", topology, format!("{node} cannot be reached from 0")),
    }
}

/// [`Topology::distance`] is the number of channels on a shortest path.
fn distances_are_shortest(topology: &dyn Topology) -> Result<(), Finding> {
    let sample = sample(topology);
    for &from in &sample {
        let hops = breadth_first(topology, from);
        for &to in &sample {
            let (distance, shortest) = (topology.distance(from, to), hops[to.index()]);
            ensure(shortest.is_none_or(|shortest| shortest == distance), || {
                let description = format!("distance({from}, {to}) is {distance}, not {}", shortest.unwrap_or_default());
                finding("distances_are_shortest", topology, description)
            })?;
        }
    }
    Ok(())
}

/// [`Topology::route`] is a shortest path along channels between the two nodes.
fn routes_are_shortest_paths(topology: &dyn Topology) -> Result<(), Finding> {
    let sample = sample(topology);
    for &from in &sample {
        let hops = breadth_first(topology, from);
        for &to in &sample {
            let route = topology.route(from, to);
            let fault = |description: String| {
                let shown: Vec<String> = route.iter().take(32).map(ToString::to_string).collect();
                let description = format!("route({from}, {to}) is {}: {description}", shown.join(" "));
                finding("routes_are_shortest_paths", topology, description)
            };
            let has_ends = route.first() == Some(&from) && route.last() == Some(&to);
            ensure(has_ends, || fault("it does not lead from one to the other".to_owned()))?;
            for step in route.windows(2) {
                let is_channel = step[0].index() < topology.nodes() && topology.neighbours(step[0]).contains(&step[1]);
                ensure(is_channel, || fault(format!("no channel from {} to {}", step[0], step[1])))?;
            }
            let (length, shortest) = (route.len() - 1, hops[to.index()]);
            ensure(shortest.is_none_or(|shortest| shortest == length), || {
                fault(format!("{length} channels, not {}", shortest.unwrap_or_default()))
            })?;
        }
    }
    Ok(())
}

/// Methods return the same values when they are called again, in the opposite order.
fn results_are_reproducible(topology: &dyn Topology) -> Result<(), Finding> {
    let fault = |description: String| fail("results_are_reproducible", topology, description);
    let answers = |from, to| (topology.neighbours(from), topology.distance(from, to), topology.route(from, to));
    let (nodes, text) = (topology.nodes(), topology.text());
    let pairs = pairs(topology);
    let first: Vec<_> = pairs.iter().map(|&(from, to)| answers(from, to)).collect();
    for (&(from, to), before) in pairs.iter().zip(&first).rev() {
        let now = answers(from, to);
        if now.0 != before.0 {
            return fault(format!("neighbours({from}) were {:?} and are {:?}", before.0, now.0));
        }
        if now.1 != before.1 {
            return fault(format!("distance({from}, {to}) was {} and is {}", before.1, now.1));
        }
        if now.2 != before.2 {
            return fault(format!("route({from}, {to}) was {:?} and is {:?}", before.2, now.2));
        }
    }
    if (topology.nodes(), topology.text()) != (nodes, text) {
        return fault("nodes() or text() have changed".to_owned());
    }
    Ok(())
}

/// Methods do not panic for nodes out of range.
fn nodes_out_of_range_do_not_panic(topology: &dyn Topology) -> Result<(), Finding> {
    let count = topology.nodes();
    let outside = [count, count + 1, 2 * count + 1, MAX_NODES / 2 + count / 2 + 1, MAX_NODES - 1, MAX_NODES];
    let outside = outside.map(Node::new).into_iter().filter(|node| node.index() >= count);
    let inside = [0, count / 2, count - 1].map(Node::new);
    for node in outside {
        let asked = |description: String, question: &dyn Fn()| {
            let outcome = catch_unwind(AssertUnwindSafe(question));
            ensure(outcome.is_ok(), || {
                finding("nodes_out_of_range_do_not_panic", topology, format!("{description} panics"))
            })
        };
        asked(format!("neighbours({node})"), &|| _ = topology.neighbours(node))?;
        for other in inside.into_iter().chain([node]) {
            for (from, to) in [(node, other), (other, node)] {
                asked(format!("distance({from}, {to})"), &|| _ = topology.distance(from, to))?;
                asked(format!("route({from}, {to})"), &|| _ = topology.route(from, to))?;
                asked(format!("adjacent({from}, {to})"), &|| _ = topology.adjacent(from, to))?;
            }
            asked(format!("part([{other}, {node}])"), &|| _ = topology.part(&[other, node]))?;
        }
    }
    Ok(())
}

/// [`Topology::text`] is not empty. If it is a text of this crate, [`parse()`] returns a network
/// with the same links and routes. (A missing file is not a finding.)
fn text_parses_back(topology: &dyn Topology) -> Result<(), Finding> {
    let text = topology.text();
    let fault = |description: String| fail("text_parses_back", topology, description);
    if text.trim().is_empty() {
        return fault("the text is empty".to_owned());
    }
    let again = match parse(&text) {
        Ok(again) => again,
        Err(ParseError::File { .. }) => return Ok(()),
        Err(error) if is_ours(&text) => return fault(error.to_string()),
        Err(_) => return Ok(()),
    };
    if again.nodes() != topology.nodes() {
        return fault(format!("{} nodes, but {} from the text", topology.nodes(), again.nodes()));
    }
    if again.text() != text {
        return fault(format!("the network of this text says {:?}", again.text()));
    }
    if let Some(node) = nodes(topology).find(|&node| again.neighbours(node) != topology.neighbours(node)) {
        return fault(format!("neighbours of {node} differ from those of the text"));
    }
    match pairs(topology).into_iter().find(|&(from, to)| again.route(from, to) != topology.route(from, to)) {
        Some((from, to)) => fault(format!("route({from}, {to}) differs from that of the text")),
        None => Ok(()),
    }
}

/// A [`cube`](Topology::cube) has 2^d nodes, and links between nodes that differ in one bit.
fn cube_has_its_links(topology: &dyn Topology) -> Result<(), Finding> {
    let Some(d) = topology.cube() else { return Ok(()) };
    let fault = |description: String| fail("cube_has_its_links", topology, description);
    if 1_usize.checked_shl(d) != Some(topology.nodes()) {
        return fault(format!("{} nodes, but a cube of {d} dimensions", topology.nodes()));
    }
    let ends = |node: Node| (0..d).map(move |bit| (node, Node::new(node.index() ^ (1 << bit))));
    match nodes(topology).flat_map(ends).find(|&(u, v)| !topology.adjacent(u, v)) {
        Some((u, v)) => fault(format!("no channel from {u} to {v}")),
        None => Ok(()),
    }
}

/// A [product](Topology::factors) has a node for each combination of coordinates, and the links of
/// its factors.
fn product_has_the_links_of_its_factors(topology: &dyn Topology) -> Result<(), Finding> {
    let Some(factors) = topology.factors() else { return Ok(()) };
    let fault = |description: String| fail("product_has_the_links_of_its_factors", topology, description);
    let product = factors.iter().try_fold(1_usize, |product, factor| product.checked_mul(factor.extent()));
    if product != Some(topology.nodes()) {
        return fault(format!("{} nodes, but a product of {factors:?}", topology.nodes()));
    }
    for node in nodes(topology) {
        let mut expected = Vec::new();
        let mut stride = 1;
        for factor in factors.iter().rev() {
            let x = node.index() / stride % factor.extent();
            let others = (0..factor.extent()).filter(|&y| factor.adjacent(x, y));
            expected.extend(others.map(|y| Node::new(node.index() - x * stride + y * stride)));
            stride *= factor.extent();
        }
        expected.sort_unstable();
        if *topology.neighbours(node) != *expected {
            return fault(format!("neighbours of {node} differ from those in the product of {factors:?}"));
        }
    }
    Ok(())
}

/// Routes in a [product](Topology::factors) correct one dimension after the other, from the last to
/// the first. Round a ring they go up if both directions are equally long.
fn product_routes_correct_the_last_dimension_first(topology: &dyn Topology) -> Result<(), Finding> {
    let Some(factors) = topology.factors() else { return Ok(()) };
    pairs(topology).into_iter().try_for_each(|(from, to)| {
        let (route, expected) = (topology.route(from, to), route_in_a_product(&factors, from, to));
        ensure(route == expected, || {
            let description =
                format!("route({from}, {to}) is {route:?}, in the product of {factors:?} it is {expected:?}");
            finding("product_routes_correct_the_last_dimension_first", topology, description)
        })
    })
}

fn route_in_a_product(factors: &[Factor], from: Node, to: Node) -> Vec<Node> {
    let mut route = vec![from];
    let (mut at, mut stride) = (from.index(), 1);
    for factor in factors.iter().rev() {
        let extent = factor.extent().max(1);
        let aim = to.index() / stride % extent;
        loop {
            let x = at / stride % extent;
            if x == aim {
                break;
            }
            let next = match factor {
                Factor::Complete(_) => aim,
                Factor::Ring(_) if 2 * ((aim + extent - x) % extent) <= extent => (x + 1) % extent,
                Factor::Ring(_) => (x + extent - 1) % extent,
                Factor::Line(_) if x < aim => x + 1,
                Factor::Line(_) => x - 1,
                Factor::Windows { window, wraps, .. } => {
                    let up = (aim + extent - x) % extent;
                    let goes_up = if *wraps { 2 * up <= extent } else { x < aim };
                    let left = if *wraps { up.min(extent - up) } else { x.abs_diff(aim) };
                    let jump = left.min(*window);
                    (if goes_up { x + jump } else { x + extent - jump }) % extent
                }
            };
            at = at - x * stride + next * stride;
            route.push(Node::new(at));
        }
        stride *= extent;
    }
    route
}

/// The host of an [embedding](Topology::embedding) has the nodes, channels and routes of the
/// network, and no node of it has two of the guest.
fn embedding_is_into_this_network(topology: &dyn Topology) -> Result<(), Finding> {
    let Some(embedding) = topology.embedding() else { return Ok(()) };
    let (host, fault) = (embedding.host(), |found| fail("embedding_is_into_this_network", topology, found));
    if host.nodes() != topology.nodes() {
        return fault(format!("{} nodes, but a host of {}", topology.nodes(), host.nodes()));
    }
    if let Some(node) = nodes(topology).find(|&node| host.neighbours(node) != topology.neighbours(node)) {
        return fault(format!("neighbours of {node} differ from those in the host, {}", host.text()));
    }
    let differ = |&(from, to): &(Node, Node)| host.route(from, to) != topology.route(from, to);
    if let Some((from, to)) = pairs(topology).into_iter().find(differ) {
        return fault(format!("route({from}, {to}) differs from that of the host, {}", host.text()));
    }
    let mut taken = HashSet::new();
    match embedding.nodes().iter().find(|&&node| !taken.insert(node)) {
        Some(node) => fault(format!("{node} has two nodes of the guest")),
        None => Ok(()),
    }
}

/// There is at least one rank, and at most one on each node.
fn ranks_are_in_range(topology: &dyn Topology) -> Result<(), Finding> {
    let (ranks, nodes) = (topology.ranks(), topology.nodes());
    ensure((1..=nodes).contains(&ranks), || {
        finding("ranks_are_in_range", topology, format!("{ranks} ranks on {nodes} nodes"))
    })
}

/// [`Topology::part`] is connected, numbers all given nodes, has exactly the links between them,
/// and is the same when called again.
///
/// Checks all nodes, each node, each node with its neighbours, routes, and regular and random sets
/// of up to 64 nodes.
fn parts_are_induced(topology: &dyn Topology) -> Result<(), Finding> {
    sets(topology).iter().try_for_each(|set| {
        let fault = |description: String| {
            let shown: Vec<String> = set.iter().take(32).map(ToString::to_string).collect();
            fail(
                "parts_are_induced",
                topology,
                format!("part of {} nodes {}: {description}", set.len(), shown.join(" ")),
            )
        };
        let Some(Part { topology: part, numbers }) = topology.part(set) else { return Ok(()) };
        let text = part.text();
        if part.nodes() != set.len() || numbers.len() != set.len() {
            return fault(format!("{text} has {} nodes, {} were numbered", part.nodes(), numbers.len()));
        }
        let mut place = vec![None; set.len()];
        for (&node, number) in set.iter().zip(&numbers) {
            match place.get_mut(number.index()) {
                Some(free @ None) => *free = Some(node),
                _ => return fault(format!("number {number} of {node} in {text} is taken or out of range")),
            }
        }
        let members: HashMap<Node, Node> = set.iter().copied().zip(numbers.iter().copied()).collect();
        for (node, &number) in set.iter().zip(&numbers) {
            let links = topology.neighbours(*node).into_iter();
            let mut expected: Vec<Node> = links.filter_map(|other| members.get(&other).copied()).collect();
            expected.sort_unstable();
            if *part.neighbours(number) != *expected {
                return fault(format!("{node}, which is {number} in {text}, has other neighbours there"));
            }
        }
        if breadth_first(&part, Node::new(0)).contains(&None) {
            return fault(format!("{text} is not connected"));
        }
        match topology.part(set) {
            Some(again) if again.topology.text() == text && again.numbers == numbers => Ok(()),
            _ => fault("asked again, another answer".to_owned()),
        }
    })
}

/// [`Topology::part`] is `None` for an empty list, a repeated node and a node out of range.
fn invalid_sets_have_no_part(topology: &dyn Topology) -> Result<(), Finding> {
    let count = topology.nodes();
    let (first, last, outside) = (Node::new(0), Node::new(count - 1), Node::new(count));
    let all_and_outside: Vec<Node> = sample(topology).into_iter().chain([outside]).collect();
    let lists = [&[][..], &[first, first], &[last, first, last], &[outside], &[last, outside], &all_and_outside];
    lists.iter().try_for_each(|list| {
        ensure(topology.part(list).is_none(), || {
            let description = format!("part({list:?}) of {count} nodes is not None");
            finding("invalid_sets_have_no_part", topology, description)
        })
    })
}

fn ensure(holds: bool, finding: impl FnOnce() -> Finding) -> Result<(), Finding> {
    if holds { Ok(()) } else { Err(finding()) }
}

fn fail(promise: &'static str, topology: &dyn Topology, description: String) -> Result<(), Finding> {
    Err(finding(promise, topology, description))
}

fn finding(promise: &'static str, topology: &dyn Topology, description: String) -> Finding {
    let text = catch_unwind(AssertUnwindSafe(|| topology.text()));
    Finding { promise, topology: text.unwrap_or_else(|_| "(its text panics)".to_owned()), description }
}
