//! A worker: endpoints for proxies in another process.

use std::collections::HashMap;
use std::os::unix::net::{UnixListener, UnixStream};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{env, fs, io, process, thread};

use necklace::plan::Program;
use necklace::transport::{CallInfo, Endpoint, RoundIo, Transport};
use necklace_tests::jobs::panic_message;

use super::codec::{Bytes, Code};
use super::line::{Answer, Line, Made, Moved, Opened, Request, Round};
use super::maker::{Maker, Supervisor};
use super::memory::Memory;
use super::pool;

/// The variable with the directory of the pool's sockets, set for worker processes.
pub(super) const VARIABLE: &str = "NECKLACE_WORKERS";

/// The test that a worker runs.
pub(super) const TEST: &str = "worker";

/// Maximum time to drop the remaining objects when the pool ends.
const END: Duration = Duration::from_secs(5);

/// The state that its threads share.
struct Worker {
    place: PathBuf,
    maker: Maker,
    /// By job.
    endpoints: Mutex<HashMap<u64, Arc<dyn Endpoint>>>,
    supervisors: Mutex<HashMap<u64, Supervisor>>,
    /// By number.
    transports: Mutex<HashMap<u64, Arc<Mutex<Held>>>>,
    /// By job, the buffers of transports that were dropped.
    left: Mutex<HashMap<u64, Vec<Memory>>>,
    /// Requests that are being answered.
    busy: AtomicUsize,
}

/// A transport, and what its rounds are done on.
struct Held {
    job: u64,
    transport: Box<dyn Transport>,
    memory: Memory,
    program: Program,
}

/// Is a worker, if this process is to be one, until the pool ends.
pub(crate) fn run_if_told() {
    let Some(place) = env::var_os(VARIABLE).map(PathBuf::from) else { return };
    let maker = Maker::start();
    let number = maker.number();
    let listener = UnixListener::bind(pool::socket(&place, number)).unwrap();
    let mut control = Line::new(UnixStream::connect(pool::driver(&place)).unwrap());
    let worker = Arc::new(Worker {
        place: place.clone(),
        maker,
        endpoints: Mutex::default(),
        supervisors: Mutex::default(),
        transports: Mutex::default(),
        left: Mutex::default(),
        busy: AtomicUsize::new(0),
    });
    let accepting = Arc::clone(&worker);
    thread::spawn(move || accept(&accepting, &listener));
    control.say(&(number, process::id())).unwrap();
    // Nothing is sent on it. It ends with the pool, or with the process that owns the pool.
    let _ = control.hear::<()>();
    // They all end together, and the first one out clears up.
    let _ = fs::remove_dir_all(&place);
    thread::spawn(move || {
        thread::sleep(END);
        eprintln!("worker {number} ends in the middle of something");
        // At once, because handlers at an exit might wait for the others.
        process::abort();
    });
    while worker.busy.load(Ordering::SeqCst) > 0 {
        thread::sleep(Duration::from_millis(1));
    }
    locked(&worker.transports).clear();
    locked(&worker.supervisors).clear();
    locked(&worker.endpoints).clear();
    worker.maker.end();
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn accept(worker: &Arc<Worker>, listener: &UnixListener) {
    for stream in listener.incoming() {
        let (worker, mut line) = (Arc::clone(worker), Line::new(stream.unwrap()));
        thread::spawn(move || {
            // Until the thread at the other end is no more.
            while let Ok(request) = line.hear() {
                worker.busy.fetch_add(1, Ordering::SeqCst);
                let said = serve(&worker, &mut line, request);
                worker.busy.fetch_sub(1, Ordering::SeqCst);
                if said.is_err() {
                    return;
                }
            }
        });
    }
}

fn serve(worker: &Worker, line: &mut Line, request: Request) -> io::Result<()> {
    let held = |number| {
        let held = locked(&worker.transports).get(&number).cloned();
        held.ok_or_else(|| format!("there is no transport {number}"))
    };
    match request {
        Request::Make { job, size, supervised } => answer::<Made>(line, || {
            let (supervisor, endpoint) = worker.maker.endpoint(job, size, supervised, &worker.place)?;
            let made = (endpoint.rank(), (endpoint.size(), endpoint.machine()));
            locked(&worker.supervisors).extend(supervisor.map(|supervisor| (job, supervisor)));
            locked(&worker.endpoints).insert(job, endpoint);
            Ok(made)
        }),
        Request::Panicked { job, message } => answer(line, || {
            locked(&worker.supervisors).get(&job).ok_or("there is nobody to tell")?.panicked(&message);
            Ok(())
        }),
        Request::Unsupervise { job } => answer(line, || {
            let supervisor = locked(&worker.supervisors).remove(&job);
            drop(supervisor);
            Ok(())
        }),
        Request::Forget { job, panicking } => answer(line, || {
            let endpoint = locked(&worker.endpoints).remove(&job);
            drop_as(panicking, endpoint);
            let left = locked(&worker.left).remove(&job).unwrap_or_default();
            let late = |place: String| format!("after one of its transports was dropped, {place}");
            left.iter().try_for_each(|memory| memory.check().map_err(late))
        }),
        Request::Open { job, context, members, transport } => answer::<Opened>(line, || {
            let endpoint = locked(&worker.endpoints).get(&job).cloned().ok_or("there is no such job")?;
            Ok(endpoint.open(context, &members).map(|opened| {
                let place = (opened.rank(), opened.size());
                let held = Held { job, transport: opened, memory: Memory::default(), program: Program::default() };
                locked(&worker.transports).insert(transport, Arc::new(Mutex::new(held)));
                place
            }))
        }),
        Request::Round { transport, round } => answer(line, || locked(&*held(transport)?).moves(round)),
        Request::Abort { transport, failure } => answer(line, || {
            locked(&*held(transport)?).transport.abort(failure);
            Ok(())
        }),
        Request::Failure { transport } => answer(line, || Ok(locked(&*held(transport)?).transport.failure())),
        Request::Leave { transport, panicking } => answer(line, || {
            let held = locked(&worker.transports).remove(&transport);
            let held = held.and_then(Arc::into_inner).ok_or("it is not there, or in a round")?;
            let Held { job, transport, memory, .. } = held.into_inner().unwrap_or_else(PoisonError::into_inner);
            drop_as(panicking, transport);
            memory.check().map_err(|place| format!("after its last round, {place}"))?;
            locked(&worker.left).entry(job).or_default().push(memory);
            Ok(())
        }),
    }
}

/// Says what comes of it, also if it panics.
fn answer<T: Code>(line: &mut Line, work: impl FnOnce() -> Answer<T>) -> io::Result<()> {
    let answer = catch_unwind(AssertUnwindSafe(work));
    line.say(&answer.unwrap_or_else(|panic| Err(format!("panicked: {}", panic_message(&*panic)))))
}

/// Drops something, as a thread that panics does or another.
fn drop_as<T>(panicking: bool, thing: T) {
    if panicking {
        let _ = catch_unwind(AssertUnwindSafe(move || {
            let _dropped_by_it = thing;
            // A panic without the hook that would print it.
            resume_unwind(Box::new(()));
        }));
    }
}

impl Held {
    /// Moves a round. The program stays where it is as long as it is the same.
    fn moves(&mut self, round: Round) -> Result<Moved, String> {
        let Self { transport, memory, program, .. } = self;
        let Round { program: new, index, call, signature, timeouts, bytes: Bytes(bytes) } = round;
        if let Some(new) = new {
            *program = new;
        }
        let (outcome, received) = memory.lend(program, index, &bytes, |buffers| {
            let io = RoundIo::new(program, index, buffers, CallInfo::new(call, &signature, timeouts))
                .ok_or("that is no round")?;
            Ok::<_, String>(catch_unwind(AssertUnwindSafe(|| transport.round(io))))
        })?;
        match outcome? {
            Ok(outcome) => Ok((outcome, Bytes(received))),
            Err(panic) => resume_unwind(panic),
        }
    }
}
