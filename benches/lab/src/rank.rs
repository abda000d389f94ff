//! Runs a rank, which reads one order per line and answers each with one line.

use std::fmt;
use std::io::{BufRead, Write};
use std::str::FromStr;
use std::time::Instant;

use necklace::collective::Collective;
use necklace::op::Sum;
use necklace::schedule::Block;
use necklace::{Communicator, Error, Rank};

/// An order for all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Calls and nothing else, so that the links carry only their traffic.
    Run(Calls),
    /// Calls, each after a barrier, and an untimed one before.
    Time(Calls),
    /// Ping-pong between ranks whose numbers differ in these bits, all pairs at once. The time is
    /// half of a round trip.
    Pairs {
        /// The bits.
        differ: usize,
        /// The length of a message, in bytes.
        bytes: usize,
        /// Round trips.
        calls: usize,
    },
}

/// Calls of a collective. Reductions add bytes, and wrap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calls {
    /// The collective.
    pub collective: Collective,
    /// The name of the algorithm.
    pub algorithm: String,
    /// The size of a block, in bytes.
    pub block_bytes: usize,
    /// The number of calls.
    pub calls: usize,
}

/// The time of each call in microseconds, or an error.
pub(crate) struct Reply(pub(crate) Result<Vec<f64>, String>);

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let write = |f: &mut fmt::Formatter<'_>, verb, what: &Calls| {
            let Calls { collective, algorithm, block_bytes, calls } = what;
            write!(f, "{verb} {} {algorithm} {block_bytes} {calls}", collective.text())
        };
        match self {
            Self::Run(what) => write(f, "run", what),
            Self::Time(what) => write(f, "time", what),
            Self::Pairs { differ, bytes, calls } => write!(f, "pairs {differ} {bytes} {calls}"),
        }
    }
}

impl FromStr for Order {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |word: &str| word.parse().map_err(|error| format!("{line:?}: {error}"));
        let read = |collective: &str, algorithm: &str, block_bytes, calls| {
            let collective = Collective::named(collective, Rank::new(0))
                .ok_or_else(|| format!("{collective:?} is no collective"))?;
            let (block_bytes, calls) = (number(block_bytes)?, number(calls)?);
            Ok::<_, String>(Calls { collective, algorithm: algorithm.to_owned(), block_bytes, calls })
        };
        match *words {
            ["run", collective, algorithm, bytes, calls] => read(collective, algorithm, bytes, calls).map(Self::Run),
            ["time", collective, algorithm, bytes, calls] => read(collective, algorithm, bytes, calls).map(Self::Time),
            ["pairs", differ, bytes, calls] => {
                Ok(Self::Pairs { differ: number(differ)?, bytes: number(bytes)?, calls: number(calls)? })
            }
            _ => Err(format!("{line:?} is no order")),
        }
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Ok(times) => {
                f.write_str("done")?;
                times.iter().try_for_each(|time| write!(f, " {time:.1}"))
            }
            Err(why) => write!(f, "failed {}", why.replace('\n', " ")),
        }
    }
}

impl FromStr for Reply {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let odd = || format!("said {line:?}");
        if let Some(why) = line.strip_prefix("failed ") {
            return Ok(Self(Err(why.to_owned())));
        }
        let times = line.strip_prefix("done").ok_or_else(odd)?.split_whitespace();
        Ok(Self(Ok(times.map(str::parse).collect::<Result<_, _>>().map_err(|_| odd())?)))
    }
}

/// Reports that this rank runs, then obeys until the orders end or one fails.
///
/// # Errors
///
/// Fails if the output is closed. Other errors are replies.
pub fn serve(mut comm: Communicator, orders: impl BufRead, mut replies: impl Write) -> std::io::Result<()> {
    let mut reply =
        |reply: Reply| writeln!(replies, "{reply}").and_then(|()| replies.flush()).map(|()| reply.0.is_ok());
    reply(Reply(Ok(vec![])))?;
    for line in orders.lines() {
        let done = line?.parse().and_then(|order| obey(&mut comm, &order));
        if !reply(Reply(done))? {
            break;
        }
    }
    Ok(())
}

fn obey(comm: &mut Communicator, order: &Order) -> Result<Vec<f64>, String> {
    match order {
        Order::Run(what) => run(comm, what, false),
        Order::Time(what) => run(comm, what, true),
        Order::Pairs { differ, bytes, calls } => {
            pairs(comm, *differ, *bytes, *calls).map_err(|error| error.to_string())
        }
    }
}

fn run(comm: &mut Communicator, what: &Calls, timed: bool) -> Result<Vec<f64>, String> {
    let Calls { collective, algorithm, block_bytes, calls } = what;
    let words = |error: Error| error.to_string();
    comm.choose(collective.name(), algorithm).map_err(words)?;
    let (rank, size) = (Rank::new(comm.rank()), comm.size());
    let (send, expected) =
        (content(&collective.before(size, rank), *block_bytes), content(&collective.after(size, rank), *block_bytes));
    let mut receive = vec![0; expected.len()];
    let mut times = Vec::with_capacity(*calls);
    for call in 0..calls + usize::from(timed) {
        receive.fill(!0);
        if timed {
            comm.barrier().map_err(words)?;
        }
        let start = Instant::now();
        comm.perform(collective, &send, &mut receive, Sum).map_err(words)?;
        let time = start.elapsed().as_secs_f64() * 1e6;
        if let Some(wrong) = receive.iter().zip(&expected).position(|(found, expected)| found != expected) {
            return Err(format!("call {call} by {algorithm}: byte {wrong} of {} is wrong", receive.len()));
        }
        if call > 0 || !timed {
            times.push(time);
        }
    }
    Ok(times)
}

/// Returns the bytes of blocks: the sums of what their contributors have for them.
fn content(blocks: &[(Block, Vec<Rank>)], bytes: usize) -> Vec<u8> {
    let byte = |block: Block, contributor: Rank, at: usize| {
        let name = [contributor.index(), block.source() as usize, block.destination() as usize, at];
        (name.iter().fold(0, |mixed: usize, &part| (mixed ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15)) >> 32) as u8
    };
    let sum = |block: Block, contributors: &[Rank], at: usize| {
        contributors.iter().fold(0, |sum: u8, &contributor| sum.wrapping_add(byte(block, contributor, at)))
    };
    blocks.iter().flat_map(|(block, by)| (0..bytes).map(move |at| sum(*block, by, at))).collect()
}

fn pairs(comm: &mut Communicator, differ: usize, bytes: usize, calls: usize) -> Result<Vec<f64>, Error> {
    let (rank, partner) = (comm.rank(), comm.rank() ^ differ);
    if partner == rank || partner >= comm.size() {
        comm.split_undefined()?;
        return Ok(vec![]);
    }
    let mut pair = comm.split(rank.min(partner) as u32, 0)?;
    let mut ball = vec![1_u8; bytes];
    let mut times = Vec::with_capacity(calls);
    for call in 0..=calls {
        let start = Instant::now();
        // The receiver answers only after it has received, so no barrier is needed.
        pair.broadcast(&mut ball, 0)?;
        pair.broadcast(&mut ball, 1)?;
        if call > 0 && pair.rank() == 0 {
            times.push(start.elapsed().as_secs_f64() * 1e6 / 2.0);
        }
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Returns the replies of four threads.
    fn replies(orders: &str) -> Vec<String> {
        necklace::local::run(4, |comm| {
            let mut said = Vec::new();
            serve(comm, orders.as_bytes(), &mut said).unwrap();
            String::from_utf8(said).unwrap()
        })
        .unwrap()
    }

    #[test]
    fn each_order_is_answered_with_a_time_per_call() {
        let calls = |collective, algorithm: &str| Calls {
            collective,
            algorithm: algorithm.to_owned(),
            block_bytes: 5,
            calls: 3,
        };
        let orders = [
            (Order::Run(calls(Collective::Alltoall, "bruck:radix=4")), 3),
            (Order::Time(calls(Collective::Allgather, "balanced-trees")), 3),
            (Order::Time(calls(Collective::Allreduce, "direct")), 3),
            (Order::Pairs { differ: 2, bytes: 1, calls: 4 }, 4),
        ];
        let text: String = orders.iter().map(|(order, _)| format!("{order}\n")).collect();
        assert!(orders.iter().all(|(order, _)| order.to_string().parse() == Ok(order.clone())), "{text}");
        for (rank, said) in replies(&text).into_iter().enumerate() {
            let times: Vec<usize> = said.lines().map(|line| line.parse::<Reply>().unwrap().0.unwrap().len()).collect();
            assert_eq!(times, [0, 3, 3, 3, if rank < 2 { 4 } else { 0 }], "{said}");
        }
    }

    #[test]
    fn impossible_order_is_answered_with_the_reason() {
        for (order, reason) in [
            ("run alltoall telepathy 1 1", "telepathy"),
            ("run sing ring 1 1", "\"sing\" is no collective"),
            ("sing", "\"sing\" is no order"),
            ("time x 1", "time x 1"),
        ] {
            for said in replies(&format!("{order}\nrun alltoall ring 1 1\n")) {
                let last = said.lines().nth(1).unwrap();
                assert!(last.starts_with("failed ") && last.contains(reason), "{said}");
                assert_eq!(said.lines().count(), 2, "no order is taken after one that failed");
            }
        }
    }
}
