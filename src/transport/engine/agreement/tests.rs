//! Agreements of several members, without engines.

use quickcheck::QuickCheck;

use super::*;

const GRACE: Duration = Duration::from_millis(100);

/// Processes that agree, at a simulated time. Frames of a pair arrive in order.
struct Group {
    members: Vec<Rank>,
    agreements: Vec<Agreement>,
    /// The processes that are lost, and those that have not opened the context.
    lost: Vec<bool>,
    closed: Vec<bool>,
    /// Frames on the way: from, to, kind and failure.
    frames: Vec<(usize, usize, Kind, Option<Failure>)>,
    now: Instant,
}

fn failure(observer: usize) -> Failure {
    Failure {
        call: 7,
        description: "a call".into(),
        round: 0,
        observer: Rank::new(observer),
        culprit: None,
        cause: Cause::Aborted { rank: Rank::new(observer), reason: "on purpose".into() },
    }
}

impl Group {
    fn new(size: usize) -> Self {
        Self {
            members: (0..size).map(Rank::new).collect(),
            agreements: (0..size).map(|_| Agreement::default()).collect(),
            lost: vec![false; size],
            closed: vec![false; size],
            frames: Vec::new(),
            now: Instant::now(),
        }
    }

    fn step<T>(&mut self, me: usize, step: impl FnOnce(&mut Agreement, &Electorate<'_>, &mut Frames) -> T) -> T {
        let lost = &self.lost;
        let open = !self.closed[me];
        let electorate = Electorate {
            now: self.now,
            me,
            members: if open { &self.members } else { &[] },
            open,
            grace: GRACE,
            peer: &|process| PeerState { reachable: !lost[process], left: false, ended: false, reads: 0 },
        };
        let mut frames = Frames::new();
        let result = step(&mut self.agreements[me], &electorate, &mut frames);
        let subject = self.agreements[me].subject().cloned();
        self.frames.extend(frames.into_iter().map(|(to, kind)| (me, to, kind, subject.clone())));
        result
    }

    fn propose(&mut self, me: usize) {
        self.step(me, |agreement, members, frames| agreement.propose(failure(me), members, frames));
    }

    /// Delivers the first frame of the pair that the number selects.
    fn deliver(&mut self, number: usize) {
        let (from, to, ..) = self.frames[number % self.frames.len()];
        let first = self.frames.iter().position(|frame| (frame.0, frame.1) == (from, to)).unwrap();
        let (_, _, kind, subject) = self.frames.remove(first);
        if self.lost[to] {
            return;
        }
        match kind {
            Kind::Proposal | Kind::VoteRequest => {
                let proposed = subject.unwrap();
                let reply = self
                    .step(to, |agreement, members, frames| agreement.proposed((from, kind), proposed, members, frames));
                let known = self.agreements[to].failure().cloned();
                self.frames.extend(reply.map(|kind| (to, from, kind, known)));
            }
            Kind::Decision if self.agreements[to].failure().is_none() => self.settle(to, subject.unwrap(), false),
            Kind::Retract => self.agreements[to].retracted(from),
            Kind::CannotDecide => {
                self.step(to, |agreement, members, frames| agreement.unable(from, members, frames));
            }
            _ => {}
        }
    }

    fn settle(&mut self, me: usize, failure: Failure, to_all: bool) {
        let mut others = self.agreements[me].settle(failure.clone(), &self.members);
        if to_all {
            others = (0..self.members.len()).filter(|other| *other != me).collect();
        }
        self.frames.extend(others.into_iter().map(|to| (me, to, Kind::Decision, Some(failure.clone()))));
    }

    /// Lets a process decide, and send its proposal again.
    fn tick(&mut self, me: usize) {
        if !self.lost[me] && !self.closed[me] {
            self.step(me, Agreement::retry);
            if let Some(failure) = self.step(me, Agreement::decide) {
                self.settle(me, failure, true);
            }
        }
    }

    /// Continues, in an order that the numbers select, until nothing happens any more.
    fn run(&mut self, numbers: &[usize]) {
        let mut numbers = numbers.iter().copied().chain(0..).take(10_000);
        for quiet in 0..20 {
            while !self.frames.is_empty() {
                let number = numbers.next().unwrap();
                self.deliver(number);
                self.tick(number / 7 % self.members.len());
            }
            (0..self.members.len()).for_each(|me| self.tick(me));
            self.now += GRACE / 2;
            assert!(quiet < 19 || self.frames.is_empty(), "no end");
        }
    }

    fn failures(&self) -> Vec<Option<&Failure>> {
        let live = (0..self.members.len()).filter(|me| !self.lost[*me] && !self.closed[*me]);
        live.map(|me| self.agreements[me].failure()).collect()
    }
}

/// Several members find different failures, in any order of frames. One may be lost before, or
/// while, it decides, and one may not have opened the context.
#[test]
fn members_agree_on_one_failure() {
    let check = |size: usize, finders: Vec<usize>, numbers: Vec<usize>, fate: usize| {
        let size = 2 + size % 5;
        let mut group = Group::new(size);
        let fate = fate % (4 * size);
        let member = fate / 4;
        match fate % 4 {
            1 => group.lost[member] = true,
            2 => group.closed[member] = true,
            _ => {}
        }
        let out = |group: &Group, me: usize| group.lost[me] || group.closed[me];
        let first = (0..size).find(|me| !out(&group, *me)).unwrap();
        for finder in finders.iter().map(|finder| finder % size).chain([first]) {
            if !out(&group, finder) {
                group.propose(finder);
            }
        }
        if fate % 4 == 3 {
            // Lost after some frames have arrived; its own may be lost.
            for number in numbers.iter().take(3) {
                if !group.frames.is_empty() {
                    group.deliver(*number);
                }
            }
            if group.agreements[member].failure().is_none() {
                group.lost[member] = true;
                group.frames.retain(|(from, ..)| *from != member);
                // Another finds the failure, in case the lost one was the only finder.
                (0..size).filter(|me| *me != member).for_each(|me| group.propose(me));
            }
        }
        group.run(&numbers);
        let failures = group.failures();
        assert!(failures[0].is_some() && failures.windows(2).all(|pair| pair[0] == pair[1]), "{failures:?}");
        true
    };
    QuickCheck::new().tests(5_000).quickcheck(check as fn(usize, Vec<usize>, Vec<usize>, usize) -> bool);
}

#[test]
fn first_member_that_can_decides() {
    for (lost, closed, decides) in [(None, None, 0), (Some(0), None, 1), (None, Some(0), 1), (Some(0), Some(1), 2)] {
        let mut group = Group::new(4);
        lost.into_iter().for_each(|member: usize| group.lost[member] = true);
        closed.into_iter().for_each(|member: usize| group.closed[member] = true);
        group.propose(3);
        if let Some(closed) = closed {
            // It says that it cannot decide.
            while let Some(at) = group.frames.iter().position(|frame| [frame.0, frame.1].contains(&closed)) {
                group.deliver(at);
            }
        }
        assert_eq!(group.agreements[3].proposed_to(), Some(decides));
    }
}

#[test]
fn members_vote_if_the_first_is_lost() {
    let mut group = Group::new(3);
    group.lost[0] = true;
    group.propose(1);
    // It might not be the only one that decides: member 2 may still reach member 0.
    assert_eq!(group.step(1, Agreement::decide), None);
    assert_eq!(group.frames.iter().filter(|frame| frame.2 == Kind::VoteRequest && frame.1 == 2).count(), 1);
    group.run(&[]);
    assert_eq!(group.failures(), [Some(&failure(1)); 2]);
    // A member that does not vote is waited for as long as it has to answer.
    let mut group = Group::new(3);
    group.lost[0] = true;
    group.propose(1);
    assert_eq!(group.step(1, Agreement::decide), None);
    group.now += GRACE;
    group.step(1, Agreement::retry);
    assert_eq!(group.step(1, Agreement::decide), None);
    group.now += GRACE / 2;
    assert_eq!(group.step(1, Agreement::decide), None, "replies may have arrived unread");
    group.step(1, Agreement::retry);
    assert_eq!(group.step(1, Agreement::decide), Some(failure(1)));
}
