//! Engines whose words to each other take as long as the test wants; each connection keeps its
//! order.

use std::io::{ErrorKind, Read, Write};
use std::thread;
use std::time::{Duration, Instant};

use super::harness::Harness;
use super::unable::aborted;
use crate::ids::Rank;
use crate::transport::ContextId;
use crate::transport::engine::frame::{Header, Kind};

const ID: ContextId = ContextId::of(5);

struct Ranks(Vec<Harness>);

impl Ranks {
    /// What is on its way from one to another arrives; not what follows the first frame of that
    /// kind, if there is one.
    fn arrive(&mut self, from: usize, to: usize, last: Option<Kind>) {
        thread::sleep(Duration::from_millis(2));
        let source = self.0[from].others[to].as_mut().unwrap();
        source.set_nonblocking(true).unwrap();
        let mut text = Vec::new();
        let mut read = |len: usize| {
            let mut bytes = vec![0; len];
            match source.read_exact(&mut bytes) {
                Ok(()) => Some(bytes),
                Err(error) if error.kind() == ErrorKind::WouldBlock => None,
                Err(error) => panic!("{error}"),
            }
        };
        while let Some(bytes) = read(Header::BYTES) {
            let header = Header::decode(bytes.as_slice().try_into().unwrap()).unwrap();
            text.extend(bytes);
            text.extend(read(header.text as usize).unwrap());
            if Some(header.kind) == last {
                break;
            }
        }
        source.set_nonblocking(false).unwrap();
        self.0[to].others[from].as_mut().unwrap().write_all(&text).unwrap();
        thread::sleep(Duration::from_millis(2));
        self.0[to].engine.pump_in(from);
    }

    /// That rank decides, if it may.
    fn decide(&mut self, rank: usize) {
        self.0[rank].engine.looked = Instant::now();
        self.0[rank].engine.decide();
    }

    fn fault(&mut self, rank: usize) {
        self.0[rank].engine.propose(ID, aborted(rank));
    }

    fn failure(&self, rank: usize) -> Option<usize> {
        self.0[rank].engine.failure(ID)?.culprit.map(Rank::index)
    }
}

#[test]
fn of_two_that_ask_each_other_one_decides() {
    let all: Vec<Rank> = (0..3).map(Rank::new).collect();
    let mut ranks = Ranks((0..3).map(|me| Harness::new(me, 3)).collect());
    ranks.0[1].engine.open(ID, &all).unwrap();
    ranks.0[2].engine.open(ID, &all).unwrap();
    // 2 finds a fault. 0 cannot decide; so it turns to 1, word of which is on its way.
    ranks.fault(2);
    ranks.arrive(2, 0, None);
    ranks.arrive(0, 2, None);
    // 1 finds another meanwhile; 0 cannot; it asks the others.
    ranks.fault(1);
    ranks.arrive(1, 0, None);
    ranks.arrive(0, 1, None);
    ranks.decide(1);
    assert_eq!(ranks.failure(1), None);
    // 0 opens the context, finds a third one, and asks too.
    ranks.0[0].engine.open(ID, &all).unwrap();
    ranks.fault(0);
    ranks.decide(0);
    assert_eq!(ranks.failure(0), None);
    // 1 hears that 2 has turned to it; then 2 hears that 0 asks, and turns to that one.
    ranks.arrive(2, 1, None);
    ranks.arrive(0, 2, None);
    ranks.decide(1);
    assert_eq!(ranks.failure(1), Some(1));
    // 0 hears that 1 asks, and that 2 has turned to it, before it hears what 1 has decided.
    ranks.arrive(1, 0, Some(Kind::VoteRequest));
    ranks.arrive(2, 0, None);
    ranks.decide(0);
    assert_ne!(ranks.failure(0), Some(0), "1 may have decided");
    for (from, to) in [(1, 0), (1, 2), (0, 1), (0, 2), (2, 0), (2, 1)] {
        ranks.arrive(from, to, None);
    }
    assert_eq!([0, 1, 2].map(|rank| ranks.failure(rank)), [Some(1); 3]);
}
