//! Runs a rank, which reads one order per line and answers each with one line.

use std::fmt;
use std::io::{BufRead, Write};
use std::str::FromStr;
use std::time::Instant;

use necklace::{Communicator, Error};

/// An order for all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Alltoalls and nothing else, so that the links carry only their traffic.
    Exchange(Exchange),
    /// Alltoalls, each after a barrier, and an untimed one before.
    Time(Exchange),
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

/// Some alltoalls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
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
        let exchange = |f: &mut fmt::Formatter<'_>, verb, Exchange { algorithm, block_bytes, calls }: &Exchange| {
            write!(f, "{verb} {algorithm} {block_bytes} {calls}")
        };
        match self {
            Self::Exchange(what) => exchange(f, "exchange", what),
            Self::Time(what) => exchange(f, "time", what),
            Self::Pairs { differ, bytes, calls } => write!(f, "pairs {differ} {bytes} {calls}"),
        }
    }
}

impl FromStr for Order {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |word: &str| word.parse().map_err(|error| format!("{line:?}: {error}"));
        let exchange = |algorithm: &str, block_bytes, calls| {
            let (block_bytes, calls) = (number(block_bytes)?, number(calls)?);
            Ok::<_, String>(Exchange { algorithm: algorithm.to_owned(), block_bytes, calls })
        };
        match *words {
            ["exchange", algorithm, bytes, calls] => exchange(algorithm, bytes, calls).map(Self::Exchange),
            ["time", algorithm, bytes, calls] => exchange(algorithm, bytes, calls).map(Self::Time),
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
        Order::Exchange(what) => exchange(comm, what, false),
        Order::Time(what) => exchange(comm, what, true),
        Order::Pairs { differ, bytes, calls } => {
            pairs(comm, *differ, *bytes, *calls).map_err(|error| error.to_string())
        }
    }
}

fn exchange(comm: &mut Communicator, what: &Exchange, timed: bool) -> Result<Vec<f64>, String> {
    let Exchange { algorithm, block_bytes, calls } = what;
    let words = |error: Error| error.to_string();
    comm.choose("alltoall", algorithm).map_err(words)?;
    let (rank, size) = (comm.rank(), comm.size());
    let block = |source: usize, destination: usize| {
        let mixed = (source * size + destination).wrapping_mul(0x9e37_79b9);
        (0..*block_bytes).map(move |i| (mixed.wrapping_add(i * 31) >> 3) as u8)
    };
    let send: Vec<u8> = (0..size).flat_map(|to| block(rank, to)).collect();
    let expected: Vec<u8> = (0..size).flat_map(|from| block(from, rank)).collect();
    let mut receive = vec![0; expected.len()];
    let mut times = Vec::with_capacity(*calls);
    for call in 0..calls + usize::from(timed) {
        receive.fill(!0);
        if timed {
            comm.barrier().map_err(words)?;
        }
        let start = Instant::now();
        comm.alltoall(&send, &mut receive).map_err(words)?;
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
        let exchange = Exchange { algorithm: "bruck:radix=4".to_owned(), block_bytes: 5, calls: 3 };
        let orders = [
            (Order::Exchange(exchange.clone()), 3),
            (Order::Time(exchange), 3),
            (Order::Pairs { differ: 2, bytes: 1, calls: 4 }, 4),
        ];
        let text: String = orders.iter().map(|(order, _)| format!("{order}\n")).collect();
        assert!(orders.iter().all(|(order, _)| order.to_string().parse() == Ok(order.clone())), "{text}");
        for (rank, said) in replies(&text).into_iter().enumerate() {
            let times: Vec<usize> = said.lines().map(|line| line.parse::<Reply>().unwrap().0.unwrap().len()).collect();
            assert_eq!(times, [0, 3, 3, if rank < 2 { 4 } else { 0 }], "{said}");
        }
    }

    #[test]
    fn impossible_order_is_answered_with_the_reason() {
        for (order, reason) in
            [("exchange telepathy 1 1", "telepathy"), ("sing", "\"sing\" is no order"), ("time x 1", "time x 1")]
        {
            for said in replies(&format!("{order}\nexchange ring 1 1\n")) {
                let last = said.lines().nth(1).unwrap();
                assert!(last.starts_with("failed ") && last.contains(reason), "{said}");
                assert_eq!(said.lines().count(), 2, "no order is taken after one that failed");
            }
        }
    }
}
