//! Beregi et al.: the four- and five-storey building with its lower storeys in
//! the laboratory, driven at the uppermost.
//!
//! Critical delays and growth rates of the neutral delay system, and iterative
//! tests on a virtual rig. The paper prints its charts, not these numbers, so
//! there is nothing to differ from.

use analysis::delay_stability::{delay_system, first_loss};
use analysis::iterative::{Trace, TraceSettings, peak};
use numerics::continuation::Course;
use numerics::delay_system::DelaySystem;
use runtime::stop::StopHandle;

use super::{Ground, Reproduction, Values};
use crate::error::Error;
use crate::iterative::{Bench, Pace, Setup};
use crate::test::Test;

/// Mass of storey 3, kg.
const STOREY_KG: f64 = 5.37;
/// The name of a split of storey 3's mass, and what of it is simulated, kg.
const SPLITS: [(&str, f64); 3] = [("p067", 3.58), ("p050", 2.69), ("p033", 1.79)];

/// The linear building.
pub(crate) fn linear() -> Result<Test, Error> {
    Ground::Synthetic.test(include_str!("beregi/linear.toml"), 1.0)
}

/// The building with a bracket, its response matched in so many harmonics.
pub(crate) fn bilinear(harmonics: usize) -> Result<Test, Error> {
    let test = Ground::Synthetic.test(include_str!("beregi/bilinear.toml"), 1.0)?;
    let harmonics = harmonics.to_string();
    test.with_values([("trace.harmonics", &harmonics), ("trace.seen", &harmonics)])
}

/// With so many kilograms of storey 3 simulated, all of which stands in the laboratory.
pub(crate) fn split(test: Test, simulated_kg: f64) -> Result<Test, Error> {
    test.with_values([
        ("partition.mass[1]", format!("{} kg", STOREY_KG - simulated_kg)),
        ("trace.inertia_compensation", format!("{simulated_kg} kg")),
    ])
}

/// The building of 4 or 5 storeys with the share p of the third's mass simulated.
fn delayed(storeys: usize, p: f64) -> Result<DelaySystem, Error> {
    let test = linear()?.with("partition.mass[1]", &format!("{} kg", (1.0 - p) * STOREY_KG))?;
    let test = match storeys {
        5 => test.with_values([
            (
                "structure.shear_building.mass",
                "[\"5.37 kg\", \"5.37 kg\", \"5.37 kg\", \"10.74 kg\", \"5.37 kg\"]",
            ),
            (
                "structure.shear_building.stiffness",
                "[\"53048 N/m\", \"45724 N/m\", \"45052 N/m\", \"45052 N/m\", \"45052 N/m\"]",
            ),
            (
                "structure.shear_building.damping",
                "[\"4.4062 N s/m\", \"3.7979 N s/m\", \"3.7421 N s/m\", \"3.7421 N s/m\", \
                 \"3.7421 N s/m\"]",
            ),
        ])?,
        _ => test,
    };
    let assembly = test.assembly()?;
    Ok(delay_system(&assembly.substructures.whole, &assembly.partition)?)
}

/// Recomputes the stability of the paper's buildings and their responses.
pub(super) fn reproduce() -> Result<Reproduction, Error> {
    let mut values = Values::default();
    for (storeys, p, name) in
        [(4, 0.55, "p055"), (4, 0.67, "p067"), (4, 1.0, "p100"), (5, 0.67, "p067")]
    {
        let critical = first_loss(&delayed(storeys, p)?.crossings()?);
        let critical_ms = critical.map(|critical| 1e3 * critical.delay_s);
        values.set(format!("tau_star_{storeys}_{name}"), critical_ms);
    }
    values.set("alpha_4_p067_tau0100", delayed(4, 0.67)?.rightmost(1e-4)?.re);
    let points = linear_responses(&mut values)?;
    one_harmonic(&mut values)?;
    for (name, simulated_kg) in SPLITS {
        folds(name, &split(bilinear(3)?, simulated_kg)?, &mut values)?;
    }
    let mut found = values.fill(include_str!("beregi/paper.toml"));
    for ((name, _), points) in SPLITS.into_iter().zip(points) {
        let id = format!("rig_minutes_{name}");
        let row = found.rows.iter_mut().find(|row| row.id == id);
        row.into_iter().for_each(|row| row.quantity = row.quantity.replace("{}", &points));
    }
    Ok(found)
}

/// A response followed on the virtual rig, with other settings than those of the file.
fn followed(
    setup: &Setup<'_>,
    adapt: impl FnOnce(&mut TraceSettings),
) -> Result<Trace<Bench<'static>>, Error> {
    let mut settings = setup.trace();
    adapt(&mut settings);
    let stop = StopHandle::default();
    let bench = Bench::start(setup.periodic(&stop)?, &Pace::Virtual, &stop, |_| {})?;
    let mut trace = Trace::new(bench, settings);
    trace.run()?;
    Ok(trace)
}

/// Frequency responses of the linear building, for three splits of its mass; how many
/// points each has.
fn linear_responses(values: &mut Values) -> Result<Vec<String>, Error> {
    let (mut peaks, mut worst, mut iterations) = (Vec::new(), 0.0f64, Vec::new());
    let (mut counts, mut truth) = (Vec::new(), None);
    for (name, simulated_kg) in SPLITS {
        let test = split(linear()?, simulated_kg)?;
        let setup = Setup::new(test.experiment(), test.assembly()?)?;
        let trace = followed(&setup, |_| {})?;
        let points = trace.points();
        let peak = peak(points, 0, true).map(|peak| peak.mark);
        values.set(format!("frf_peak_{name}"), peak.map(|mark| mark.amplitude_m));
        let rig_s: f64 = points.iter().map(|point| point.rig_time_s).sum();
        values.set(format!("rig_minutes_{name}"), rig_s / 60.0);
        peaks.extend(peak.map(|mark| mark.frequency_hz));
        counts.push(points.len().to_string());
        iterations.extend(points.iter().map(|point| point.point.iterations));
        let Some(whole) = setup.whole() else { continue };
        for point in points {
            let amplitude_m = whole.fundamental(&[], point.frequency_hz).map(|x| x[0].norm());
            worst = amplitude_m.map_or(worst, |x| worst.max((point.amplitude_m(0) - x).abs()));
        }
        truth = Some(whole);
    }
    let mean_hz = peaks.iter().sum::<f64>() / peaks.len() as f64;
    let peak = truth.and_then(|whole| whole.fundamental(&[], mean_hz));
    values.set("frf_peak_hz", mean_hz);
    values.set("frf_error_max", peak.map(|x| 100.0 * worst / x[0].norm()));
    values.set("iterations_median", median(iterations));
    Ok(counts)
}

fn median(mut iterations: Vec<usize>) -> Option<f64> {
    iterations.sort_unstable();
    iterations.get(iterations.len() / 2).map(|&n| n as f64)
}

/// The bilinear building in small steps.
fn slowly(settings: &mut TraceSettings) {
    if let Course::Arclength { steps, .. } = &mut settings.course {
        steps.grow = 1.1;
    }
}

/// What one harmonic misses: the rig's control resists those that are not in
/// the target, so how much depends on its gains.
fn one_harmonic(values: &mut Values) -> Result<(), Error> {
    for harmonics in [1, 3] {
        let test = bilinear(harmonics)?;
        let trace = followed(&Setup::new(test.experiment(), test.assembly()?)?, slowly)?;
        let points = trace.points();
        let largest_m = points.iter().map(|point| point.amplitude_m(0)).reduce(f64::max);
        values.set(format!("bilinear_peak_{harmonics}"), largest_m);
        let iterations = points.iter().map(|point| point.point.iterations).collect();
        values.set(format!("bilinear_iterations_{harmonics}"), median(iterations));
    }
    Ok(())
}

/// The folds of the bilinear building, and its three responses at 13.96 Hz, largest
/// first: from the nearest points of the trace, corrected at that very frequency.
fn folds(name: &str, test: &Test, values: &mut Values) -> Result<(), Error> {
    const AT_HZ: f64 = 13.96;
    let setup = Setup::new(test.experiment(), test.assembly()?)?;
    let trace = followed(&setup, slowly)?;
    // The design's names carry no split; the middle one stands for them.
    let suffix = if name == "p050" { String::new() } else { format!("_{name}") };
    let folds = trace.folds().into_iter().map(|fold| fold.mark.frequency_hz);
    let folds: Vec<f64> = folds.collect();
    values.set(format!("fold_low_hz{suffix}"), folds.iter().copied().reduce(f64::min));
    values.set(format!("fold_high_hz{suffix}"), folds.iter().copied().reduce(f64::max));
    let mut found = Vec::new();
    for pair in trace.points().windows(2) {
        let (a, b) = (pair[0].frequency_hz - AT_HZ, pair[1].frequency_hz - AT_HZ);
        if a * b > 0.0 {
            continue;
        }
        let share = a / (a - b);
        let (from, to) = (&pair[0].point.unknowns, &pair[1].point.unknowns);
        let one = followed(&setup, |settings| {
            settings.course = Course::Sweep { values: vec![AT_HZ] };
            settings.guess = from.iter().zip(to).map(|(a, b)| a + share * (b - a)).collect();
        })?;
        found.extend(one.points().first().map(|point| point.amplitude_m(0)));
    }
    found.sort_by(|a, b| b.total_cmp(a));
    for (k, branch) in ["upper", "middle", "lower"].into_iter().enumerate() {
        values.set(format!("branch_{branch}_1396{suffix}"), found.get(k).copied());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_are_those_that_were_recomputed_elsewhere() {
        let expected = [
            ("tau_star_4_p055", 0.126831, 6e-7),
            ("tau_star_4_p067", 0.121922, 6e-7),
            ("tau_star_4_p100", 0.110194, 6e-7),
            ("tau_star_5_p067", 0.119642, 6e-7),
            ("alpha_4_p067_tau0100", -0.0055506323, 5e-9),
        ];
        let expected = expected.into_iter().chain([
            ("frf_peak_p067", 3.41601e-4, 7e-7),
            ("frf_peak_p050", 3.41601e-4, 7e-7),
            ("frf_peak_p033", 3.41601e-4, 7e-7),
            ("frf_peak_hz", 13.47148, 5e-4),
            ("frf_error_max", 0.0, 0.2),
            ("iterations_median", 1.5, 0.51),
            ("rig_minutes_p067", 4.0, 4.0),
            ("fold_low_hz", 13.9093, 5e-3),
            ("fold_high_hz", 14.0057, 5e-3),
            ("branch_upper_1396", 1.0963e-3, 1.1e-5),
            ("branch_middle_1396", 7.747e-4, 7.7e-6),
            ("branch_lower_1396", 4.234e-4, 4.2e-6),
        ]);
        let rows = reproduce().unwrap().rows;
        for (id, value, tolerance) in expected {
            let row = rows.iter().find(|row| row.id == id).unwrap();
            let ours = row.ours.unwrap();
            assert!((ours - value).abs() < tolerance, "{id} {ours}");
        }
    }
}
