//! Same file, same seed, same record; and a record's inputs give its commands.

use crate::common;
use crate::common::benchmark::{BOUC_WEN, Case, ground, quick, servo};
use model::first_order::Scheme;
use model::integrator::Method;
use runtime::clock::run_virtual;
use runtime::frame::MotionDetail;
use runtime::numerical::Plant;
use runtime::record::{Options, Record, Recorder};
use runtime::rig::ReplayRig;
use runtime::stop::StopHandle;

/// Runs a case into a record and reads it back.
fn record(case: &Case, plant: Plant, ticks: usize) -> Record {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.arrow");
    let options = Options::rehearsal();
    let (sink, handle) =
        Recorder::create(&path, &common::header(), &case.channels(), vec![], &options).unwrap();
    let mut hybrid = case.recorded(plant, ground(case.step_s, ticks), sink);
    run_virtual(&mut hybrid, &StopHandle::default(), |_| {});
    let ticks = hybrid.ticks();
    drop(hybrid);
    let summary = handle.finish(ticks, None).unwrap();
    assert!(summary.is_complete());
    assert_eq!(summary.frames, ticks);
    Record::read(&path).unwrap()
}

fn bits(columns: &[Vec<f64>]) -> Vec<Vec<u64>> {
    columns.iter().map(|column| column.iter().map(|v| v.to_bits()).collect()).collect()
}

fn noisy(seed: u64) -> Case {
    let mut case = Case::benchmark().with_transfer(quick()).with_noise(seed);
    case.detail = MotionDetail::Full;
    case
}

#[test]
fn one_seed_gives_one_record_and_another_seed_another() {
    let builders: [fn(&Case) -> Plant; 3] =
        [Case::split, Case::rigid, |case| case.coupled(Scheme::RungeKutta4)];
    for plant in builders {
        let run = |seed: u64| record(&noisy(seed), plant(&noisy(seed)), 3000);
        let (first, again, other) = (run(7), run(7), run(8));
        assert_eq!(bits(&first.columns), bits(&again.columns));
        for name in ["measured.1", "force.1"] {
            assert_ne!(first.column(name), other.column(name), "{name}");
        }
    }
}

#[test]
fn the_noise_of_one_sensor_does_not_depend_on_another() {
    // The measurement error of the displacement, with and without force noise.
    let errors = |force_noise: f64| -> Vec<f64> {
        let mut case = noisy(7);
        case.force_noise = force_noise;
        let record = record(&case, case.split(), 2000);
        let (said, truth) = (record.column("measured.1").unwrap(), record.column("achieved.1"));
        said.iter().zip(truth.unwrap()).map(|(a, b)| a - b).collect()
    };
    let (alone, beside) = (errors(0.0), errors(2.18));
    for (a, b) in alone.iter().zip(&beside) {
        assert!((a - b).abs() < 1e-17, "{a} {b}");
    }
    let square: f64 = alone.iter().map(|e| e * e).sum();
    assert!(((square / 2000.0).sqrt() / 16e-6 - 1.0).abs() < 0.1);
}

#[test]
fn replay_gives_the_commands_bit_for_bit() {
    let delay = |samples: f64| Case::benchmark().with_delay(samples).with_noise(3);
    let mut tripping = delay(3.0);
    tripping.limits.command = vec![2e-3];
    let cases = [
        delay(0.0),
        delay(0.5),
        delay(4.0),
        delay(4.0).with_method(Method::Newmark),
        delay(4.0).with_method(Method::ChenRicles),
        delay(4.0).with_method(Method::KolayRicles { spectral_radius: 0.5 }),
        delay(4.0).with_specimen_law(BOUC_WEN).with_storey_law(BOUC_WEN),
        noisy(5),
        Case::benchmark().with_transfer(servo()).with_noise(5),
        tripping,
    ];
    for (index, case) in cases.iter().enumerate() {
        let lived = record(case, case.split(), 3000);
        let column = |name: &str| vec![lived.column(name).unwrap().to_vec()];
        let rig = ReplayRig::new(column("measured.1"), column("force.1"));
        let again = record(case, case.split_with(Box::new(rig), None), 3000);
        for name in ["command.1", "desired.1", "numerical.3", "phase", "trip", "energy.feedback"] {
            let (a, b) = (column(name), vec![again.column(name).unwrap().to_vec()]);
            assert_eq!(bits(&a), bits(&b), "case {index}, {name}");
        }
        let command = lived.column("command.1").unwrap();
        assert!(command.iter().any(|x| x.abs() > 1e-4));
        let tripped = lived.column("trip").unwrap().iter().any(|&code| code != 0.0);
        assert_eq!(tripped, index == cases.len() - 1);
    }
}
