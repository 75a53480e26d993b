//! Why something could not be done: the one error of the library.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use analysis::identification::IdentificationError;
use analysis::loop_stability::LoopError;
use experiment::Diagnostics;
use experiment::input::InputError;
use experiment::quantity::QuantityError;
use experiment::rig::PRESET_TOKEN;
use experiment::sweep::EditError;
use model::compensator::CompensatorError;
use model::integrator::IntegratorError;
use model::partition::PartitionError;
use model::reduction::ReductionError;
use model::shaken::ShakenError;
use model::transfer::TransferError;
use numerics::delay_system::DelayError;
use numerics::eigen::EigenError;
use numerics::lti::TransferFunctionError;
use runtime::host::{BadToken, TlsError};
use runtime::laboratory::ListenError;
use runtime::link::LinkError;
use runtime::periodic::PeriodicError;
use runtime::realtime::RealtimeError;
use runtime::record::{Record, RecordError, Summary, TripNote};
use runtime::reference::ReferenceError;
use serde::Serialize;
use thiserror::Error;

use crate::assembly::PlantError;
use crate::export::ExportError;
use crate::page::text::quantity;
use crate::report::ReportError;

/// Why something could not be done. Options of a command line are not named here:
/// who has some adds them.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the fields are named in the text of the error")]
pub enum Error {
    /// The experiment file is wrong.
    #[error("{0}")]
    Experiment(Box<Diagnostics>),
    /// A file that the program brings along does not read.
    #[error("a built-in experiment does not read; please report this defect:\n{0}")]
    BuiltIn(Box<Diagnostics>),
    /// What was asked for does not fit the file, such as the axis of a chart.
    #[error("{0}")]
    Question(Box<Diagnostics>),
    /// A rig is to move, and the file lacks a limit.
    #[error("the test was not started:\n{0}")]
    NoLimits(Box<Diagnostics>),
    /// A value cannot be put into the file.
    #[error("{path}={value}: {source}")]
    Value { path: String, value: String, source: EditError },
    /// Something that a study varies has no place in the file.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The file does not describe what a study needs.
    #[error("{file}: {source}")]
    Unfit { file: String, source: Box<Error> },

    /// A file that the experiment names has gone.
    #[error("\"{name}\" cannot be read: {source}")]
    Input { name: String, source: io::Error },
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// A file or folder cannot be written.
    #[error(
        "cannot write {}: {source}; check that its folder exists, may be written to and has room",
        path.display()
    )]
    Write { path: PathBuf, source: io::Error },
    /// No place for a trial record.
    #[error("no folder for a trial record: {0}")]
    NoTemporaryFolder(io::Error),
    /// Somebody writes there.
    #[error("another test or laboratory is writing its record into {}", path.display())]
    FolderBusy { path: PathBuf },
    /// There is the record of the other end of a test.
    #[error(
        "{} holds the record of a {}, and this is a {}", path.display(), there, here
    )]
    OtherSide { path: PathBuf, there: &'static str, here: &'static str },
    /// Another process has the journal open.
    #[error("{} belongs to a {what} that is still running; wait for it", path.display())]
    JournalBusy { path: PathBuf, what: &'static str },
    /// The journal belongs to something else.
    #[error(
        "{} was begun with another experiment file, input, seed or version of twinrig: its \
         results do not belong together with new ones", path.display()
    )]
    OtherStudy { path: PathBuf },
    /// It is something else.
    #[error("{} is not the journal of a {what}", path.display())]
    NotAJournal { path: PathBuf, what: &'static str },
    /// The output is the record itself.
    #[error("{} is the record itself", path.display())]
    OverRecord { path: PathBuf },
    /// The test took place, and something of it could not be written.
    #[error("{source}")]
    NotKept { source: Box<Error>, ended: Box<NotKept> },

    /// The models cannot be joined.
    #[error(transparent)]
    Plant(#[from] PlantError),
    /// The response of the whole structure cannot be integrated.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// The record.
    #[error(transparent)]
    Record(Box<RecordError>),
    /// The laboratory.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The address of the laboratory.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The pre-set token where other machines can reach the wire.
    #[error(
        "the pre-set token \"{PRESET_TOKEN}\" is known to everybody, and {address} can be reached \
         from other machines: give both files a token of their own in [rig]"
    )]
    PresetToken {
        /// Where.
        address: SocketAddr,
    },
    /// The threads of the loop.
    #[error(transparent)]
    Realtime(#[from] RealtimeError),
    /// The loop cannot be judged.
    #[error(transparent)]
    Loop(#[from] LoopError),
    /// The integrator.
    #[error(transparent)]
    Integrator(#[from] IntegratorError),
    /// The transfer system.
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// The compensator.
    #[error(transparent)]
    Compensator(#[from] CompensatorError),
    /// The model cannot be made small.
    #[error(transparent)]
    Reduction(#[from] ReductionError),
    /// A structure.
    #[error(transparent)]
    Model(#[from] model::ModelError),
    /// A partition.
    #[error(transparent)]
    Partition(#[from] PartitionError),
    /// A system with one delay.
    #[error(transparent)]
    Delay(#[from] DelayError),
    /// Eigenvalues.
    #[error(transparent)]
    Eigen(#[from] EigenError),
    /// A transfer function.
    #[error(transparent)]
    Function(#[from] TransferFunctionError),
    /// The report of a record.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// A record in another format.
    #[error(transparent)]
    Export(#[from] ExportError),

    /// No such host.
    #[error("\"{address}\" is no address of a laboratory ({reason}): give host and port")]
    Address { address: String, reason: String },
    /// Nothing crosses a wire within the tick.
    #[error(
        "rig and numerical part are one system in this test, which no wire can join: use \
         [integrator] feedback = \"held\" and a [transfer_system] that is at least one step late"
    )]
    OneSystem,
    /// A real test of a loop that cannot be stable.
    #[error("the test was not started: {text}")]
    PredictedUnstable {
        /// What grows.
        text: String,
    },
    /// A rig behind a wire is late.
    #[error(
        "a rig at the end of a wire answers at least one step late, and this one answers at once: \
         give [transfer_system] a delay of a step or more, or dynamics"
    )]
    AnswersAtOnce,
    /// A defect of twinrig.
    #[error("the thread of the laboratory failed; please report this defect")]
    Panicked,
    /// The address of a host link cannot be had.
    #[error("cannot listen on {address}: {source}")]
    HostAddress { address: String, source: io::Error },
    /// A token cannot be read.
    #[error("the token in {path} cannot be read: {source}")]
    TokenFile { path: String, source: io::Error },
    /// It is none.
    #[error("{path}: {source}")]
    Token { path: String, source: BadToken },
    /// The system has no random numbers.
    #[error("no token can be drawn: {0}")]
    NoToken(io::Error),
    /// There is no certificate for the host link.
    #[error("the host link cannot be encrypted: {0}")]
    Tls(TlsError),
    /// A file of certificates or a key cannot be read.
    #[error("{path} cannot be read: {source}")]
    Pem { path: String, source: io::Error },
    /// It cannot be used.
    #[error("{path} and its key are no certificate in PEM that can be used: {source}")]
    Certificate { path: String, source: TlsError },
    /// The host link cannot be opened.
    #[error("the host link cannot be opened: {0}")]
    HostLink(io::Error),
    /// The load must come from somewhere.
    #[error("the load of this test is streamed, and no host is there to feed it")]
    NoHost,

    /// The monitored DOFs need every displacement.
    #[error("the monitored DOFs need every displacement: set displacements = \"all\" in [record]")]
    NotRecorded,

    /// Who asked for it has stopped it.
    #[error("stopped; what was done until then is kept")]
    Stopped,

    /// Between finding a laboratory and arming it another took its place.
    #[error(
        "the laboratory at {address} has begun anew with another file since it was found: compare \
         the files of both ends and start again"
    )]
    OtherLaboratory { address: SocketAddr },

    /// The file declares no sweep.
    #[error(
        "{file} has no [sweep]: add one that says what varies, such as\n  [sweep]\n  runs = 100\n  \
         [[sweep.vary]]\n  parameter = \"partition.stiffness[1]\"\n  normal = {{ sd = \"5 %\" }}"
    )]
    NoSweep { file: String },
    /// A study needs more memory or time than it may take.
    #[error(
        "the study would need {needed}, most of it for {what}; at most {allowed} is taken: {remedy}"
    )]
    TooMuch { what: String, needed: String, allowed: String, remedy: &'static str },
    /// Nobody feeds the variants.
    #[error(
        "the load of this test is streamed, and nobody feeds the variants of a sweep: give \
         [excitation] a load that is known beforehand"
    )]
    StreamedSweep,
    /// There is no such variant.
    #[error("there is no variant {index}: they count from 1 to {count}")]
    NoVariant { index: u64, count: u64 },

    /// Both axes are the same number.
    #[error("both axes are `{path}`: a chart needs two different numbers")]
    SameAxis { path: String },
    /// There is no delay in the file.
    #[error(
        "an ideal transfer system has neither delay nor dynamics, so every such loop is as stable \
         as its structure: give [transfer_system] a delay or dynamics"
    )]
    RigidLoop,
    /// A delay system was asked for, but the loop is more than a delay.
    #[error(
        "the loop is more than a pure delay (a transfer function, a compensator, a late force, a main \
         loop or a first-order model): it can be judged as it runs only"
    )]
    NotPureDelay,
    /// No point of a chart could be judged.
    #[error("no point of the chart can be judged: {reason}")]
    NothingJudged { reason: String },
    /// There is no loop gain to draw.
    #[error("there is no loop gain to draw: {reason}")]
    NoLoopGain { reason: String },
    /// A picture has a name that says how it is drawn.
    #[error(
        "{} ends neither in .html nor in .svg: name the picture loop.html or loop.svg",
        path.display()
    )]
    PictureName { path: PathBuf },

    /// The file has no trace.
    #[error(
        "the file has no [trace]: add one with `frequency` and `target`, and the virtual rig as \
         [trace.shaker] (see docs/iterative-testing.md)"
    )]
    NoTrace,
    /// A load that is no harmonic.
    #[error(
        "{place} is no harmonic: in an iterative test every load is one, `harmonic = {{ amplitude \
         = …, frequency = … }}`, and takes the frequency of the point"
    )]
    NotHarmonic { place: String },
    /// Loads that are not in phase.
    #[error("{place} is not in phase with the other loads: all act as cosines of one phase")]
    Phases { place: String },
    /// More mass is taken out of the measured force than is simulated.
    #[error(
        "trace.inertia_compensation is {declared_kg} kg at {place}, where {} kg are simulated: it is \
         the part of those that stands in the laboratory; declare that, or nothing",
        crate::words::number(*simulated_kg)
    )]
    Compensation { place: String, declared_kg: f64, simulated_kg: f64 },
    /// The specimen of an iterative test.
    #[error("the specimen on the virtual shaker: {0}")]
    Specimen(#[from] ShakenError),
    /// The rig of an iterative test answers at once.
    #[error(
        "the rig of [transfer_system] answers within the tick: add [trace.shaker], or give \
         [transfer_system] a delay of a step or more, or dynamics"
    )]
    AnswersWithinTick,
    /// A main loop has a rate of its own.
    #[error(
        "two rates do not go with [trace]: remove [main_loop], the simulated part of an iterative \
         test runs at one rate"
    )]
    TracedMainLoop,
    /// The rig of an iterative test ended it.
    #[error("the virtual rig ended its test: {0:?}")]
    Periodic(PeriodicError),

    /// There is nothing to identify.
    #[error(
        "an ideal or purely delayed transfer system has no dynamics to identify; choose \
         [transfer_system] kind = \"servo_hydraulic\" or \"transfer_function\""
    )]
    NoDynamics,
    /// There is no such interface DOF.
    #[error("there is no interface DOF {dof}; they count from 1 to {count}")]
    NoInterfaceDof { dof: usize, count: usize },
    /// The rig tripped while it was driven.
    #[error(
        "interface DOF {dof}: tripped at {} s: {}; the rig was taken to its safe state, and \
         nothing was identified", trip.time_s, trip.text
    )]
    DriveTripped { dof: usize, trip: Box<TripNote>, tests: Vec<Driven> },
    /// There is nothing to identify from.
    #[error("there is no channel \"command.1\" to identify from")]
    NoCommand,
    /// The samples do not give a transfer system.
    #[error("interface DOF {dof}: {source}")]
    Identification { dof: usize, source: IdentificationError },
    /// A test on the rig is too long or too short.
    #[error(
        "a test of {duration_s} s has {samples:.0} samples; use a duration that gives from 512 to \
         5 million at {rate_hz} Hz"
    )]
    DriveLength { duration_s: f64, samples: f64, rate_hz: f64 },
    /// The size of the command is no positive number.
    #[error("a command of {0} m cannot be driven; give a size greater than zero")]
    BadSize(f64),
    /// There is neither a size nor a limit to take it from.
    #[error(
        "how large may the command be? Give its rms or its amplitude, or a limit in the file: \
         [limits] command = \"5 mm\""
    )]
    NoSize,
    /// The command would not pass the gate.
    #[error(
        "the command {what} {}, and the limit of interface DOF {dof} is {} ({key}); use at most an \
         rms of \"{rms_mm:.4} mm\" with this signal, or raise the limit",
        quantity(Some(*value), unit), quantity(Some(*limit), unit)
    )]
    BeyondLimit {
        what: &'static str,
        value: f64,
        limit: f64,
        unit: &'static str,
        key: &'static str,
        dof: usize,
        rms_mm: f64,
    },
    /// A table is not what was asked for.
    #[error("{}: {source}", path.display())]
    Table { path: PathBuf, source: InputError },
    /// A unit in its header is none that fits.
    #[error("{}: the header says [{unit}]: {source}", path.display())]
    TableUnit { path: PathBuf, unit: String, source: Box<QuantityError> },
    /// One motion has a unit and the other has none.
    #[error(
        "{}: one of command and measured has a unit in the header and the other has none; give \
         both, or neither", path.display()
    )]
    OneUnit { path: PathBuf },
    /// Times are not evenly spaced.
    #[error(
        "{}: the time step is {step_s:.6e} s at {time_s} s and {mean_s:.6e} s on average; resample \
         the table to one rate", path.display()
    )]
    Uneven { path: PathBuf, time_s: f64, step_s: f64, mean_s: f64 },

    /// A channel is missing.
    #[error("the record has no channel \"{0}\"")]
    NoChannel(String),
    /// A record of a laboratory.
    #[error("this is a laboratory's record: it has no loop to replay; replay the loop's own")]
    LaboratoryRecord,
    /// A record of a test on the rig alone.
    #[error("the record is of a test on the rig alone (identify): it has no loop to replay")]
    DriveRecord,
    /// A record of evaluations.
    #[error("the record holds an iterative test: it has no loop to replay")]
    IterativeRecord,
    /// The report of an iterative test is not made from its record.
    #[error(
        "the record holds the evaluations of an iterative test; tracing the same file into the \
         same folder writes its report again"
    )]
    IterativeReport,
    /// Not every tick was recorded.
    #[error("the record keeps one tick in {every}: {why} ([record] every = 1)")]
    NotEveryTick { every: u64, why: &'static str },
    /// The operator held the test.
    #[error("the test was held: the load waited meanwhile, which a replay does not repeat")]
    WasHeld,
    /// Frames were lost on the way.
    #[error("{lost} frames were lost: {why}")]
    FramesLost { lost: u64, why: &'static str },
    /// The version differs.
    #[error("the record was made by version {0}: bits are only the same within one version")]
    OtherVersion(String),
    /// The embedded experiment does not read any more.
    #[error("the experiment inside the record cannot be built by this version:\n{0}")]
    EmbeddedExperiment(Box<Diagnostics>),

    /// The full model is stepped with one factor.
    #[error(
        "the comparison in time steps the full model with one factor for all steps, so it needs a \
         linear structure, and this one has {0} nonlinear element(s): reduce a copy of the file \
         without them"
    )]
    NonlinearComparison(usize),
    /// A load that is not known.
    #[error(
        "the comparison in time needs a load that is known beforehand, and this one is streamed"
    )]
    StreamedComparison,
    /// Nothing moves.
    #[error("there is nothing to compare: the load is zero for the whole test")]
    SilentComparison,
    /// The model has no matrices at DOFs.
    #[error("the comparison in time needs a method that gives M, C and K: take rubin")]
    NoMatrices,

    /// A ground motion cannot be read.
    #[error("the ground motion {}: {reason}", path.display())]
    Ground { path: PathBuf, reason: String },
    /// The paper has none.
    #[error("no ground shakes the {0}")]
    NoGround(&'static str),
    /// The built-in transfer system is none.
    #[error("the built-in transfer system is no transfer function")]
    NoFunction,
    /// Nothing can be scaled to a displacement.
    #[error("the ground motion does not move the structure")]
    NoMotion,
}

/// A test on a rig alone in numbers.
#[derive(Debug, Clone, Serialize)]
pub struct Driven {
    /// The interface DOF, from 1.
    pub dof: usize,
    /// Samples per second.
    pub rate_hz: f64,
    /// Samples.
    pub samples: usize,
    /// Root mean square of the command, m.
    pub rms_m: f64,
    /// Its largest absolute value, m.
    pub peak_m: f64,
    /// Its fastest change, m/s.
    pub rate_m_s: f64,
    /// The trip, if one ended it.
    pub trip: Option<TripNote>,
}

/// A test that took place, and of which something could not be written.
#[derive(Debug)]
pub struct NotKept {
    /// How it ended.
    pub summary: Summary,
    /// What of the record can be read.
    pub record: Option<Record>,
}

impl Error {
    /// A file or folder that cannot be written.
    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Write { path, source }
    }

    /// The same error of a test that took place: how it ended is in no other place.
    pub(crate) fn not_kept(self, summary: Option<&Summary>, record: &Path) -> Self {
        let failed = match &self {
            Self::Record(error) => match &**error {
                RecordError::Write { summary, .. } => Some((**summary).clone()),
                _ => None,
            },
            _ => None,
        };
        let Some(summary) = failed.or_else(|| summary.cloned()) else { return self };
        // What was written before is readable; how it ended is known here.
        let read = Record::read(record).ok();
        let record = read.map(|read| Record { summary: Some(summary.clone()), ..read });
        Self::NotKept { source: Box::new(self), ended: Box::new(NotKept { summary, record }) }
    }

    /// The same, about a file.
    pub(crate) fn of_file(self, file: &str) -> Self {
        Self::Unfit { file: file.to_owned(), source: Box::new(self) }
    }
}

impl From<Diagnostics> for Error {
    fn from(found: Diagnostics) -> Self {
        Self::Experiment(Box::new(found))
    }
}

impl From<RecordError> for Error {
    fn from(error: RecordError) -> Self {
        Self::Record(Box::new(error))
    }
}

impl From<PeriodicError> for Error {
    fn from(error: PeriodicError) -> Self {
        Self::Periodic(error)
    }
}
