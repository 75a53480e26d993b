//! Spectra of the sampled loop against the loop that runs, and published delays.

use std::f64::consts::TAU;

use crate::iterative::chain;
use crate::loop_stability::{METHODS, one_rate};
use analysis::critical_delay::{critical_delay, greatest_stable_delay};
use analysis::delay_stability::delay_system;
use analysis::loop_stability::{Joint, LoopDescription, Motion, dominant};
use model::compensator::{
    DerivativeSource, Design, FirstOrderDesign, ForwardPredictionDesign, InverseDesign,
    ShapingDesign, delay_series,
};
use model::equations::{Equations, RelativeDof};
use model::integrator::{Method, Options};
use model::partition::{LoadPattern, Partition, Substructures};
use model::specimen::Specimen;
use model::structure::{Structure, damping};
use model::transfer::{ServoHydraulic, TransferSystem};
use nalgebra::{DMatrix, DVector};
use numerics::lti::TransferFunction;
use numerics::random::Stream;
use numerics::second_order::SecondOrder;
use runtime::hybrid_loop::HybridLoop;

struct System {
    numerical: Equations,
    specimen: Specimen,
    options: Options,
    design: Design,
    /// Samples by which the force comes late.
    late: usize,
}

impl System {
    fn description(&self, transfer_system: &TransferSystem) -> LoopDescription {
        LoopDescription {
            numerical: self.numerical.clone(),
            specimen: self.specimen.clone(),
            inside: None,
            integrator: self.options.clone(),
            transfer_system: transfer_system.clone(),
            compensator: self.design.clone(),
            shaping: ShapingDesign::default(),
            force_delay: self.late,
            joint: Joint::Held,
            extra_delay_s: 0.0,
        }
    }

    /// The motion that decays slowest, or grows fastest.
    fn dominant(&self, transfer_system: &TransferSystem) -> Motion {
        dominant(&self.description(transfer_system)).unwrap().unwrap()
    }

    /// The armed loop after a push on the first DOF, for `ticks`.
    fn armed(&self, transfer_system: &TransferSystem, ticks: usize) -> HybridLoop {
        let mut push = vec![0.0; ticks + 1];
        push[..5].fill(1.0);
        one_rate(&self.description(transfer_system), push)
    }

    /// Growth rate of the running loop, 1/s: the slope of the logarithm of the
    /// largest motion in two late windows.
    fn growth(&self, transfer_system: &TransferSystem, ticks: usize, window: usize) -> f64 {
        let mut hybrid = self.armed(transfer_system, ticks);
        let mut peaks = [0.0f64; 2];
        for tick in 0..ticks {
            hybrid.tick();
            let size = hybrid.source().numerical.displacement().iter().map(|x| x * x).sum::<f64>();
            // Displacement alone beats; its sum over a window of whole swings does not.
            if (ticks / 2..ticks / 2 + window).contains(&tick) {
                peaks[0] += size;
            } else if tick >= ticks - window {
                peaks[1] += size;
            }
        }
        assert_eq!(hybrid.tripped(), None);
        let apart = (ticks - window - ticks / 2) as f64 * self.options.step_s;
        0.5 * (peaks[1] / peaks[0]).ln() / apart
    }
}

fn one(value: f64) -> DMatrix<f64> {
    DMatrix::from_element(1, 1, value)
}

/// A row of one to three masses on springs, with a specimen somewhere.
fn random_system(random: &mut Stream, method: Method) -> System {
    let n = 1 + (3.0 * random.uniform()) as usize;
    let mass =
        DMatrix::from_diagonal(&DVector::from_fn(n, |_, _| 500.0 + 1000.0 * random.uniform()));
    let springs: Vec<f64> = (0..n).map(|_| 2e5 + 1e6 * random.uniform()).collect();
    let stiffness = chain(&springs);
    let ratio = 0.01 + 0.03 * random.uniform();
    let damping = damping::modal(&mass, &stiffness, &[ratio]).unwrap();
    let dof = (n as f64 * random.uniform()) as usize;
    let mut load = DMatrix::zeros(n, 1);
    load.fill(1.0);
    load[(dof, 0)] = 1.7;
    let between = dof > 0 && random.uniform() < 0.5;
    let place = RelativeDof { from: between.then(|| dof - 1), to: Some(dof) };
    System {
        numerical: Equations {
            matrices: SecondOrder { mass, damping, stiffness },
            load,
            interface: vec![place],
            elements: Vec::new(),
            states: None,
        },
        specimen: Specimen {
            matrices: SecondOrder {
                mass: one(80.0 * random.uniform()),
                damping: one(500.0 * random.uniform()),
                stiffness: one(3e4 + 2e5 * random.uniform()),
            },
            elements: Vec::new(),
        },
        options: Options { method, step_s: 1e-3, direct_inertia: None, iterations: 1 },
        design: Design::None,
        late: 0,
    }
}

/// Compares where one motion dominates: time enough for the others to fade, and
/// not so much that the numbers run out.
fn compare(system: &System, transfer_system: &TransferSystem, told: f64, what: &str) {
    let seconds = (150.0 / told.abs()).clamp(20.0, 500.0);
    let ticks = (seconds / system.options.step_s) as usize;
    let found = system.growth(transfer_system, ticks, ticks / 10);
    assert!(
        (found - told).abs() < 0.003 * told.abs() + 0.001,
        "{what}: the loop grows with {found}, its spectrum says {told}"
    );
    assert_eq!(found > 0.0, told > 0.0, "{what}");
}

#[test]
fn the_spectrum_of_a_delayed_loop_is_the_growth_of_the_running_one() {
    let mut random = Stream::new(11, "delay");
    let (mut compared, mut unstable) = (0, 0);
    while compared < 36 {
        let system = random_system(&mut random, METHODS[compared % METHODS.len()]);
        let samples = 1 + (25.0 * random.uniform()) as usize;
        let transfer_system = TransferSystem::Delay { samples: samples as f64 };
        let growth = system.dominant(&transfer_system).growth_1_s();
        // Near the boundary, and where the motion would leave the numbers.
        if growth.abs() < 0.3 || growth.abs() > 12.0 {
            continue;
        }
        let what = format!("{compared}, {:?}, {samples} samples", system.options.method);
        compare(&system, &transfer_system, growth, &what);
        unstable += usize::from(growth > 0.0);
        compared += 1;
    }
    assert!(unstable > 6 && unstable < 30, "{unstable} unstable ones");
}

#[test]
fn the_spectrum_of_a_loop_with_an_actuator_is_the_growth_of_the_running_one() {
    let mut random = Stream::new(12, "dynamics");
    let (mut compared, mut unstable) = (0, 0);
    while compared < 30 {
        let mut system = random_system(&mut random, METHODS[compared % METHODS.len()]);
        let corner = TAU * (8.0 + 30.0 * random.uniform());
        let (lower, higher) = (1.0 + random.uniform(), 3.0);
        let transfer_system = match compared % 4 {
            0 => {
                system.specimen.matrices.mass = one(20.0 + 40.0 * random.uniform());
                let servo = ServoHydraulic {
                    servo_gain: ServoHydraulic::BENCHMARK.servo_gain
                        * (0.8 + 0.4 * random.uniform()),
                    ..ServoHydraulic::BENCHMARK
                };
                TransferSystem::ServoHydraulic(servo)
            }
            order => {
                // Relative degree one, two and three: with the command seen at
                // once by acceleration and velocity, by acceleration, by none.
                let mut denominator = vec![1.0, corner];
                for factor in [lower, higher].iter().take(order - 1) {
                    let mut next = vec![0.0; denominator.len() + 1];
                    for (i, a) in denominator.iter().enumerate() {
                        next[i] += a;
                        next[i + 1] += a * factor * corner;
                    }
                    denominator = next;
                }
                let gain = *denominator.last().unwrap();
                let function = TransferFunction::new(&[gain], &denominator).unwrap();
                TransferSystem::TransferFunction { function, samples: 0.0 }
            }
        };
        let growth = system.dominant(&transfer_system).growth_1_s();
        if growth.abs() < 0.3 || growth.abs() > 12.0 {
            continue;
        }
        let what = format!("{compared}, {:?}, kind {}", system.options.method, compared % 4);
        compare(&system, &transfer_system, growth, &what);
        unstable += usize::from(growth > 0.0);
        compared += 1;
    }
    assert!(unstable > 3 && unstable < 30, "{unstable} unstable ones");
}

fn benchmark() -> (Substructures, Specimen) {
    let stiffness = DMatrix::from_row_slice(
        3,
        3,
        &[
            26054883.879603837,
            -23133938.877108198,
            5937035.463339146,
            -23133938.877108198,
            32560774.186380334,
            -14419970.777236981,
            5937035.463339146,
            -14419970.777236981,
            9267275.506224312,
        ],
    );
    let mass = DMatrix::identity(3, 3) * 1000.0;
    let damping = damping::modal(&mass, &stiffness, &[0.03]).unwrap();
    let structure = Structure::new(mass, damping, stiffness).unwrap();
    let specimen = Specimen {
        matrices: SecondOrder { mass: one(29.1), damping: one(114.6), stiffness: one(1.19e6) },
        elements: Vec::new(),
    };
    let partition = Partition {
        interface: vec![RelativeDof::of_dof(0)],
        specimen: specimen.clone(),
        inside: None,
    };
    (partition.split(&structure, &[], &[LoadPattern::Ground]).unwrap(), specimen)
}

#[test]
fn the_benchmark_loses_its_stability_where_it_should() {
    let (parts, specimen) = benchmark();
    let exact = critical_delay(&parts.numerical, &specimen, None).unwrap().unwrap();
    assert!((exact.delay_s - 8.7253e-3).abs() < 1e-7, "{exact:?}");
    assert!((exact.frequency_hz - 3.6034).abs() < 1e-4, "{exact:?}");
    let partition = Partition {
        interface: parts.whole.interface.clone(),
        specimen: specimen.clone(),
        inside: None,
    };
    let system = delay_system(&parts.whole, &partition).unwrap();
    let gao_you = system.equivalent_critical_s(0.05).unwrap();
    assert!((gao_you - 8.69e-3).abs() < 5e-6, "{gao_you}");

    let system = at_4096_hz(parts, specimen);
    let late = |samples: f64| system.dominant(&TransferSystem::Delay { samples });
    let any = system.description(&TransferSystem::Ideal);
    assert_eq!(greatest_stable_delay(&any, 200).unwrap(), Some(35));
    assert!(late(35.0).growth_1_s() < 0.0 && late(36.0).growth_1_s() > 0.0);
    let beyond = late(37.0);
    assert!((beyond.growth_1_s() - 0.033).abs() < 5e-4, "{beyond:?}");
    assert!((beyond.exponent.im / TAU - 3.60).abs() < 0.01, "{beyond:?}");
}

fn at_4096_hz(parts: Substructures, specimen: Specimen) -> System {
    let options = Options {
        method: Method::RungeKutta4,
        step_s: 1.0 / 4096.0,
        direct_inertia: None,
        iterations: 1,
    };
    System { numerical: parts.numerical, specimen, options, design: Design::None, late: 0 }
}

#[test]
fn the_running_benchmark_agrees_with_its_spectrum() {
    let (parts, specimen) = benchmark();
    let system = at_4096_hz(parts, specimen);
    for samples in [4usize, 30, 35, 36, 37, 45] {
        let delay = TransferSystem::Delay { samples: samples as f64 };
        let told = system.dominant(&delay).growth_1_s();
        // Ten periods of the mode that swings at 3.6 Hz.
        let found = system.growth(&delay, 80_000, 11_367);
        assert!((found - told).abs() < 2e-3 + 5e-3 * told.abs(), "{samples}: {found} {told}");
    }
}

#[test]
fn a_velocity_that_lags_is_counted_as_the_loop_counts_it() {
    // Much damping in the specimen and a long step, where half a step of the
    // velocity weighs: CR and KR-α keep a velocity of a moment ago.
    for method in METHODS {
        let system = System {
            numerical: Equations {
                matrices: SecondOrder {
                    mass: one(1000.0),
                    damping: one(1000.0),
                    stiffness: one(4e5),
                },
                load: one(1.0),
                interface: vec![RelativeDof::of_dof(0)],
                elements: Vec::new(),
                states: None,
            },
            specimen: Specimen {
                matrices: SecondOrder {
                    mass: one(10.0),
                    damping: one(2000.0),
                    stiffness: one(1e5),
                },
                elements: Vec::new(),
            },
            options: Options { method, step_s: 5e-3, direct_inertia: None, iterations: 1 },
            design: Design::None,
            late: 0,
        };
        let function = TransferFunction::new(&[40.0], &[1.0, 40.0]).unwrap();
        for transfer_system in [
            TransferSystem::Delay { samples: 3.0 },
            TransferSystem::TransferFunction { function, samples: 0.0 },
        ] {
            let spectrum = system.dominant(&transfer_system);
            let told = spectrum.growth_1_s();
            // Windows of whole swings, far enough in for the others to fade.
            let window = (10.0 * TAU / spectrum.exponent.im / 5e-3).round() as usize;
            let found = system.growth(&transfer_system, 10 * window, window);
            assert!((found - told).abs() < 2e-3 * told.abs(), "{method:?}: {found} {told}");
        }
    }
}

fn designs() -> [Design; 4] {
    let inverse = |coefficients: Vec<f64>| {
        Design::Inverse(InverseDesign { coefficients, derivatives: DerivativeSource::Motion })
    };
    [
        Design::None,
        Design::FirstOrder(FirstOrderDesign { gain: 1.02, lead_s: 0.006 }),
        inverse(delay_series::<3>(1.0, 0.008).to_vec()),
        Design::ForwardPrediction(ForwardPredictionDesign { order: 2, delay_s: 0.007, gain: 1.0 }),
    ]
}

#[test]
fn a_force_that_comes_late_and_a_motion_that_comes_late_are_one_loop() {
    let mut random = Stream::new(13, "nothing");
    for method in METHODS {
        let mut system = random_system(&mut random, method);
        let plain = system.dominant(&TransferSystem::Delay { samples: 7.0 });
        system.late = 3;
        let found = system.dominant(&TransferSystem::Delay { samples: 4.0 });
        assert!((plain.exponent - found.exponent).norm() < 1e-6, "{plain:?} {found:?}");
    }
}

#[test]
fn the_spectrum_with_a_compensator_is_the_growth_of_the_running_loop() {
    let mut random = Stream::new(14, "compensated");
    let (mut compared, mut unstable) = (0, 0);
    while compared < 16 {
        let mut system = random_system(&mut random, METHODS[compared % METHODS.len()]);
        system.design = designs()[compared % 4].clone();
        system.late = compared / 4 % 3;
        let samples = 4 + (20.0 * random.uniform()) as usize;
        let corner = TAU * (8.0 + 30.0 * random.uniform());
        let function = TransferFunction::new(
            &[corner.powi(3)],
            &[1.0, 2.0 * corner, 2.0 * corner * corner, corner.powi(3)],
        )
        .unwrap();
        let transfer_system = if compared % 2 == 0 {
            TransferSystem::Delay { samples: samples as f64 }
        } else {
            TransferSystem::TransferFunction { function, samples: 0.0 }
        };
        let growth = system.dominant(&transfer_system).growth_1_s();
        if growth.abs() < 0.3 || growth.abs() > 12.0 {
            continue;
        }
        let what = format!("{compared}, {:?}, {:?}", system.options.method, system.design);
        compare(&system, &transfer_system, growth, &what);
        unstable += usize::from(growth > 0.0);
        compared += 1;
    }
    assert!(unstable > 1 && unstable < 15, "{unstable} unstable ones");
}
