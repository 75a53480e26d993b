//! What the system granted the loop's threads, and what it refused.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};

use super::RealtimePlan;
use crate::system::{self, Locked};

/// What one thread wants of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wish {
    /// Of SCHED_FIFO.
    pub(super) priority: u8,
    pub(super) cpu: Cpu,
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
    fn fact(&mut self, name: &str, value: impl Into<String>) {
        self.facts.push((name.to_owned(), value.into()));
    }
}

/// Asks for priority and processor for the calling thread, called `who` in facts.
pub(super) fn for_thread(who: &str, wish: Wish) -> Granted {
    let mut granted = Granted::default();
    system::no_timer_slack();
    match system::set_fifo(wish.priority) {
        Ok(()) => {
            granted.priority = Some(wish.priority);
            granted.fact(
                &format!("{who} scheduling"),
                format!("SCHED_FIFO, priority {}", wish.priority),
            );
        }
        Err(error) => {
            granted.fact(&format!("{who} scheduling"), "SCHED_OTHER (SCHED_FIFO refused)");
            granted.notices.push(format!(
                "no real-time priority for the {who} ({error}): it is scheduled like any program, \
                 so expect late ticks; allow it with `setcap cap_sys_nice,cap_ipc_lock+ep` or an \
                 rtprio limit (docs/real-time.md)"
            ));
        }
    }
    let wanted = match wish.cpu {
        Cpu::Number(cpu) => Some(cpu),
        Cpu::Chosen if granted.priority.is_some() => chosen_cpu(),
        Cpu::Chosen | Cpu::Any => None,
    };
    match wanted.map(|cpu| (cpu, system::pin(cpu))) {
        Some((cpu, Ok(()))) => {
            granted.cpu = Some(cpu);
            granted.fact(&format!("{who} processor"), cpu.to_string());
        }
        Some((cpu, Err(error))) => {
            granted.fact(&format!("{who} processor"), "any");
            granted.notices.push(format!(
                "the {who} cannot be kept on processor {cpu} ({error}): the scheduler chooses; \
                 name one that exists and that this program may use in [realtime] cpu"
            ));
        }
        None => granted.fact(&format!("{who} processor"), "any"),
    }
    granted
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// All of it, so that no page is ever fetched during a tick.
    Locked,
    /// Left to the system.
    Unlocked,
}

/// What the whole process holds while a test runs.
#[derive(Debug)]
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
                granted.fact("memory", "not locked, as the file asks");
                false
            }
            Memory::Locked => lock(granted),
        };
        let awake = match keep_awake() {
            Ok(file) => {
                granted.fact("processor sleep", "none (cpu_dma_latency 0)");
                Some(file)
            }
            Err(error) => {
                granted.fact("processor sleep", "as the system likes");
                granted.notices.push(format!(
                    "the processors may fall asleep between ticks (/dev/cpu_dma_latency: \
                     {error}): ticks begin some tens of microseconds later"
                ));
                None
            }
        };
        Self { _awake: awake, locked }
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
    match system::lock_memory() {
        Ok(Locked::All) => {
            granted.fact("memory", "locked");
            true
        }
        Ok(Locked::Present) => {
            granted.fact("memory", "locked as far as present at the start");
            granted.notices.push(
                "memory is locked as it is, not as it will be: the memlock limit of this user is \
                 too small for more; raise it (docs/real-time.md)"
                    .to_owned(),
            );
            true
        }
        Err(error) => {
            granted.fact("memory", "not locked (refused)");
            granted.notices.push(format!(
                "memory is not locked ({error}): a page that was put aside makes a tick late; \
                 raise the memlock limit of this user (docs/real-time.md)"
            ));
            false
        }
    }
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
        let wish = Wish { priority: 1, cpu: Cpu::Number(1000) };
        let granted = std::thread::spawn(move || for_thread("tick", wish)).join().unwrap();
        assert_eq!(granted.cpu, None);
        let said = granted.notices.last().unwrap();
        assert!(said.contains("processor 1000") && said.contains("[realtime] cpu"), "{said}");
        assert!(
            granted.facts.iter().any(|(name, value)| name == "tick processor" && value == "any")
        );
    }
}
