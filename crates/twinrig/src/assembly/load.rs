//! From the declared excitation to sampled load signals.

use std::sync::Arc;

use model::channel::Channel;
use model::excitation::{Generate, Samples, Sampling};
use model::partition::LoadPattern;
use model::structure::Structure;
use numerics::interpolate::Series;

use super::store::SampledKey;
use super::structure::Builder;
use experiment::excitation::SignalFormat;
use experiment::input::{self, AccelerationUnit, CsvOptions, InputError, TimeColumn, TimeSeries};
use experiment::{Diagnostic, SignalFile, SignalSource};

/// One load signal: where it acts, what it is called, its samples.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadSignal {
    /// Where it acts.
    pub pattern: LoadPattern,
    /// Its channel in the record.
    pub channel: Channel,
    /// One sample per tick and one more; none if it is streamed.
    pub samples: Arc<[f64]>,
}

impl Builder<'_> {
    /// Every load signal of the test.
    pub(super) fn loads(&mut self, structure: &Structure) -> Option<Vec<LoadSignal>> {
        let mut signals = Vec::new();
        let mut complete = true;
        let excitation = &self.experiment.excitation;
        if let Some(ground) = &excitation.ground {
            let channel = Channel::new("ground.acceleration", "m/s²", "Acceleration of the ground");
            match self.samples(&ground.signal, "excitation.ground", Kind::Ground) {
                Some(samples) => {
                    signals.push(LoadSignal { pattern: LoadPattern::Ground, channel, samples });
                }
                None => complete = false,
            }
        }
        for (index, force) in excitation.forces.iter().enumerate() {
            let path = format!("excitation.force[{}]", index + 1);
            let dof =
                self.resolve(&force.dof, structure).map_err(|error| self.found.push(error)).ok();
            let samples = self.samples(&force.signal.0, &path, Kind::Force);
            let (Some(dof), Some(samples)) = (dof, samples) else {
                complete = false;
                continue;
            };
            let words = format!("Force applied at DOF {}", structure.names[dof]);
            let channel = Channel::new(format!("load.{}", index + 1), "N", words);
            signals.push(LoadSignal { pattern: LoadPattern::Force { dof }, channel, samples });
        }
        complete.then_some(signals)
    }

    fn samples(&mut self, declared: &SignalSource, path: &str, kind: Kind) -> Option<Arc<[f64]>> {
        if let SignalSource::Streamed(_) = declared {
            return Some(Arc::new([]));
        }
        // Only a signal without a seed of its own follows the experiment's, so
        // that variants with other sensor noise still share the others.
        let follows = matches!(declared, SignalSource::Generated(signal) if signal.follows_seed());
        let store = self.store;
        let key = SampledKey {
            declared: declared.clone(),
            kind,
            rate_hz: self.experiment.integrator.rate_hz(),
            duration_s: self.experiment.duration_s,
            seed: follows.then_some(self.experiment.seed),
        };
        store.sampled(&key, || self.sampled(declared, path, kind))
    }

    fn sampled(&mut self, declared: &SignalSource, path: &str, kind: Kind) -> Option<Vec<f64>> {
        let at = Sampling {
            rate_hz: self.experiment.integrator.rate_hz(),
            count: self.experiment.ticks() as usize + 1,
            test_s: self.experiment.duration_s,
            seed: self.experiment.seed,
        };
        let samples = match declared {
            SignalSource::File(file) => {
                self.recorded(file, path, kind)?.sample(at.rate_hz, at.count)
            }
            SignalSource::Generated(signal) => signal.sample(&at),
            SignalSource::Streamed(_) => return Some(Vec::new()),
        };
        let samples = self.keep(samples, path)?;
        if samples.iter().all(|&value| value == 0.0) {
            let warning = Diagnostic::warning("this excitation is zero for the whole test")
                .remedy("check its start, its duration and the duration of the test");
            self.found.push(self.experiment.place(path, warning));
        }
        Some(samples)
    }

    fn recorded(&mut self, file: &SignalFile, path: &str, kind: Kind) -> Option<Samples> {
        let series = self.store.series(file, kind, || {
            let bytes = self.source.read(&file.name).map_err(|error| error.to_string())?;
            read_series(file, &bytes, kind).map_err(|error| error.to_string())
        });
        match series {
            Ok(series) => Some(Samples {
                series,
                scaling: file.scaling(),
                start_s: file.start_s,
                resampling: file.resample,
            }),
            Err(message) => {
                let error = Diagnostic::error(format!("\"{}\": {message}", file.name));
                self.refuse(&format!("{path}.file"), error)
            }
        }
    }
}

/// What a signal does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Ground,
    Force,
}

fn read_series(file: &SignalFile, bytes: &[u8], kind: Kind) -> Result<Series, InputError> {
    let read = match file.format() {
        Some(SignalFormat::At2) => input::at2(bytes)?,
        // What is not known by its name has been refused.
        Some(SignalFormat::Csv) | None => {
            let usual = CsvOptions::default();
            let time = match (&file.step_s, &file.time_column) {
                (Some(step_s), _) => TimeColumn::Step(*step_s),
                (None, Some(named)) => TimeColumn::Column(named.clone()),
                (None, None) => usual.time,
            };
            // Without a time column the first column holds the values.
            let value = match (&file.column, file.step_s) {
                (Some(named), _) => named.clone(),
                (None, Some(_)) => input::Column::Number(1),
                (None, None) => usual.value,
            };
            input::csv_series(bytes, &CsvOptions { time, value })?
        }
    };
    let factor = unit_factor(&read, file.unit_factor, kind)?;
    let values = read.series.values().iter().map(|value| value * factor).collect();
    Ok(Series::new(read.series.times_s().to_vec(), values)?)
}

/// What turns the file's values into SI: its header, or the experiment's `unit`.
fn unit_factor(read: &TimeSeries, given: Option<f64>, kind: Kind) -> Result<f64, InputError> {
    if kind == Kind::Force {
        return Ok(given.unwrap_or(1.0));
    }
    let header = match &read.unit {
        None => None,
        Some(text) => match AccelerationUnit::from_text(text) {
            Some(unit) => Some(unit.factor()),
            None => return Err(InputError::NotAnAcceleration { unit: text.clone() }),
        },
    };
    match (header, given) {
        (Some(header), Some(given)) if (header / given - 1.0).abs() > 1e-6 => {
            Err(InputError::FactorConflict { header, given })
        }
        (Some(factor), _) | (None, Some(factor)) => Ok(factor),
        (None, None) => Err(InputError::NoUnit),
    }
}
