//! `necklace-exchange` in all its forms.

use std::collections::BTreeSet;
use std::sync::Arc;

use necklace::Rank;
use necklace::algorithm::alltoall::NecklaceExchange;
use necklace::algorithm::{Algorithm, find};
use necklace::collective::Collective;
use necklace::schedule::{Block, End, Problem, Volume, verify_shares};
use necklace::topology::Hypercube;

fn on_cube(d: usize) -> Problem {
    Problem::new(Arc::new(Hypercube::new(d).unwrap()), Collective::Alltoall).unwrap()
}

fn form(scheme: usize, width: usize) -> Arc<dyn Algorithm> {
    find(&Collective::Alltoall, &format!("necklace-exchange:scheme={scheme},width={width}")).unwrap()
}

fn every_form() -> impl Iterator<Item = Arc<dyn Algorithm>> {
    (1..=4).flat_map(|scheme| [0, 1, 3].map(|width| form(scheme, width)))
}

#[test]
fn share_of_a_rank_is_that_of_rank_0_translated() {
    for d in 0..=8 {
        let problem = on_cube(d);
        // Of the larger cubes the form that is executed, and that of single elements.
        let forms = every_form().filter(|form| {
            d <= 6 || form.name().starts_with("necklace-exchange:scheme=4") || form.name() == "necklace-exchange"
        });
        for form in forms {
            let translated = |by: usize, rounds: &[necklace::schedule::RankRound]| -> Vec<_> {
                let moved = |rank: i32| Rank::new(rank as usize ^ by);
                let blocks = |end: &End| -> BTreeSet<Block> {
                    end.blocks
                        .iter()
                        .map(|block| Block::new(moved(block.source()), moved(block.destination())))
                        .collect()
                };
                let ends =
                    |ends: &[End]| -> Vec<_> { ends.iter().map(|end| (end.peer.index() ^ by, blocks(end))).collect() };
                rounds.iter().map(|round| (ends(&round.sends), ends(&round.receives))).collect()
            };
            let of = |rank: usize| form.share(&problem, Rank::new(rank)).unwrap().collect::<Vec<_>>();
            let first = of(0);
            for rank in 0..1 << d {
                assert_eq!(translated(0, &of(rank)), translated(rank, &first), "{} {d} {rank}", form.name());
            }
        }
    }
}

#[test]
fn all_channels_are_busy_in_every_step_and_all_arrives() {
    for d in 1..=8_usize {
        let problem = on_cube(d);
        for scheme in 1..=4 {
            let form = form(scheme, 1);
            let proof = verify_shares(form.shares(&problem).unwrap()).unwrap();
            assert_eq!(
                proof.contradicts(&form.claims(&problem).completed(form.about().ports)),
                [],
                "{} {d}",
                form.name()
            );
            if scheme == 1 {
                continue;
            }
            for round in form.shares(&problem).unwrap() {
                let round = round.round;
                assert!(round.transfers.iter().all(|transfer| transfer.blocks.len() == 1));
                let channels: BTreeSet<(Rank, Rank)> =
                    round.transfers.iter().map(|it| (it.source, it.destination)).collect();
                assert_eq!((round.transfers.len(), channels.len()), (d << d, d << d), "{} {d}", form.name());
            }
        }
    }
}

/// What lies together in memory lies together in messages: blocks by destinations, and of one
/// destination by sources.
#[test]
fn messages_are_in_order() {
    let problem = on_cube(5);
    for form in every_form() {
        for rank in [0, 13, 31] {
            for round in form.share(&problem, Rank::new(rank)).unwrap() {
                for end in round.sends.iter().chain(&round.receives) {
                    let ends: Vec<(i32, i32)> =
                        end.blocks.iter().map(|block| (block.destination(), block.source())).collect();
                    assert!(ends.is_sorted(), "{} rank {rank}: {ends:?}", form.name());
                }
            }
        }
    }
}

#[test]
fn every_form_keeps_its_claims() {
    for d in 0..=6 {
        let problem = on_cube(d);
        for form in every_form() {
            let proof = verify_shares(form.shares(&problem).unwrap()).unwrap();
            assert_eq!(
                proof.contradicts(&form.claims(&problem).completed(form.about().ports)),
                [],
                "{} {d}",
                form.name()
            );
            assert!(proof.keeps(form.about().ports));
        }
    }
}

#[test]
fn a_cube_of_six_dimensions_takes_six_rounds_and_32_blocks() {
    let (form, problem) = (NecklaceExchange::default(), on_cube(6));
    let proof = verify_shares(form.shares(&problem).unwrap()).unwrap();
    assert_eq!((proof.startups, proof.transmission, proof.contention_free), (6, Volume::from(32), true));
    // Blocks of five or six: ceil(32 / 6) at most.
    let sizes: BTreeSet<usize> = form
        .shares(&problem)
        .unwrap()
        .flat_map(|joined| joined.round.transfers.into_iter().map(|transfer| transfer.blocks.len()))
        .collect();
    assert_eq!(sizes, BTreeSet::from([5, 6]));
}
