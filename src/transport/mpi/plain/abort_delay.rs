//! The delay with which each rank ends the job, if several do.

use std::ffi::c_int;
use std::time::Duration;

/// Interval between the ranks that end the job, one after the other, so that the first has ended it
/// before the next would: if several do so at once, the launcher of Open MPI may hang. After the
/// first ranks the interval shrinks, so that the last of any number does not wait long.
const ABORT_INTERVAL: Duration = Duration::from_millis(500);
/// The number of ranks with a whole interval.
const WHOLE_INTERVALS: f64 = 8.0;

/// Returns how long a rank waits before it ends the job.
pub(crate) fn abort_delay(order: c_int) -> Duration {
    let order = f64::from(order.max(0));
    ABORT_INTERVAL.mul_f64(order.min(WHOLE_INTERVALS) + 2.0 * (order / WHOLE_INTERVALS).max(1.0).log2())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_end_the_job_one_after_the_other_without_long_waits() {
        let delays: Vec<Duration> = (0..65_536).map(abort_delay).collect();
        assert!(delays[..9].windows(2).all(|pair| pair[1] - pair[0] == ABORT_INTERVAL));
        assert!(delays.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(delays[65_535] < Duration::from_secs(20) && abort_delay(-1) == Duration::ZERO);
    }
}
