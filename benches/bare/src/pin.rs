//! Pins a thread to a processor.

/// Pins the calling thread to the `which`-th of the processors that it may run on, modulo their
/// number. Returns whether the system has done so, which not every system supports.
///
/// Without pinning, the scheduler may put two threads that wait for each other on one processor,
/// which distorts the times.
#[cfg(target_os = "linux")]
pub fn pin(which: usize) -> bool {
    // SAFETY: a set of processors is plain bits, of which none is a valid one; the calls read and
    // write that set alone.
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

/// Does nothing on this system, and returns false.
#[cfg(not(target_os = "linux"))]
pub fn pin(_: usize) -> bool {
    false
}
