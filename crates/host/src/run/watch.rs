//! The thread that looks at the test over its host link: frames in, curves out, where it stands,
//! and word of the operator. The test never waits for it.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use runtime::host::{Client, ClientError, Reply, Token, Trust};
use serde_json::json;
use twinrig::hosted::{BEACON, Found};

use super::state::{Live, RunState, STRETCH_S, STRETCHES};
use super::{Shared, wait_at_most};
use crate::curves::{Content, Curves};

/// How long frames are waited for at a time.
const PATIENCE: Duration = Duration::from_millis(20);
/// Between two messages of curves: twenty a second.
const CURVES: Duration = Duration::from_millis(50);
/// Between two questions where the test stands.
const STATUS: Duration = Duration::from_millis(100);
/// Between two words about the run to those who look on, if nothing changes.
const TELL: Duration = Duration::from_secs(1);
/// Between two words of the operator to the test.
const ATTEND: Duration = Duration::from_millis(250);
/// Between two tries to reach it.
const RETRY: Duration = Duration::from_millis(50);
/// Time for record and report once the test is over.
const REPORT: Duration = Duration::from_secs(60);
/// Time for an answer of the link.
const ANSWER: Duration = Duration::from_secs(2);

/// Who looks at one run.
pub(super) struct Watcher {
    pub(super) shared: Arc<Shared>,
    pub(super) token: Token,
    /// Where the record is.
    pub(super) folder: PathBuf,
    /// Where the process says what goes wrong.
    pub(super) errors: PathBuf,
    /// The process, where this host has started it.
    pub(super) child: Option<Child>,
}

/// How a look ended.
enum Ended {
    /// The test is over.
    Over,
    /// The link broke.
    Broken,
}

impl Watcher {
    /// Looks on until the test is over.
    pub(super) fn look_on(mut self) {
        loop {
            let exit = self.exit();
            if let Some(found) = read_beacon(&self.folder, &self.token) {
                match self.follow(&found) {
                    Ok(Ended::Over) => break,
                    Ok(Ended::Broken) | Err(_) => self.shared.change(|run| {
                        run.state = RunState::Lost;
                        run.can = vec!["stop".to_owned()];
                    }),
                }
            } else if exit.is_some() || self.child.is_none() {
                break;
            }
            thread::sleep(RETRY);
        }
        self.end();
    }

    fn exit(&mut self) -> Option<i32> {
        let status = self.child.as_mut()?.try_wait().ok()??;
        // Killed by a signal: no code.
        Some(status.code().unwrap_or(-1))
    }

    /// The process ends after the test: its record is then whole.
    fn end(&mut self) {
        let exit = match &mut self.child {
            Some(child) => child.wait().ok().map(|status| status.code().unwrap_or(-1)),
            None => {
                // Another host's child: its report is there when it has gone.
                let pid = self.shared.known().pid();
                let process = PathBuf::from(format!("/proc/{}", pid.unwrap_or(0)));
                let until = Instant::now() + REPORT;
                while pid.is_some() && process.exists() && Instant::now() < until {
                    thread::sleep(RETRY);
                }
                None
            }
        };
        let summary = fs::read(self.folder.join("summary.json")).ok();
        let summary: Option<serde_json::Value> =
            summary.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let verdict = summary.and_then(|it| serde_json::from_value(it["verdict"].clone()).ok());
        let said = last_lines(&self.errors);
        self.shared.change(|run| {
            run.state = RunState::Over;
            run.can.clear();
            run.exit = exit;
            run.message = said;
            run.verdict = verdict.or(run.verdict.take());
        });
        self.shared.tell_run();
    }

    /// Looks on over one connection for frames and one for questions.
    fn follow(&mut self, found: &Found) -> Result<Ended, ClientError> {
        let mut frames = Client::connect(found.address, &self.token, &Trust::Plain)?;
        let mut asker = Client::connect(found.address, &self.token, &Trust::Plain)?;
        wait_at_most(&asker, ANSWER)?;
        let welcome = frames.welcome.clone();
        self.shared.meet(found.clone(), &welcome);
        frames.watch(1)?;
        wait_at_most(&frames, PATIENCE)?;
        let mut look = Look::new(&self.shared);
        loop {
            match frames.next() {
                Ok(Reply::Frames { dropped, width, values }) => {
                    look.take(usize::from(width), &values, dropped);
                }
                Ok(Reply::Over { phase, trip, ticks, .. }) => {
                    look.send_curves();
                    let status = runtime::host::Status { phase, trip, ticks, ..Default::default() };
                    self.shared.take_in(&status, None, welcome.tick_hz);
                    return Ok(Ended::Over);
                }
                Err(ClientError::Io(error))
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(ClientError::Over) => return Ok(Ended::Over),
                Ok(_) | Err(_) => return Ok(Ended::Broken),
            }
            if look.is_due(&CURVES, |look| &mut look.curves_at) {
                look.send_curves();
            }
            if look.is_due(&STATUS, |look| &mut look.status_at) {
                let (status, situation) = match (asker.status(), asker.situation()) {
                    (Ok(status), Ok(situation)) => (status, situation),
                    // Its last frames are still to come.
                    (Err(ClientError::Over), _) | (_, Err(ClientError::Over)) => continue,
                    _ => return Ok(Ended::Broken),
                };
                self.shared.take_in(&status, Some(&situation), welcome.tick_hz);
            }
            if look.is_due(&TELL, |look| &mut look.told_at) {
                self.shared.tell_run();
            }
            if look.is_due(&ATTEND, |look| &mut look.attended_at)
                && let Some(name) = self.shared.attended_by()
            {
                asker.attend(&name)?;
            }
        }
    }
}

/// Frames on their way to those who look on.
struct Look<'a> {
    shared: &'a Shared,
    pending: Curves,
    lost: u64,
    curves_at: Instant,
    status_at: Instant,
    told_at: Instant,
    attended_at: Instant,
}

impl<'a> Look<'a> {
    fn new(shared: &'a Shared) -> Self {
        let now = Instant::now();
        // Asked at once.
        let due = now.checked_sub(TELL).unwrap_or(now);
        let pending = Curves::new(shared.width(), STRETCH_S, STRETCHES);
        let (status_at, told_at, attended_at) = (due, due, due);
        Self { shared, pending, lost: 0, curves_at: now, status_at, told_at, attended_at }
    }

    fn is_due(&mut self, period: &Duration, last: fn(&mut Self) -> &mut Instant) -> bool {
        let last = last(self);
        let is_due = last.elapsed() >= *period;
        if is_due {
            *last = Instant::now();
        }
        is_due
    }

    fn take(&mut self, width: usize, values: &[f64], lost: u64) {
        self.lost = lost;
        let mut known = self.shared.known();
        for frame in values.chunks_exact(width.max(1)) {
            let Some(&time_s) = frame.first() else { continue };
            let uses = known.uses.of(frame);
            let all = || frame.iter().chain(&uses).copied();
            self.pending.push(time_s, all());
            if let Some(history) = &mut known.history {
                history.push(time_s, all());
            }
        }
    }

    fn send_curves(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let mut known = self.shared.known();
        let number = known.number;
        known.number += 1;
        let message = self.pending.message(Content::Curves, number, self.lost);
        if let Some(run) = &mut known.run {
            run.frames_lost = self.lost;
        }
        self.shared.send(Live::Curves(message));
        self.pending.clear(STRETCH_S);
    }
}

/// What a test says of itself beside its record, if it is one that our token opens.
pub(super) fn read_beacon(folder: &Path, token: &Token) -> Option<Found> {
    let bytes = experiment::source::read_regular(&folder.join(BEACON), 1 << 20).ok()?;
    let found: Found = serde_json::from_slice(&bytes).ok()?;
    // A process that was killed leaves its file behind.
    let lives = Path::new(&format!("/proc/{}", found.pid)).exists();
    (lives && found.address.ip().is_loopback() && found.token_sha256 == token.fingerprint())
        .then_some(found)
}

/// The last lines of a file, for people.
fn last_lines(path: &Path) -> Option<String> {
    let bytes = experiment::source::read_regular(path, 16 << 20).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().rev().take(12).collect();
    let text: Vec<&str> = lines.into_iter().rev().collect();
    (!text.is_empty()).then(|| text.join("\n"))
}

impl Shared {
    /// Says where the run stands to those who look on.
    pub(super) fn tell_run(&self) {
        let known = self.known();
        let viewers = self.viewers();
        let run = known.run.clone().map(|run| super::Run { viewers, ..run });
        self.send(Live::json(&json!({ "kind": "run", "run": run })));
    }
}
