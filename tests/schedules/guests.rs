//! Schedules for guests on the channels of their hosts.

use std::sync::Arc;

use necklace::Node;
use necklace::algorithm::{candidates, find};
use necklace::collective::Collective;
use necklace::machine::Machine;
use necklace::schedule::{Ports, Problem, from_json, to_json, verify, verify_shares};
use necklace::select::{Terms, select};
use necklace::topology::{Topology, conformance, parse};
use necklace_tests::checker::check_schedule;

/// Networks with a guest: dilation 1, long paths, shared links, free nodes, all ways to name them.
const EMBEDDED: [&str; 12] = [
    "torus:4x4@how:16,3,1",
    "torus:4x4@how:16,3,1:straight",
    "torus:4x4@hypercube:4",
    "hypercube:3@how:3,2,2",
    "hypercube:4@how:4,2,2:natural",
    "ring:7@how:3,2,2",
    "mesh:3x4@line:12",
    "mesh:3x3@torus:3x4:identity",
    "binary-tree:3@how:7,2,1",
    "ghc:3,2@how-wrap:9,2,1",
    "complete:6@ring:7:search:4",
    "line:5@complete:5",
];

fn collectives() -> Vec<Collective> {
    Collective::syntax()
        .split(", ")
        .filter_map(|text| Collective::named(text.split('[').next().unwrap(), necklace::Rank::new(0)))
        .collect()
}

#[test]
fn embedded_networks_keep_the_promises_of_topologies() {
    for text in EMBEDDED {
        let topology = parse(text).unwrap();
        assert_eq!(conformance::run_all(&topology), Ok(()), "{text}");
        let embedding = topology.embedding().unwrap();
        assert_eq!(topology.nodes(), embedding.host().nodes());
        assert_eq!(topology.ranks(), embedding.guest().nodes());
        assert_eq!(topology.edges(), embedding.host().edges());
    }
}

/// All algorithms that fit the guest make schedules that are verified on the host, that the
/// independent checker accepts, and that keep to their claims.
#[test]
fn algorithms_of_the_guest_are_verified_on_the_host() {
    let (mut schedules, mut longer) = (0, 0);
    for text in EMBEDDED {
        let topology = parse(text).unwrap();
        let embedding = topology.embedding().unwrap().clone();
        for collective in collectives() {
            let problem = Problem::new(Arc::clone(&topology), collective.clone()).unwrap();
            let on_guest = Problem::new(Arc::clone(embedding.guest()), collective.clone()).unwrap();
            for algorithm in candidates(&problem).into_iter().filter(|one| one.priced_as().is_none()) {
                let name = format!("{} by {} on {text}", collective, algorithm.name());
                assert_eq!(algorithm.fits(&problem).is_ok(), algorithm.fits(&on_guest).is_ok(), "{name}");
                if algorithm.fits(&problem).is_err() {
                    continue;
                }
                let schedule = algorithm.shares(&problem).unwrap().collect().unwrap();
                let proof = verify(&schedule).unwrap_or_else(|violations| panic!("{name}: {violations}"));
                let claims = algorithm.claims(&problem);
                assert_eq!(proof.contradicts(&claims), [], "{name}");
                assert!(proof.keeps(algorithm.ports(&problem)), "{name}");
                let amounts: Vec<Vec<_>> =
                    problem.all().map(|rank| algorithm.amounts(&problem, rank).collect()).collect();
                for (rank, amounts) in problem.all().zip(amounts) {
                    let rounds = algorithm.share(&problem, rank).unwrap();
                    let routes = |round: necklace::schedule::RankRound| {
                        round.sends.into_iter().map(|end| end.route).collect::<Vec<_>>()
                    };
                    let sent: Vec<Vec<_>> = rounds.map(routes).collect();
                    let of = |amounts: necklace::schedule::RankAmounts| {
                        amounts.sends.into_iter().map(|sent| sent.route).collect::<Vec<_>>()
                    };
                    assert_eq!(amounts.into_iter().map(of).collect::<Vec<_>>(), sent, "{name}");
                }
                let guest_proof = verify_shares(algorithm.shares(&on_guest).unwrap()).unwrap();
                assert_eq!(proof.startups, guest_proof.startups);
                longer += usize::from(proof.hops > guest_proof.hops);
                schedules += 1;
            }
        }
    }
    assert!(schedules > 700 && longer > 300, "{schedules} schedules, {longer} with longer routes");
}

/// A document names the host and the nodes of the ranks, so that a reader need not know embeddings.
#[test]
fn documents_place_ranks_on_the_host() {
    for text in EMBEDDED {
        let topology = parse(text).unwrap();
        let problem = Problem::new(Arc::clone(&topology), Collective::Alltoall).unwrap();
        let algorithm = find(&Collective::Alltoall, "direct").unwrap();
        let schedule = algorithm.shares(&problem).unwrap().collect().unwrap();
        let document = to_json(&schedule);
        let read = from_json(&document).unwrap();
        let host = topology.embedding().unwrap().host();
        assert_eq!(read.outline.problem.topology().text(), host.text());
        assert_eq!(read.outline.problem.placement(), problem.placement());
        let [there, back] = [&schedule, &read].map(|schedule| verify(schedule).unwrap());
        assert_eq!(there, back, "{text}");
        assert!(check_schedule(&document, &[]).is_none_or(|checked| checked.is_ok()), "{text}");
    }
}

/// The congestion of an embedding is in the price: the same exchange costs more where channels are
/// shared.
#[test]
fn congestion_is_priced() {
    let price = |text: &str, name: &str| {
        let problem = Problem::new(parse(text).unwrap(), Collective::Alltoall).unwrap();
        let choice = select(&problem, name, &Terms::new(1 << 20, &Machine::PARAGON)).unwrap();
        choice.algorithm.claims(&problem).completed(Ports::One).channel_transmission.unwrap()
    };
    let [torus, fold, straight] = ["torus:4x4", "torus:4x4@how:16,3,1:fold", "torus:4x4@how:16,3,1:straight"]
        .map(|text| price(text, "torus-exchange"));
    assert_eq!([torus, fold, straight].map(|volume| volume.whole()), [Some(32), Some(64), Some(48)]);
}

#[test]
fn ports_of_the_guest_hold_only_without_congestion() {
    let ports = |text: &str| {
        let problem = Problem::new(parse(text).unwrap(), Collective::Alltoall).unwrap();
        let algorithm = find(&Collective::Alltoall, "necklace-exchange").unwrap();
        (algorithm.ports(&problem), algorithm.outline(&problem).unwrap().ports)
    };
    assert_eq!(ports("hypercube:4"), (Ports::All, Ports::All));
    assert_eq!(ports("hypercube:4@how:4,2,2:natural"), (Ports::All, Ports::All));
    assert_eq!(ports("hypercube:3@how:3,2,2"), (Ports::Unlimited, Ports::Unlimited));
}

/// Many messages are not counted for claims, so that nothing is claimed if channels may be shared.
#[test]
fn uncounted_schedules_do_not_claim_to_be_free_of_contention() {
    for (text, name, proves) in [
        ("ring:225@mesh:15x15", "ring", false),
        ("torus:20x20@line:400", "neighbour-exchange", false),
        ("torus:16x16@line:256", "by-dimension", false),
        ("ring:256@how:256,3,1", "ring", true),
        ("ring:224@mesh:14x16", "ring", true),
    ] {
        let problem = Problem::new(parse(text).unwrap(), Collective::Allgather).unwrap();
        let claims = find(&Collective::Allgather, name).unwrap().claims(&problem);
        let congestion = problem.topology().embedding().unwrap().measures().congestion;
        assert_eq!((claims.contention_free, congestion <= 1), (proves, proves), "{name} on {text}");
        let terms = Terms::new(8, &Machine::TCP).keeping(Ports::All);
        let chosen = select(&problem, "auto", &terms).map(|choice| choice.algorithm.claims(&problem).contention_free);
        assert!(chosen.is_err() || chosen.is_ok_and(|free| free), "auto on {text}");
    }
}

/// Prices of guests are those of the counted schedules, unless they are marked as lower bounds.
#[test]
fn claims_on_guests_are_the_counts_of_the_host() {
    let texts = ["torus:4x4@how:16,3,1", "mesh:3x3@line:9", "hypercube:4@torus:4x4", "ring:7@line:7", "ring:6@ring:6"];
    for (text, name) in
        texts.into_iter().flat_map(|text| ["alltoall", "allgather", "broadcast"].map(|name| (text, name)))
    {
        let collective = Collective::named(name, necklace::Rank::new(0)).unwrap();
        let problem = Problem::new(parse(text).unwrap(), collective).unwrap();
        for algorithm in candidates(&problem).into_iter().filter(|one| one.fits(&problem).is_ok()) {
            if algorithm.priced_as().is_some() || algorithm.name().contains("chunks=") {
                continue;
            }
            let proof = verify_shares(algorithm.shares(&problem).unwrap()).unwrap();
            let claims = algorithm.claims(&problem);
            assert_eq!(proof.contradicts(&claims), [], "{} on {text}", algorithm.name());
            let chained = [claims.chained_hops.or(claims.hops), claims.hops.map(|_| proof.chained_hops)];
            assert_eq!(chained[0], chained[1], "{} for {name} on {text}", algorithm.name());
        }
    }
}

/// Ranks on nodes without a guest: algorithms then work on the host.
#[test]
fn ranks_may_be_placed_otherwise() {
    let topology = parse("hypercube:3@how:3,2,2").unwrap();
    let placed = |nodes: &[usize]| {
        let nodes: Vec<Node> = nodes.iter().copied().map(Node::new).collect();
        let placement = necklace::schedule::Placement::new(nodes, 9).unwrap();
        Problem::placed(Arc::clone(&topology), placement, Collective::Allgather).unwrap()
    };
    // Nodes 0, 1, 2, 5, 6, 7, 3 and 4 have a guest, 8 has none.
    let on_guest = placed(&[4, 0, 5]).on_guest().unwrap();
    let nodes: Vec<usize> = on_guest.all().map(|rank| on_guest.placement().node(rank).index()).collect();
    assert_eq!((on_guest.topology().text().as_str(), nodes), ("hypercube:3", vec![7, 0, 3]));
    let on_host = placed(&[8, 0, 5]);
    assert!(on_host.on_guest().is_none());
    for problem in [placed(&[4, 0, 5]), on_host] {
        let ring = find(&Collective::Allgather, "ring").unwrap();
        assert_eq!(verify_shares(ring.shares(&problem).unwrap()).unwrap().startups, 2);
    }
}
