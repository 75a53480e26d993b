//! A frequency response by iteration, as declared.

use super::diagnostic::{Diagnostic, Diagnostics};
use super::per_dof::PerDof;
use super::tree::Branch;

/// What is to be traced, and how. Absent values have been put in.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceSpec {
    /// Lowest and highest frequency.
    pub band_hz: (f64, f64),
    /// Greatest amplitude of the target.
    pub target_m: f64,
    /// What becomes of the target's mean; `None` as the rig asks for.
    pub mean: Option<MeanSpec>,
    /// Harmonics that are matched.
    pub harmonics: usize,
    /// Harmonics that are recorded.
    pub seen: usize,
    /// How the frequencies are chosen.
    pub course: CourseSpec,
    /// Whether it begins at the highest frequency.
    pub falling: bool,
    /// Points of a sweep, or the most along a branch.
    pub points: usize,
    /// Lengths of steps along a branch.
    pub steps: StepsSpec,
    /// Difference of both sides that counts as none.
    pub tolerance_m: f64,
    /// How the target is corrected.
    pub method: MethodSpec,
    /// By what the target is divided.
    pub scale_m: f64,
    /// By what the frequency is divided.
    pub scale_hz: f64,
    /// Control of the simulated part.
    pub control: ControlSpec,
    /// Mass in the laboratory that is simulated.
    pub inertia_compensation_kg: Option<PerDof>,
    /// When a point has settled.
    pub settling: SettlingSpec,
    /// How fast the target's amplitude may change.
    pub ramp_m_s: f64,
    /// How late displacement and acceleration are.
    pub delays_s: [f64; 2],
    /// How late the force is; `None` as the sensors say.
    pub force_delay_s: Option<f64>,
    /// A virtual rig with force actuators.
    pub shaker: Option<ShakerSpec>,
}

/// How the frequencies are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CourseSpec {
    /// Along the branch.
    Arclength,
    /// Equally spaced.
    Sweep,
}

/// What becomes of the target's mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeanSpec {
    /// It follows the rig.
    Followed,
    /// It is matched like the harmonics.
    Solved,
    /// It stays zero.
    Zero,
}

/// How the target is corrected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MethodSpec {
    /// By differences and Broyden's updates.
    Differences,
    /// By a Gaussian process.
    Surrogate,
}

/// Lengths of steps in scaled unknowns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepsSpec {
    /// The first.
    pub first: f64,
    /// The shortest.
    pub least: f64,
    /// The longest.
    pub most: f64,
    /// Greatest turn of the branch in one.
    pub turn_rad: f64,
}

/// Control of the simulated part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ControlSpec {
    /// Force per difference.
    pub stiffness_n_m: f64,
    /// Force per rate of it.
    pub damping_n_s_m: f64,
    /// Time constant of the rate.
    pub filter_s: f64,
}

/// When a point has settled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SettlingSpec {
    /// Range that counts as none.
    pub tolerance_m: f64,
    /// Periods in a spell.
    pub spell: usize,
    /// Standard deviation of the mean that is asked for.
    pub scatter_m: f64,
    /// Periods averaged at most.
    pub periods: usize,
    /// The same for a point that is kept.
    pub refined: usize,
    /// Time after which a point is taken as it is.
    pub longest_s: f64,
}

/// A force actuator under control.
#[derive(Debug, Clone, PartialEq)]
pub struct ShakerSpec {
    /// Force per difference.
    pub stiffness_n_m: f64,
    /// Force per rate of it.
    pub damping_n_s_m: f64,
    /// Of the amplifier.
    pub lag_s: f64,
    /// A constant force beside.
    pub preload_n: Option<PerDof>,
}

impl TraceSpec {
    pub(crate) fn read(branch: &Branch) -> Self {
        let table = |key| branch.must_table(key);
        let band: Vec<f64> = branch.node("frequency").and_then(|n| n.numbers()).unwrap_or_default();
        let (low, high) = (band[0], band[1]);
        let harmonics = branch.must_count("harmonics") as usize;
        let target_m = branch.must_number("target");
        let tolerance_m = branch.number("tolerance").unwrap_or(1e-6 * target_m);
        let (steps, scale, control) = (table("steps"), table("scale"), table("control"));
        let (settling, delays) = (table("settling"), table("delays"));
        Self {
            band_hz: (low, high),
            target_m,
            mean: branch.word("mean").map(|word| match word {
                "followed" => MeanSpec::Followed,
                "solved" => MeanSpec::Solved,
                "zero" => MeanSpec::Zero,
                word => unreachable!("the grammar has no mean {word}"),
            }),
            harmonics,
            seen: branch.count("seen").map_or(harmonics + 2, |n| n as usize).max(harmonics),
            course: match branch.must_word("course") {
                "arclength" => CourseSpec::Arclength,
                "sweep" => CourseSpec::Sweep,
                word => unreachable!("the grammar has no course {word}"),
            },
            falling: branch.must_word("direction") == "falling",
            points: branch.must_count("points") as usize,
            steps: StepsSpec {
                first: steps.must_number("first"),
                least: steps.must_number("least"),
                most: steps.must_number("most"),
                turn_rad: steps.must_number("turn"),
            },
            tolerance_m,
            method: match branch.must_word("method") {
                "differences" => MethodSpec::Differences,
                "surrogate" => MethodSpec::Surrogate,
                word => unreachable!("the grammar has no method {word}"),
            },
            scale_m: scale.number("target").unwrap_or(0.1 * target_m),
            scale_hz: scale.number("frequency").unwrap_or((high - low) / 8.0),
            control: ControlSpec {
                stiffness_n_m: control.must_number("stiffness"),
                damping_n_s_m: control.must_number("damping"),
                filter_s: control.must_number("filter"),
            },
            inertia_compensation_kg: PerDof::read(branch, "inertia_compensation"),
            settling: SettlingSpec {
                tolerance_m: settling.number("tolerance").unwrap_or(0.5 * tolerance_m),
                spell: settling.must_count("spell") as usize,
                scatter_m: settling.number("scatter").unwrap_or(tolerance_m),
                periods: settling.must_count("periods") as usize,
                refined: settling.must_count("refined") as usize,
                longest_s: settling.must_number("longest"),
            },
            ramp_m_s: branch.must_number("ramp"),
            delays_s: [delays.must_number("displacement"), delays.must_number("acceleration")],
            force_delay_s: delays.number("force"),
            shaker: branch.table("shaker").map(|shaker| ShakerSpec {
                stiffness_n_m: shaker.must_number("stiffness"),
                damping_n_s_m: shaker.must_number("damping"),
                lag_s: shaker.must_number("lag"),
                preload_n: PerDof::read(shaker, "preload"),
            }),
        }
    }
}

/// Fewest samples in a period of the highest harmonic.
const FEWEST_SAMPLES: f64 = 10.0;
/// Longest delay that is compensated.
const LONGEST_DELAY_S: f64 = 1.0;

/// A target that the gate would never let through.
fn check_limit(root: &Branch, trace: &Branch, out: &mut Diagnostics) {
    let command = root.table("limits").and_then(|limits| limits.node("command"));
    let Some(node) = trace.node("target") else { return };
    let least = command.and_then(|node| {
        let each = node.numbers().or_else(|| node.number().map(|one| vec![one]))?;
        each.into_iter().reduce(f64::min)
    });
    if let (Some(limit), Some(target)) = (least, trace.number("target"))
        && target > limit
    {
        let message = format!(
            "targets up to {} mm may be tried, but [limits] command ends the test at {} mm",
            1e3 * target,
            1e3 * limit
        );
        let remedy = "choose a `target` below the limit, so that the trace ends there by itself";
        out.push(Diagnostic::warning(message).at(node.span.clone()).remedy(remedy));
    }
}

/// What single values cannot show.
pub(crate) fn check(root: &Branch, out: &mut Diagnostics) {
    let Some(trace) = root.table("trace") else { return };
    let at = |key: &str, error: Diagnostic| {
        let span = trace.node(key).map(|node| node.span.clone());
        Diagnostic { span: span.or(Some(trace.span.clone())), ..error }
    };
    let band = trace.node("frequency").and_then(|node| node.numbers()).unwrap_or_default();
    if let [low, high] = band[..] {
        if low >= high {
            let message = format!("the band goes from {low} Hz to {high} Hz");
            let error = Diagnostic::error(message).remedy("write the lower frequency first");
            out.push(at("frequency", error));
        }
        let rate = root.table("integrator").and_then(super::closed_loop::rate_and_step);
        if let (Some((rate, _)), Some(harmonics)) = (rate, trace.count("harmonics")) {
            let seen = trace.count("seen").unwrap_or(harmonics + 2);
            if rate / high <= 2.0 * seen as f64 {
                let message = format!(
                    "{seen} harmonics are recorded, but a period of {high} Hz has {:.1} samples at \
                     {rate} Hz",
                    rate / high
                );
                let remedy = "a harmonic needs more than two samples, or lower ones fold onto it: \
                              record fewer (`seen`)";
                out.push(at("seen", Diagnostic::error(message).remedy(remedy)));
            }
            let samples = rate / (high * harmonics as f64);
            if samples < FEWEST_SAMPLES {
                let message = format!(
                    "harmonic {harmonics} of {high} Hz has {samples:.1} samples per period at \
                     {rate} Hz"
                );
                let remedy = "at least 10 are needed: choose a higher [integrator] rate, a lower \
                              frequency or fewer harmonics";
                out.push(at("frequency", Diagnostic::error(message).remedy(remedy)));
            }
        }
    }
    if let (Some(seen), Some(harmonics)) = (trace.count("seen"), trace.count("harmonics"))
        && seen < harmonics
    {
        let message = format!("{harmonics} harmonics are matched and {seen} recorded");
        let error = Diagnostic::error(message).remedy("record at least those that are matched");
        out.push(at("seen", error));
    }
    check_limit(root, trace, out);
    if let Some(steps) = trace.table("steps") {
        let length = |key| steps.number(key);
        if let (Some(least), Some(first), Some(most)) =
            (length("least"), length("first"), length("most"))
            && !(least <= first && first <= most)
        {
            let message = format!("steps of {least} (least), {first} (first) and {most} (most)");
            let error = Diagnostic::error(message).remedy("least ≤ first ≤ most");
            out.push(Diagnostic { span: Some(steps.span.clone()), ..error });
        }
    }
    if let Some(delays) = trace.table("delays") {
        for key in ["displacement", "force", "acceleration"] {
            if let (Some(delay), Some(node)) = (delays.number(key), delays.node(key))
                && delay > LONGEST_DELAY_S
            {
                let error = Diagnostic::error(format!("a sensor that is {delay} s late"));
                let remedy = "at most 1 s is brought in line";
                out.push(error.at(node.span.clone()).remedy(remedy));
            }
        }
    }
    let interface = root.table("partition").and_then(|p| p.list("interface")).map(<[_]>::len);
    let lists = [
        trace.node("inertia_compensation"),
        trace.table("shaker").and_then(|shaker| shaker.node("preload")),
    ];
    for node in lists.into_iter().flatten() {
        if let (Some(list), Some(count)) = (node.list(), interface)
            && list.len() != count
        {
            let message = format!("{} values for {count} interface DOFs", list.len());
            let remedy = "give one value, or one per interface DOF";
            out.push(Diagnostic::error(message).at(node.span.clone()).remedy(remedy));
        }
    }
}
