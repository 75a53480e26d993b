//! Progress as lines of JSON on the standard error stream, for a program that shows it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use twinrig::Event;

/// Between two lines of how much is done.
const PACE: Duration = Duration::from_millis(100);

/// Says progress in lines, if the program that started this one asks for it.
#[derive(Default)]
pub(super) struct ProgressLines {
    asked: bool,
    told: Option<Instant>,
}

impl ProgressLines {
    /// Asked for by the variable TWINRIG_PROGRESS=lines.
    pub(super) fn new() -> Self {
        Self { asked: std::env::var("TWINRIG_PROGRESS").is_ok_and(|it| it == "lines"), told: None }
    }

    fn say(&self, line: &Value) {
        if self.asked {
            eprintln!("{line}");
        }
    }

    pub(super) fn progress(&mut self, done: u64, of: u64) {
        if done >= of || self.told.is_none_or(|told| told.elapsed() >= PACE) {
            self.told = Some(Instant::now());
            self.say(&json!({ "progress": { "done": done, "of": of } }));
        }
    }

    pub(super) fn stage(&self, what: &str) {
        self.say(&json!({ "stage": what }));
    }

    pub(super) fn event(&self, event: &Event<'_>) {
        match event {
            Event::Notice(text) => self.say(&json!({ "notice": text })),
            Event::Point { number, point, places } => {
                let amplitudes_m: Vec<f64> =
                    (0..places.len()).map(|dof| point.amplitude_m(dof)).collect();
                self.say(&json!({ "point": {
                    "number": number,
                    "frequency_hz": point.frequency_hz,
                    "amplitudes_m": amplitudes_m,
                    "intervals_m": point.interval_m,
                    "iterations": point.point.iterations,
                } }));
            }
            Event::Variant { status, unstable } => {
                self.say(&json!({ "variant": { "status": status, "unstable": unstable } }));
            }
            _ => {}
        }
    }
}
