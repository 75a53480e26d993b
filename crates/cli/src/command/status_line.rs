//! The line that shows how a real-time run goes.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use runtime::interlock::Phase;
use runtime::realtime::{Glance, Status};

use super::output::Output;

/// Between two lines where nobody can see a line change.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Shows a run to people: one changing line on a terminal, a plain one now and
/// then elsewhere, nothing beside JSON. A terminal that went away (its signal is
/// the operator's stop) must not end the program before the rig is safe: what
/// cannot be written is not.
pub(super) struct StatusLine {
    show: Show,
    step_s: f64,
    duration_s: f64,
    last_phase: u8,
    last_lost: u64,
    /// Ticks and unanswered ones at the last look.
    last_ticks: [u64; 2],
    shown: Option<Instant>,
}

#[derive(PartialEq, Eq)]
enum Show {
    Changing,
    Plain,
    Nothing,
}

impl StatusLine {
    pub(super) fn new(output: Output, step_s: f64, duration_s: f64) -> Self {
        let show = match output {
            Output::Json => Show::Nothing,
            Output::People if io::stderr().is_terminal() => Show::Changing,
            Output::People => Show::Plain,
        };
        Self {
            show,
            step_s,
            duration_s,
            last_phase: 0,
            last_lost: 0,
            last_ticks: [0; 2],
            shown: None,
        }
    }

    fn say(&mut self, text: &str) {
        let mut stderr = io::stderr().lock();
        // Who cannot be told does not stop the test.
        let _ = match self.show {
            Show::Changing => write!(stderr, "\r\x1b[2K{text}").and_then(|()| stderr.flush()),
            Show::Plain => writeln!(stderr, "{text}"),
            Show::Nothing => Ok(()),
        };
        self.shown = Some(Instant::now());
    }

    /// Ends the line that changed.
    pub(super) fn end(&self) {
        if self.show == Show::Changing && self.shown.is_some() {
            let _ = writeln!(io::stderr());
        }
    }
}

impl StatusLine {
    /// Shows where a loop stands, if there is reason to.
    pub(super) fn look(&mut self, status: &Status) {
        let glance = status.glance();
        let news = glance.phase != self.last_phase
            || glance.frames_lost > 0 && self.last_lost == 0
            || status.is_over();
        (self.last_phase, self.last_lost) = (glance.phase, glance.frames_lost);
        let now = [glance.ticks, glance.unanswered];
        let answered = is_answered(self.last_ticks, now);
        self.last_ticks = now;
        let due = self.shown.is_none_or(|shown| shown.elapsed() >= PLAIN_EVERY);
        if self.show == Show::Changing || news || due {
            self.say(&line(&glance, answered, self.step_s, self.duration_s));
        }
    }
}

/// Whether a rig has answered since a look: ticks and unanswered ones then and now.
fn is_answered(then: [u64; 2], now: [u64; 2]) -> bool {
    let [ticks, unanswered] = [0, 1].map(|of| now[of].saturating_sub(then[of]));
    unanswered == 0 || unanswered < ticks
}

/// What a glance shows. A rig that does not answer is where it was last known to be: what the loop
/// went on to send it makes nobody safe.
fn line(glance: &Glance, answered: bool, step_s: f64, duration_s: f64) -> String {
    let time_s = glance.ticks as f64 * step_s;
    let p99 = match glance.wake_up_p99_ns {
        0 => "–".to_owned(),
        ns => format!("{:.0} µs", 1e-3 * ns as f64),
    };
    let mut line = format!(
        "{time_s:8.1} s of {duration_s:.1} s  {:9}  wake-up p99 {p99}  overruns {}  SW {:.1} %  ring \
         {:.0} %",
        if answered { Phase::word(glance.phase) } else { "last known" },
        glance.overruns,
        glance.stability_warning,
        100.0 * glance.ring,
    );
    if glance.missed > 0 {
        line += &format!("  missed {}", glance.missed);
    }
    if glance.bridged > 0 {
        line += &format!("  bridged {}", glance.bridged);
    }
    if glance.unanswered > 0 {
        line += &format!("  unanswered {} ({} late)", glance.unanswered, glance.late_answers);
    }
    if glance.frames_lost > 0 {
        line += &format!("  FRAMES LOST {}", glance.frames_lost);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_matters_and_shouts_when_frames_are_lost() {
        let mut glance = Glance {
            ticks: 4096,
            phase: 0,
            overruns: 2,
            missed: 0,
            bridged: 0,
            unanswered: 0,
            late_answers: 0,
            stability_warning: 12.345,
            ring: 0.014,
            frames_lost: 0,
            wake_up_p99_ns: 45_300,
        };
        let said = line(&glance, true, 1.0 / 1024.0, 40.0);
        for words in
            ["4.0 s of 40.0 s", "running", "p99 45 µs", "overruns 2", "SW 12.3", "ring 1 %"]
        {
            assert!(said.contains(words), "{words}: {said}");
        }
        assert!(!said.contains("LOST") && !said.contains("missed"));
        glance = Glance {
            frames_lost: 7,
            missed: 3,
            bridged: 9,
            unanswered: 5,
            late_answers: 4,
            phase: 2,
            wake_up_p99_ns: 0,
            ..glance
        };
        let said = line(&glance, true, 1.0 / 1024.0, 40.0);
        assert!(said.contains("FRAMES LOST 7") && said.contains("missed 3"), "{said}");
        assert!(said.contains("bridged 9") && said.contains("unanswered 5 (4 late)"), "{said}");
        assert!(said.contains("RAMPING") && said.contains("p99 –"), "{said}");
        // A peer that was killed.
        let answered = is_answered([100, 3], [150, 53]);
        let said = line(&Glance { phase: 3, ..glance }, answered, 1.0 / 1024.0, 40.0);
        assert!(said.contains("last known") && !said.contains("safe"), "{said}");
        assert!(is_answered([100, 3], [150, 3]) && is_answered([100, 3], [150, 30]));
    }
}
