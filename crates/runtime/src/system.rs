//! What the operating system is asked for by real-time threads: priority,
//! processor, memory.

use std::io;
use std::mem::MaybeUninit;

use libc::c_int;

/// What became of the wish to keep all memory in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Locked {
    /// What is there and what will be.
    All,
    /// What is there: the limit of this user would make later allocations fail.
    Present,
}

fn checked(code: c_int) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// First in, first out scheduling of the calling thread.
pub(crate) fn set_fifo(priority: u8) -> io::Result<()> {
    let parameter = libc::sched_param { sched_priority: c_int::from(priority) };
    // SAFETY: `parameter` is valid; 0 is the calling thread.
    checked(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameter) })
}

/// Keeps the calling thread on one processor.
pub(crate) fn pin(cpu: usize) -> io::Result<()> {
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: an all-zero set is an empty set, `cpu` is within it, and the size
    // is that of the set.
    checked(unsafe {
        let mut set: libc::cpu_set_t = MaybeUninit::zeroed().assume_init();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    })
}

/// The processors the calling thread may run on.
pub(crate) fn allowed_cpus() -> Vec<usize> {
    // SAFETY: as in `pin`; the set is filled by the call.
    unsafe {
        let mut set: libc::cpu_set_t = MaybeUninit::zeroed().assume_init();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) != 0 {
            return Vec::new();
        }
        (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, &set)).collect()
    }
}

/// Wakes the calling thread when asked for, not up to 50 µs later. Threads with
/// a real-time policy have no slack anyway; it helps those that were refused one.
pub(crate) fn no_timer_slack() {
    // SAFETY: takes numbers only.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}

/// Keeps the memory of the process in place.
///
/// Locking what is yet to come under a limit would make later allocations fail,
/// and with them the program: then only what is there is locked.
pub(crate) fn lock_memory() -> io::Result<Locked> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place for the answer.
    checked(unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit) })?;
    let unlimited = limit.rlim_cur == libc::RLIM_INFINITY || may_lock_any();
    let (flags, locked) = if unlimited {
        (libc::MCL_CURRENT | libc::MCL_FUTURE, Locked::All)
    } else {
        (libc::MCL_CURRENT, Locked::Present)
    };
    // SAFETY: takes numbers only.
    checked(unsafe { libc::mlockall(flags) }).map(|()| locked)
}

/// Whether the process holds CAP_IPC_LOCK, which no limit binds.
fn may_lock_any() -> bool {
    const IPC_LOCK: u32 = 14;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let mask = effective.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> IPC_LOCK & 1 == 1)
}

/// Gives the memory free again.
pub(crate) fn unlock_memory() {
    // SAFETY: takes nothing.
    unsafe { libc::munlockall() };
}

/// Touches the stack the loop will use, so that it meets no page fault there.
#[inline(never)]
pub(crate) fn touch_stack() {
    const BYTES: usize = 256 << 10;
    const PAGE: usize = 4096;
    let mut stack = [0u8; BYTES];
    for place in (0..BYTES).step_by(PAGE) {
        // SAFETY: within the array. Volatile, or the whole function would go.
        unsafe { std::ptr::write_volatile(&mut stack[place], 1) };
    }
    std::hint::black_box(&stack);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_known_and_the_stack_can_be_touched() {
        assert!(!allowed_cpus().is_empty());
        assert!(pin(usize::MAX).is_err());
        touch_stack();
    }
}
