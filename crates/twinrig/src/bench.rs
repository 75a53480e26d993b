//! The cost of a step, measured here and now.

use std::sync::Arc;
use std::time::Instant;

use model::transfer::TransferSystem;
use nalgebra::DMatrix;
use numerics::gemv::PanelMatrix;
use numerics::lanes::LANES;
use runtime::batch::{BatchLoop, View};
use runtime::clock::run_virtual;
use runtime::link::Token;
use runtime::link::wire::{Header, Kind, MOST_BYTES, MOST_DOFS, Unverified, encode};
use runtime::periodic::PeriodicLoop;
use runtime::record::{Options, Recorder};
use runtime::stop::StopHandle;

use crate::error::Error;
use crate::notes::bare_header;
use crate::run_folder::TemporaryFolder;
use serde::{Serialize, Serializer};
use serde_json::json;

use crate::assembly::{Assembly, LoopOptions, Recording};
use crate::iterative::Setup;
use crate::reproduce::{Ground, beregi, galmez};
use crate::sweep::{BATCH, Study, VariantStatus, Workspace};
use experiment::{Embedded, Experiment};

/// One measured cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// Stable name for machines.
    pub id: &'static str,
    /// For people.
    pub what: String,
    /// The fastest repetition.
    pub nanoseconds: f64,
    /// Of what.
    pub per: &'static str,
}

impl Serialize for Measurement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { id, what, nanoseconds, per } = self;
        let per_second = 1e9 / nanoseconds;
        let document = json!({
            "id": id, "what": what, "ns": nanoseconds, "per": per, "per_second": per_second,
        });
        document.serialize(serializer)
    }
}

/// Measures the benchmark loop of 163 840 steps and the kernels.
pub fn measure(repeat: u32, mut progress: impl FnMut(&str)) -> Result<Vec<Measurement>, Error> {
    let delay = galmez::delayed(galmez::benchmark(&Ground::Synthetic)?, 29)?;
    let delay = delay.assembly()?.clone();
    let mut servo = delay.clone();
    servo.transfer_system =
        TransferSystem::ServoHydraulic(model::transfer::ServoHydraulic::BENCHMARK);
    // Without a compensator this loop is unstable: its first eight seconds do.
    servo.ticks = 32_768;
    servo.sensors.displacement_noise.fill(16e-6);
    servo.sensors.force_noise.fill(2.18);

    let mut measurements = Vec::new();
    for (id, what, assembly) in [
        ("loop_delay", "benchmark loop, constant delay, monitors, no record", &delay),
        ("loop_servo_noise", "benchmark loop, servo-hydraulic rig with sensor noise", &servo),
    ] {
        progress(what);
        let nanoseconds = fastest(repeat, || bare_loop(assembly))?;
        measurements.push(Measurement { id, what: what.to_owned(), nanoseconds, per: "step" });
    }
    progress("four loops in step");
    let nanoseconds = fastest(repeat, || batch(&servo))?;
    let what = "the same, four in step, each".to_owned();
    measurements.push(Measurement { id: "loop_lockstep", what, nanoseconds, per: "step" });
    progress("recording");
    let nanoseconds = fastest(repeat, || recorded_loop(&delay))?;
    let channels = delay.channels().len();
    let what = format!("benchmark loop, constant delay, {channels} channels recorded");
    measurements.push(Measurement { id: "loop_delay_recorded", what, nanoseconds, per: "step" });
    for states in [100, 500] {
        progress("matrix–vector products");
        let id = if states == 100 { "product_100" } else { "product_500" };
        let what = format!("matrix–vector product, {states} × {states}");
        let nanoseconds = fastest(repeat, || Ok(product(states)))?;
        measurements.push(Measurement { id, what, nanoseconds, per: "product" });
    }
    let tick: fn(&mut PeriodicLoop) = PeriodicLoop::tick;
    let many: fn(&mut PeriodicLoop) = PeriodicLoop::go_on;
    let linear = beregi::split(beregi::linear()?, 1.79)?;
    let bilinear = beregi::split(beregi::bilinear(3)?, 1.79)?;
    for (id, test, go, what) in [
        ("trace_linear", &linear, tick, "iterative test, linear building, 1 harmonic"),
        ("trace_linear_virtual", &linear, many, "the same in virtual time, many steps at once"),
        ("trace_bilinear", &bilinear, tick, "iterative test, bilinear building, 3 harmonics"),
        ("trace_bilinear_virtual", &bilinear, many, "the same in virtual time, many steps at once"),
    ] {
        progress(what);
        let mut building =
            Setup::new(test.experiment(), test.assembly()?)?.periodic(&StopHandle::default())?;
        let nanoseconds = fastest(repeat, || Ok(periodic_ticks(&mut building, 5.0, go)))?;
        measurements.push(Measurement { id, what: what.to_owned(), nanoseconds, per: "step" });
    }
    progress("signed packets");
    for (id, dofs) in [("packet_signed", 1), ("packet_signed_largest", MOST_DOFS)] {
        let nanoseconds = fastest(repeat, || Ok(packets(dofs)))?;
        let what = format!("a command of {dofs} DOFs signed, written, read and verified");
        measurements.push(Measurement { id, what, nanoseconds, per: "packet" });
    }
    progress("reduced model");
    for (id, method) in [("loop_reduced_exact", "exact"), ("loop_reduced_newmark", "newmark")] {
        let assembly = reduced(method)?;
        let states = 2 * assembly.simulated().len();
        let nanoseconds = fastest(repeat, || bare_loop(&assembly))?;
        let what = format!("hybrid test with a reduced model of {states} states, {method}");
        measurements.push(Measurement { id, what, nanoseconds, per: "step" });
    }
    progress("sweep");
    let nanoseconds = sweep(repeat)?;
    let what = "sweep: benchmark tests of 40 s, draw to criteria, one core".to_owned();
    measurements.push(Measurement { id: "sweep_throughput", what, nanoseconds, per: "test" });
    Ok(measurements)
}

/// A large model made small, with an integrator.
fn reduced(method: &str) -> Result<Assembly, Error> {
    let text = include_str!("bench_reduced.toml");
    let text = text.replace("method = \"exact\"", &format!("method = \"{method}\""));
    let none = Embedded::new(&[]);
    let (experiment, _) = Experiment::from_text("bench_reduced.toml", &text, &none)?;
    let built = Assembly::new(&experiment, &none);
    let (assembly, _) = built?;
    Ok(assembly)
}

/// Nanoseconds of one variant of a sweep, from its draw to its row, in the
/// fastest of a few batches.
fn sweep(repeat: u32) -> Result<f64, Error> {
    let name = "bench_sweep.toml";
    let (experiment, _) =
        Experiment::from_text(name, include_str!("bench_sweep.toml"), &Embedded::new(&[]))?;
    let spec = experiment.sweep.clone();
    let spec = spec.ok_or_else(|| Error::NoSweep { file: name.to_owned() })?;
    let study = Study::new(experiment, spec, &Embedded::new(&[]), Arc::default())?;
    let mut workspace = Workspace::default();
    // The first fills what all share.
    study.run(1, &mut workspace)?;
    let batches = study.spec().variants() / BATCH as u64;
    let mut round = 0;
    fastest(repeat.max(3), || {
        let first = 1 + round % batches * BATCH as u64;
        round += 1;
        let indices: Vec<u64> = (first..first + BATCH as u64).collect();
        let start = Instant::now();
        let rows = study.run_some(&indices, &mut workspace);
        let elapsed = start.elapsed().as_nanos() as f64;
        for row in rows {
            debug_assert_eq!(row?.outcome, VariantStatus::Completed);
        }
        Ok(elapsed / BATCH as f64)
    })
}

/// Nanoseconds of the fastest repetition.
fn fastest(repeat: u32, mut once: impl FnMut() -> Result<f64, Error>) -> Result<f64, Error> {
    let mut best = f64::INFINITY;
    for _ in 0..repeat {
        best = best.min(once()?);
    }
    Ok(best)
}

/// Commands of so many DOFs from one end of a wire to the other, without the wire.
fn packets(dofs: usize) -> f64 {
    const PACKETS: u64 = 100_000;
    let [key, _] = Token::new("bench 3").session_keys(1, 2);
    let (values, mut out) = (vec![1e-3; dofs], [0; MOST_BYTES]);
    let mut read = 0;
    let start = Instant::now();
    for sequence in 0..PACKETS {
        let header = Header { sequence, ..Header::outside(Kind::Command, dofs as u8, sequence) };
        let bytes = encode(&header, None, [&values; 3], &[], &key, &mut out);
        let found = Unverified::read(bytes).ok();
        read += u64::from(found.and_then(|found| found.verified(&key)).is_some());
    }
    let elapsed = start.elapsed().as_nanos() as f64;
    assert_eq!(read, PACKETS, "what was signed is verified");
    elapsed / PACKETS as f64
}

fn bare_loop(assembly: &Assembly) -> Result<f64, Error> {
    let options = LoopOptions { constant_j: 1.0, recording: Recording::Off };
    let mut hybrid = assembly.hybrid_loop(assembly.plant()?, assembly.load(), options);
    let start = Instant::now();
    run_virtual(&mut hybrid, &StopHandle::default(), |_| {});
    Ok(start.elapsed().as_nanos() as f64 / hybrid.ticks() as f64)
}

/// Nanoseconds of a tick while the rig moves, over `time_s` of it; `go` ticks once or
/// more.
fn periodic_ticks(building: &mut PeriodicLoop, time_s: f64, go: fn(&mut PeriodicLoop)) -> f64 {
    let mut target = building.source().blank_target();
    target[0].0[1] = 2e-4;
    building.set(13.5, &target);
    let (start, begun_s) = (Instant::now(), building.time_s());
    while building.time_s() < begun_s + time_s {
        go(building);
    }
    let ticks = (building.time_s() - begun_s) / building.step_s();
    start.elapsed().as_nanos() as f64 / ticks
}

fn batch(assembly: &Assembly) -> Result<f64, Error> {
    let load = assembly.load();
    let mut loops = Vec::with_capacity(LANES);
    for _ in 0..LANES {
        let options = LoopOptions { constant_j: 1.0, recording: Recording::Off };
        loops.push(assembly.hybrid_loop(assembly.plant()?, load.clone(), options));
    }
    let loops: Vec<_> = loops.iter().collect();
    let Some(batch) = BatchLoop::new(&loops) else { return Ok(f64::NAN) };
    let mut ticks = 0;
    let start = Instant::now();
    batch.run(&mut |_: &View<'_>| ticks += LANES);
    Ok(start.elapsed().as_nanos() as f64 / ticks as f64)
}

fn recorded_loop(assembly: &Assembly) -> Result<f64, Error> {
    let folder = TemporaryFolder::new()?;
    let header = bare_header(assembly);
    let channels = assembly.channels();
    let options = Options { ring_frames: 16_384, ..Options::rehearsal() };
    let path = folder.path().join("record.arrow");
    let (sink, handle) = Recorder::create(&path, &header, &channels, Vec::new(), &options)?;
    let recording = Recording::Into(sink);
    let loop_options = LoopOptions { constant_j: 1.0, recording };
    let mut hybrid = assembly.hybrid_loop(assembly.plant()?, assembly.load(), loop_options);
    let start = Instant::now();
    run_virtual(&mut hybrid, &StopHandle::default(), |_| {});
    let ticks = hybrid.ticks();
    drop(hybrid);
    handle.finish(ticks, None)?;
    // To the last byte handed over, not only to the end of the loop.
    let nanoseconds = start.elapsed().as_nanos() as f64 / ticks as f64;
    Ok(nanoseconds)
}

fn product(states: usize) -> f64 {
    let matrix = DMatrix::from_fn(states, states, |i, j| if i == j { 0.5 } else { 1e-3 });
    let panel = PanelMatrix::new(&matrix);
    let (mut x, mut y) = (vec![1.0; states], panel.output());
    let rounds = 2_000_000 / (states * states) + 10;
    let start = Instant::now();
    for _ in 0..rounds {
        panel.multiply(&x, &mut y);
        // The next product waits for this one, as in a loop.
        x[0] = y[0].min(1.0);
        x[states - 1] = y[states - 1].min(1.0);
    }
    let elapsed = start.elapsed().as_nanos() as f64;
    std::hint::black_box(&x);
    elapsed / rounds as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reduced_model_has_150_states_and_completes_its_test() {
        for method in ["exact", "newmark"] {
            let mut assembly = reduced(method).expect("the reduced model can be built");
            assert_eq!(assembly.simulated().len(), 75);
            assembly.ticks = 2000;
            let options = LoopOptions { constant_j: 1.0, recording: Recording::Off };
            let plant = assembly.plant().expect("the plant can be built");
            let mut hybrid = assembly.hybrid_loop(plant, assembly.load(), options);
            run_virtual(&mut hybrid, &StopHandle::default(), |_| {});
            assert!(hybrid.tripped().is_none() && hybrid.ticks() == 2000, "{method}");
        }
    }
}
