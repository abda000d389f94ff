use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use super::group::{EagerMessage, PublishedDescriptor};
use super::*;
use crate::plan::{Buffer, Buffers, Message, Program, ProgramRound, Run, Sizes};
use crate::transport::{CallInfo, RoundIo, Signature};

fn members(size: usize) -> Vec<Rank> {
    (0..size).map(Rank::new).collect()
}

fn open(job: &Arc<Job>, me: usize) -> LocalTransport {
    let group = job.registry().open(ContextId::WORLD, &members(job.size), me).unwrap();
    LocalTransport::new(job.clone(), group, me)
}

/// Returns a program that sends or receives one byte.
fn one_byte(send: bool, peer: usize) -> Program {
    let message = vec![Message { peer: Rank::new(peer), index: 0, bytes: 1, runs: 0..1 }];
    let buffer = if send { Buffer::Input } else { Buffer::Output };
    let mut round = ProgramRound::default();
    *(if send { &mut round.sends } else { &mut round.receives }) = message;
    let sizes = Sizes { input: u64::from(send), output: u64::from(!send), scratch: 0 };
    Program::new(vec![Run::new(buffer, 0, 1)], vec![round], sizes).unwrap()
}

fn run(transport: &mut LocalTransport, program: &Program) {
    let signature = Signature::new(0, "a test");
    let buffers = Buffers { input: &[1], output: &mut [0], scratch: &mut [] };
    let io = RoundIo::new(program, 0, buffers, CallInfo::new(0, &signature, Duration::from_secs(60))).unwrap();
    transport.round(io).unwrap();
}

#[test]
fn long_waiting_rank_parks() {
    let job = Job::start(2, false).unwrap();
    let ready = Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut late = open(&job, 1);
            ready.wait();
            thread::sleep(Duration::from_millis(300));
            run(&mut late, &one_byte(true, 0));
        });
        let mut waiting = open(&job, 0);
        ready.wait();
        run(&mut waiting, &one_byte(false, 1));
        // Once, or a few times if the system wakes it spuriously.
        assert!((1..=5).contains(&waiting.parks()), "{waiting:?}");
    });
}

#[test]
fn context_that_all_have_left_is_freed() {
    let job = Job::start(3, false).unwrap();
    let transports: Vec<_> = (0..3).map(|me| open(&job, me)).collect();
    let group = Arc::downgrade(&job.groups()[0]);
    assert_eq!(group.strong_count(), 4);
    drop(transports);
    assert!(group.upgrade().is_none() && job.groups().is_empty());
}

#[test]
fn context_that_the_others_never_open_is_freed() {
    let job = Job::start(3, false).unwrap();
    let endpoints = endpoints(&job);
    drop(open(&job, 0));
    assert_eq!(job.groups().len(), 1);
    drop(endpoints);
    assert!(job.groups().is_empty());
}

#[test]
fn descriptors_and_eager_messages_fit_their_cache_lines() {
    assert!(8 + size_of::<PublishedDescriptor>() <= 64);
    assert!(size_of::<EagerMessage>() + 8 <= 256);
    assert_eq!(8 + std::mem::offset_of!(EagerMessage, payload) + EagerMessage::ON_FIRST_LINE, 64);
}
