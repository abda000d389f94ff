//! The memory that planning, simulating, reading and verifying schedules takes, and its estimates.

use std::sync::Arc;

use necklace::Rank;
use necklace::algorithm::alltoall::{NecklaceExchange, Ring, TorusExchange};
use necklace::algorithm::{Algorithm, find};
use necklace::collective::Collective;
use necklace::machine::Machine;
use necklace::plan::{Layout, compile};
use necklace::schedule::{Block, Problem, from_json, memory_to_sample, memory_to_verify, verify_sample, verify_shares};
use necklace::simulate::Simulation;
use necklace::topology::{Complete, Grid, Hypercube, parse};

use crate::counting::counted;

#[test]
fn plan_memory_covers_only_the_ranks_own_blocks() {
    let per_block = [16_usize, 32, 64].map(|extent| {
        let torus = Arc::new(Grid::torus(&[extent, extent]).unwrap());
        let problem = Problem::new(torus, Collective::Alltoall).unwrap();
        let ranks = problem.ranks();
        // What it sends, by the paper, and as much that it receives; what it starts and ends with.
        let blocks = 2 * (extent + 4) * ranks / 4 + 2 * ranks;
        let rank = Rank::new(ranks / 2 + 3);
        let (plan, count) = counted(|| {
            let before: Vec<Block> = problem.all().map(|to| Block::new(rank, to)).collect();
            let after: Vec<Block> = problem.all().map(|from| Block::new(from, rank)).collect();
            let layout = Layout::consecutive(8, 1, &before, &after).unwrap();
            compile(TorusExchange.share(&problem, rank).unwrap(), &layout).unwrap()
        });
        assert!(!plan.program().rounds().is_empty());
        (count.peak as f64 / blocks as f64, count.bytes as f64 / blocks as f64)
    });
    for (peak, bytes) in per_block {
        assert!(peak < 80.0, "{peak} bytes a block at once");
        assert!(bytes < 1000.0, "{bytes} bytes a block in all");
        assert!(peak < 1.5 * per_block[0].0 && peak > per_block[0].0 / 2.0, "out of proportion: {per_block:?}");
        assert!(bytes < 1.5 * per_block[0].1 && bytes > per_block[0].1 / 2.0, "out of proportion: {per_block:?}");
    }
}

/// Relative addresses are the same for every rank.
#[test]
fn necklace_exchange_shares_refer_to_one_table() {
    let problem = Problem::new(Arc::new(Hypercube::new(9).unwrap()), Collective::Alltoall).unwrap();
    let exchange = NecklaceExchange::default();
    let sent = problem.ranks() as i64 / 2 * 9;
    let held = |ranks: usize, rounds: usize| {
        let work = || {
            let mut shares: Vec<_> = problem.all().take(ranks).map(|rank| exchange.rounds(&problem, rank)).collect();
            shares.iter_mut().for_each(|share| assert!(share.by_ref().take(rounds).count() <= rounds));
            shares
        };
        let (shares, count) = counted(work);
        drop(shares);
        count.held
    };
    for rounds in [0, 1, 4] {
        let (one, all) = (held(1, rounds), held(problem.ranks(), rounds));
        assert!(one <= 12 * sent, "{one} bytes for {sent} elements");
        let each = (all - one) / (problem.ranks() as i64 - 1);
        assert!(each <= 256, "{each} bytes a rank beside the table, after {rounds} rounds");
    }
    let (_, count) = counted(|| held(2, 9));
    assert!(count.held <= 1024, "{count:?} after all shares are gone");
}

/// Almost all that a rank of a ring has to do with it passes on.
#[test]
fn relayed_blocks_take_little_memory_during_planning() {
    let ranks = 400;
    let problem = Problem::new(Arc::new(Complete::new(ranks).unwrap()), Collective::Alltoall).unwrap();
    let rank = Rank::new(7);
    let ((), count) = counted(|| {
        let before: Vec<Block> = problem.all().map(|to| Block::new(rank, to)).collect();
        let after: Vec<Block> = problem.all().map(|from| Block::new(from, rank)).collect();
        let layout = Layout::consecutive(8, 1, &before, &after).unwrap();
        drop(compile(Ring.share(&problem, rank).unwrap(), &layout).unwrap());
    });
    let sent = (ranks * (ranks - 1) / 2) as i64;
    assert!(count.peak < 90 * sent, "{} bytes a block at once", count.peak as f64 / sent as f64);
}

/// How much is sent is known without naming it.
#[test]
fn simulation_of_long_messages_lists_no_blocks() {
    let problem = Problem::new(Arc::new(Grid::torus(&[16, 16]).unwrap()), Collective::Alltoall).unwrap();
    let (played, count) = counted(|| Simulation::new(&Machine::PARAGON, 64).play(&TorusExchange, &problem).unwrap());
    // Ten rounds; their blocks are 1280 a rank, each of them named twice, in 20 bytes.
    assert_eq!(played.messages, 256 * 10);
    assert!(count.bytes < 256 * 1280 * 20, "{count:?}");
}

/// Nor does what ranks do by themselves take any room in it.
#[test]
fn simulation_memory_depends_on_ranks_not_on_local_steps() {
    for dimensions in [7, 9] {
        let (problem, algorithm) = named(&format!("hypercube:{dimensions}"), "reduce_scatter", "pairwise");
        let (played, count) = counted(|| Simulation::new(&Machine::PARAGON, 8).play(&*algorithm, &problem).unwrap());
        let ranks = 1 << dimensions;
        assert_eq!(played.messages, ranks * (ranks - 1));
        assert!(count.peak < 1000 * ranks as i64, "{ranks} ranks: {count:?}");
    }
}

/// Short lists take the least text.
#[test]
fn document_memory_is_proportional_to_its_text() {
    const BLOCK: &str = "[[0,0],[0,0,0,1],[0,1]],";
    for (begins, element, ends) in [
        ("\"phases\":[", "\"\",", ""),
        ("\"placement\":[", "0,", ""),
        ("\"edges\":[", "[0,1],", ""),
        ("\"pre\":[", "[],", ""),
        ("\"pre\":[", "[[[0,0],[0]]],", ""),
        ("\"post\":[[", "[[0,0],[0]],", "]"),
        ("\"post\":[[[[0,0],[", "0,", "]]]]"),
        ("\"rounds\":[", "{\"transfers\":[]},", ""),
        ("\"rounds\":[", "[0,[]],", ""),
        ("\"rounds\":[", "{\"transfers\":[{\"src\":0,\"dst\":1,\"route\":[0],\"blocks\":[[0,1]]}]},", ""),
        ("\"rounds\":[{\"transfers\":[", "{\"src\":0,\"dst\":1,\"blocks\":[]},", "]}"),
        ("\"rounds\":[{\"transfers\":[{\"src\":0,\"dst\":1,\"blocks\":[", "[0,1],", "]}]}"),
        ("\"rounds\":[{\"transfers\":[{\"src\":0,\"dst\":1,\"blocks\":[],\"route\":[", "0,", "]}]}"),
        ("\"rounds\":[{\"transfers\":[],\"local\":[", "{\"rank\":0,\"from\":[0,1],\"into\":[0,1]},", "]}"),
        ("\"else\":[", BLOCK, ""),
        ("\"nodes\":[", BLOCK, ""),
        ("\"algorithm\":\"", "\x7f", "\""),
    ] {
        // A power of two of elements fills what a list that doubles allocates.
        let elements = element.repeat(1 << 17);
        let elements = elements.strip_suffix(',').unwrap_or(&elements);
        let close = if ends == "\"" { "" } else { "]" };
        let text = format!("{{{begins}{elements}{ends}{close}}}");
        let (read, count) = counted(|| from_json(&text).map(drop));
        let name = format!("{begins} {element}");
        assert!(read.is_err(), "{name} is a schedule");
        let most = 8 * text.len() as i64 + 100_000;
        assert!(count.peak <= most, "{name}: {} bytes of {}", count.peak, text.len());
    }
}

/// Returns the named problem, and an algorithm for it.
fn named(topology: &str, collective: &str, algorithm: &str) -> (Problem, Arc<dyn Algorithm>) {
    let kind = Collective::named(collective, Rank::new(0)).unwrap();
    let problem = Problem::new(parse(topology).unwrap(), kind).unwrap();
    let algorithm = find(problem.collective(), algorithm).unwrap();
    (problem, algorithm)
}

/// Estimates are of what the system counts: more than is allocated at once, since freed memory lies
/// in pieces.
#[test]
fn proof_memory_estimate_is_not_too_low() {
    let mut wrong = Vec::new();
    for (topology, collective, algorithm) in [
        ("complete:300", "alltoall", "direct"),
        ("complete:300", "alltoall", "direct-rotated"),
        ("complete:300", "alltoall", "bruck:ports=all"),
        ("torus:16x18", "alltoall", "direct"),
        ("torus:16x16", "alltoall", "torus-exchange"),
        ("torus:20x20", "alltoall", "torus-exchange"),
        ("mesh:15x16", "alltoall", "mesh-exchange"),
        ("mesh:17x17", "alltoall", "by-dimension"),
        ("ring:129", "alltoall", "ring"),
        ("line:250", "alltoall", "ring"),
        ("ring:200", "alltoall", "ring-both"),
        ("ring:450", "alltoall", "bruck"),
        ("hypercube:8", "alltoall", "cube-log"),
        ("hypercube:8", "alltoall", "necklace-exchange"),
        ("hypercube:9", "allgather", "recursive-doubling"),
        ("ring:300", "allgather", "ring"),
        ("ring:450", "barrier", "dissemination"),
        ("ring:3000", "allreduce", "recursive-doubling"),
        // Most channels are never used.
        ("complete:3000", "allreduce", "recursive-doubling"),
        ("ring:3000", "broadcast", "binomial"),
        ("complete:3000", "broadcast", "binomial"),
        ("ring:500", "reduce_scatter", "pairwise"),
        ("complete:600", "reduce_scatter", "pairwise"),
        ("hypercube:9", "reduce_scatter", "recursive-halving"),
        ("complete:20000", "gather", "direct"),
        ("complete:20000", "gather", "binomial"),
        ("complete:20000", "scatter", "direct"),
        ("complete:20000", "scatter", "binomial"),
        ("hypercube:14", "gather", "binomial"),
    ] {
        let (problem, algorithm) = named(topology, collective, algorithm);
        let estimate = memory_to_verify(&*algorithm, &problem).unwrap();
        let (proof, count) = counted(|| verify_shares(algorithm.shares(&problem).unwrap()));
        proof.unwrap();
        let peak = count.peak as u128;
        let name = format!("{collective} on {topology} by {}", algorithm.name());
        wrong.extend((peak * 4 / 3 > estimate || estimate > 3 * peak).then_some((name, peak, estimate)));
    }
    assert!(wrong.is_empty(), "taken and estimated: {wrong:#?}");
}

#[test]
fn sample_memory_estimate_is_not_too_low() {
    let mut wrong = Vec::new();
    for (topology, collective, algorithm) in [
        ("complete:1000", "alltoall", "direct"),
        ("complete:600", "alltoall", "direct-rotated"),
        ("complete:1000", "alltoall", "bruck"),
        ("torus:32x32", "alltoall", "torus-exchange"),
        ("mesh:30x30", "alltoall", "mesh-exchange"),
        ("torus:30x30", "alltoall", "by-dimension"),
        ("line:300", "alltoall", "ring"),
        ("hypercube:10", "alltoall", "cube-log"),
        ("hypercube:9", "alltoall", "necklace-exchange"),
        ("hypercube:12", "allgather", "recursive-doubling"),
        ("complete:3000", "barrier", "dissemination"),
        ("complete:20000", "gather", "direct"),
        ("complete:20000", "gather", "binomial"),
        ("complete:20000", "scatter", "direct"),
        ("complete:20000", "scatter", "binomial"),
        ("hypercube:14", "gather", "binomial"),
    ] {
        let (problem, algorithm) = named(topology, collective, algorithm);
        for ranks in [1, 8] {
            let estimate = memory_to_sample(&*algorithm, &problem, ranks, u128::MAX).unwrap();
            let some = (0..ranks).map(|i| Rank::new(i * problem.ranks() / ranks));
            let (sample, count) = counted(|| verify_sample(&*algorithm, &problem, some, |_| ()));
            sample.unwrap();
            let peak = count.peak as u128;
            let name = format!("{ranks} ranks' parts of {collective} on {topology} by {}", algorithm.name());
            wrong.extend((peak > estimate || estimate > 6 * peak).then_some((name, peak, estimate)));
        }
    }
    assert!(wrong.is_empty(), "taken and estimated: {wrong:#?}");
}
