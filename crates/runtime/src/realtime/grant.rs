//! What the system granted the loop's threads, and what it refused.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

use keys::Keys;

use super::{RealtimeError, RealtimePlan};
use crate::system::{self, Locked};

/// Stack of a thread; what it will use is touched before its job. An implicit model
/// iterates and may use more of it than a tick.
const STACK_BYTES: usize = 1 << 20;

/// What one thread wants of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadPlan {
    /// SCHED_FIFO priority.
    pub priority: u8,
    /// Where it runs.
    pub cpu: Cpu,
}

/// Where a real-time thread runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cpu {
    /// On an isolated processor if there is one, else on the last, if the
    /// priority was granted. Without it the scheduler must be free to move the
    /// thread away from others.
    Chosen,
    /// On this one.
    Number(usize),
    /// Wherever the scheduler likes.
    Any,
}

/// What a thread got: facts for the record, notices for people.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Granted {
    /// Name and value.
    pub facts: Vec<(String, String)>,
    /// What was refused, what it means and what helps.
    pub notices: Vec<String>,
    /// The processor the thread is pinned to.
    pub cpu: Option<usize>,
    /// The SCHED_FIFO priority it has.
    pub priority: Option<u8>,
}

impl Granted {
    /// Notes a fact; and, if it is a refusal, what it means and what helps.
    fn note(&mut self, name: impl Into<String>, value: impl Into<String>, refused: Option<String>) {
        self.facts.push((name.into(), value.into()));
        self.notices.extend(refused);
    }

    /// Takes the facts and notices of another along.
    pub(super) fn append(&mut self, mut other: Self) {
        self.facts.append(&mut other.facts);
        self.notices.append(&mut other.notices);
    }
}

/// Asks for priority and processor for the calling thread, called `who` in facts.
pub(super) fn for_thread(who: &str, plan: ThreadPlan) -> Granted {
    let mut granted = Granted::default();
    system::no_timer_slack();
    let name = format!("{who} scheduling");
    match system::set_fifo(plan.priority) {
        Ok(()) => {
            granted.priority = Some(plan.priority);
            granted.note(name, format!("SCHED_FIFO, priority {}", plan.priority), None);
        }
        Err(error) => {
            let refused = format!(
                "no real-time priority for the {who} ({error}): it is scheduled like any program, \
                 so expect late ticks; allow it with `setcap cap_sys_nice,cap_ipc_lock+ep` or an \
                 rtprio limit (docs/real-time.md)"
            );
            granted.note(name, "SCHED_OTHER (SCHED_FIFO refused)", Some(refused));
        }
    }
    let wanted = match plan.cpu {
        Cpu::Number(cpu) => Some(cpu),
        Cpu::Chosen if granted.priority.is_some() => chosen_cpu(),
        Cpu::Chosen | Cpu::Any => None,
    };
    let refused = wanted.and_then(|cpu| match system::pin(cpu) {
        Ok(()) => {
            granted.cpu = Some(cpu);
            None
        }
        Err(error) => Some(format!(
            "the {who} cannot be kept on processor {cpu} ({error}): the scheduler chooses; name \
             one that exists and that this program may use in [realtime] cpu"
        )),
    });
    let processor = granted.cpu.map_or("any".to_owned(), |cpu| cpu.to_string());
    granted.note(format!("{who} processor"), processor, refused);
    granted
}

/// A thread that has what the system would grant, and waits for its job.
pub(super) struct PreparedThread<J, R> {
    job: Sender<J>,
    pub(super) handle: JoinHandle<Option<R>>,
}

impl<J: Send + 'static, R: Send + 'static> PreparedThread<J, R> {
    /// Starts a thread, called `who` in facts, and asks for what it needs. What is
    /// refused is noted, never an error.
    pub(super) fn start(
        name: &str,
        who: &'static str,
        plan: ThreadPlan,
        work: impl FnOnce(J) -> R + Send + 'static,
    ) -> Result<(Self, Granted), RealtimeError> {
        let (tell, told) = channel();
        let (job, jobs) = channel();
        let handle = thread::Builder::new()
            .name(name.into())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                let _ = tell.send(for_thread(who, plan));
                let job = jobs.recv().ok()?;
                system::touch_stack();
                Some(work(job))
            })
            .map_err(RealtimeError::Thread)?;
        let granted = told.recv().map_err(|_| RealtimeError::Panicked)?;
        Ok((Self { job, handle }, granted))
    }

    /// Gives it its job.
    pub(super) fn give(&self, job: J) -> Result<(), RealtimeError> {
        self.job.send(job).map_err(|_| RealtimeError::Panicked)
    }

    /// Waits for the end of its job; `None` if it had none.
    pub(super) fn join(self) -> Result<Option<R>, RealtimeError> {
        drop(self.job);
        self.handle.join().map_err(|_| RealtimeError::Panicked)
    }
}

/// An isolated processor, else the last of several: interrupts prefer the first.
fn chosen_cpu() -> Option<usize> {
    let isolated = first_line("/sys/devices/system/cpu/isolated").unwrap_or_default();
    let first = isolated.split(['-', ',']).next().and_then(|cpu| cpu.parse().ok());
    first.or_else(|| {
        let allowed = system::allowed_cpus();
        allowed.last().copied().filter(|_| allowed.len() > 1)
    })
}

/// Whether the process keeps its memory in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
pub enum Memory {
    /// All of it stays in place, so that no tick waits for a page.
    Locked,
    /// Left to the system.
    Unlocked,
}

/// What the whole process holds while a test runs.
pub(super) struct ProcessGrant {
    /// Held open: the processors do not fall asleep deeply while it is.
    _awake: Option<File>,
    locked: bool,
}

impl ProcessGrant {
    /// Locks the memory and keeps the processors awake.
    pub(super) fn ask(plan: &RealtimePlan, granted: &mut Granted) -> Self {
        let locked = match plan.memory {
            Memory::Unlocked => {
                granted.note("memory", "not locked, as the file asks", None);
                false
            }
            Memory::Locked => lock(granted),
        };
        let awake = keep_awake();
        match &awake {
            Ok(_) => granted.note("processor sleep", "none (cpu_dma_latency 0)", None),
            Err(error) => {
                let refused = format!(
                    "the processors may fall asleep between ticks (/dev/cpu_dma_latency: \
                     {error}): ticks begin some tens of microseconds later"
                );
                granted.note("processor sleep", "as the system likes", Some(refused));
            }
        }
        Self { _awake: awake.ok(), locked }
    }
}

impl Drop for ProcessGrant {
    fn drop(&mut self) {
        if self.locked {
            system::unlock_memory();
        }
    }
}

fn lock(granted: &mut Granted) -> bool {
    let locked = system::lock_memory();
    let (value, refused) = match &locked {
        Ok(Locked::All) => ("locked", None),
        Ok(Locked::Present) => (
            "locked as far as present at the start",
            Some(
                "memory is locked as it is, not as it will be: the memlock limit of this user is \
                 too small for more; raise it (docs/real-time.md)"
                    .to_owned(),
            ),
        ),
        Err(error) => (
            "not locked (refused)",
            Some(format!(
                "memory is not locked ({error}): a page that was put aside makes a tick late; \
                 raise the memlock limit of this user (docs/real-time.md)"
            )),
        ),
    };
    granted.note("memory", value, refused);
    locked.is_ok()
}

fn keep_awake() -> io::Result<File> {
    let mut file = OpenOptions::new().write(true).open("/dev/cpu_dma_latency")?;
    file.write_all(&0i32.to_ne_bytes())?;
    Ok(file)
}

/// Facts of the machine that decide how late a thread wakes up.
pub fn machine_facts() -> Vec<(String, String)> {
    let governor = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
    let clock = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    [
        ("preemption", preemption()),
        ("clocksource", first_line(clock)),
        ("frequency governor", first_line(governor)),
        ("isolated processors", first_line("/sys/devices/system/cpu/isolated")),
        ("real-time share of a second, µs", first_line("/proc/sys/kernel/sched_rt_runtime_us")),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name.to_owned(), value?)))
    .collect()
}

/// The preemption model: what the kernel was built with and, where it can be
/// seen, what it runs with.
fn preemption() -> Option<String> {
    let version = first_line("/proc/version")?;
    let built = version.split_whitespace().find(|word| word.starts_with("PREEMPT"));
    let built = built.unwrap_or("no preemption").to_owned();
    // The current one stands in brackets.
    let running = first_line("/sys/kernel/debug/sched/preempt").and_then(|modes| {
        let (_, rest) = modes.split_once('(')?;
        Some(rest.split_once(')')?.0.to_owned())
    });
    Some(running.map_or(built.clone(), |running| format!("{built}, {running}")))
}

fn first_line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.lines().next()?.trim().to_owned()).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_a_notice_never_an_error() {
        // A processor that no machine has.
        let plan = ThreadPlan { priority: 1, cpu: Cpu::Number(1000) };
        let granted = thread::spawn(move || for_thread("tick", plan)).join().unwrap();
        assert_eq!(granted.cpu, None);
        let said = granted.notices.last().unwrap();
        assert!(said.contains("processor 1000") && said.contains("[realtime] cpu"), "{said}");
        assert!(
            granted.facts.iter().any(|(name, value)| name == "tick processor" && value == "any")
        );
    }
}
