//! What becomes of pools, on pools of their own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use necklace::Rank;
use necklace::plan::{Buffers, Message, Program, ProgramRound, Sizes};
use necklace::transport::{CallInfo, ContextId, Endpoint, Failure, RoundIo, Signature, Transport};
use rustix::process::{Pid, Signal, kill_process};

use super::endpoint::Proxy;
use super::pool::Pool;

fn exists(process: u32) -> bool {
    // The numbers of processes are used again late.
    Path::new(&format!("/proc/{process}")).exists()
}

/// Waits until all of these processes have ended.
fn gone(processes: &[u32]) {
    let until = Instant::now() + Duration::from_secs(30);
    while processes.iter().any(|process| exists(*process)) {
        assert!(Instant::now() < until, "some of the processes {processes:?} are left");
        thread::sleep(Duration::from_millis(5));
    }
}

/// An empty message with the other of two ranks.
fn meet(transport: &mut dyn Transport) -> Result<(), Failure> {
    let message = Message { peer: Rank::new(1 - transport.rank().index()), index: 0, bytes: 0, runs: 0..0 };
    let round = ProgramRound { number: 0, sends: vec![message.clone()], receives: vec![message] };
    let program = Program::new(vec![], vec![round], Sizes::default()).unwrap();
    let signature = Signature::new(0, "to meet");
    let buffers = Buffers { input: &[], output: &mut [], scratch: &mut [] };
    transport.round(RoundIo::new(&program, 0, buffers, CallInfo::new(0, &signature, Duration::from_secs(30))).unwrap())
}

#[test]
fn dropped_pool_leaves_no_worker() {
    let pool = Arc::new(Pool::start(3));
    let processes = [0, 1, 2].map(|worker| pool.process(worker));
    let place = pool.place().to_owned();
    assert!(processes.into_iter().all(exists) && place.exists());
    let proxies = Proxy::job(&pool, 1, 2, false).unwrap();
    drop(pool);
    // A job keeps its pool.
    let world: Vec<_> =
        proxies.iter().map(|proxy| proxy.open(ContextId::WORLD, &[0, 1].map(Rank::new)).unwrap()).collect();
    let threads: Vec<_> = world.into_iter().map(|mut transport| thread::spawn(move || meet(&mut *transport))).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap().unwrap());
    drop(proxies);
    gone(&processes);
    assert!(!place.exists());
}

#[test]
fn lost_worker_is_named_with_its_task() {
    let pool = Arc::new(Pool::start(2));
    assert!(pool.serves(2) && !pool.serves(3));
    let proxies = Proxy::job(&pool, 1, 2, false).unwrap();
    let mut transport = proxies[1].open(ContextId::WORLD, &[0, 1].map(Rank::new)).unwrap();
    let process = pool.process(1);
    let killer = thread::spawn(move || {
        // The round may have begun or not.
        thread::sleep(Duration::from_millis(100));
        kill_process(Pid::from_raw(process as i32).unwrap(), Signal::KILL).unwrap();
    });
    let panic = catch_unwind(AssertUnwindSafe(|| meet(&mut *transport))).unwrap_err();
    killer.join().unwrap();
    let words = panic.downcast_ref::<String>().unwrap();
    let named = [&format!("worker 1 (process {process}) is lost"), "round 0 of call 0 (to meet)"];
    assert!(named.into_iter().all(|part| words.contains(part)), "{words}");
    // The pool is good for no other job, whatever becomes of this one's ranks.
    assert!(!pool.serves(1));
    for proxy in proxies {
        let _ = catch_unwind(AssertUnwindSafe(|| drop(proxy)));
    }
    let _ = catch_unwind(AssertUnwindSafe(|| drop(transport)));
}
