//! `Test::trace`: the frequency response of a structure by iteration, with its files.

use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::time::Instant;

use analysis::iterative::{FoldMark, Trace, TracePoint, Trial};
use numerics::random::fnv1a;
use runtime::realtime::Driver;
use runtime::stop::StopHandle;
use serde::Serialize;

use super::{
    Answer, Bench, Ended, Line, News, Outcome, Pace, Place, ResumedBench, Return, Setup, follow,
    from_line, record_trials, to_line,
};
use crate::assembly::Assembly;
use crate::error::Error;
use crate::estimate::Estimate;
use crate::journal::{Journal, Kind, Opening};
use crate::loop_record::{finish_frames, record_frames};
use crate::notes::{embedded, header};
use crate::onlooker::{Event, Onlooker};
use crate::pace::{Clock, plan};
use crate::remote::Wire;
use crate::run_folder::write_files;
use crate::test::Test;
use crate::verdict::Verdict;

const KIND: Kind = Kind { magic: "twinrig-trace-3 ", what: "trace" };

/// How a response is traced.
#[derive(Debug, Clone, Default)]
pub struct TraceOptions {
    /// What sets the pace.
    pub clock: Clock,
    /// The laboratory, instead of the one the file names.
    pub rig: Option<String>,
    /// Throw away what an earlier trace has left in the folder.
    pub restart: bool,
}

/// A trace that is over, for now or for good.
#[derive(Debug, Serialize)]
pub struct Traced {
    /// How far it can be trusted.
    pub verdict: Verdict,
    /// Where its files are.
    pub folder: String,
    /// Points that earlier calls had found.
    pub resumed_points: usize,
    /// What this call took, s.
    pub elapsed_s: f64,
    /// What was found.
    #[serde(rename = "summary")]
    pub outcome: Outcome,
    /// The interface DOFs.
    #[serde(skip)]
    pub places: Vec<Place>,
}

impl Test {
    /// Traces the response that the file's `[trace]` asks for, from where an earlier
    /// call has stopped: points, record, page, summary.
    pub fn trace(
        &self,
        folder: &Path,
        options: &TraceOptions,
        stop: &StopHandle,
        onlooker: &mut dyn Onlooker,
    ) -> Result<Traced, Error> {
        self.afford(&Estimate::trace(self.experiment()), onlooker)?;
        let rig = options.rig.as_deref();
        let assembly = self.reach(options.clock, Wire::Open, rig, stop, onlooker)?;
        let unfit = |error: Error| error.of_file(self.experiment().name());
        let setup = Setup::new(self.experiment(), &assembly).map_err(unfit)?;
        fs::create_dir_all(folder).map_err(Error::write(folder))?;
        let opening = if options.restart { Opening::Restart } else { Opening::Resume };
        let path = folder.join("trace.journal");
        // Behind a line that is missing the others are of no use.
        let mut count = 0;
        let in_order = |line: &str| {
            let line = from_line(line).filter(|line| line.number() == count)?;
            count += 1;
            Some(line)
        };
        let (journal, lines) = Journal::open(&path, KIND, self.fingerprint()?, opening, in_order)?;
        if let Some(damage) = journal.damage() {
            onlooker.event(&Event::Damaged(&damage));
        }
        let (kept, begun) = (Kept::from_lines(lines), Instant::now());
        let places = Place::all(&assembly);
        let mut tracer = Tracer {
            test: self,
            assembly: &assembly,
            setup,
            folder,
            journal,
            kept,
            places,
            told: false,
        };
        let (ended, folds) = tracer.follow(options.clock, stop, onlooker)?;
        tracer.finish(ended, folds, begun, stop)
    }

    /// What the points belong to: a change of the file, its inputs or the version
    /// is another trace.
    fn fingerprint(&self) -> Result<u64, Error> {
        let text = self.experiment().text();
        let mut content = format!("{}\n{text}", env!("CARGO_PKG_VERSION")).into_bytes();
        for file in embedded(self.experiment(), self.source())? {
            content.extend_from_slice(&fnv1a(&file.bytes).to_le_bytes());
        }
        Ok(fnv1a(&content))
    }
}

/// What there is so far.
#[derive(Default)]
struct Kept {
    /// What the bench answered to earlier calls.
    known: Vec<Answer>,
    /// Whether the course was run to its end by an earlier call.
    ended: bool,
    /// Points that follow from that.
    known_points: usize,
    /// Points of this call.
    new_points: usize,
    trials: Vec<Trial>,
    points: Vec<TracePoint>,
}

impl Kept {
    fn from_lines(lines: Vec<Line>) -> Self {
        let mut kept = Self::default();
        for line in lines {
            match line {
                Line::Answer(answer) => kept.known.push(*answer),
                Line::End(..) => kept.ended = true,
            }
        }
        kept
    }
}

/// A trace under way.
struct Tracer<'a> {
    test: &'a Test,
    assembly: &'a Assembly,
    setup: Setup<'a>,
    folder: &'a Path,
    journal: Journal,
    kept: Kept,
    places: Vec<Place>,
    /// Whether the onlooker knows of earlier points.
    told: bool,
}

impl Tracer<'_> {
    /// Follows the response from where it stands.
    fn follow(
        &mut self,
        clock: Clock,
        stop: &StopHandle,
        onlooker: &mut dyn Onlooker,
    ) -> Result<(Ended, Vec<FoldMark>), Error> {
        let (experiment, source) = (self.test.experiment(), self.test.source());
        // The bench and what keeps its points both tell of their work.
        let onlooker = RefCell::new(onlooker);
        let tell = |event: &Event<'_>| onlooker.borrow_mut().event(event);
        let asked = |hertz: f64| onlooker.borrow_mut().stage(&format!("trying {hertz:.4} Hz"));
        let attended = stop.attend();
        let mut frames = None;
        // A course that was run to its end needs no rig.
        let bench = if self.kept.ended {
            None
        } else {
            let mut periodic =
                self.setup.periodic(stop).map_err(|error| error.of_file(experiment.name()))?;
            // In real time what the rig did cannot be had again: it is recorded.
            let pace = if clock == Clock::Real {
                let (recorded, handle) =
                    record_frames(experiment, source, self.assembly, self.folder, periodic)?;
                (periodic, frames) = (recorded, Some(handle));
                Pace::Real(plan(experiment))
            } else {
                Pace::Virtual
            };
            Some(Bench::start(periodic, &pace, stop, asked)?)
        };
        let granted = bench.as_ref().and_then(Bench::granted).cloned().unwrap_or_default();
        granted.notices.iter().for_each(|notice| tell(&Event::Notice(notice)));
        let here = clock == Clock::Virtual && self.assembly.remote.is_none();
        let way = if here { Return::Repeat } else { Return::FromRest };
        let known = std::mem::take(&mut self.kept.known);
        let mut traced = Trace::new(ResumedBench::new(bench, known, way), self.setup.trace());
        let outcome = follow(&mut traced, |news| self.keep(news, *onlooker.borrow_mut()));
        self.tell_resumed(*onlooker.borrow_mut());
        let folds = self.setup.judged_folds(traced.folds(), traced.points());
        self.kept.points = traced.points().iter().map(|p| self.setup.judged(p)).collect();
        // What led to no point does not stand in the way of another file.
        if self.kept.points.is_empty() {
            self.journal.keep_first(0)?;
        }
        // Whatever happened, the rig is brought to rest first.
        let rested = traced.into_experiment().into_bench().map(Bench::finish).transpose();
        drop(attended);
        let (ended, rested) = (outcome?, rested?);
        let Some(rested) = rested else { return Ok((ended, folds)) };
        if let Some(link) = rested.test.link() {
            tell(&Event::Link(link));
        }
        if let Some(timing) = &rested.timing {
            tell(&Event::Punctuality(timing));
        }
        if let Some(frames) = frames {
            let timing =
                rested.timing.map(|timing| Driver::note(&plan(experiment), &granted, &timing));
            finish_frames(frames, *rested.test, timing)?;
        }
        if ended.is_final() {
            let count = self.journal.lines();
            self.journal.append(&to_line(&Line::End(count, ended.word().into())))?;
            self.journal.sync()?;
        }
        Ok((ended, folds))
    }

    /// Keeps what has come, on disk first.
    fn keep(&mut self, news: News<'_>, onlooker: &mut dyn Onlooker) -> Result<(), Error> {
        match news {
            News::Answer(answer) => {
                self.journal.keep_first(answer.number)?;
                self.journal.append(&to_line(&Line::Answer(Box::new(answer))))?;
            }
            News::Trial(trial) => self.kept.trials.push(trial),
            News::KnownPoint => self.kept.known_points += 1,
            News::Point(point) => {
                self.journal.sync()?;
                self.tell_resumed(onlooker);
                self.kept.new_points += 1;
                let number = self.kept.known_points + self.kept.new_points;
                let (point, places) = (&self.setup.judged(point), &*self.places);
                onlooker.event(&Event::Point { number, point, places });
            }
        }
        Ok(())
    }

    /// Says once how many points were there before.
    fn tell_resumed(&mut self, onlooker: &mut dyn Onlooker) {
        if !std::mem::replace(&mut self.told, true) && self.kept.known_points > 0 {
            onlooker.event(&Event::Resumed { count: self.kept.known_points, what: "points" });
        }
    }

    /// Sums up and writes the files.
    fn finish(
        self,
        ended: Ended,
        folds: Vec<FoldMark>,
        begun: Instant,
        stop: &StopHandle,
    ) -> Result<Traced, Error> {
        let Self { test, assembly, setup, folder, kept, places, .. } = self;
        let elapsed_s = begun.elapsed().as_secs_f64();
        let outcome = Outcome::new(&setup, kept.points, &kept.trials, folds, ended);
        let header = header(test.experiment(), test.source(), assembly)?;
        let (record, harmonics) = (folder.join("record.arrow"), setup.spec().harmonics);
        record_trials(&record, header, &places, harmonics, &kept.trials)?;
        let summary = serde_json::to_string_pretty(&outcome).expect("a summary has a JSON form");
        let files = [
            ("points.csv", outcome.csv(&places)),
            ("summary.json", summary + "\n"),
            ("report.html", super::page::page(&setup, &places, &outcome).html()),
        ];
        // A signal leaves no half of a file behind.
        let _attended = stop.attend();
        write_files(folder, files)?;
        let folder = folder.display().to_string();
        let verdict = outcome.verdict.clone();
        Ok(Traced {
            verdict,
            folder,
            resumed_points: kept.known_points,
            elapsed_s,
            outcome,
            places,
        })
    }
}
