//! Gálmez & Fermandois 2020, "Online stability analysis for real-time hybrid
//! simulation testing", Front. Built Environ. 6: constant delays, adaptive
//! compensation, and the benchmark's baseline beside the default compensator.

use analysis::critical_delay::{critical_delay, greatest_stable_delay};
use analysis::delay_stability::delay_system;
use analysis::loop_stability::dominant;
use runtime::reference::Reference;

use super::{Ground, Reproduction, Values};
use crate::error::Error;
use crate::forecast::describe;
use crate::onlooker::Onlooker;
use crate::test::Test;
use crate::trace::trace;

/// The benchmark's baseline controller.
pub const BASELINE: &str = "{ kind = \"pi_lead\" }";

/// The virtual benchmark in case IV, its specimen moved as it is commanded.
pub fn benchmark(ground: &Ground) -> Result<Test, Error> {
    ground.test(include_str!("galmez/experiment.toml"), 0.4)
}

/// With a constant delay; without one the structure is in one piece.
pub fn delayed(test: Test, samples: usize) -> Result<Test, Error> {
    if samples == 0 {
        return Ok(test);
    }
    test.with("transfer_system", &format!("{{ kind = \"delay\", samples = {samples} }}"))
}

/// The benchmark's own loop: servo-hydraulic rig, noise, the force held and one
/// sample late.
pub fn own_loop(test: Test) -> Result<Test, Error> {
    test.with_values([
        (
            "transfer_system",
            "{ kind = \"servo_hydraulic\", saturation = \"3.8 m\", \
             quantum = \"3.814697265625e-6 m\" }",
        ),
        (
            "sensors",
            "{ displacement_noise = \"16 um\", force_noise = \"2.18 N\", force_delay_samples = 1 }",
        ),
    ])
}

/// The paper's loop: the published transfer function and the numerical part as
/// one system, first-order adaptive compensator with the gains `adaptation`.
pub fn adaptive_loop(test: Test, adaptation: [f64; 2]) -> Result<Test, Error> {
    let compensator = format!(
        "{{ kind = \"adaptive_model_based\", adaptation = {adaptation:?}, \
         derivatives = \"differences\" }}"
    );
    test.with_values([
        (
            "transfer_system",
            "{ kind = \"transfer_function\", numerator = [2.19e13], \
             denominator = [29.1, 1.26e4, 8.42e6, 2.33e9, 5.44e11, 2.17e13], \
             saturation = \"3.8 m\", quantum = \"3.814697265625e-6 m\" }",
        ),
        ("sensors", "{ displacement_noise = \"16 um\", force_noise = \"2.18 N\" }"),
        ("integrator.feedback", "continuous"),
        ("compensator", &compensator),
    ])
}

/// Over the whole of a recorded motion and 5 s after it, as the benchmark judges it;
/// the paper's runs end after 40 s.
pub fn whole_record(test: Test) -> Result<Test, Error> {
    const LONGEST_S: f64 = 300.0;
    const AFTER_S: f64 = 5.0;
    let test = test.with("duration", &format!("{LONGEST_S} s"))?;
    let assembly = test.assembly()?;
    let moving_s = assembly.loads.iter().filter_map(|signal| {
        let last = signal.samples.iter().rposition(|&value| value != 0.0)?;
        Some(last as f64 * assembly.integrator.step_s)
    });
    let duration_s = moving_s.reduce(f64::max).map_or(LONGEST_S, |last_s| last_s + AFTER_S);
    test.with("duration", &format!("{} s", duration_s.min(LONGEST_S)))
}

/// Recomputes every row.
pub(super) fn reproduce(
    ground: &Ground,
    onlooker: &mut dyn Onlooker,
) -> Result<Reproduction, Error> {
    let (test, mut values) = (benchmark(ground)?, Values::default());
    let assembly = test.assembly()?;
    onlooker.stage("critical delay");
    let ms = |seconds: f64| 1e3 * seconds;
    let equivalent = delay_system(&assembly.substructures.whole, &assembly.partition)?;
    values.set("tau_cr_gao_you", equivalent.equivalent_critical_s(0.1).map(ms));
    let (numerical, specimen) = (&assembly.substructures.numerical, &assembly.partition.specimen);
    let exact = critical_delay(numerical, specimen, None)?;
    values.set("tau_cr_exact", exact.map(|critical| ms(critical.delay_s)));
    values.set("tau_cr_exact_hz", exact.map(|critical| critical.frequency_hz));
    let late = describe(delayed(test.clone(), 37)?.assembly()?);
    let samples = greatest_stable_delay(&late, 400)?;
    values.set("tau_cr_samples_stable", samples.map(|samples| samples as f64));
    values.set("growth_d37", dominant(&late)?.map(|motion| motion.growth_1_s()));

    onlooker.stage("reference structure");
    let reference = assembly.reference(&assembly.load())?;
    for samples in [0, 4, 29, 37] {
        onlooker.stage(&format!("delay of {samples} samples"));
        let run = trace(delayed(test.clone(), samples)?.assembly()?)?;
        values.set(format!("nrmse_d{samples}"), run.nrmse(&reference));
        values.set(format!("sw_max_d{samples}"), run.largest_warning());
        values.set(format!("sw_cross_d{samples}"), run.warning_reaches(100.0));
        if samples == 0 {
            values.set("input_work_peak", run.peak_input_work_j());
        }
    }
    adaptive(&test, &reference, &mut values, onlooker)?;
    let (whole, input) = match ground {
        Ground::File(path) => (whole_record(test)?, format!("{} × 0.4", path.display())),
        Ground::Synthetic => (
            test,
            "the project's synthetic record (seed 7, peak 0.258 g), not the paper's: values that \
             depend on the motion are not comparable with the paper's column; give the recorded \
             one with --ground"
                .to_owned(),
        ),
    };
    criteria(own_loop(whole)?, &mut values, onlooker)?;
    Ok(Reproduction { input, ..values.fill(include_str!("galmez/paper.toml")) })
}

/// The adaptive compensator with the gains Γa … Γd.
fn adaptive(
    test: &Test,
    reference: &Reference,
    values: &mut Values,
    onlooker: &mut dyn Onlooker,
) -> Result<(), Error> {
    for (name, adaptation) in
        [("a", [0.0, 0.0]), ("b", [10.0, 5.0]), ("c", [1e5, 1e4]), ("d", [2.4e6, 1.1e5])]
    {
        onlooker.stage(&format!("adaptive compensation Γ{name}"));
        let run = trace(adaptive_loop(test.clone(), adaptation)?.assembly()?)?;
        let a1_ms = run.parameters.get(1).map(|a1| 1e3 * a1);
        values.set(format!("gamma_{name}_sw_cross"), run.warning_stays_above(100.0, 1.0));
        values.set(format!("gamma_{name}_sw_max"), run.largest_warning());
        values.set(format!("gamma_{name}_nrmse"), run.nrmse(reference));
        values.set(format!("gamma_{name}_a1"), a1_ms);
    }
    Ok(())
}

/// J1 … J9 of the baseline and of the default compensator.
fn criteria(test: Test, values: &mut Values, onlooker: &mut dyn Onlooker) -> Result<(), Error> {
    let assembly = test.assembly()?;
    let reference = assembly.reference(&assembly.load())?;
    for (name, words, compensator) in [
        ("baseline", "baseline PI and lead", BASELINE),
        ("default", "default compensator", "{}"),
        ("default_lead", "default compensator with lead", "{ latency = 1.5 }"),
    ] {
        onlooker.stage(words);
        let run = trace(test.clone().with("compensator", compensator)?.assembly()?)?;
        for (number, value) in (1..).zip(run.criteria(&reference)) {
            values.set(format!("{name}_j{number}"), value);
        }
    }
    Ok(())
}
