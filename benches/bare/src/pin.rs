//! Keeping a thread on one processor.

/// Keeps the calling thread on one of the processors that it may run on: the `which`-th, counted round. Whether the
/// system did so: it is not told everywhere how.
///
/// Without, two threads that wait for each other may be laid on one processor while others work beside them, and what is
/// measured is the scheduler's patience.
#[cfg(target_os = "linux")]
pub fn pin(which: usize) -> bool {
    // SAFETY: a set of processors is plain bits, of which none is a valid one; the calls read and write that set alone.
    unsafe {
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut allowed) != 0 {
            return false;
        }
        let all: Vec<usize> = (0..libc::CPU_SETSIZE as usize).filter(|cpu| libc::CPU_ISSET(*cpu, &allowed)).collect();
        let Some(cpu) = which.checked_rem(all.len()).and_then(|at| all.get(at)) else { return false };
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(*cpu, &mut one);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const one) == 0
    }
}

/// As where it is told: it is not.
#[cfg(not(target_os = "linux"))]
pub fn pin(_: usize) -> bool {
    false
}
