//! Schedules survive the way through JSON, the independent checker agrees with the verifier, and
//! bad text is an error.
use std::io::Write;
use std::sync::Arc;

use crate::fixtures::plain::Plain;
use crate::fixtures::*;
use necklace::Node;
use necklace::algorithm::Algorithm;
use necklace::algorithm::cube::Succession;
use necklace::algorithm::shift::Ring;
use necklace::collective::Collective;
use necklace::error::BuildError;
use necklace::permutation::{BitMap, Permutation};
use necklace::schedule::{
    Block, JsonError, JsonWriter, Outline, Placement, Ports, Problem, Round, Schedule, Verifier, from_json, read_json,
    share_json, to_json, verify, write_json,
};
use necklace::topology::{Graph, Topology, parse};
use necklace_tests::checker::check_schedule;
use quickcheck::{Arbitrary, Gen};
use serde_json::{Value, json};

/// The fixtures, and what else a document can hold: a graph with links of its own, routes that are
/// not the default, ranks on some of the nodes.
fn documents() -> Vec<Fixture> {
    let mut documents = all();
    let mut add = |name: &str, schedule: Schedule| {
        documents.push(Fixture { name: name.to_owned(), schedule, chained: false });
    };
    let pair = |topology: Arc<dyn Topology>, nodes: &[usize]| {
        let nodes: Vec<Node> = nodes.iter().copied().map(Node::new).collect();
        let placement = Placement::new(nodes, topology.nodes()).unwrap();
        let problem = Problem::placed(topology, placement, Collective::Broadcast { root: rank(0) }).unwrap();
        let phases = vec!["the \"only\" one".to_owned()];
        let outline = Outline::new(problem, "x:y=1", Ports::All).contention_free().with_phases(phases);
        Schedule::new(outline, vec![round(vec![send(0, 1, vec![Block::from(rank(0))])])])
    };
    let kite = || Graph::from_edges([(0, 1), (1, 2), (2, 0), (2, 3)]).unwrap();
    add("ranks on a graph", pair(Arc::new(kite()), &[3, 0]));
    add("ranks on a graph from a file", pair(Arc::new(kite().with_path("/no/such \"file\"")), &[1, 3]));
    add("a line of two on a ring", pair(necklace::topology::parse("ring:6").unwrap(), &[0, 1]));
    let mut long = pair(necklace::topology::parse("torus:3x4").unwrap(), &[0, 5]);
    long.rounds[0].transfers[0] = via(long.rounds[0].transfers[0].clone(), &[0, 3, 2, 1, 5]);
    add("the long way round", long);
    for succession in [Succession::pipelined(2, 3, 3), Succession::concurrent(5, 1, 4), Succession::concurrent(3, 2, 4)]
    {
        let succession = succession.unwrap();
        let problem = succession.problem().unwrap();
        add(&succession.name(), succession.shares(&problem).unwrap().collect().unwrap());
    }
    let cube = necklace::topology::parse("hypercube:3").unwrap();
    for map in [BitMap::bit_reversal(6), BitMap::unshuffle(5), BitMap::unshuffle(7), BitMap::vector_reversal(6)] {
        let permutation = Permutation::new(map.unwrap(), Arc::clone(&cube), Placement::identity(8)).unwrap();
        let problem = permutation.problem().unwrap();
        add(&permutation.name(), permutation.shares(&problem).unwrap().collect().unwrap());
    }
    documents
}

/// All that is in a schedule, as text.
fn content(schedule: &Schedule) -> String {
    let Outline { problem, algorithm, ports, contention_free, phases, .. } = &schedule.outline;
    let (topology, placement, collective) = (problem.topology(), problem.placement(), problem.collective());
    let nodes: Vec<Node> = problem.all().map(|rank| placement.node(rank)).collect();
    let network = format!("{} {:?} {nodes:?}", topology.text(), topology.edges());
    let promise = format!("{collective:?} {} {algorithm:?} {ports} {contention_free}", problem.commutative());
    format!("{network} {promise} {phases:?} {:?}", schedule.rounds)
}

/// Checks a document with the independent checker, if there is one.
fn check(document: &str, ports: Ports, contention_free: bool) -> Option<Result<Value, String>> {
    let ports = if ports == Ports::Unlimited { vec![] } else { vec!["--ports", ports.name()] };
    let free = contention_free.then_some("--contention-free");
    check_schedule(document, &ports.into_iter().chain(free).collect::<Vec<_>>())
}

#[test]
fn json_round_trip_keeps_schedules() {
    for Fixture { name, schedule, .. } in documents() {
        let text = to_json(&schedule);
        let back = from_json(&text).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
        assert_eq!(content(&back), content(&schedule), "{name}");
        assert_eq!(to_json(&back), text, "{name}");
        let streamed = read_json(&write_json(&schedule, Vec::new()).unwrap()[..]).unwrap();
        assert_eq!(to_json(&streamed), text, "{name}");
        assert_eq!(verify(&back).unwrap(), verify(&schedule).unwrap(), "{name}");
    }
}

#[test]
fn checker_accepts_every_export_with_equal_counts() {
    for Fixture { name, schedule, .. } in documents() {
        let proof = verify(&schedule).unwrap();
        let (ports, free) = (proof.ports(), proof.contention_free);
        let text = to_json(&schedule);
        let Some(figures) = check(&text, ports, free) else { return };
        let figures = figures.unwrap_or_else(|said| panic!("{name}: {said}\n{text}"));
        let number = |name: &str| figures[name].as_f64().unwrap();
        let close = |ours: f64, name: &str| assert!((ours - number(name)).abs() < 1e-5, "{name}: {ours}, {figures}");
        close(proof.rounds as f64, "rounds");
        close(proof.startups as f64, "active_rounds");
        close(proof.transmission.as_f64(), "transmission");
        close(proof.channel_transmission.as_f64(), "channel_transmission");
        close(proof.hops as f64, "hops");
        close(proof.link_blocks.as_f64(), "link_blocks");
        close(proof.busiest_channel_total.as_f64(), "busiest_channel_total");
        close(proof.max_transfers_on_a_channel as f64, "max_transfers_on_a_channel");
        close(proof.max_sends as f64, "max_sends");
        close(proof.max_receives as f64, "max_receives");
        assert_eq!(figures["same_value"], proof.same_value, "{name}");
    }
}

#[test]
fn checker_and_verifier_refuse_the_same_documents() {
    for Fixture { name, mut schedule, .. } in documents() {
        let Some(r) = schedule.rounds.iter().rposition(|round| !round.transfers.is_empty()) else { continue };
        schedule.rounds[r].transfers.pop();
        let (ports, free) = (schedule.outline.ports, schedule.outline.contention_free);
        assert!(verify(&schedule).is_err(), "{name}");
        let Some(figures) = check(&to_json(&schedule), ports, free) else { return };
        assert!(figures.is_err(), "{name}");
    }
}

#[test]
fn network_without_text_is_written_with_its_links() {
    let own = Plain::new(Graph::from_edges([(0, 1), (1, 2), (2, 0)]).unwrap(), "dragonfly:1");
    let problem = Problem::new(Arc::new(own), Collective::Allgather).unwrap();
    let mut schedule = ring_allgather(3);
    schedule.outline.problem = problem;
    let text = to_json(&schedule);
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&document["topology"], &document["edges"]),
        (&json!("graph:dragonfly:1"), &json!([[0, 1], [0, 2], [1, 2]]))
    );
    let back = from_json(&text).unwrap();
    assert_eq!(back.outline.problem.topology().edges(), schedule.outline.problem.topology().edges());
    assert!(verify(&back).is_ok());
}

#[test]
fn documented_example_of_the_format_is_read() {
    let text = r#"{"format":"necklace-schedule/1","topology":"torus:12x12","nodes":144,"collective":"alltoall","root":null,
     "algorithm":"torus-exchange","ports":"one","commutative":true,
     "rounds":[{"transfers":[{"src":0,"dst":4,"route":[0,1,2,3,4],"reduce":false,
                              "blocks":[[0,5],[0,6],[0,7,1,2],[0,8,0,6,3]]}],
                "local":[{"rank":4,"from":[-2,0],"into":[-1,4],"reduce":"left"}]}]}"#;
    let schedule = from_json(text).unwrap();
    let blocks: Vec<String> = schedule.rounds[0].transfers[0].blocks.iter().map(ToString::to_string).collect();
    assert_eq!(blocks, ["[0, 5]", "[0, 6]", "[0, 7, 1, 2]", "[0, 8, 0, 6, 3]"]);
    assert_eq!((schedule.outline.ports, schedule.outline.contention_free), (Ports::One, false));
    assert_eq!(schedule.outline.phases, ["torus-exchange"]);
    let figures = verify(&schedule).unwrap_err().figures().clone();
    assert_eq!((figures.transmission.to_string().as_str(), figures.hops), ("3", 4));
}

/// A good document, to be spoilt.
fn good() -> Value {
    json!({
        "format": "necklace-schedule/1", "topology": "ring:4", "nodes": 4, "collective": "broadcast", "root": 0,
        "rounds": [
            {"transfers": [{"src": 0, "dst": 1, "blocks": [[0, -1]]}, {"src": 0, "dst": 3, "blocks": [[0, -1]]}]},
            {"transfers": [{"src": 1, "dst": 2, "blocks": [[0, -1]], "route": null}]},
        ],
    })
}

#[test]
fn optional_members_have_defaults() {
    let schedule = from_json(&good().to_string()).unwrap();
    assert_eq!(schedule.outline.ports, Ports::Unlimited);
    assert_eq!(verify(&schedule).unwrap().ports(), Ports::SameValue);
}

#[test]
fn errors_name_the_place_the_value_and_what_is_allowed() {
    let spoilt = |path: &str, value: Value| {
        let mut document = good();
        match document.pointer_mut(path) {
            Some(place) => *place = value,
            None => drop(document.as_object_mut().unwrap().insert(path.to_owned(), value)),
        }
        from_json(&document.to_string()).map(|schedule| content(&schedule)).unwrap_err().to_string()
    };
    let has = |text: String, words: &[&str]| {
        assert!(words.iter().all(|word| text.contains(word)), "{text:?} lacks one of {words:?}");
    };
    has(spoilt("/format", json!("netlab/2")), &["format", "netlab/2", "necklace-schedule/1"]);
    has(spoilt("/topology", json!("ring:0")), &["ring:0", "column 6"]);
    has(spoilt("/topology", json!("graph:@/etc/passwd")), &["edges", "nothing", "the links of"]);
    has(spoilt("/nodes", json!(2_000_000_000)), &["nodes", "2000000000", "4, which ring:4 has"]);
    has(spoilt("/collective", json!("all2all")), &["collective", "all2all", "alltoall, scatter"]);
    has(spoilt("/collective", json!("custom")), &["pre", "a list of 0", "4 ranks"]);
    has(spoilt("/root", Value::Null), &["root", "nothing", "0 to 3"]);
    has(spoilt("/root", json!(4)), &["rank 4", "0 to 3"]);
    has(spoilt("/root", json!(-1)), &["line 1, column", "-1", "a rank, 0 to"]);
    has(spoilt("ports", json!("two")), &["ports", "two", "one, one-send, same-value, all, unlimited"]);
    has(spoilt("placement", json!([0, 1, 2, 2])), &["rank 3", "node 2", "rank 2"]);
    has(spoilt("placement", json!([0, 1, 2, 4])), &["rank 3", "node 4", "4 nodes"]);
    has(spoilt("placement", json!([0, 1, 2, 3.0])), &["floating point", "a node, 0 to"]);
    has(spoilt("/rounds/0/transfers/0/src", json!(4_000_000_000_u64)), &["4000000000", "a rank, 0 to 2147483646"]);
    has(spoilt("/rounds/0/transfers/0/blocks/0", json!([0])), &["length 1", "[source, destination, i, k]"]);
    has(spoilt("/rounds/0/transfers/0/blocks/0", json!([0, -1, 0])), &["length 3"]);
    has(spoilt("/rounds/0/transfers/0/blocks/0", json!([0, 0, 0, 1, 1, 1])), &["length 6"]);
    let chunks = ["i + c at most k", "k from 1 to 1048576"];
    for block in
        [json!([0, -1, 2, 2]), json!([0, -1, 0, 4_000_000_000_u64, 1]), json!([0, -1, 0, 2, 0]), json!([0, -1, 0, 0])]
    {
        has(spoilt("/rounds/0/transfers/0/blocks/0", block), &chunks);
    }
    has(spoilt("/rounds/0/transfers/0/blocks/0", json!([0, 2_147_483_648_u64])), &["2147483648", "2147483646"]);
    let mut document = good();
    document["rounds"][0]["transfers"][0]["reduce"] = json!("up");
    has(from_json(&document.to_string()).unwrap_err().to_string(), &["\"up\"", "false, \"left\" or \"right\""]);
    document["rounds"][0]["transfers"][0]["reduce"] = json!(true);
    has(from_json(&document.to_string()).unwrap_err().to_string(), &["`true`", "false, \"left\" or \"right\""]);
    for (text, words) in [
        ("", ["line 1", "EOF"]),
        ("{\"format\":NaN}", ["line 1, column 11", "expected value"]),
        ("[]", ["line 1", "expected an object"]),
        ("{\n\"nodes\":-3}", ["line 2", "-3"]),
    ] {
        has(from_json(text).unwrap_err().to_string(), &words);
    }
    for member in ["x", "rounds", "pre", "edges", "topology"] {
        let deep = format!("{{\"{member}\":{}", "[".repeat(1_000_000));
        has(from_json(&deep).unwrap_err().to_string(), &["line 1"]);
    }
}

#[test]
fn large_numbers_cost_no_memory() {
    let huge = |topology: &str, nodes: u64, more: Value| {
        let mut document = good();
        (document["topology"], document["nodes"]) = (json!(topology), json!(nodes));
        document.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        from_json(&document.to_string())
    };
    // Such a ring exists; to verify it is refused, and routes on it are not written out.
    let ring = huge("ring:2000000000", 2_000_000_000, json!({})).unwrap();
    assert!(verify(&ring).is_err());
    let mut far = ring.clone();
    far.rounds[0].transfers[0].destination = rank(1_000_000_000);
    assert!(to_json(&far).len() < 2000);
    let edges = json!({"edges": [[0, 1]]});
    assert!(matches!(huge("graph", 2_000_000_000, edges), Err(JsonError::Member { member: "edges", .. })));
    assert!(matches!(huge("graph", u64::MAX, json!({"edges": []})), Err(JsonError::Member { member: "edges", .. })));
    let custom = json!({"collective": "custom", "pre": [], "post": []});
    assert!(matches!(huge("ring:2000000000", 2_000_000_000, custom), Err(JsonError::Member { member: "pre", .. })));
    assert!(matches!(
        huge("ring:20000000000", 20_000_000_000, json!({})),
        Err(JsonError::Build(BuildError::Topology(_)))
    ));
    let placed = huge("complete:2000000000", 2_000_000_000, json!({"placement": [1_999_999_999, 0, 7, 8]})).unwrap();
    assert!(verify(&placed).is_ok());
}

#[test]
fn barrier_name_requires_its_conditions() {
    let mut document: Value = serde_json::from_str(&to_json(&dissemination_barrier(1))).unwrap();
    assert_eq!((&document["collective"], &document["name"]), (&json!("custom"), &json!("barrier")));
    let read = |document: &Value| from_json(&document.to_string());
    assert_eq!(read(&document).unwrap().outline.problem.collective(), &Collective::Barrier);
    document["post"][1] = json!([]);
    assert!(matches!(read(&document), Err(JsonError::Member { member: "name", .. })));
    document["name"] = Value::Null;
    assert!(matches!(read(&document).unwrap().outline.problem.collective(), Collective::Custom(_)));
}

#[test]
fn shift_name_has_its_distance() {
    let problem = Problem::new(parse("ring:7").unwrap(), Collective::Shift { by: 3 }).unwrap();
    let written = share_json(Ring.shares(&problem).unwrap(), Vec::new()).unwrap();
    let mut document: Value = serde_json::from_slice(&written).unwrap();
    assert_eq!((&document["collective"], &document["name"]), (&json!("custom"), &json!("shift:by=3")));
    let read = |document: &Value| from_json(&document.to_string());
    assert_eq!(read(&document).unwrap().outline.problem.collective(), &Collective::Shift { by: 3 });
    document["name"] = json!("shift");
    assert!(matches!(read(&document), Err(JsonError::Member { member: "name", .. })));
}

#[test]
fn shares_are_written_like_the_schedule() {
    let problem = ring_allgather(5).outline.problem;
    let whole = OneWay { faulty: None }.shares(&problem).unwrap().collect().unwrap();
    let streamed = share_json(OneWay { faulty: None }.shares(&problem).unwrap(), Vec::new()).unwrap();
    assert_eq!(String::from_utf8(streamed).unwrap(), to_json(&whole));
    let error = share_json(OneWay { faulty: Some(rank(2)) }.shares(&problem).unwrap(), Vec::new());
    assert!(matches!(error, Err(JsonError::Build(BuildError::Disagree { round: 1, .. }))));
}

#[test]
fn failing_writer_is_an_error() {
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let schedule = ring_allgather(3);
    let length = to_json(&schedule).len();
    for room in 0..length {
        assert_eq!(write_json(&schedule, Full(room)).err().map(|e| e.kind()), Some(std::io::ErrorKind::StorageFull));
    }
    let mut writer = JsonWriter::new(&schedule.outline, Full(length)).unwrap();
    schedule.rounds.iter().try_for_each(|round: &Round| writer.round(round)).unwrap();
    assert!(writer.finish().is_ok());
}

/// A document with something done to it, as bytes.
fn mutate(g: &mut Gen, text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    let at = |g: &mut Gen, bytes: &[u8]| usize::arbitrary(g) % bytes.len().max(1);
    for _ in 0..1 + usize::arbitrary(g) % 3 {
        if bytes.is_empty() {
            break;
        }
        match u8::arbitrary(g) % 6 {
            0 => {
                let i = at(g, &bytes);
                bytes[i] ^= 1 << (u8::arbitrary(g) % 8);
            }
            1 => {
                let end = at(g, &bytes);
                bytes.truncate(end);
            }
            2 => {
                let i = at(g, &bytes);
                bytes[i] = b"0123456789-[]{},:\"et. "[usize::arbitrary(g) % 22];
            }
            3 | 4 => {
                // Another number.
                let numbers = tokens(&bytes, |byte| byte.is_ascii_digit() || byte == b'-');
                let Some((first, end)) = pick(g, &numbers) else { continue };
                const OTHERS: [&str; 16] = [
                    "0",
                    "1",
                    "-1",
                    "2",
                    "3",
                    "-2",
                    "7",
                    "65536",
                    "1000000",
                    "4294967295",
                    "2147483647",
                    "2000000000",
                    "-2147483648",
                    "18446744073709551615",
                    "1e400",
                    "0.5",
                ];
                bytes.splice(first..end, OTHERS[usize::arbitrary(g) % OTHERS.len()].bytes());
            }
            _ => {
                // Two tokens change places.
                let words = tokens(&bytes, |byte| !b"[]{},: \n".contains(&byte));
                let (Some(a), Some(b)) = (pick(g, &words), pick(g, &words)) else { continue };
                let (a, b) = (a.min(b), a.max(b));
                if a.1 <= b.0 {
                    let [left, right] = [a, b].map(|(first, end)| bytes[first..end].to_vec());
                    bytes.splice(b.0..b.1, left);
                    bytes.splice(a.0..a.1, right);
                }
            }
        }
    }
    bytes
}

fn pick(g: &mut Gen, places: &[(usize, usize)]) -> Option<(usize, usize)> {
    if places.is_empty() { None } else { Some(places[usize::arbitrary(g) % places.len()]) }
}

/// Where runs of such bytes are.
fn tokens(bytes: &[u8], of: impl Fn(u8) -> bool) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut start = None;
    for (i, &byte) in bytes.iter().chain(b"[").enumerate() {
        match (start, i < bytes.len() && of(byte)) {
            (None, true) => start = Some(i),
            (Some(first), false) => {
                found.push((first, i));
                start = None;
            }
            _ => {}
        }
    }
    found
}

/// The most address space that the process has ever had, in KiB, where that can be known.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmPeak:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[test]
fn mutated_documents_are_accepted_or_refused_soundly() {
    let small = |fixture: &Fixture| fixture.schedule.outline.problem.topology().nodes() <= 6;
    let texts: Vec<String> = documents().iter().filter(|f| small(f)).map(|f| to_json(&f.schedule)).collect();
    let mut g = Gen::new(1000);
    let before = peak();
    let (mut read, mut right) = (0, 0);
    for i in 0..100_000 {
        let bytes = mutate(&mut g, &texts[i % texts.len()]);
        let schedule = match std::str::from_utf8(&bytes) {
            Ok(text) => from_json(text),
            Err(_) => read_json(&bytes[..]),
        };
        let Ok(schedule) = schedule else { continue };
        read += 1;
        let mut verifier = Verifier::with_limit(&schedule.outline, 1 << 12);
        schedule.rounds.iter().for_each(|round| verifier.round(round));
        right += u32::from(verifier.finish().is_ok());
        let text = to_json(&schedule);
        assert_eq!(to_json(&from_json(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))), text);
    }
    assert!(read > 5000 && right > 100, "{read} could be read, {right} were right: too few to mean much");
    if let (Some(before), Some(after)) = (before, peak()) {
        assert!(after - before < 1 << 20, "{} MiB were asked for", (after - before) >> 10);
    }
}
