//! What the operating system is asked for: the clock, sleep, priority, memory,
//! signals. The only file of the crate that calls it directly.

use std::io;
use std::mem::MaybeUninit;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

use libc::{c_int, c_long, timespec};

const NANOSECONDS: u64 = 1_000_000_000;

/// What became of the wish to keep all memory in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Locked {
    /// What is there and what will be.
    All,
    /// What is there: the limit of this user would make later allocations fail.
    Present,
}

/// The monotonic clock, ns.
#[inline]
pub(crate) fn now_ns() -> u64 {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer. The call fails only for a
    // clock that does not exist.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * NANOSECONDS + time.tv_nsec as u64
}

/// The wall clock, ns: by it the system stamps what a socket receives.
#[inline]
pub(crate) fn wall_ns() -> u64 {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: as in `now_ns`.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &mut time) };
    time.tv_sec as u64 * NANOSECONDS + time.tv_nsec as u64
}

/// When the datagram that was read last came in, by the wall clock. The first
/// question only makes the system stamp what follows.
#[inline]
pub(crate) fn received_at_ns(socket: &UdpSocket) -> Option<u64> {
    const SIOCGSTAMPNS: libc::c_ulong = 0x8907;
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the socket is open, and `time` is a valid place for the answer.
    let code = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCGSTAMPNS as _, &mut time) };
    (code == 0).then(|| time.tv_sec as u64 * NANOSECONDS + time.tv_nsec as u64)
}

/// Sleeps until an instant of the monotonic clock; at once if it has passed.
#[inline]
pub(crate) fn sleep_until_ns(instant_ns: u64) {
    let time = timespec {
        tv_sec: (instant_ns / NANOSECONDS) as libc::time_t,
        tv_nsec: (instant_ns % NANOSECONDS) as c_long,
    };
    // A signal ends the sleep early; the instant stays the same.
    // SAFETY: `time` is valid, and nothing is written for an absolute sleep.
    while unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &time,
            std::ptr::null_mut(),
        )
    } == libc::EINTR
    {}
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

/// A handler of signals, and what was there before it.
pub(crate) struct Handler {
    signal: c_int,
    before: libc::sigaction,
}

/// The signals by which people and systems ask a program to end.
pub(crate) const ENDING_SIGNALS: [c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Calls `handle` when the signal comes, which must do nothing but store to atomics.
pub(crate) fn on_signal(signal: c_int, handle: extern "C" fn(c_int)) -> io::Result<Handler> {
    // SAFETY: all-zero is a valid action with an empty mask; the handler is a
    // function of the right kind that is safe in a signal handler (see above).
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        let mut before: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = handle as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        checked(libc::sigaction(signal, &action, &mut before))?;
        // Who said `nohup` means it. An ignored SIGINT is only a background job's
        // lot, and a stop that does nothing is worse than one too many.
        if signal == libc::SIGHUP && before.sa_sigaction == libc::SIG_IGN {
            checked(libc::sigaction(signal, &before, std::ptr::null_mut()))?;
        }
        Ok(Handler { signal, before })
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        // SAFETY: puts back what the system itself gave.
        unsafe { libc::sigaction(self.signal, &self.before, std::ptr::null_mut()) };
    }
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
    fn sleep_ends_at_its_instant_and_at_once_in_the_past() {
        let wanted = now_ns() + 2_000_000;
        sleep_until_ns(wanted);
        assert!(now_ns() >= wanted);
        sleep_until_ns(0);
        assert!(!allowed_cpus().is_empty());
        assert!(pin(usize::MAX).is_err());
        touch_stack();
    }
}
