//! Measures the prices of a lab, as a [`Machine`].
//!
//! | price | from |
//! |---|---|
//! | a byte over a channel | ping-pong of neighbours with two lengths, both of many pieces |
//! | a hop | short ping-pong over two channels, less that over one |
//! | a message, at each end | alltoall by `direct` with blocks of a few bytes: N - 1 messages out and in at each rank |
//! | a round's start-up | the rest of a short ping-pong |
//!
//! All pairs run at once, so that nodes share the processors as in an exchange. A node has a port
//! for each link, so a byte through a port costs nothing.

use necklace::collective::Collective;
use necklace::machine::Machine;

use crate::rank::{Calls, Order};
use crate::{Job, LabError};

/// Measures the prices. Pairs are ranks that differ in some bits, so the last extent of the network
/// must be a multiple of four.
///
/// # Errors
///
/// As [`Job::order`].
pub fn machine(job: &mut Job<'_>, calls: usize) -> Result<Machine, LabError> {
    let mut ball = |differ, bytes, calls| {
        let times = job.order(&Order::Pairs { differ, bytes, calls })?;
        Ok::<_, LabError>(median(times.into_iter().flatten().collect()))
    };
    let (short, far) = (ball(1, 4, 4 * calls)?, ball(2, 4, 4 * calls)?);
    let long = [64 << 10, 192 << 10];
    let (long_ball, longer_ball) = (ball(1, long[0], calls)?, ball(1, long[1], calls)?);
    let exchange = Calls { collective: Collective::Alltoall, algorithm: "direct".to_owned(), block_bytes: 4, calls };
    let direct = median(slowest(&job.order(&Order::Time(exchange))?));

    let channel = (longer_ball - long_ball).max(0.0) / (long[1] - long[0]) as f64;
    let hop = (far - short).max(0.0);
    let others = job.lab().nodes() as f64 - 1.0;
    // Each further rank adds two messages. Both ends of the first message are part of the
    // ping-pong.
    let message = if others > 1.0 { (direct - short).max(0.0) / (2.0 * others - 2.0) } else { short / 2.0 };
    let startup = (short - hop - 2.0 * message).max(0.0);
    let price = |microseconds: f64| (microseconds * 1e6).round() as u64;
    Ok(Machine::FREE
        .with_startup(price(startup))
        .with_message(price(message))
        .with_channel(price(channel))
        .with_hop(price(hop)))
}

/// Returns the time of each call, which is that of its slowest rank.
#[must_use]
pub fn slowest(times: &[Vec<f64>]) -> Vec<f64> {
    let calls = times.iter().map(Vec::len).max().unwrap_or(0);
    let call = |call: usize| times.iter().filter_map(|rank| rank.get(call)).copied().fold(0.0, f64::max);
    (0..calls).map(call).collect()
}

/// Returns the median, the upper one of an even number of values.
#[must_use]
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn call_takes_as_long_as_its_slowest_rank() {
        assert_eq!(slowest(&[vec![1.0, 5.0], vec![2.0, 3.0], vec![]]), [2.0, 5.0]);
        assert_eq!([median(vec![]), median(vec![3.0, 1.0, 2.0]), median(vec![1.0, 2.0])], [0.0, 2.0, 2.0]);
    }
}
