//! The experiment file: a test as it is declared, read from TOML.
//!
//! [`Experiment::from_path`] reads a file and either gives the experiment, in
//! SI and with its warnings, or every error it found with file, line and
//! remedy. One static grammar is behind it, the JSON Schema
//! ([`schema::json_schema`]) and the reference ([`reference::reference_markdown`]).

mod checks;
mod choices;
pub mod closed_loop;
pub mod diagnostic;
pub mod dof;
pub mod element;
pub mod excitation;
pub mod fault;
mod grammar;
mod leaf;
pub mod partition;
mod path;
pub mod per_dof;
pub mod quantity;
pub mod reference;
pub mod schema;
pub mod source;
mod spelling;
pub mod structure;
mod tree;
pub mod units;
mod walker;
pub mod watch;

use std::ops::Range;
use std::path::Path;

use toml::de::DeTable;

pub use closed_loop::{CompensatorSpec, IntegratorSpec, SensorsSpec, TransferSystemSpec};
pub use diagnostic::{Diagnostic, Diagnostics, Paint, Severity};
pub use dof::{DofLabel, DofRef, NodeRef, resolve};
pub use element::{ElementSpec, SpecimenElement, StructureElement};
pub use excitation::{Excitation, Force, SignalFile, SignalSource};
pub use fault::{FaultKindSpec, FaultSpec};
pub use partition::{Interface, MassEntry, Partition, SpecimenMass};
pub use per_dof::PerDof;
pub use source::{Embedded, Folder, Source};
pub use structure::{DampingSource, MatrixSource, Structure, StructureSource};
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
    /// What of it stands in the laboratory.
    pub partition: Partition,
    /// What shakes it.
    pub excitation: Excitation,
    /// How the simulated part is advanced.
    pub integrator: IntegratorSpec,
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
    /// Faults to rehearse.
    pub faults: Vec<FaultSpec>,
    name: String,
    text: String,
    files: Vec<String>,
}

/// Largest experiment file; matrices beyond it belong into files of their own.
const LARGEST_TEXT: usize = 16 << 20;

impl Experiment {
    /// Reads the file at `path`; the files it names are looked for beside it.
    pub fn from_path(path: &Path) -> Result<(Self, Diagnostics), Diagnostics> {
        let name = path.display().to_string();
        let fail = |error: Diagnostic| {
            let mut all = Diagnostics::new(name.clone(), "");
            all.push(error);
            all
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        let bytes = source::read_regular(path, LARGEST_TEXT as u64).map_err(|error| {
            fail(
                Diagnostic::error(format!("the experiment cannot be read: {error}"))
                    .remedy("name an experiment file that exists and that you may read"),
            )
        })?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let offset = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            let mut all = Diagnostics::new(name.clone(), text);
            let error = Diagnostic::error("the file is not UTF-8 text").at(offset..offset + 1);
            all.push(error.remedy("save it as UTF-8"));
            all
        })?;
        Self::from_text(&name, &text, &Folder::new(folder))
    }

    /// Reads `text`, which is called `name` in diagnostics; `source` has the
    /// files it names. Gives the experiment with its warnings, or every error.
    pub fn from_text(
        name: &str,
        text: &str,
        source: &dyn Source,
    ) -> Result<(Self, Diagnostics), Diagnostics> {
        let mut found = Diagnostics::new(name, text);
        let Some(root) = read_tree(text, source, &mut found) else { return Err(found) };
        checks::check(&root, &mut found);
        found.sort();
        if found.has_errors() {
            return Err(found);
        }
        Ok((Self::build(name, text, &root), found))
    }

    /// The name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file, whole.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The files that the experiment names, each once, as it spells them.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// Where the value at a path such as `integrator.step`,
    /// `partition.mass[0]` or `structure.element[1].kind` stands, if it is written.
    pub fn span(&self, path: &str) -> Option<Range<usize>> {
        path::locate(&self.text, path).filter(|found| found.exact).map(|found| found.span)
    }

    /// `diagnostic`, placed at `path` or, if that is not written (a default),
    /// at the nearest table around it that is.
    pub fn place(&self, path: &str, diagnostic: Diagnostic) -> Diagnostic {
        let span = path::locate(&self.text, path).map(|found| found.span);
        Diagnostic { span, ..diagnostic }
    }

    /// An empty collection for findings about this file.
    pub fn diagnostics(&self) -> Diagnostics {
        Diagnostics::new(self.name.clone(), self.text.clone())
    }

    /// The number of ticks of the whole test.
    pub fn ticks(&self) -> u64 {
        // A duration that is a whole number of steps must not lose one to rounding.
        (self.duration_s * self.integrator.rate_hz + 1e-6).floor().max(1.0) as u64
    }

    fn build(name: &str, text: &str, root: &Branch) -> Self {
        let integrator = IntegratorSpec::read(root.must_table("integrator"));
        let mut files = Vec::new();
        collect_files(root, &mut files);
        Self {
            title: root.must_text("title").to_owned(),
            duration_s: root.must_number("duration"),
            seed: root.must_count("seed"),
            structure: Structure::read(root.must_table("structure")),
            partition: Partition::read(root.must_table("partition")),
            excitation: Excitation::read(root.must_table("excitation")),
            transfer_system: TransferSystemSpec::read(
                root.must_table("transfer_system"),
                integrator.step_s,
            ),
            integrator,
            sensors: SensorsSpec::read(root.must_table("sensors")),
            compensator: CompensatorSpec::read(root.must_table("compensator")),
            monitor: MonitorSpec::read(root.must_table("monitor")),
            limits: LimitsSpec::read(root.must_table("limits")),
            record: RecordSpec::read(root.must_table("record")),
            faults: root.tables("fault").map(FaultSpec::read).collect(),
            name: name.to_owned(),
            text: text.to_owned(),
            files,
        }
    }
}

/// Parses and walks; `None` if there is no tree to speak of.
fn read_tree(text: &str, source: &dyn Source, found: &mut Diagnostics) -> Option<Branch> {
    if text.len() > LARGEST_TEXT {
        let message = format!("the file has {} bytes, more than {LARGEST_TEXT}", text.len());
        let remedy = "put large matrices into files of their own: { file = \"k.mtx\", unit = … }";
        found.push(Diagnostic::error(message).remedy(remedy));
        return None;
    }
    match DeTable::parse(text) {
        Ok(toml) => Some(walker::walk(&grammar::ROOT, toml.get_ref(), source, found)),
        Err(error) => {
            let mut diagnostic = Diagnostic::error(format!("not valid TOML: {}", error.message()))
                .remedy("see https://toml.io for how keys, strings and tables are written");
            diagnostic.span = error.span();
            found.push(diagnostic);
            None
        }
    }
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
