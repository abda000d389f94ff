//! The messages that calls with blocks of different lengths send, counted by a wrapper.

use std::sync::Arc;

use necklace::launch::Launch;
use necklace::transport::Endpoint;
use necklace::transport::trace::{Direction, TraceEvent, Tracing};
use necklace::{Communicator, Rank, Strided};

use necklace_tests::jobs::Backend;
use necklace_tests::jobs::tcp::Tcp;
use necklace_tests::jobs::threads::Threads;
use necklace_tests::{topology, watched};

/// Rows and columns of a rank's part, without its halo.
const SIDE: usize = 3;
const WIDTH: usize = SIDE + 2;

/// The ranks above, below, left and right on a torus of 4 x 4.
fn neighbours(rank: usize) -> [usize; 4] {
    let at = |row: usize, column: usize| row % 4 * 4 + column % 4;
    let (row, column) = (rank / 4, rank % 4);
    [at(row + 3, column), at(row + 1, column), at(row, column + 3), at(row, column + 1)]
}

/// The edges of the part, or of its halo, in the order of the neighbours.
fn edges(halo: bool) -> [Strided; 4] {
    let (first, last) = if halo { (0, WIDTH - 1) } else { (1, WIDTH - 2) };
    let row = |row: usize| Strided::matrix(row * WIDTH + 1, 1, SIDE, WIDTH);
    let column = |column: usize| Strided::matrix(WIDTH + column, SIDE, 1, WIDTH);
    [row(first), row(last), column(first), column(last)]
}

/// One block for each rank, empty but for the neighbours.
fn blocks(rank: usize, edges: [Strided; 4]) -> Vec<Strided> {
    let mut blocks = vec![Strided::run(0, 0); 16];
    neighbours(rank).into_iter().zip(edges).for_each(|(peer, edge)| blocks[peer] = edge);
    blocks
}

/// Exchanges halos by `alltoallw`, in one call and twice by a plan.
fn halos(mut comm: Communicator) {
    let me = comm.rank();
    let cell = |rank: usize, at: usize| 1000 * rank + at;
    let part: Vec<usize> = (0..WIDTH * WIDTH).map(|at| cell(me, at)).collect();
    let (from, into) = (blocks(me, edges(false)), blocks(me, edges(true)));
    let mut wanted = vec![0; part.len()];
    // What comes from above is the last row there, and so on.
    let theirs = [1, 0, 3, 2].map(|edge| edges(false)[edge].clone());
    for ((peer, theirs), own) in neighbours(me).into_iter().zip(theirs).zip(edges(true)) {
        own.indices().zip(theirs.indices()).for_each(|(at, there)| wanted[at] = cell(peer, there));
    }
    let mut received = vec![0; part.len()];
    comm.alltoallw(&part, &from, &mut received, &into).unwrap();
    assert_eq!(received, wanted);
    let mut plan = comm.alltoallw_init(&from, &into).unwrap();
    for _ in 0..2 {
        received.fill(0);
        plan.execute(&mut comm, &part, &mut received).unwrap();
        assert_eq!(received, wanted);
    }
}

/// Runs a job on a torus of 4 x 4, and returns its messages.
fn traced(backend: &dyn Backend, body: fn(Communicator)) -> Vec<TraceEvent> {
    let (tracing, endpoints) = (Tracing::new(), backend.endpoints(16));
    let log = tracing.clone();
    let job = Launch::threads().topology(topology("torus:4x4"));
    job.wrap(move |thread| -> Arc<dyn Endpoint> { Arc::new(log.wrap(Arc::clone(&endpoints[thread.rank().index()]))) })
        .run(body)
        .unwrap();
    tracing.events()
}

#[test]
fn halo_by_alltoallw_sends_four_messages_a_rank() {
    let backends: [&'static dyn Backend; 2] = [&Threads, &Tcp];
    for (backend, name) in backends.into_iter().zip(["threads", "TCP"]) {
        watched(name, move || {
            let events = traced(backend, halos);
            let mut sent = events.iter().filter(|event| event.description.starts_with("alltoallw"));
            assert!(sent.clone().all(|event| event.bytes == (SIDE * size_of::<usize>()) as u64));
            // Call 0 makes the communicator; the plan needs no call.
            let calls: Vec<u64> = (1..=3).collect();
            assert!(sent.all(|event| calls.contains(&event.call)));
            for (call, rank) in calls.iter().flat_map(|call| (0..16).map(move |rank| (*call, rank))) {
                for direction in [Direction::Out, Direction::In] {
                    let of_rank = |event: &&TraceEvent| {
                        (event.call, event.rank, event.direction) == (call, Rank::new(rank), direction)
                    };
                    let mut peers: Vec<usize> = events.iter().filter(of_rank).map(|event| event.peer.index()).collect();
                    let mut wanted = neighbours(rank);
                    peers.sort_unstable();
                    wanted.sort_unstable();
                    assert_eq!(peers, wanted, "{name}: call {call}, rank {rank}, {direction:?}");
                }
            }
        });
    }
}

/// Row 0 has an element for each of its neighbours, the other rows have nothing.
fn met(mut comm: Communicator) {
    let near = comm.neighbourhood();
    let count = |rank: usize| usize::from(rank < 4);
    let sent = [count(comm.rank()); 4];
    let expected: Vec<usize> = near.sources().flatten().map(count).collect();
    let send = vec![comm.rank(); sent.iter().sum()];
    let mut received = vec![99; expected.iter().sum()];
    comm.neighbour_alltoallv(&near, (&send, &sent), (&mut received, &expected)).unwrap();
    assert!(received.into_iter().eq(near.sources().flatten().filter(|rank| *rank < 4)));
    comm.neighbour_alltoall::<u64>(&near, &[], &mut []).unwrap();
    // Partners of one call wait for each other.
    let (to, from) = (Some((comm.rank() + 1) % 16), Some((comm.rank() + 15) % 16));
    comm.sendrecv::<u64>(&[], to, &mut [], from).unwrap();
}

/// The senders and receivers of the calls that begin with these words, in order.
fn pairs(events: &[TraceEvent], call: &str, direction: Direction) -> Vec<(usize, usize)> {
    let of_call = |event: &&TraceEvent| event.direction == direction && event.description.starts_with(call);
    let mut pairs: Vec<(usize, usize)> = events
        .iter()
        .filter(of_call)
        .map(|event| (event.rank.index(), event.peer.index()))
        .map(|(rank, peer)| if direction == Direction::Out { (rank, peer) } else { (peer, rank) })
        .collect();
    pairs.sort_unstable();
    pairs
}

/// Runs a job over both backends. The calls that begin with these words have messages between these
/// senders and receivers, and no others.
fn check_pairs(body: fn(Communicator), wanted: &[(&'static str, Vec<(usize, usize)>)]) {
    let backends: [&'static dyn Backend; 2] = [&Threads, &Tcp];
    for (backend, name) in backends.into_iter().zip(["threads", "TCP"]) {
        let events = watched(name, move || traced(backend, body));
        for (call, wanted) in wanted {
            for direction in [Direction::Out, Direction::In] {
                assert_eq!(pairs(&events, call, direction), *wanted, "{name}: {call}, {direction:?}");
            }
        }
    }
}

#[test]
fn empty_blocks_of_neighbours_are_no_messages() {
    let all = (0..16).flat_map(|rank| neighbours(rank).map(|peer| (rank, peer)));
    let mut wanted: Vec<(usize, usize)> = all.filter(|&(rank, peer)| rank < 4 || peer < 4).collect();
    wanted.sort_unstable();
    let circle = (0..16).map(|rank| (rank, (rank + 1) % 16)).collect();
    check_pairs(met, &[("neighbour_alltoallv ", wanted), ("neighbour_alltoall ", vec![]), ("sendrecv", circle)]);
}

/// Every third rank has an element for the root, or gets one from it.
fn rooted(mut comm: Communicator) {
    let (me, root) = (comm.rank(), 5);
    let counts: Vec<usize> = (0..16).map(|rank| usize::from(rank % 3 == 0)).collect();
    let all: Vec<usize> = (0..16).filter(|rank| rank % 3 == 0).collect();
    let own = vec![me; counts[me]];
    let mut gathered = vec![99; all.len()];
    comm.gatherv(&own, (me == root).then_some(&mut gathered[..]), &counts, root).unwrap();
    assert!(me != root || gathered == all);
    let mut part = vec![99; counts[me]];
    comm.scatterv((me == root).then_some(&all[..]), &counts, &mut part, root).unwrap();
    assert_eq!(part, own);
}

#[test]
fn empty_blocks_of_a_root_are_no_messages() {
    let gathered: Vec<(usize, usize)> = (0..6).map(|i| (3 * i, 5)).collect();
    let scattered = gathered.iter().map(|&(rank, root)| (root, rank)).collect();
    check_pairs(rooted, &[("gatherv", gathered), ("scatterv", scattered)]);
}
