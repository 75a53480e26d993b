//! The experiment file: a test as it is declared, read from TOML.
//!
//! [`Experiment::from_path`] reads a file and either gives the experiment, in
//! SI and with its warnings, or every error it found with file, line and
//! remedy. One static grammar is behind it, the JSON Schema
//! ([`schema::json_schema`]) and the reference ([`reference::reference_markdown`]).

mod checks;
mod choices;
pub mod closed_loop;
pub mod compensator;
pub mod diagnostic;
pub mod dof;
pub mod element;
pub mod excitation;
pub mod fault;
mod grammar;
pub mod include;
pub mod input;
mod leaf;
mod main_loop;
pub mod mesh;
pub mod partition;
mod path;
pub mod per_dof;
pub mod phases;
pub mod quantity;
pub mod realtime;
pub mod reduction;
pub mod reference;
pub mod rig;
pub mod schema;
pub mod source;
mod spelling;
pub mod structure;
pub mod sweep;
pub mod trace;
mod tree;
pub mod units;
mod walker;
pub mod watch;

use std::ops::Range;
use std::path::Path;

use runtime::two_rate::Rates;
use toml::de::DeTable;

pub use closed_loop::{IntegratorSpec, SensorsSpec, TransferSystemSpec};
pub use compensator::CompensatorSpec;
pub use diagnostic::{Diagnostic, Diagnostics, Piece, Severity};
pub use dof::{DofLabel, DofRef, NodeRef, resolve};
pub use element::{ElementSpec, SpecimenElement, SpecimenPlace, StructureElement};
pub use excitation::{Excitation, Force, SignalFile, SignalSource};
pub use fault::{FaultKindSpec, FaultSpec};
pub use partition::{Interface, MassEntry, Partition, SpecimenMass};
pub use per_dof::PerDof;
pub use phases::PhasesSpec;
pub use realtime::RealtimeSpec;
pub use reduction::ReductionSpec;
pub use rig::RigSpec;
pub use source::{Embedded, Folder, Source};
pub use structure::{DampingSource, MatrixSource, Structure, StructureSource};
pub use sweep::SweepSpec;
pub use trace::TraceSpec;
pub use watch::{LimitsSpec, MonitorSpec, RecordSpec};

use tree::Branch;

/// A test as it is declared, in SI.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// What the test is about.
    pub title: String,
    /// How long it runs.
    pub duration_s: f64,
    /// Seed of every random stream.
    pub seed: u64,
    /// The whole structure.
    pub structure: Structure,
    /// How it is made small, where the file asks for it.
    pub reduction: Option<ReductionSpec>,
    /// What of it stands in the laboratory.
    pub partition: Partition,
    /// What shakes it.
    pub excitation: Excitation,
    /// How the simulated part is advanced.
    pub integrator: IntegratorSpec,
    /// The slow main loop, where the file declares one.
    pub main_loop: Option<Rates>,
    /// Actuator and controller.
    pub transfer_system: TransferSystemSpec,
    /// Imperfections of the sensors.
    pub sensors: SensorsSpec,
    /// From desired motion to command.
    pub compensator: CompensatorSpec,
    /// What is watched.
    pub monitor: MonitorSpec,
    /// What the gate never lets through.
    pub limits: LimitsSpec,
    /// What is written down.
    pub record: RecordSpec,
    /// What comes before and after the load.
    pub phases: PhasesSpec,
    /// How the loop runs against the clock.
    pub realtime: RealtimeSpec,
    /// A laboratory at the end of a wire.
    pub rig: RigSpec,
    /// A study of many variants, where the file declares one.
    pub sweep: Option<SweepSpec>,
    /// A frequency response by iteration, where the file declares one.
    pub trace: Option<TraceSpec>,
    /// Faults to rehearse.
    pub faults: Vec<FaultSpec>,
    name: String,
    text: String,
    files: Vec<String>,
    /// The file and those it includes, for findings to come.
    texts: Diagnostics,
}

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
        Self::read(name, text, source, SweepSpec::read)
    }

    /// Reads a variant of a sweep: like any file, but its own sweep is not asked for.
    pub fn variant(
        name: &str,
        text: &str,
        source: &dyn Source,
    ) -> Result<(Self, Diagnostics), Diagnostics> {
        Self::read(name, text, source, |_, _| None)
    }

    fn read(
        name: &str,
        text: &str,
        source: &dyn Source,
        sweep: fn(&Branch, &mut Diagnostics) -> Option<SweepSpec>,
    ) -> Result<(Self, Diagnostics), Diagnostics> {
        let mut found = Diagnostics::new(name, text);
        let Some((root, included)) = read_tree(text, source, &mut found) else {
            return Err(found);
        };
        checks::check(&root, &mut found);
        // What a sweep varies can be looked up in a file without errors only.
        let sweep = if found.has_errors() { None } else { sweep(&root, &mut found) };
        found.sort();
        if found.has_errors() {
            return Err(found);
        }
        let texts = found.emptied();
        Ok((Self { sweep, ..Self::build(name, text, &root, included, texts) }, found))
    }

    /// The number at `path`, as a sweep or chart may vary it. The error has no place.
    pub fn target(&self, path: &str, source: &dyn Source) -> Result<sweep::Target, Diagnostic> {
        let mut found = self.diagnostics();
        match read_tree(&self.text, source, &mut found) {
            Some((root, _)) => sweep::find(&root, path),
            None => Err(Diagnostic::error("the experiment's files have changed meanwhile")),
        }
    }

    /// Every number that the file holds and a sweep may vary, those of long lists
    /// up to a limit.
    pub fn targets(&self, source: &dyn Source) -> Vec<sweep::Target> {
        let root = read_tree(&self.text, source, &mut self.diagnostics());
        root.map_or_else(Vec::new, |(root, _)| sweep::all(&root))
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

    /// Where the value at a path such as `integrator.step`,
    /// `partition.mass[0]` or `structure.element[1].kind` stands, if it is written.
    pub fn span(&self, path: &str) -> Option<Range<usize>> {
        self.locate(path).filter(|found| found.exact).map(|found| found.span)
    }

    /// `diagnostic`, placed at `path` or, if that is not written (a default),
    /// at the nearest table around it that is.
    pub fn place(&self, path: &str, diagnostic: Diagnostic) -> Diagnostic {
        let span = self.locate(path).map(|found| found.span);
        Diagnostic { span, ..diagnostic }
    }

    /// The path in the file, or else in one it includes.
    fn locate(&self, path: &str) -> Option<path::Found> {
        let mut nearest = None;
        for (start, text) in self.texts.texts() {
            let Some(mut found) = path::locate(text, path) else { continue };
            found.span = start + found.span.start..start + found.span.end;
            if found.exact {
                return Some(found);
            }
            nearest = nearest.or(Some(found));
        }
        nearest
    }

    /// An empty collection for findings about this file.
    pub fn diagnostics(&self) -> Diagnostics {
        self.texts.emptied()
    }

    /// The number of ticks of the whole test.
    pub fn ticks(&self) -> u64 {
        // A duration that is a whole number of steps must not lose one to rounding.
        (self.duration_s * self.integrator.rate_hz + 1e-6).floor().max(1.0) as u64
    }

    fn build(
        name: &str,
        text: &str,
        root: &Branch,
        included: Vec<String>,
        texts: Diagnostics,
    ) -> Self {
        let integrator = IntegratorSpec::read(root.must_table("integrator"));
        let transfer_system =
            TransferSystemSpec::read(root.must_table("transfer_system"), integrator.step_s);
        let mut files = included;
        collect_files(root, &mut files);
        Self {
            title: root.must_text("title").to_owned(),
            duration_s: root.must_number("duration"),
            seed: root.must_count("seed"),
            structure: Structure::read(root.must_table("structure")),
            reduction: root.table("reduction").map(ReductionSpec::read),
            partition: Partition::read(root.must_table("partition")),
            excitation: Excitation::read(root.must_table("excitation")),
            main_loop: root
                .table("main_loop")
                .map(|branch| main_loop::read(branch, &transfer_system.kind, integrator.step_s)),
            transfer_system,
            integrator,
            sensors: SensorsSpec::read(root.must_table("sensors")),
            compensator: CompensatorSpec::read(root.must_table("compensator")),
            monitor: MonitorSpec::read(root.must_table("monitor")),
            limits: LimitsSpec::read(root.must_table("limits")),
            record: RecordSpec::read(root.must_table("record")),
            phases: PhasesSpec::read(root.must_table("phases")),
            realtime: RealtimeSpec::read(root.must_table("realtime")),
            rig: RigSpec::read(root.must_table("rig")),
            sweep: None,
            trace: root.table("trace").map(TraceSpec::read),
            faults: root.tables("fault").map(FaultSpec::read).collect(),
            name: name.to_owned(),
            text: text.to_owned(),
            files,
            texts,
        }
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
    // Without an included file every second finding would be that its keys lack.
    if found.has_errors() {
        found.sort();
        return None;
    }
    let names = parts.iter().map(|part| part.name.clone()).collect();
    Some((walker::walk(&grammar::ROOT, &root, source, found), names))
}

fn collect_files(branch: &Branch, files: &mut Vec<String>) {
    for (&key, node) in &branch.entries {
        if key == "file"
            && let Some(name) = node.text()
            && !files.iter().any(|known| known == name)
        {
            files.push(name.to_owned());
        }
        let nested = node.list().unwrap_or_default().iter().filter_map(|entry| entry.table());
        node.table().into_iter().chain(nested).for_each(|table| collect_files(table, files));
    }
}

#[cfg(test)]
mod tests;
