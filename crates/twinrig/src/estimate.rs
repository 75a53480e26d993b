//! What a study will need, before it is begun: memory and computing time.
//!
//! The counts are exact (degrees of freedom, steps, frames, channels); what each costs is measured,
//! to a factor of about two.

use experiment::excitation::SignalSource;
use experiment::structure::StructureSource;
use experiment::watch::{RecordedDofs, RecordedMotion};
use experiment::{Components, Experiment, Structure, Whole};

use crate::error::Error;
use crate::pace::Clock;
use crate::page::text::number_or_dash;
use crate::words::rounded;

/// Bytes of a number.
const NUMBER: f64 = 8.0;
/// Square matrices of a structure's size that its models, modes and stability need together.
const MATRICES: f64 = 100.0;
/// Of modes and stability, in seconds per cube of the degrees of freedom.
const MODES_S: f64 = 3e-8;
/// Of a step and its reference: at least, and per square of the degrees of freedom, s.
const STEP_S: [f64; 2] = [2e-6, 5e-9];
/// Numbers of a frame beside the degrees of freedom.
const CHANNELS: f64 = 18.0;
/// Signals of the size of a load while it is made.
const LOAD_COPIES: f64 = 3.0;
/// Fewest periods that one point of a response takes, by one evaluation and its correction.
const PERIODS: f64 = 20.0;
/// Numbers that are kept of each sample of a period.
const PERIOD_CHANNELS: f64 = 16.0;
/// Of a point of a stability chart with a system of its own: reading its file; one that shares a
/// system with others of its row or column, s.
const POINT_S: [f64; 2] = [2e-3, 3e-6];
/// Numbers that are kept of a point, in memory and on the page.
const POINT_NUMBERS: f64 = 16.0;
/// Signals of the length of a test on the rig while it is identified, for each interface DOF.
const TEST_SIGNALS: f64 = 25.0;
/// Numbers in the factor of a mesh: per DOF to this power, or per DOF and DOF of its smallest
/// cross-section, whichever is fewer.
const FACTOR: (f64, f64) = (21.0, 4.0 / 3.0);
/// Sizes of that factor that making a mesh small takes, and comparing it with the full one.
const FACTORS: [f64; 2] = [2.0, 18.0];
/// Of a factor of a mesh, s per square of its DOFs, real and complex.
const FACTOR_S: [f64; 2] = [1.7e-9, 5e-9];
/// What takes longer is said beforehand, s.
const LONG_S: f64 = 60.0;
/// The share of the memory allowed that is said beforehand.
const MUCH: f64 = 0.25;

/// What a study may take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// Memory, bytes.
    pub memory_bytes: f64,
    /// Computing time, s.
    pub time_s: f64,
}

impl Default for Budget {
    /// 4 GB and a day.
    fn default() -> Self {
        Self { memory_bytes: 4e9, time_s: 86_400.0 }
    }
}

/// What a study needs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Estimate {
    /// What needs how much.
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq)]
struct Part {
    what: String,
    memory_bytes: f64,
    time_s: f64,
    remedy: &'static str,
}

impl Estimate {
    /// The models of a test with their loads. Matrices in files that are reduced are counted by
    /// their reader.
    pub fn models(experiment: &Experiment) -> Self {
        let n = dofs(experiment);
        let mut signals: Vec<&SignalSource> =
            experiment.excitation.forces.iter().map(|force| &force.signal.0).collect();
        signals.extend(experiment.excitation.ground.iter().map(|ground| &ground.signal));
        signals.retain(|signal| !matches!(signal, SignalSource::Streamed(_)));
        let (ticks, loads) = (experiment.ticks() as f64, signals.len() as f64);
        let matrices = Part {
            what: format!("the matrices of {n} DOFs"),
            memory_bytes: MATRICES * NUMBER * n * n,
            time_s: MODES_S * n.powi(3),
            remedy: "use fewer DOFs, or reduce the structure ([reduction])",
        };
        let loads = Part {
            what: format!("loads of {ticks} steps"),
            memory_bytes: LOAD_COPIES * NUMBER * loads * ticks,
            time_s: 0.0,
            remedy: "shorten the test, or lower the rate",
        };
        let estimate = Self { parts: vec![matrices, loads] };
        let Some(mesh) = Mesh::of(experiment) else { return estimate };
        estimate.and(Part {
            what: format!("the reduction of {} DOFs", mesh.dofs),
            memory_bytes: NUMBER * FACTORS[0] * mesh.factor(),
            time_s: FACTOR_S[0] * mesh.dofs.powi(2),
            remedy: MESH_REMEDY,
        })
    }

    /// A mesh made small, and compared with the full one at so many frequencies.
    pub fn reduce(experiment: &Experiment, points: impl Fn(usize) -> usize) -> Self {
        let models = Self::models(experiment);
        let Some(mesh) = Mesh::of(experiment) else { return models };
        models.and(Part {
            what: format!("the comparison with the full model of {} DOFs", mesh.dofs),
            memory_bytes: NUMBER * FACTORS[1] * mesh.factor(),
            time_s: FACTOR_S[1] * points(mesh.dofs as usize) as f64 * mesh.dofs.powi(2),
            remedy: MESH_REMEDY,
        })
    }

    /// A stability chart of so many points, of which so many are computed, with so many systems.
    pub fn chart(
        experiment: &Experiment,
        points: usize,
        computed: usize,
        systems: usize,
        threads: usize,
    ) -> Self {
        let [own_s, shared_s] = POINT_S;
        let system_s = own_s + 2.0 * MODES_S * dofs(experiment).powi(3);
        let all_s = systems as f64 * system_s + computed as f64 * shared_s;
        Self::models(experiment).and(Part {
            what: format!("{points} points of the chart"),
            memory_bytes: NUMBER * POINT_NUMBERS * points as f64,
            time_s: all_s / threads.max(1) as f64,
            remedy: "take fewer points (--grid)",
        })
    }

    /// Tests on the rig of some interface DOFs, so long each, and what is found from them.
    pub fn identify(experiment: &Experiment, dofs: usize, duration_s: f64, clock: Clock) -> Self {
        let (tests, samples) = (dofs as f64, duration_s * experiment.integrator.rate_hz());
        Self::models(experiment).and(Part {
            what: format!("{} samples of the rig", number_or_dash(Some(samples))),
            memory_bytes: NUMBER * TEST_SIGNALS * tests * samples,
            time_s: tests
                * match clock {
                    Clock::Virtual => steps_s(0.0, samples),
                    Clock::Real => duration_s,
                },
            remedy: "shorten the test (--duration), or lower the rate",
        })
    }

    /// A test, whose record is read for its report.
    pub fn run(experiment: &Experiment) -> Self {
        let (n, ticks) = (dofs(experiment), experiment.ticks() as f64);
        let per_dof = match (experiment.record.displacements, experiment.record.motion) {
            // Of the whole structure, which is integrated for its reference all the same.
            (RecordedDofs::Interface, _) => 1.0,
            (RecordedDofs::All, RecordedMotion::Displacement) => 2.0,
            (RecordedDofs::All, RecordedMotion::Full) => 4.0,
        };
        let frames = (ticks / experiment.record.every as f64).ceil();
        Self::models(experiment).and(Part {
            what: format!("{frames} frames"),
            memory_bytes: NUMBER * frames * (CHANNELS + per_dof * n),
            time_s: steps_s(n, ticks),
            remedy: "shorten the test, lower the rate, raise record.every, or record the \
                     interface only (record.displacements)",
        })
    }

    /// The response of an iterative test: at least its point of the lowest frequency.
    pub fn trace(experiment: &Experiment) -> Self {
        let models = Self::models(experiment);
        let Some(trace) = &experiment.trace else { return models };
        let low_hz = trace.band_hz().0;
        let samples = experiment.integrator.rate_hz() / low_hz;
        let [at, of] = [low_hz, samples].map(|value| number_or_dash(Some(value)));
        models.and(Part {
            what: format!("periods of {of} samples at {at} Hz"),
            memory_bytes: NUMBER * PERIOD_CHANNELS * samples,
            time_s: steps_s(dofs(experiment), PERIODS * samples),
            remedy: "raise the lowest frequency, or lower the rate",
        })
    }

    /// The same so many times, by so many threads at once.
    pub fn times(mut self, count: f64, threads: usize) -> Self {
        let at_once = count.clamp(1.0, threads.max(1) as f64);
        for part in &mut self.parts {
            part.memory_bytes *= at_once;
            part.time_s *= count / at_once;
        }
        self
    }

    fn and(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    /// Memory, bytes.
    pub fn memory_bytes(&self) -> f64 {
        self.parts.iter().map(|part| part.memory_bytes).sum()
    }

    /// Computing time, s.
    pub fn time_s(&self) -> f64 {
        self.parts.iter().map(|part| part.time_s).sum()
    }

    /// Refuses what is beyond a budget, and names what needs most. What is large within it is
    /// said.
    pub fn within(&self, budget: &Budget) -> Result<Option<String>, Error> {
        let (memory, time) = (self.memory_bytes(), self.time_s());
        // What is no number has not been shown to fit.
        let fits = |value: f64, most: f64| value <= most;
        let refused = |of: fn(&Part) -> f64, needed: String, allowed: String| {
            let most = self.parts.iter().max_by(|a, b| of(a).total_cmp(&of(b)));
            let (what, remedy) = most.map_or((String::new(), ""), |p| (p.what.clone(), p.remedy));
            Err(Error::TooMuch { what, needed, allowed, remedy })
        };
        if !fits(memory, budget.memory_bytes) {
            return refused(|part| part.memory_bytes, bytes(memory), bytes(budget.memory_bytes));
        }
        if !fits(time, budget.time_s) {
            return refused(|part| part.time_s, duration(time), duration(budget.time_s));
        }
        let large = memory > MUCH * budget.memory_bytes || time > LONG_S;
        let words = || format!("this needs about {} and {}", bytes(memory), duration(time));
        Ok(large.then(words))
    }
}

const MESH_REMEDY: &str = "use a coarser mesh";

/// A mesh that is made small before it is stepped.
struct Mesh {
    dofs: f64,
    /// Degrees of freedom of its smallest cross-section.
    across: f64,
}

impl Mesh {
    /// The largest that the file declares.
    fn of(experiment: &Experiment) -> Option<Self> {
        let whole = experiment.reduction.as_ref().and(experiment.structure()).and_then(Self::built);
        let components = match &experiment.whole {
            Whole::Structure(_) => &[][..],
            Whole::Components(whole) => &whole.components,
        };
        let reduced = components.iter().filter(|component| component.reduction.is_some());
        let reduced = reduced.filter_map(|component| Self::built(&component.structure));
        whole.into_iter().chain(reduced).max_by(|a, b| a.dofs.total_cmp(&b.dofs))
    }

    fn built(structure: &Structure) -> Option<Self> {
        let (mut nodes, per_node) = match &structure.source {
            StructureSource::Brick(brick) => (brick.elements.map(|count| count as f64 + 1.0), 3.0),
            StructureSource::Frame(frame) => {
                let [x, y] = frame.bays;
                ([x, y, frame.storeys].map(|count| count as f64 + 1.0), 6.0)
            }
            _ => return None,
        };
        nodes.sort_by(f64::total_cmp);
        Some(Self { dofs: structure.size()? as f64, across: per_node * nodes[0] * nodes[1] })
    }

    /// Numbers in its factor.
    fn factor(&self) -> f64 {
        let (factor, power) = FACTOR;
        (factor * self.dofs.powf(power)).min(self.dofs * self.across)
    }
}

/// Degrees of freedom that the loop steps, where the file tells them.
fn dofs(experiment: &Experiment) -> f64 {
    if experiment.reduction.is_some() {
        return 0.0;
    }
    let size = |structure: &Structure| structure.size().unwrap_or_default() as f64;
    match &experiment.whole {
        Whole::Structure(structure) => size(structure),
        Whole::Components(Components { components, .. }) => {
            let full = components.iter().filter(|component| component.reduction.is_none());
            full.map(|component| size(&component.structure)).sum()
        }
    }
}

fn steps_s(n: f64, steps: f64) -> f64 {
    steps * (STEP_S[0] + STEP_S[1] * n * n)
}

fn bytes(value: f64) -> String {
    format!("{} GB of memory", rounded(1e-9 * value))
}

fn duration(value: f64) -> String {
    let (unit, size) = [("days", 86_400.0), ("h", 3600.0), ("min", 60.0)]
        .into_iter()
        .find(|(_, size)| value >= 2.0 * size)
        .unwrap_or(("s", 1.0));
    format!("{} {unit} of computing", number_or_dash(Some(value / size)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::Test;

    fn experiment(values: &[(&str, &str)]) -> Experiment {
        example("02-shear-building", values)
    }

    fn example(name: &str, values: &[(&str, &str)]) -> Experiment {
        let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
        let test = Test::load(format!("{examples}/{name}/experiment.toml"))
            .and_then(|test| test.with_values(values.iter().copied()));
        test.expect("an example with other values").experiment().clone()
    }

    /// By hand: 30 720 frames of 18 numbers and twice five DOFs.
    #[test]
    fn a_run_needs_its_frames() {
        let run = Estimate::run(&experiment(&[]));
        let models = Estimate::models(&experiment(&[]));
        assert_eq!(run.memory_bytes() - models.memory_bytes(), 30_720.0 * 28.0 * 8.0);
        assert_eq!(models.memory_bytes(), 100.0 * 8.0 * 25.0 + 3.0 * 8.0 * 30_720.0);
        assert_eq!(run.within(&Budget::default()).expect("small"), None);
    }

    #[test]
    fn what_would_not_end_is_refused_with_what_needs_most() {
        let refused = |estimate: Estimate| match estimate.within(&Budget::default()) {
            Err(error) => error.to_string(),
            Ok(said) => panic!("{said:?}"),
        };
        let tall = refused(Estimate::models(&experiment(&[(
            "structure.shear_building.storeys",
            "20000",
        )])));
        assert!(tall.contains("matrices of 20000 DOFs") && tall.contains("320 GB"), "{tall}");
        let long = experiment(&[("duration", "1e6 s"), ("integrator.rate", "1 kHz")]);
        let long = refused(Estimate::run(&long));
        let slow = example("09-iterative-linear", &[("trace.frequency[1]", "1e-300 Hz")]);
        let slow = refused(Estimate::trace(&slow));
        assert!(slow.contains("samples at 1.000e-300 Hz"), "{slow}");
        assert!(long.contains("1000000000 frames") && long.contains("at most 4.00 GB"), "{long}");
    }

    #[test]
    fn charts_meshes_and_identification_are_counted() {
        let refused = |estimate: Estimate, words: &str| {
            let error = estimate.within(&Budget::default()).expect_err(words).to_string();
            assert!(error.contains(words), "{error}");
        };
        let solid = |elements: &str| {
            let values = [("structure.brick.elements", elements)];
            Estimate::reduce(&example("11-large-model", &values), |_| 8)
        };
        refused(solid("[200, 40, 40]"), "the comparison with the full model of 1008600 DOFs");
        let example = solid("[60, 10, 10]").within(&Budget::default()).expect("it fits");
        assert!(example.is_some_and(|said| said.contains("1.27 GB of memory")), "it is large");
        // Measured: 0.67 GB at 10 890 DOFs, 0.086 GB at 2940.
        let measured = [("[30, 10, 10]", 0.67e9), ("[20, 6, 6]", 0.086e9)];
        for (elements, bytes) in measured {
            let ratio = solid(elements).memory_bytes() / bytes;
            assert!((0.5..2.0).contains(&ratio), "{elements}: {ratio}");
        }
        let (small, large) =
            (experiment(&[]), experiment(&[("structure.shear_building.storeys", "900")]));
        let chart =
            |of: &Experiment, systems: usize| Estimate::chart(of, 4_000_000, 4_000_000, systems, 2);
        assert!(chart(&small, 2000).within(&Budget::default()).is_ok(), "it fits");
        refused(chart(&large, 4_000_000), "4000000 points of the chart");
        let identify = |duration_s: f64| Estimate::identify(&small, 1, duration_s, Clock::Virtual);
        refused(identify(1e5), "samples of the rig");
        assert_eq!(identify(60.0).within(&Budget::default()).expect("small"), None);
    }

    #[test]
    fn a_budget_can_be_raised_and_what_is_large_is_said() {
        let long = experiment(&[("duration", "1e5 s"), ("integrator.rate", "1 kHz")]);
        let run = Estimate::run(&long);
        assert!(run.within(&Budget::default()).is_err());
        let more = Budget { memory_bytes: 1e11, ..Budget::default() };
        let said = run.within(&more).expect("allowed");
        assert!(said.is_some_and(|said| said.contains("24.8 GB of memory")), "said");
        let nothing = Budget { time_s: f64::NAN, ..more };
        assert!(run.within(&nothing).is_err());
    }
}
