//! What the operating system is asked for by real-time threads: priority,
//! processor, memory.

use std::io;
use std::num::NonZeroU64;

use rustix::mm::{MlockAllFlags, mlockall, munlockall};
use rustix::process::{Resource, getrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity, set_current_timer_slack};

/// What became of the wish to keep all memory in place.
pub(crate) enum Locked {
    /// What is there and what will be.
    All,
    /// What is there: the limit of this user would make later allocations fail.
    Present,
}

/// First in, first out scheduling of the calling thread.
pub(crate) fn set_fifo(priority: u8) -> io::Result<()> {
    let parameter = libc::sched_param { sched_priority: priority.into() };
    // SAFETY: `parameter` is valid; 0 is the calling thread.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameter) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Keeps the calling thread on one processor.
pub(crate) fn pin(cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

/// The processors the calling thread may run on.
pub(crate) fn allowed_cpus() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
}

/// Wakes the calling thread when asked for, not up to 50 µs later. Threads with
/// a real-time policy have no slack anyway; it helps those that were refused one.
pub(crate) fn no_timer_slack() {
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}

/// Keeps the memory of the process in place.
///
/// Locking what is yet to come under a limit would make later allocations fail,
/// and with them the program: then only what is there is locked.
pub(crate) fn lock_memory() -> io::Result<Locked> {
    let unlimited = getrlimit(Resource::Memlock).current.is_none() || may_lock_any();
    let (flags, locked) = if unlimited {
        (MlockAllFlags::CURRENT | MlockAllFlags::FUTURE, Locked::All)
    } else {
        (MlockAllFlags::CURRENT, Locked::Present)
    };
    mlockall(flags)?;
    Ok(locked)
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
    let _ = munlockall();
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
