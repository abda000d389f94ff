//! Engines whose frames travel as slowly as the test wants. Each connection keeps its order.

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
    /// Delivers what is on its way between two ranks, up to the first frame of kind `last`, if
    /// there is one.
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

    /// Lets a rank decide, if it may.
    fn decide(&mut self, rank: usize) {
        let engine = &mut self.0[rank].engine;
        engine.tick(Instant::now());
        engine.looked = engine.now;
        engine.decide();
    }

    fn fault(&mut self, rank: usize) {
        self.0[rank].engine.propose(ID, aborted(rank));
    }

    fn failure(&self, rank: usize) -> Option<usize> {
        self.0[rank].engine.failure(ID)?.culprit.map(Rank::index)
    }
}

#[test]
fn two_candidates_that_ask_each_other_make_one_decision() {
    let all: Vec<Rank> = (0..3).map(Rank::new).collect();
    let mut ranks = Ranks((0..3).map(|me| Harness::new(me, 3)).collect());
    ranks.0[1].engine.open(ID, &all).unwrap();
    ranks.0[2].engine.open(ID, &all).unwrap();
    // 2 finds a fault. 0 cannot decide, so 2 proposes to 1; that proposal is on its way.
    ranks.fault(2);
    ranks.arrive(2, 0, None);
    ranks.arrive(0, 2, None);
    // 1 finds another fault meanwhile. 0 cannot decide, so 1 requests votes.
    ranks.fault(1);
    ranks.arrive(1, 0, None);
    ranks.arrive(0, 1, None);
    ranks.decide(1);
    assert_eq!(ranks.failure(1), None);
    // 0 opens the context, finds a third fault, and requests votes too.
    ranks.0[0].engine.open(ID, &all).unwrap();
    ranks.fault(0);
    ranks.decide(0);
    assert_eq!(ranks.failure(0), None);
    // 1 gets the proposal of 2. Then 2 gets the vote request of 0, and proposes to 0.
    ranks.arrive(2, 1, None);
    ranks.arrive(0, 2, None);
    ranks.decide(1);
    assert_eq!(ranks.failure(1), Some(1));
    // 0 gets the vote request of 1 and the proposal of 2, before it gets the decision of 1.
    ranks.arrive(1, 0, Some(Kind::VoteRequest));
    ranks.arrive(2, 0, None);
    ranks.decide(0);
    assert_ne!(ranks.failure(0), Some(0), "1 may have decided");
    for (from, to) in [(1, 0), (1, 2), (0, 1), (0, 2), (2, 0), (2, 1)] {
        ranks.arrive(from, to, None);
    }
    assert_eq!([0, 1, 2].map(|rank| ranks.failure(rank)), [Some(1); 3]);
}
