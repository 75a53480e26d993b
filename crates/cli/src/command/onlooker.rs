//! What people see while a study runs: a bar, a line, a notice.

use std::time::Duration;

use analysis::iterative::TracePoint;
use indicatif::{ProgressBar, ProgressStyle};
use runtime::laboratory::SessionEnd;
use runtime::realtime::Status;
use runtime::record::{EventKind, Record};
use twinrig::iterative::Place;
use twinrig::page::text::plus_minus;
use twinrig::sweep::VariantStatus;
use twinrig::words::{counted, number};
use twinrig::{Event, Onlooker, remote, report};

use super::output::{Output, print_words};
use super::progress_lines::ProgressLines;
use super::status_line::StatusLine;

/// Shows a study to people on a terminal; elsewhere notices alone.
pub(super) struct Looker {
    output: Output,
    what: &'static str,
    bar: ProgressBar,
    line: Option<StatusLine>,
    lines: ProgressLines,
    /// Variants that tripped, were unstable, failed.
    counts: [u64; 3],
}

impl Looker {
    /// Looks at a study whose steps are `what`.
    pub(super) fn new(output: Output, what: &'static str) -> Self {
        let (bar, lines) = (ProgressBar::hidden(), ProgressLines::new());
        Self { output, what, bar, line: None, lines, counts: [0; 3] }
    }

    /// The same of a loop in real time.
    pub(super) fn timed(mut self, step_s: f64, duration_s: f64) -> Self {
        self.line = Some(StatusLine::new(self.output, step_s, duration_s));
        self
    }
}

impl Drop for Looker {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        if let Some(line) = &self.line {
            line.end();
        }
    }
}

impl Onlooker for Looker {
    fn progress(&mut self, done: u64, of: u64) {
        self.lines.progress(done, of);
        if self.output.is_watched() && self.bar.length() != Some(of) {
            const LOOK: &str = "{msg:24} {bar:40} {percent:>3} %  {eta} left";
            let style = ProgressStyle::with_template(LOOK).expect("the template is a constant");
            self.bar.finish_and_clear();
            self.bar = ProgressBar::new(of).with_style(style.progress_chars("━╸ "));
            self.bar.set_message(self.what);
            self.bar.set_position(done);
            self.bar.reset_eta();
        }
        self.bar.set_position(done);
    }

    fn stage(&mut self, what: &str) {
        self.lines.stage(what);
        if self.output.is_watched() && self.bar.is_hidden() {
            self.bar = ProgressBar::new_spinner();
            self.bar.enable_steady_tick(Duration::from_millis(100));
        }
        self.bar.set_message(what.to_owned());
    }

    fn live(&mut self, status: &Status) {
        if let Some(line) = &mut self.line {
            line.look(status);
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        let output = self.output;
        self.lines.event(event);
        self.bar.suspend(|| match event {
            Event::Warnings(found) => output.warn(found),
            Event::Notice(notice) => output.note(&format!("notice: {notice}")),
            Event::Damaged(damage) => eprintln!("warning: {damage}"),
            Event::Resumed { count, what } => {
                output.note(&format!("resuming after {count} {what} that are done"));
            }
            Event::HostLink { address, token, fingerprint } => {
                // To people beside the tables, to machines beside the document.
                eprintln!("host link on {address}");
                match fingerprint {
                    Some(fingerprint) => eprintln!("fingerprint {fingerprint}"),
                    None if address.ip().is_loopback() => {}
                    None => eprintln!(
                        "notice: the link is not encrypted, and can be reached from other machines"
                    ),
                }
                if let Some(token) = token {
                    eprintln!("token {token}");
                }
            }
            Event::Laboratory(peer) => output.note(&remote::told(peer)),
            Event::Point { number, point, places } => {
                output.note(&point_line(*number, point, places));
            }
            Event::Variant { .. } => {}
            Event::Link(counts) => output.note(&format!("link: {}", counts.words())),
            Event::Punctuality(timing) => output.note(&format!(
                "real time: wake-up p99 {} µs, {} overruns, {} periods missed",
                number(1e-3 * timing.wake_up.quantile_ns(0.99) as f64),
                timing.overruns.count,
                timing.overruns.missed
            )),
            Event::Listening(address) => eprintln!("listening at {address}"),
            Event::Refused(refused) => {
                eprintln!("notice: a loop at {} was refused: {}", refused.peer, refused.words);
            }
            Event::SessionBegins { accepted, differences } => {
                let pace = if accepted.lock_step { "lock-step" } else { "against the clock" };
                let (peer, watchdog_s) = (accepted.peer, accepted.watchdog_s);
                eprintln!("session with {peer}, {pace}, watchdog {watchdog_s} s");
                differences.iter().for_each(|difference| eprintln!("notice: {difference}"));
            }
            Event::SessionEnds { end, notices, record, folder } => {
                notices.iter().for_each(|notice| eprintln!("notice: {notice}"));
                if output == Output::People {
                    let mut words = report::summary_words(record);
                    words.line(format!("\n{}", way_to_safe(end, record)));
                    words.line(format!("written to {}", folder.display()));
                    print_words(&words);
                }
            }
        });
        if let Event::Variant { status, unstable } = event {
            let more =
                [*status == VariantStatus::Tripped, *unstable, *status == VariantStatus::Failed];
            for (count, more) in self.counts.iter_mut().zip(more) {
                *count += u64::from(more);
            }
            let [tripped, unstable, failed] = self.counts;
            if tripped + unstable + failed > 0 {
                let said = format!("{tripped} tripped, {unstable} unstable, {failed} failed");
                self.bar.set_message(said);
            }
        }
    }
}

/// A point in one line.
fn point_line(index: usize, point: &TracePoint, places: &[Place]) -> String {
    let intervals = point.interval_m.iter().zip(places).enumerate();
    let amplitudes: Vec<String> = intervals
        .map(|(dof, (interval, place))| {
            let value = plus_minus(1e3 * point.amplitude_m(dof), 1e3 * interval);
            format!("{value} {}", place.shown_unit())
        })
        .collect();
    format!(
        "{index:4}  {:9.4} Hz  {}  {}, {} s on the rig",
        point.frequency_hz,
        amplitudes.join(", "),
        counted(point.point.iterations, "correction"),
        number(point.rig_time_s)
    )
}

/// How long the rig took to safe, by the clock.
fn way_to_safe(end: &SessionEnd, record: &Record) -> String {
    let events = record.summary.iter().flat_map(|summary| &summary.events);
    let led = { events }.any(|event| event.what == EventKind::TripOfLoop);
    let way = match end.safe_after_s.filter(|_| !led || end.silent_s.is_some()) {
        Some(way_s) => format!("the rig is safe, {way_s:.3} s after the laboratory took over"),
        None => "the loop took the rig to its final position".to_owned(),
    };
    match end.silent_s {
        Some(silent_s) => format!("{way}; no packet from the loop for {silent_s:.3} s"),
        None => way,
    }
}
