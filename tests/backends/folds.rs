//! Among threads, contributions are combined straight from the memory of other ranks. The results
//! are those of combining after each round, to the bit.

use std::sync::Arc;
use std::time::Duration;

use necklace::algorithm::registry;
use necklace::collective::Collective;
use necklace::launch::Launch;
use necklace::op::{Op, Sum, by};
use necklace::transport::{Cause, ContextId, Endpoint, Failure, History, OpenError, RoundIo, Transport};
use necklace::{Communicator, Options, Rank};
use necklace_tests::watched;

/// Threads whose transport does not combine: it gets each round without that permission.
#[derive(Debug)]
struct Storing(Arc<dyn Endpoint>);

#[derive(Debug)]
struct StoringTransport(Box<dyn Transport>);

impl Endpoint for Storing {
    fn rank(&self) -> Rank {
        self.0.rank()
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn open(&self, context: ContextId, members: &[Rank]) -> Result<Box<dyn Transport>, OpenError> {
        Ok(Box::new(StoringTransport(self.0.open(context, members)?)))
    }
}

impl Transport for StoringTransport {
    fn rank(&self) -> Rank {
        self.0.rank()
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn round(&mut self, mut io: RoundIo<'_>) -> Result<(), Failure> {
        self.0.round(io.reborrow())
    }

    fn abort(&mut self, failure: Failure) {
        self.0.abort(failure);
    }

    fn failure(&self) -> Option<Failure> {
        self.0.failure()
    }

    fn conclude(&mut self, history: History) {
        self.0.conclude(history);
    }
}

/// The results of a collective on every rank, out of place and in place, by this algorithm.
fn results<T: necklace::bytemuck::Pod + Send + Sync>(
    ranks: usize,
    (collective, algorithm): (&Collective, &str),
    folding: bool,
    values: impl Fn(usize, usize) -> T + Sync,
    op: impl Op<T> + Copy,
) -> Vec<[Vec<T>; 2]> {
    let job = Launch::threads().topology(format!("complete:{ranks}").as_str()).choose(collective.name(), algorithm);
    let job = if folding { job } else { job.wrap(|endpoint| Arc::new(Storing(endpoint))) };
    let body = |mut comm: Communicator| {
        let rank = Rank::new(comm.rank());
        let blocks = |held: usize| held * ELEMENTS;
        let before = blocks(collective.before(ranks, rank).len());
        let after = blocks(collective.after(ranks, rank).len());
        let send: Vec<T> = (0..before).map(|i| values(rank.index(), i)).collect();
        let mut receive = vec![T::zeroed(); after];
        comm.perform(collective, &send, &mut receive, op).unwrap();
        let mut both = send;
        both.resize(before.max(after), T::zeroed());
        comm.perform_in_place(collective, &mut both, op).unwrap();
        [receive, both]
    };
    job.run(body).unwrap()
}

/// So many that a ninth of a block is no eager message.
const ELEMENTS: usize = 700;

#[test]
fn combining_on_arrival_gives_the_same_bits() {
    watched("folds", || {
        let affine = by("affine", |left: [u32; 2], right: [u32; 2]| {
            [left[0].wrapping_mul(right[0]), left[1].wrapping_mul(right[0]).wrapping_add(right[1])]
        });
        let mut cases = 0;
        for ranks in [1, 2, 3, 5, 8, 9] {
            for algorithm in registry() {
                let about = algorithm.about();
                let Some(collective) = Collective::named(about.collective, Rank::new(ranks / 2)) else { continue };
                let problem = |ordered: bool| {
                    let network = necklace::topology::parse(&format!("complete:{ranks}")).unwrap();
                    let problem = necklace::schedule::Problem::new(network, collective.clone()).unwrap();
                    if ordered { problem.ordered() } else { problem }
                };
                if !collective.is_reduction() || algorithm.priced_as().is_some() {
                    continue;
                }
                let case = (&collective, about.name);
                if algorithm.fits(&problem(false)).is_ok() {
                    let float = |rank: usize, i: usize| 1.0 / (1 + rank * 7919 + i * 31) as f64;
                    let bits = |folding| {
                        let found = results(ranks, case, folding, float, Sum);
                        found
                            .into_iter()
                            .map(|both| both.map(|all| all.into_iter().map(f64::to_bits).collect::<Vec<_>>()))
                    };
                    assert!(bits(true).eq(bits(false)), "{} for {collective} among {ranks}", about.name);
                    cases += 1;
                }
                if algorithm.fits(&problem(true)).is_ok() {
                    let pair = |rank: usize, i: usize| [(3 + 2 * rank + i) as u32, (rank * 1009 + i * 17) as u32];
                    let found = |folding| results(ranks, case, folding, pair, affine);
                    assert_eq!(found(true), found(false), "{} for {collective} among {ranks}", about.name);
                    cases += 1;
                }
            }
        }
        assert!(cases > 100, "only {cases} cases");
    });
}

/// A rank that does not call is named, though messages of later ranks are there.
#[test]
fn rank_missing_from_a_combination_is_named() {
    watched("missing", || {
        let timeout = Duration::from_millis(300);
        let options = Options::default().timeout(timeout).arrival_timeout(timeout);
        let job = Launch::threads().topology("complete:5").options(options).choose("allreduce", "direct-parts");
        let ends = job.run(|mut comm: Communicator| {
            if comm.rank() == 1 {
                std::thread::sleep(Duration::from_millis(1500));
                return None;
            }
            let mut sum = [0.0; ELEMENTS];
            comm.allreduce(&[1.0; ELEMENTS], &mut sum, Sum).err()
        });
        let ends = ends.unwrap();
        for (rank, end) in ends.into_iter().enumerate().filter(|(rank, _)| *rank != 1) {
            let failure = end.as_ref().and_then(|error| error.failure()).unwrap_or_else(|| panic!("rank {rank}"));
            assert_eq!(failure.culprit, Some(Rank::new(1)), "{failure}");
            assert!(matches!(failure.cause, Cause::Deadline { .. }), "{failure}");
        }
    });
}

/// A panic of an operation leaves no rank waiting, and its message is the job's.
#[test]
fn operation_that_panics_on_arrival_ends_the_job() {
    watched("panic", || {
        let job = Launch::threads().topology("complete:4").choose("allreduce", "direct-parts");
        let outcome = job.run(|mut comm: Communicator| {
            let rank = comm.rank();
            let fragile = by("fragile", move |left: u64, right: u64| {
                assert!(rank != 2, "rank 2 cannot add");
                left + right
            });
            let mut sum = [0; ELEMENTS];
            comm.allreduce(&[1; ELEMENTS], &mut sum, fragile).map(|()| sum[0])
        });
        let error = outcome.unwrap_err();
        assert_eq!(error.rank(), Some(Rank::new(2)));
        assert!(error.to_string().contains("rank 2 cannot add"), "{error}");
    });
}
