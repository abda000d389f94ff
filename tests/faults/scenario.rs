//! What a job does and which faults happen to it, both determined by one number.

use std::time::Duration;

/// SplitMix64: numbers that follow from a seed.
#[derive(Clone, Debug)]
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }

    /// One of 0 to `end - 1`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    pub(crate) fn choose<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Returns a duration of at most this one, with short ones as likely as long ones.
    fn instant(&mut self, most: Duration) -> Duration {
        most.div_f64(2_f64.powi(self.below(8) as i32)).mul_f64(self.below(1000) as f64 / 1000.0)
    }
}

pub(crate) fn mixed(word: u64) -> u64 {
    let z = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A job.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) seed: u64,
    pub(crate) size: usize,
    pub(crate) topology: &'static str,
    pub(crate) calls: Vec<Call>,
    /// Timeout of its calls; `patience` is that of its bootstrap.
    pub(crate) timeout: Duration,
    pub(crate) patience: Duration,
    pub(crate) faults: Vec<Fault>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) what: What,
    /// The length of a block.
    pub(crate) elements: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Alltoall(&'static str),
    Allgather,
    Allreduce,
    Broadcast(usize),
    Barrier,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) rank: usize,
    pub(crate) kind: Kind,
    pub(crate) stage: Stage,
    /// The call before which the fault happens, or near which it happens after `delay`. Zero in the
    /// bootstrap and the first round.
    pub(crate) at: usize,
    pub(crate) delay: Duration,
    /// Numbers for what else is to be chosen.
    pub(crate) salt: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    /// Killed with -9.
    Kill,
    /// Stopped, until all others have ended.
    Stop,
    /// Stopped for about as long as the others wait.
    Doze,
    /// Exits with status 0, whatever it was about.
    Exit,
    /// Returns from the closure.
    Return,
    Panic,
    /// Computes past the deadline.
    Compute,
    /// A connection is shut down.
    Cut,
    /// Random bytes are written into one.
    Noise,
    /// A header of a frame longer than any.
    Absurd,
    /// Half a header, and then nothing for longer than the deadline.
    Half,
    /// The beginning of a frame, and then the connection is shut down.
    Truncate,
    /// It calls something else.
    Disagree,
    /// Two of these on two ranks.
    Two,
}

impl Kind {
    pub(crate) const ALL: [Self; 14] = [
        Self::Kill,
        Self::Stop,
        Self::Doze,
        Self::Exit,
        Self::Return,
        Self::Panic,
        Self::Compute,
        Self::Cut,
        Self::Noise,
        Self::Absurd,
        Self::Half,
        Self::Truncate,
        Self::Disagree,
        Self::Two,
    ];

    /// Whether it comes at any instant of a call, by another thread; else the rank does it itself,
    /// before one. Bytes that another thread writes into the middle of a frame would be taken for
    /// data, as if the rank had computed them.
    pub(crate) fn is_sudden(self) -> bool {
        matches!(self, Self::Kill | Self::Stop | Self::Doze | Self::Exit | Self::Cut)
    }

    /// Whether the fault affects a connection and the rank continues.
    pub(crate) fn is_of_connection(self) -> bool {
        matches!(self, Self::Cut | Self::Noise | Self::Absurd | Self::Half | Self::Truncate)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Stage {
    Bootstrap,
    First,
    Middle,
    Between,
    Last,
}

impl Stage {
    const ALL: [Self; 5] = [Self::Bootstrap, Self::First, Self::Middle, Self::Between, Self::Last];
}

/// How often all ranks wait for each other.
const BARRIERS: usize = 16;

impl Scenario {
    pub(crate) fn new(seed: u64) -> Self {
        let mut numbers = Numbers::new(seed);
        let size = 2 + numbers.below(7);
        let topology = match size {
            2 => numbers.choose(&["ring:2", "hypercube:1"]),
            3 => numbers.choose(&["ring:3", "complete:3"]),
            4 => numbers.choose(&["torus:2x2", "torus:4", "hypercube:2"]),
            5 => "ring:5",
            6 => numbers.choose(&["torus:2x3", "mesh:3x2"]),
            7 => "complete:7",
            _ => numbers.choose(&["torus:2x4", "hypercube:3", "torus:2x2x2"]),
        };
        let count = 100 + numbers.below(150);
        let calls = (0..count).map(|at| Call::new(at, size, &mut numbers)).collect();
        // Kinds and stages in turn, so that a short campaign has all of them.
        let turn = seed as usize;
        let (kind, stage) = (Kind::ALL[turn % 14], Stage::ALL[turn / 14 % 5]);
        let faults = if kind == Kind::Two {
            let one = Fault::new(numbers.choose(&Kind::ALL[..13]), stage, (size, count), &mut numbers);
            let kind = numbers.choose(&Kind::ALL[..13]);
            let mut other = Fault::new(kind, numbers.choose(&Stage::ALL), (size, count), &mut numbers);
            other.rank = (one.rank + 1 + numbers.below(size - 1)) % size;
            match numbers.below(3) {
                0 => {}
                1 => (other.stage, other.at) = (one.stage, one.at),
                // The rank that decides on the first failure is killed at about that time.
                _ => {
                    let delay = one.delay + numbers.instant(Duration::from_millis(60));
                    let rank = usize::from(one.rank == 0);
                    other = Fault { rank, kind: Kind::Kill, delay, salt: other.salt, ..one };
                }
            }
            vec![one, other]
        } else {
            vec![Fault::new(kind, stage, (size, count), &mut numbers)]
        };
        let bootstrap = faults.iter().any(|fault| fault.stage == Stage::Bootstrap);
        let patience = Duration::from_secs(if bootstrap { 3 } else { 30 });
        Self { seed, size, topology, calls, timeout: Duration::from_secs(2), patience, faults }
    }

    /// The kind that the table counts.
    pub(crate) fn kind(&self) -> Kind {
        if self.faults.len() > 1 { Kind::Two } else { self.faults[0].kind }
    }

    /// Whether some call after this one ends on a rank only when all ranks have come to it.
    pub(crate) fn is_barred(&self, at: usize) -> bool {
        self.calls.iter().skip(at.saturating_add(1)).any(|call| call.what == What::Barrier)
    }
}

impl Call {
    fn new(at: usize, size: usize, numbers: &mut Numbers) -> Self {
        let elements = match numbers.below(100) {
            0..10 => 0,
            10..80 => 1 + numbers.below(64),
            // About the length from where on a message is asked for; in elements of eight bytes.
            80..90 => 8100 + numbers.below(184),
            90..97 => numbers.below(4096),
            _ => 38_400,
        };
        let what = match numbers.below(8) {
            _ if at % BARRIERS == BARRIERS - 1 => What::Barrier,
            0..4 => What::Alltoall(numbers.choose(&[
                "direct",
                "direct-rotated",
                "bruck",
                "ring",
                "by-dimension",
                "cube-log",
                "cube-xor",
                "auto",
            ])),
            4 => What::Allgather,
            5 => What::Allreduce,
            6 => What::Broadcast(numbers.below(size)),
            _ => What::Barrier,
        };
        Self { what, elements }
    }

    /// A call of another kind, size, root or algorithm.
    pub(crate) fn another(self, size: usize, salt: u64) -> Self {
        match (self.what, salt % 3) {
            (What::Barrier, _) => Self { what: What::Allreduce, ..self },
            (_, 0) => Self { elements: self.elements + 1, ..self },
            (What::Broadcast(root), 1) => Self { what: What::Broadcast((root + 1) % size), ..self },
            (What::Alltoall(name), 1) if name != "ring" => Self { what: What::Alltoall("ring"), ..self },
            (What::Allreduce, _) => Self { what: What::Allgather, ..self },
            _ => Self { what: What::Allreduce, ..self },
        }
    }
}

impl Fault {
    fn new(kind: Kind, stage: Stage, (size, count): (usize, usize), numbers: &mut Numbers) -> Self {
        let at = match stage {
            Stage::Bootstrap | Stage::First => 0,
            Stage::Middle | Stage::Between => count / 8 + numbers.below(count / 2),
            Stage::Last => count - 1,
        };
        let most = match stage {
            Stage::Bootstrap => Duration::from_millis(60),
            Stage::First => Duration::from_millis(2),
            Stage::Middle | Stage::Last => Duration::from_millis(3),
            Stage::Between => Duration::ZERO,
        };
        Self { rank: numbers.below(size), kind, stage, at, delay: numbers.instant(most), salt: numbers.next() }
    }
}
