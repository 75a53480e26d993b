//! The study: from the number of a variant to its experiment.

use std::sync::Arc;

use model::excitation::Generate;
use numerics::random::{Stream, fnv1a};
use runtime::record::EmbeddedFile;

use super::row::Columns;
use super::shared::Shared;
use crate::assembly::{Assembly, SignalStore};
use crate::error::Error;
use crate::estimate::Budget;
use crate::notes::embedded;
use experiment::excitation::SignalSource;
use experiment::sweep::{Edits, SensorNoise, Spread, Step};
use experiment::{Embedded, Experiment, Source, SweepSpec};

/// An experiment and what of it varies.
pub struct Study {
    experiment: Experiment,
    spec: SweepSpec,
    edits: Edits,
    /// Values of the places behind the parameters: the excitation's own seeds.
    kept_seeds: Vec<String>,
    noise: Noise,
    files: Vec<EmbeddedFile>,
    pub(super) signals: Arc<SignalStore>,
    pub(super) shared: Shared,
    columns: Columns,
    /// Options of the command line that change the draws, each after a blank.
    options: String,
    /// What a variant may take.
    pub(super) budget: Budget,
}

/// One variant: its number and everything drawn for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// From 1.
    pub index: u64,
    /// Number of the draw, from 1; variants of one draw differ in the grid alone.
    pub draw: u64,
    /// Seed of its experiment.
    pub seed: u64,
    /// Values of the parameters, SI; `None` where hardly anything can be drawn.
    pub values: Vec<Option<f64>>,
}

/// Whether the study sets the seed of its variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Noise {
    Fresh,
    AsDeclared,
}

impl Study {
    /// Prepares a study of `experiment` by `spec`, its own sweep or a changed one.
    pub fn new(
        experiment: Experiment,
        spec: SweepSpec,
        source: &dyn Source,
        store: Arc<SignalStore>,
    ) -> Result<Self, Error> {
        if let Err(error) = spec.check_size() {
            let mut found = experiment.diagnostics();
            found.push(error);
            return Err(found.into());
        }
        let files = embedded(&experiment, source)?;
        let mut study = Self {
            edits: Edits::default(),
            kept_seeds: Vec::new(),
            noise: Noise::AsDeclared,
            signals: store,
            shared: Shared::default(),
            columns: Columns::default(),
            files,
            spec,
            experiment,
            options: String::new(),
            budget: Budget::default(),
        };
        study.find_places()?;
        let (assembly, _) =
            Assembly::sharing(&study.experiment, &Embedded::new(&study.files), &study.signals)?;
        if assembly.stream.is_some() {
            return Err(Error::StreamedSweep);
        }
        study.columns = Columns::new(&study.spec, &study.experiment.verdict, &assembly);
        // Before the threads ask for it all at once.
        study.shared.reference(&assembly, &study.shared.load(&assembly))?;
        Ok(study)
    }

    /// The same, whose variants may take so much.
    pub fn within(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    fn find_places(&mut self) -> Result<(), Error> {
        let text = self.experiment.text();
        for variation in &self.spec.vary {
            self.edits.add(text, &variation.target.path, &variation.target.steps)?;
        }
        let varied = |steps: &[Step]| self.spec.vary.iter().any(|one| one.target.steps == steps);
        let seed = [Step::Key("seed".to_owned())];
        if self.spec.sensor_noise == SensorNoise::Same || varied(&seed) {
            return Ok(());
        }
        self.noise = Noise::Fresh;
        self.edits.add(text, "seed", &seed)?;
        // Another seed of the experiment must not shake the structure differently.
        for (path, steps) in unseeded(&self.experiment) {
            if !varied(&steps) {
                self.edits.add(text, &path, &steps)?;
                self.kept_seeds.push(self.experiment.seed.to_string());
            }
        }
        Ok(())
    }

    /// Remembers how the command was called, for hints that repeat it.
    pub fn called_with(self, options: String) -> Self {
        Self { options, ..self }
    }

    /// The command that looks at one variant alone.
    pub fn hint(&self, index: u64) -> String {
        let name = self.experiment.name();
        format!("twinrig sweep {name} --only {index}{} --record DIR", self.options)
    }

    /// The experiment as it is declared.
    pub fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// What varies, and how often.
    pub fn spec(&self) -> &SweepSpec {
        &self.spec
    }

    /// The columns of its table.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// The files the experiment names, as they were read.
    pub fn files(&self) -> &[EmbeddedFile] {
        &self.files
    }

    /// The files the experiment names.
    pub fn source(&self) -> Embedded<'_> {
        Embedded::new(&self.files)
    }

    /// What is drawn for variant `index`, from 1. Depends on the sweep's seed,
    /// the number of the draw and the names of the parameters, on nothing else.
    pub fn variant(&self, index: u64) -> Result<Variant, Error> {
        let count = self.spec.variants();
        if index == 0 || index > count {
            return Err(Error::NoVariant { index, count });
        }
        let combinations = self.spec.combinations();
        let (draw, mut combination) = ((index - 1) / combinations + 1, (index - 1) % combinations);
        let values = self.spec.vary.iter().map(|variation| match &variation.spread {
            Spread::Random(distribution) => {
                let name = format!("sweep.{}.{draw}", variation.target.path);
                let drawn = distribution.draw(&mut Stream::new(self.spec.seed, &name));
                let whole = variation.target.measure == experiment::sweep::Measure::Whole;
                drawn.map(|value| if whole { value.round() } else { value })
            }
            Spread::Grid(values) => {
                let place = combination % values.len() as u64;
                combination /= values.len() as u64;
                values.get(place as usize).copied()
            }
        });
        let values = values.collect();
        let seed = match self.noise {
            Noise::AsDeclared => self.experiment.seed,
            Noise::Fresh => {
                let name = format!("sweep.sensor_noise.{draw}");
                // 53 bits are what one number of the stream holds, and enough.
                (Stream::new(self.spec.seed, &name).uniform() * (1u64 << 53) as f64) as u64
            }
        };
        Ok(Variant { index, draw, seed, values })
    }

    /// The experiment file of a variant, complete; `None` if a parameter could
    /// not be drawn.
    pub fn text(&self, variant: &Variant) -> Option<String> {
        let parameters = self.spec.vary.iter().zip(&variant.values);
        let mut values = parameters
            .map(|(variation, value)| Some(variation.target.measure.toml((*value)?)))
            .collect::<Option<Vec<String>>>()?;
        if self.noise == Noise::Fresh {
            values.push(variant.seed.to_string());
            values.extend(self.kept_seeds.iter().cloned());
        }
        Some(self.edits.applied(self.experiment.text(), &values))
    }

    /// A number that changes with anything the results depend on: the file, the
    /// files it names, the seed and the program. How many runs there are to be
    /// is not part of it, so that a study can be extended.
    pub fn fingerprint(&self) -> u64 {
        let mut content = Vec::new();
        let mut add = |bytes: &[u8]| {
            content.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            content.extend_from_slice(&fnv1a(bytes).to_le_bytes());
        };
        let text = self.experiment.text();
        let runs = self.experiment.span("sweep.runs").unwrap_or(0..0);
        add(env!("CARGO_PKG_VERSION").as_bytes());
        add(&text.as_bytes()[..runs.start]);
        add(&text.as_bytes()[runs.end..]);
        add(&self.spec.seed.to_le_bytes());
        for file in &self.files {
            add(file.name.as_bytes());
            add(&file.bytes);
        }
        fnv1a(&content)
    }
}

/// Signals that draw their seed from the experiment's.
fn unseeded(experiment: &Experiment) -> Vec<(String, Vec<Step>)> {
    let kind = |signal: &SignalSource| match signal {
        SignalSource::Generated(signal) if signal.follows_seed() => Some(signal.key()),
        _ => None,
    };
    let key = |text: &str| Step::Key(text.to_owned());
    let mut found = Vec::new();
    if let Some(kind) =
        experiment.excitation.ground.as_ref().and_then(|ground| kind(&ground.signal))
    {
        let steps = vec![key("excitation"), key("ground"), key(kind), key("seed")];
        found.push((format!("excitation.ground.{kind}.seed"), steps));
    }
    for (index, force) in experiment.excitation.forces.iter().enumerate() {
        if let Some(kind) = kind(&force.signal.0) {
            let entry = Step::Entry(index);
            let steps = vec![key("excitation"), key("force"), entry, key(kind), key("seed")];
            found.push((format!("excitation.force[{}].{kind}.seed", index + 1), steps));
        }
    }
    found
}
