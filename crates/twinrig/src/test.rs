//! A test as one value: the declared experiment, the files it names, its models.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use runtime::record::EmbeddedFile;
use runtime::stop::StopHandle;

use crate::assembly::{Assembly, FoundLaboratory, ReductionFacts, SignalStore};
use crate::error::Error;
use crate::estimate::{Budget, Estimate};
use crate::onlooker::{Event, Onlooker};
use crate::pace::Clock;
use crate::remote::{Wire, differences, link_plan};
use crate::text_edit::is_written;
use experiment::diagnostic::Diagnostic;
use experiment::include::flattened;
use experiment::sweep::with_value;
use experiment::{Diagnostics, Embedded, Experiment, Folder, Severity, Source};

/// A declared test with the files it names; its models are built when they are
/// asked for. Every study is a call on it.
///
/// ```
/// use twinrig::{Clock, Silent, StopHandle, Test};
///
/// let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/02-shear-building/experiment.toml");
/// let test = Test::load(file)?.with("duration", "5 s")?.with("transfer_system.delay", "1 ms")?;
/// let check = test.check()?;
/// assert!(!check.is_unstable());
/// let run = test.run(Clock::Virtual, &StopHandle::default(), &mut Silent)?;
/// assert_eq!(run.status(), twinrig::report::Status::Completed);
/// let tracking = run.criterion("J2").expect("a rehearsal has this criterion");
/// assert!(tracking < 5.0, "the rig follows within {tracking} %");
/// # Ok::<(), twinrig::Error>(())
/// ```
#[derive(Clone)]
pub struct Test {
    experiment: Experiment,
    source: SharedSource,
    warnings: Diagnostics,
    store: Arc<SignalStore>,
    limits: Limits,
    budget: Budget,
    models: OnceLock<Result<(Assembly, Diagnostics), Diagnostics>>,
}

/// Whether a rig may move without limits of command, rate and force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limits {
    Demanded,
    Waived,
}

/// Files that threads may share.
type SharedSource = Arc<dyn Source + Send + Sync>;

impl Test {
    /// Reads the file at `path`; the files it names are looked for beside it.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let folder = Folder::new(path.parent().unwrap_or(Path::new("")));
        let (experiment, warnings) = Experiment::from_path(path)?;
        Ok(Self::of(experiment, Arc::new(folder), warnings))
    }

    /// Reads a text that is called `name`; `source` has the files that it names.
    pub fn from_text(
        name: &str,
        text: &str,
        source: impl Source + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let (experiment, warnings) = Experiment::from_text(name, text, &source)?;
        Ok(Self::of(experiment, Arc::new(source), warnings))
    }

    /// A variant of a sweep, whose own sweep is not asked for.
    pub(crate) fn of_variant(
        name: &str,
        text: &str,
        files: Vec<EmbeddedFile>,
    ) -> Result<Self, Error> {
        let source = Kept(files);
        let (experiment, warnings) = Experiment::variant(name, text, &source)?;
        // What its sweep may take was asked before.
        let budget = Budget { memory_bytes: f64::INFINITY, time_s: f64::INFINITY };
        Ok(Self::of(experiment, Arc::new(source), warnings).within(budget))
    }

    fn of(experiment: Experiment, source: SharedSource, warnings: Diagnostics) -> Self {
        Self {
            experiment,
            source,
            warnings,
            store: Arc::new(SignalStore::default()),
            limits: Limits::Demanded,
            budget: Budget::default(),
            models: OnceLock::new(),
        }
    }

    /// The same test with another value at a path of its file, such as
    /// `transfer_system.delay` or `partition.mass[1]`.
    pub fn with(self, path: &str, value: &str) -> Result<Self, Error> {
        self.with_values([(path, value)])
    }

    /// The same with several values, which need to make sense together only.
    pub fn with_values<P: AsRef<str>, V: AsRef<str>>(
        self,
        values: impl IntoIterator<Item = (P, V)>,
    ) -> Result<Self, Error> {
        let mut texts = Texts::of(&self.experiment, &*self.source);
        for (path, value) in values {
            texts.set(path.as_ref().trim(), value.as_ref().trim())?;
        }
        let Texts { main, included } = texts;
        let source = Arc::new(Edited { base: self.source.clone(), texts: included });
        let (experiment, warnings) =
            Experiment::from_text(self.experiment.name(), &main, &*source)?;
        let Self { store, limits, budget, .. } = self;
        Ok(Self { store, limits, budget, ..Self::of(experiment, source, warnings) })
    }

    /// Keeps reduced models in a folder, for the next process.
    pub fn keeping(self, folder: impl Into<PathBuf>) -> Self {
        Self { store: Arc::new(SignalStore::keeping(folder)), ..self }
    }

    /// The same test, whose rig may move in real time and over a wire without the limits that
    /// the file lacks: for benches where nothing can be harmed.
    pub fn without_limits(self) -> Self {
        Self { limits: Limits::Waived, ..self }
    }

    /// Refuses to move a rig for which the file lacks a limit.
    pub(crate) fn demand_limits(&self) -> Result<(), Error> {
        match self.experiment.missing_limits() {
            Some(missing) if self.limits == Limits::Demanded => {
                let mut found = self.experiment.diagnostics();
                found.push(Diagnostic { severity: Severity::Error, ..missing });
                Err(Error::NoLimits(Box::new(found)))
            }
            _ => Ok(()),
        }
    }

    /// The same test, whose studies may take so much memory and time.
    pub fn within(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    pub(crate) fn budget(&self) -> Budget {
        self.budget
    }

    /// Refuses a study that needs more than it may take, and says what is large.
    pub(crate) fn afford(
        &self,
        estimate: &Estimate,
        onlooker: &mut dyn Onlooker,
    ) -> Result<(), Error> {
        if let Some(large) = estimate.within(&self.budget)? {
            onlooker.event(&Event::Notice(&large));
        }
        Ok(())
    }

    /// The declared experiment.
    pub fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// The files it names.
    pub fn source(&self) -> &dyn Source {
        &*self.source
    }

    /// What was read and made before, by this test or by others that share it.
    pub fn store(&self) -> &Arc<SignalStore> {
        &self.store
    }

    /// The models, built once, if they may take what they need.
    pub fn assembly(&self) -> Result<&Assembly, Error> {
        Estimate::models(&self.experiment).within(&self.budget)?;
        let built = self
            .models
            .get_or_init(|| Assembly::sharing(&self.experiment, &*self.source, &self.store));
        built.as_ref().map(|(assembly, _)| assembly).map_err(|found| found.clone().into())
    }

    /// What the engineer should know: of the file and, once they are built, of the
    /// models.
    pub fn warnings(&self) -> Diagnostics {
        let mut all = self.warnings.clone();
        all.extend(self.warnings_of_models().items().iter().cloned());
        all
    }

    pub(crate) fn warnings_of_models(&self) -> Diagnostics {
        match self.models.get() {
            Some(Ok((_, warnings))) => warnings.clone(),
            _ => self.experiment.diagnostics(),
        }
    }

    /// What became of a large structure, once the models are built.
    pub fn reduction(&self) -> Option<ReductionFacts> {
        let Some(Ok((assembly, _))) = self.models.get() else { return None };
        let reduced = assembly.reduced.as_ref()?;
        Some(ReductionFacts::of(reduced, &self.store))
    }

    /// The experiment as one text with every included file in it: what a study
    /// varies may lie in any of them.
    pub(crate) fn flat(&self) -> Result<Experiment, Error> {
        let text = flattened(self.experiment.text(), self.source());
        if text == self.experiment.text() {
            return Ok(self.experiment.clone());
        }
        // What is wrong with the models is said with its place in its own file.
        self.assembly()?;
        Ok(Experiment::from_text(self.experiment.name(), &text, self.source())?.0)
    }

    /// The models joined to the laboratory at `rig`, or to the one the file names; to
    /// a virtual rig where that is nowhere, or [`IN_PROCESS`].
    pub(crate) fn reach(
        &self,
        clock: Clock,
        wire: Wire,
        rig: Option<&str>,
        stop: &StopHandle,
        onlooker: &mut dyn Onlooker,
    ) -> Result<Assembly, Error> {
        let address = rig.or(self.experiment.rig.address.as_deref());
        let address = address.filter(|address| *address != IN_PROCESS);
        if clock == Clock::Real || address.is_some() {
            self.demand_limits()?;
        }
        let assembly = self.assembly()?;
        let Some(address) = address else { return Ok(assembly.clone()) };
        let plan = link_plan(&self.experiment, self.source(), assembly, address, clock, wire)?;
        let laboratory = FoundLaboratory::find(plan, stop)?;
        onlooker.event(&Event::Laboratory(&laboratory.peer));
        for difference in differences(&laboratory.plan.terms, &laboratory.peer.terms) {
            onlooker.event(&Event::Notice(&difference));
        }
        Ok(Assembly { remote: Some(laboratory), ..assembly.clone() })
    }
}

/// Said instead of an address for a rig in this process.
pub const IN_PROCESS: &str = "virtual";

/// The texts of an experiment: the file and those that it includes.
struct Texts {
    main: String,
    included: Vec<(String, String)>,
}

impl Texts {
    fn of(experiment: &Experiment, source: &dyn Source) -> Self {
        let included = experiment.files().iter().filter(|name| name.ends_with(".toml"));
        let included = included.filter_map(|name| {
            let text = String::from_utf8(source.read(name).ok()?).ok()?;
            Some((name.clone(), text))
        });
        Self { main: experiment.text().to_owned(), included: included.collect() }
    }

    /// Puts a value where its key is written, else into the file itself.
    fn set(&mut self, path: &str, value: &str) -> Result<(), Error> {
        let written = self.included.iter_mut().find(|(_, text)| is_written(text, path));
        let text = written.map_or(&mut self.main, |(_, text)| text);
        *text = with_value(text, path, value).map_err(|source| Error::Value {
            path: path.to_owned(),
            value: value.to_owned(),
            source,
        })?;
        Ok(())
    }
}

/// Files of an experiment, some of them with other contents.
struct Edited {
    base: SharedSource,
    texts: Vec<(String, String)>,
}

impl Edited {
    fn find(&self, name: &str) -> Option<&str> {
        self.texts.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str())
    }
}

impl Source for Edited {
    fn size(&self, name: &str) -> io::Result<u64> {
        self.find(name).map_or_else(|| self.base.size(name), |text| Ok(text.len() as u64))
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.find(name).map_or_else(|| self.base.read(name), |text| Ok(text.into()))
    }
}

/// Files in memory.
pub(crate) struct Kept(pub(crate) Vec<EmbeddedFile>);

impl Source for Kept {
    fn size(&self, name: &str) -> io::Result<u64> {
        Embedded::new(&self.0).size(name)
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        Embedded::new(&self.0).read(name)
    }
}
