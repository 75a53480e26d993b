//! The experiment file: a test as it is declared, read from TOML.
//!
//! [`Experiment::from_path`] reads a file and either gives the experiment, in
//! SI and with its warnings, or every error it found with file, line and
//! remedy. Each table is declared once, on the type that it fills, with `#[derive(Keys)]`; the
//! declarations are behind the reader, the JSON Schema ([`schema::json_schema`]), the reference
//! ([`reference::reference_markdown`]) and the paths of `--set` and of sweeps.

#![forbid(unsafe_code)]

mod checks;
mod choices;
pub mod closed_loop;
pub mod compensator;
pub mod completion;
pub mod component;
pub mod diagnostic;
pub mod dof;
pub mod element;
pub mod excitation;
pub mod fault;
pub mod host;
pub mod include;
pub mod input;
mod leaf;
pub mod main_loop;
pub mod mesh;
pub mod partition;
pub mod per_dof;
pub mod phases;
pub mod realtime;
pub mod reduction;
pub mod reference;
pub mod rig;
pub mod schema;
pub mod source;
pub mod spelling;
pub mod structure;
pub mod sweep;
pub mod trace;
pub mod verdict;
mod walker;
pub mod watch;

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use keys::describe::Table;
use keys::tree::{Branch, Node, Origin, Value};
use keys::{Keys, Placed, Stated};
pub use keys::{quantity, units};
use runtime::monitor::MonitorPlan;
use runtime::two_rate::Rates;
use toml::de::DeTable;

pub use closed_loop::{IntegratorSpec, SensorsSpec, TransferSystemSpec};
pub use compensator::CompensatorSpec;
pub use component::{Component, Components, Joint, JointDirection, Whole};
pub use diagnostic::{Diagnostic, Diagnostics, Piece, Severity};
pub use dof::{DofLabel, DofRef, NodeRef, resolve};
pub use element::{SpecimenElement, SpecimenPlace, StructureElement};
pub use excitation::{Excitation, Force, SignalFile, SignalSource};
pub use fault::{FaultKindSpec, FaultSpec};
pub use host::HostSpec;
pub use keys::value::OrShare;
pub use main_loop::MainLoopSpec;
pub use partition::{Deformation, Interface, Partition, SpecimenMass};
pub use per_dof::PerDof;
pub use phases::PhasesSpec;
pub use realtime::RealtimeSpec;
pub use reduction::ReductionSpec;
pub use rig::RigSpec;
pub use source::{Embedded, Folder, Source};
pub use structure::{DampingSource, MatrixSource, Structure, StructureSource};
pub use sweep::SweepSpec;
pub use trace::TraceSpec;
pub use verdict::VerdictSpec;
pub use watch::{LimitsSpec, RecordSpec};

use sweep::{Step, SweepTable};

/// An experiment: the structure, the part of it that stands in the laboratory, what shakes it, and how
/// the loop between them runs.
#[derive(Debug, Clone, PartialEq, Keys)]
pub struct Experiment {
    /// What the test is about, for people.
    #[key(text)]
    pub title: String,
    /// How long the test runs.
    #[key(time, positive)]
    pub duration_s: f64,
    /// Seed of every random stream; the same seed gives the same rehearsal.
    #[key(count = 0..=i64::MAX as u64, default = 1)]
    pub seed: u64,
    /// Files whose keys stand as if they were written here, such as those that `twinrig identify`
    /// writes; a key given twice is an error.
    #[key(file = &["toml"], entries = 1..=include::MOST_FILES, optional)]
    include: Vec<String>,
    /// The whole structure, in one piece or joined of components.
    #[key(flatten)]
    pub whole: Whole,
    /// How a large structure is made small enough for the loop.
    pub reduction: Option<ReductionSpec>,
    /// What stands in the laboratory; the rest is simulated.
    pub partition: Partition,
    /// What shakes the structure.
    pub excitation: Excitation,
    /// How the simulated part is advanced.
    pub integrator: IntegratorSpec,
    /// A slower rate for the simulated part.
    pub main_loop: Option<MainLoopSpec>,
    /// Actuator and controller, for a rehearsal.
    #[key(default = { kind = "ideal" })]
    pub transfer_system: Stated<TransferSystemSpec>,
    /// Imperfections of the sensors, for a rehearsal.
    #[key(default = {})]
    pub sensors: SensorsSpec,
    /// What turns the desired motion into the command. A table without `kind` means the adaptive
    /// inverse; without the table there is none.
    #[key(default = { kind = "none" })]
    pub compensator: CompensatorSpec,
    /// What is watched while the test runs.
    #[key(default = {})]
    pub monitor: MonitorPlan,
    /// What the gate never lets through.
    #[key(default = {})]
    pub limits: LimitsSpec,
    /// From where on a result is doubtful, and from where on wrong.
    #[key(default = {})]
    pub verdict: VerdictSpec,
    /// What is written down.
    #[key(default = {})]
    pub record: RecordSpec,
    /// What comes before and after the load.
    #[key(default = {})]
    pub phases: PhasesSpec,
    /// How the test runs against the clock.
    #[key(default = {})]
    pub realtime: RealtimeSpec,
    /// Who leads the test, and what becomes of it without.
    #[key(default = {})]
    pub host: HostSpec,
    /// A laboratory in another process or on another machine.
    #[key(default = {})]
    pub rig: RigSpec,
    /// A study of many variants of this test.
    #[key(name = "sweep")]
    sweep_table: Option<Placed<SweepTable>>,
    /// A frequency response by iteration, where feedback cannot work.
    pub trace: Option<TraceSpec>,
    /// Faults to rehearse, each as `[[fault]]`.
    #[key(entries = 1..=fault::MOST_FAULTS, optional, name = "fault")]
    pub faults: Vec<FaultSpec>,
    /// The declared sweep, with the numbers that it varies.
    #[key(skip)]
    pub sweep: Option<SweepSpec>,
    #[key(skip)]
    name: String,
    #[key(skip)]
    text: String,
    #[key(skip)]
    files: Vec<String>,
    /// The file and those it includes, for findings to come.
    #[key(skip)]
    texts: Diagnostics,
    /// What is written and where.
    #[key(skip)]
    tree: Arc<Branch>,
}

/// The description of the whole file.
pub(crate) static ROOT: LazyLock<Table> = LazyLock::new(Experiment::table);

/// Largest experiment file; matrices beyond it belong into files of their own.
const LARGEST_TEXT: usize = 16 << 20;

impl Experiment {
    /// Reads the file at `path`; the files it names are looked for beside it.
    pub fn from_path(path: &Path) -> Result<(Self, Diagnostics), Diagnostics> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let text = Self::text_of(path)?;
        Self::from_text(&path.display().to_string(), &text, &Folder::new(folder))
    }

    /// The text of the file at `path`, which is not read any further.
    pub(crate) fn text_of(path: &Path) -> Result<String, Diagnostics> {
        let name = path.display().to_string();
        let fail = |error: Diagnostic| {
            let mut all = Diagnostics::new(name.clone(), "");
            all.push(error);
            all
        };
        let bytes = source::read_regular(path, LARGEST_TEXT as u64).map_err(|error| {
            fail(
                Diagnostic::error(format!("the experiment cannot be read: {error}"))
                    .remedy("name an experiment file that exists and that you may read"),
            )
        })?;
        String::from_utf8(bytes).map_err(|error| {
            let offset = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            let mut all = Diagnostics::new(name.clone(), text);
            let error = Diagnostic::error("the file is not UTF-8 text").at(offset..offset + 1);
            all.push(error.remedy("save it as UTF-8"));
            all
        })
    }

    /// Reads `text`, which is called `name` in diagnostics; `source` has the
    /// files it names. Gives the experiment with its warnings, or every error.
    pub fn from_text(
        name: &str,
        text: &str,
        source: &dyn Source,
    ) -> Result<(Self, Diagnostics), Diagnostics> {
        // What a sweep varies can be looked up in a file without errors only.
        let (mut experiment, mut found) = Self::variant(name, text, source)?;
        if let Some(table) = &experiment.sweep_table {
            experiment.sweep = SweepSpec::resolve(table, &experiment.tree, &mut found);
        }
        found.sort();
        if found.has_errors() { Err(found) } else { Ok((experiment, found)) }
    }

    /// Reads a variant of a sweep: like any file, but its own sweep is not asked for.
    pub fn variant(
        name: &str,
        text: &str,
        source: &dyn Source,
    ) -> Result<(Self, Diagnostics), Diagnostics> {
        let mut found = Diagnostics::new(name, text);
        let Some((root, mut files)) = read_tree(text, source, &mut found) else {
            return Err(found);
        };
        checks::check(&root, &mut found);
        found.sort();
        if found.has_errors() {
            return Err(found);
        }
        collect_files(&root, &mut files);
        let read = Self::read_table(&root).expect("a tree without findings is read whole");
        let experiment = Self {
            name: name.to_owned(),
            text: text.to_owned(),
            files,
            texts: found.emptied(),
            tree: Arc::new(root),
            ..read
        };
        Ok((experiment, found))
    }

    /// The number at `path`, as a sweep or chart may vary it. The error has no place.
    pub fn target(&self, path: &str) -> Result<sweep::Target, Diagnostic> {
        sweep::find(&self.tree, path)
    }

    /// Every number that the file holds and a sweep may vary, those of long lists
    /// up to a limit.
    pub fn targets(&self) -> Vec<sweep::Target> {
        sweep::all(&self.tree)
    }

    /// The structure, if it is in one piece.
    pub fn structure(&self) -> Option<&Structure> {
        match &self.whole {
            Whole::Structure(structure) => Some(structure),
            Whole::Components(_) => None,
        }
    }

    /// Nonlinear elements of the structure, those of components and joints among them.
    pub fn elements(&self) -> Vec<StructureElement> {
        match &self.whole {
            Whole::Structure(structure) => structure.elements.clone(),
            Whole::Components(components) => components.elements(),
        }
    }

    /// The name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file, whole.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The files that the experiment names, included ones first, each once, as
    /// it spells them.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// Where the value at a path such as `integrator.step`, `partition.mass[1]` or
    /// `structure.element[2].kind` stands, if it is written. Entries count from 1.
    pub fn span(&self, path: &str) -> Option<Range<usize>> {
        let (written, steps) = self.written(path);
        written.last().filter(|_| written.len() == steps).map(|node| node.span.clone())
    }

    /// `diagnostic`, placed at `path` or, if that is not written (a default),
    /// at the nearest table around it that is.
    pub fn place(&self, path: &str, diagnostic: Diagnostic) -> Diagnostic {
        let span = self.written(path).0.last().map(|node| node.span.clone());
        Diagnostic { span, ..diagnostic }
    }

    /// What is written on the way to a path, and how many steps the way has.
    fn written(&self, path: &str) -> (Vec<&Node>, usize) {
        let steps = sweep::parse(path).unwrap_or_default();
        let mut way: Vec<&Node> = Vec::new();
        for step in &steps {
            let next = match (way.last().map(|node| &node.value), step) {
                (None, Step::Key(key)) => self.tree.node(key),
                (Some(Value::Table(branch)), Step::Key(key)) => branch.node(key),
                (Some(Value::List(entries)), Step::Entry(index)) => entries.get(*index),
                _ => None,
            };
            match next.filter(|node| node.origin == Origin::Given) {
                Some(node) => way.push(node),
                None => break,
            }
        }
        (way, steps.len())
    }

    /// An empty collection for findings about this file.
    pub fn diagnostics(&self) -> Diagnostics {
        self.texts.emptied()
    }

    /// What a rig lacks before it may move: a limit of `command`, `rate` or `force`.
    pub fn missing_limits(&self) -> Option<Diagnostic> {
        let missing = self.limits.missing();
        let message = format!("[limits] bounds no {}", spelling::listed(missing.clone(), "and no"));
        let example = |key: &&str| match *key {
            LimitsSpec::COMMAND => "`command = \"20 mm\"`",
            LimitsSpec::RATE => "`rate = \"0.2 m/s\"`",
            _ => "`force = \"20 kN\"`",
        };
        let examples: Vec<&str> = missing.iter().map(example).collect();
        let remedy = format!(
            "write what rig and specimen bear, such as {}: a test in real time or over a wire is \
             not started without",
            examples.join(", ")
        );
        let found = self.place(Self::LIMITS, Diagnostic::warning(message).remedy(remedy));
        (!missing.is_empty()).then_some(found)
    }

    /// The number of ticks of the whole test.
    pub fn ticks(&self) -> u64 {
        // A duration that is a whole number of steps must not lose one to rounding.
        (self.duration_s * self.integrator.rate_hz() + 1e-6).floor().max(1.0) as u64
    }

    /// How the slow main loop and the tick go together, where there is one.
    pub fn rates(&self) -> Option<Rates> {
        let step_s = self.integrator.step_s();
        self.main_loop.map(|declared| declared.rates(&self.transfer_system.kind, step_s))
    }
}

/// Parses, joins what is included, and walks. Gives the tree and the names of
/// the included files; `None` if there is no tree to speak of.
fn read_tree(
    text: &str,
    source: &dyn Source,
    found: &mut Diagnostics,
) -> Option<(Branch, Vec<String>)> {
    if text.len() > LARGEST_TEXT {
        let message = format!("the file has {} bytes, more than {LARGEST_TEXT}", text.len());
        let remedy = "put large matrices into files of their own: { file = \"k.mtx\", unit = … }";
        found.push(Diagnostic::error(message).remedy(remedy));
        return None;
    }
    let mut root = match DeTable::parse(text) {
        Ok(toml) => toml.into_inner(),
        Err(error) => {
            found.push(include::not_toml(&error));
            return None;
        }
    };
    let parts = include::gather(&root, source, found);
    include::join(&mut root, &parts, found);
    let components = include::gather_components(&root, source, found);
    include::join_components(&mut root, &components, found);
    // Without an included file every second finding would be that its keys lack.
    if found.has_errors() {
        found.sort();
        return None;
    }
    let mut names: Vec<String> = parts.iter().map(|part| part.name.clone()).collect();
    for (_, part) in &components {
        if !names.contains(&part.name) {
            names.push(part.name.clone());
        }
    }
    Some((walker::walk(&ROOT, &root, source, found), names))
}

fn collect_files(branch: &Branch, files: &mut Vec<String>) {
    for node in branch.entries.values() {
        if let Value::File(name) = &node.value
            && !files.contains(name)
        {
            files.push(name.clone());
        }
        let nested = node.list().unwrap_or_default().iter().filter_map(|entry| entry.table());
        node.table().into_iter().chain(nested).for_each(|table| collect_files(table, files));
    }
}

#[cfg(test)]
mod tests;
