//! Published numbers, and one method against another.

use std::f64::consts::TAU;

use model::compensator::{Design, ShapingDesign};
use model::equations::{Equations, RelativeDof};
use model::integrator::{Hold, Method, Options};
use model::specimen::Specimen;
use model::transfer::TransferSystem;
use numerics::lti::TransferFunction;
use numerics::second_order::SecondOrder;

use super::modes::{follow, true_modes};
use super::*;
use crate::critical_delay::critical_delay;
use nalgebra::DMatrix;
use numerics::Matrix;

pub(super) fn one(value: f64) -> Matrix {
    DMatrix::from_element(1, 1, value)
}

fn spring(stiffness: f64) -> Specimen {
    let (mass, damping) = (one(0.0), one(0.0));
    Specimen {
        matrices: SecondOrder { mass, damping, stiffness: one(stiffness) },
        elements: Vec::new(),
    }
}

fn equations(m: Matrix, c: Matrix, k: Matrix, at: RelativeDof) -> Equations {
    let n = m.nrows();
    Equations {
        matrices: SecondOrder { mass: m, damping: c, stiffness: k },
        load: DMatrix::zeros(n, 0),
        interface: vec![at],
        elements: Vec::new(),
        states: None,
    }
}

/// The structures of Waldbjørn et al.
pub(super) fn one_mass(own: f64) -> (Equations, Specimen) {
    let numerical = equations(one(6300.0), one(2370.0), one(own), RelativeDof::of_dof(0));
    (numerical, spring(110e3))
}

pub(super) fn three_storeys() -> (Equations, Specimen) {
    let chain = |k: [f64; 3]| {
        DMatrix::from_row_slice(
            3,
            3,
            &[k[0] + k[1], -k[1], 0.0, -k[1], k[1] + k[2], -k[2], 0.0, -k[2], k[2]],
        )
    };
    let mass = DMatrix::identity(3, 3) * 440.0;
    let place = RelativeDof { from: Some(1), to: Some(2) };
    let numerical = equations(mass, chain([880.0; 3]), chain([275e3, 275e3, 165e3]), place);
    (numerical, spring(110e3))
}

pub(super) fn actuator() -> TransferSystem {
    let function = TransferFunction::new(&[5.163e6], &[1.0, 530.8, 8.899e4, 5.44e6]).unwrap();
    TransferSystem::TransferFunction { function, samples: 0.0 }
}

pub(super) fn described(
    (numerical, specimen): (Equations, Specimen),
    transfer_system: TransferSystem,
    step_s: f64,
) -> LoopDescription {
    LoopDescription {
        numerical,
        specimen,
        inside: None,
        integrator: Options {
            method: Method::Exact(Hold::First),
            step_s,
            direct_inertia: None,
            iterations: 1,
        },
        transfer_system,
        compensator: Design::None,
        shaping: ShapingDesign::default(),
        force_delay: 0,
        joint: Joint::Held,
        extra_delay_s: 0.0,
    }
}

pub(super) fn whole(description: &LoopDescription) -> Equations {
    let LoopDescription { numerical, specimen, .. } = description;
    let b = numerical.interface_matrix();
    let joined = |part: &Matrix, taken: &Matrix| part + &b * taken * b.transpose();
    Equations {
        matrices: SecondOrder {
            mass: joined(&numerical.matrices.mass, &specimen.matrices.mass),
            damping: joined(&numerical.matrices.damping, &specimen.matrices.damping),
            stiffness: joined(&numerical.matrices.stiffness, &specimen.matrices.stiffness),
        },
        ..numerical.clone()
    }
}

fn followed(open: &OpenLoop, description: &LoopDescription) -> Follow {
    let curve = Curve::follow(open).unwrap();
    follow(open, &curve, &true_modes(&whole(description)).unwrap()).unwrap()
}

#[test]
fn the_delay_margin_of_an_ideal_rig_is_the_critical_delay() {
    for (parts, delay_ms, hertz) in
        [(one_mass(140e3), 21.6, None), (three_storeys(), 14.36, Some(4.93))]
    {
        let description = described(parts, TransferSystem::Ideal, 1e-3);
        let open = OpenLoop::continuous(&description).unwrap();
        let curve = Curve::follow(&open).unwrap();
        assert_eq!(curve.growing, 0);
        let found = margins::delay_margin(&open, &curve).unwrap().unwrap();
        let LoopDescription { numerical, specimen, .. } = &description;
        let direct = critical_delay(numerical, specimen, None).unwrap().unwrap();
        assert!((found.delay_s / direct.delay_s - 1.0).abs() < 1e-6, "{found:?} {direct:?}");
        assert!((1e3 * found.delay_s - delay_ms).abs() < 0.06, "{found:?}");
        if let Some(hertz) = hertz {
            assert!((found.frequency_hz - hertz).abs() < 0.005, "{found:?}");
        }
    }
}

#[test]
fn the_uncompensated_actuator_does_what_was_published() {
    // Three storeys: unstable by the second mode, ζ −0.41 %.
    let description = described(three_storeys(), actuator(), 1e-3);
    for (open, sampled) in
        [(OpenLoop::continuous(&description), false), (OpenLoop::sampled(&description), true)]
    {
        let open = open.unwrap();
        let curve = Curve::follow(&open).unwrap();
        assert_eq!(curve.growing, 2);
        let found = followed(&open, &description);
        let (dominant, number) = found.dominant().unwrap();
        assert_eq!(number, Some(2), "{found:?}");
        if !sampled {
            assert!((100.0 * dominant.damping_ratio() + 0.41).abs() < 0.01, "{dominant:?}");
        }
    }
    // One mass: stable, ζ 0.85 to 0.91 %. As it runs, two holds of half a
    // period each take what a millisecond of delay takes.
    for own in [110e3, 140e3] {
        let description = described(one_mass(own), actuator(), 1e-3);
        let damping = |open: OpenLoop| {
            assert_eq!(Curve::follow(&open).unwrap().growing, 0);
            let mode = followed(&open, &description).modes[0];
            (100.0 * mode.in_loop.unwrap().damping_ratio(), mode.sensitivity_1_s.unwrap())
        };
        let (ratio, sensitivity) = damping(OpenLoop::continuous(&description).unwrap());
        assert!((0.845..0.915).contains(&ratio), "{ratio}");
        let (sampled, _) = damping(OpenLoop::sampled(&description).unwrap());
        assert!((sampled - (ratio + 0.1 * sensitivity)).abs() < 0.005, "{sampled} {ratio}");
    }
}

#[test]
fn damping_is_lost_to_a_delay_as_published() {
    let percent_per_ms = |parts| {
        let description = described(parts, TransferSystem::Ideal, 1e-3);
        let open = OpenLoop::continuous(&description).unwrap();
        let found = followed(&open, &description);
        // Rig at once: every mode is the structure's own.
        for mode in &found.modes {
            let apart = mode.in_loop.unwrap().exponent - mode.truth.motion.exponent;
            assert!(apart.norm() < 1e-6 * mode.truth.motion.exponent.norm(), "{mode:?}");
        }
        found.modes.iter().map(|mode| 0.1 * mode.sensitivity_1_s.unwrap()).collect::<Vec<_>>()
    };
    let near = |found: Vec<f64>, wanted: &[f64]| {
        assert_eq!(found.len(), wanted.len());
        for (found, wanted) in found.iter().zip(wanted) {
            assert!((found - wanted).abs() < 6e-4, "{found} {wanted}");
        }
    };
    near(percent_per_ms(one_mass(140e3)), &[-0.139]);
    near(percent_per_ms(three_storeys()), &[-0.024, -0.339, -0.315]);
}

#[test]
fn a_later_loop_goes_where_the_switches_say() {
    let description = described(three_storeys(), TransferSystem::Ideal, 1e-3);
    let open = OpenLoop::continuous(&description).unwrap();
    let curve = Curve::follow(&open).unwrap();
    let switches = margins::margins(&open, &curve).unwrap().switches;
    assert!(switches.len() >= 4);
    let mut growing = 0i64;
    for pair in switches.windows(2) {
        growing += match pair[0].direction {
            margins::Direction::Grows => 2,
            margins::Direction::Decays => -2,
        };
        let middle = 0.5 * (pair[0].delay_s + pair[1].delay_s);
        if pair[1].delay_s - pair[0].delay_s < 1e-5 {
            continue;
        }
        let found = Curve::follow(&open.later(middle)).unwrap().growing;
        assert_eq!(found as i64, growing, "{middle} {switches:?}");
    }
}

/// The slopes that Newton's rule goes by are those of the loop gain and of its poles.
#[test]
fn slopes_are_difference_quotients() {
    let mut description = described(three_storeys(), actuator(), 1e-3);
    description.extra_delay_s = 4e-4;
    let (sampled, continuous) =
        (OpenLoop::sampled(&description), OpenLoop::continuous(&description));
    for (open, step_s) in [(sampled, Some(1e-3)), (continuous, None)] {
        let open = open.unwrap().part(0.4);
        for s in [Complex::new(0.3, 12.0), Complex::new(-2.0, 31.0), Complex::new(40.0, 300.0)] {
            let step = Complex::from(1e-5 * s.norm());
            let [next, before] = [s + step, s - step].map(|s| open.at(s).unwrap());
            let (at, slope) = open.with_slope(s).unwrap();
            assert!((at.matrix - open.at(s).unwrap().matrix).norm() < 1e-12 * next.matrix.norm());
            let quotient = (next.matrix - before.matrix) / (2.0 * step);
            let apart = (slope.matrix - &quotient).norm() / quotient.norm();
            assert!(apart < 1e-7, "{s}: {apart}");
            let inner = (next.inner / before.inner).ln() / (2.0 * step);
            assert!((slope.inner - inner).norm() < 1e-7, "{s}: {} {inner}", slope.inner);
            // The product over the poles, in the plane of the responses.
            let factors = |s: Complex| -> Complex {
                let place = |s: Complex| step_s.map_or(s, |h| (s * h).exp());
                open.poles().iter().map(|pole| (place(s) - place(*pole)).ln()).sum()
            };
            let quotient = (factors(s + step) - factors(s - step)) / (2.0 * step);
            let apart = (open.pole_slope(s) - quotient).norm() / quotient.norm();
            assert!(apart < 1e-7, "{s}: {apart}");
        }
    }
}

/// At one end of the way the specimen is moved at once and exactly, at the other is the
/// loop, and in between the loop gains are mixed.
#[test]
fn the_way_into_the_loop_begins_with_an_ideal_rig() {
    let description = described(three_storeys(), actuator(), 1e-3);
    let exact = LoopDescription { transfer_system: TransferSystem::Ideal, ..description.clone() };
    let open = OpenLoop::continuous(&description).unwrap();
    let ideal = OpenLoop::continuous(&exact).unwrap();
    for omega in [3.0, 20.0, 90.0] {
        let at = |open: &OpenLoop| open.at(Complex::new(0.2, omega)).unwrap().matrix[(0, 0)];
        let ([start, end], told) = ([0.0, 1.0].map(|part| at(&open.part(part))), at(&ideal));
        assert!(
            (start - told).norm() < 1e-12 * told.norm() && (end - told).norm() > 1e-2 * told.norm()
        );
        assert!((at(&open.part(0.3)) - (start * 0.7 + end * 0.3)).norm() < 1e-12 * told.norm());
    }
}

#[test]
fn a_mode_at_the_boundary_has_no_damping() {
    let mut description = described(three_storeys(), TransferSystem::Ideal, 1e-3);
    let open = OpenLoop::continuous(&description).unwrap();
    let curve = Curve::follow(&open).unwrap();
    let margin = margins::delay_margin(&open, &curve).unwrap().unwrap();
    description.extra_delay_s = margin.delay_s;
    let open = OpenLoop::continuous(&description).unwrap();
    let found = followed(&open, &description);
    let (dominant, number) = found.dominant().unwrap();
    assert!(dominant.damping_ratio().abs() < 1e-6, "{dominant:?}");
    assert!((dominant.exponent.im / TAU - margin.frequency_hz).abs() < 1e-5);
    assert_eq!(number, Some(2));
}

#[test]
fn what_cannot_be_judged_is_said() {
    let parts = one_mass(140e3);
    let mut description = described(parts, TransferSystem::Delay { samples: 3.0 }, 1e-3);
    description.compensator =
        Design::AdaptiveInverse(model::compensator::AdaptiveInverseDesign::GENERIC);
    assert_eq!(verdict(&description).unwrap_err(), LoopError::Adaptive);
    description.compensator = Design::None;
    description.joint = Joint::Continuous;
    assert_eq!(verdict(&description).unwrap_err(), LoopError::ContinuousDelay);
    description.joint = Joint::Held;
    description.numerical.matrices.mass = one(f64::NAN);
    assert!(verdict(&description).is_err());
}

/// Two masses on a link that is tested by two late actuators: all forces together may be
/// four times as large, one alone no tenth smaller.
#[test]
fn forces_that_differ_have_a_margin_of_their_own() {
    let rows = |values: [f64; 4]| DMatrix::from_row_slice(2, 2, &values);
    let link = 2_363_115.821_503_15;
    let numerical = Equations {
        matrices: SecondOrder {
            mass: rows([1000.0, 0.0, 0.0, 445.247_929_470_95]),
            damping: rows([
                148_785.167_818_884,
                -148_765.831_604_545,
                -148_765.831_604_545,
                148_818.309_027_713,
            ]),
            stiffness: rows([2_375_024.669_509_2 - link, 0.0, 0.0, 2_560_117.507_808_17 - link]),
        },
        load: DMatrix::zeros(2, 0),
        interface: vec![RelativeDof::of_dof(0), RelativeDof::of_dof(1)],
        elements: Vec::new(),
        states: None,
    };
    let judged = |factor: f64| {
        let mut stiffness = rows([link, -link, -link, link]);
        stiffness.row_mut(1).scale_mut(factor);
        let zero = DMatrix::zeros(2, 2);
        let specimen = Specimen {
            matrices: SecondOrder { mass: zero.clone(), damping: zero, stiffness },
            elements: Vec::new(),
        };
        let late = TransferSystem::Delay { samples: 19.0 };
        let description = described((numerical.clone(), specimen), late, 1.0 / 1024.0);
        let open = OpenLoop::sampled(&description).unwrap();
        margins::margins(&open, &Curve::follow(&open).unwrap()).unwrap()
    };
    let nominal = judged(1.0);
    assert_eq!(nominal.verdict.growing, 0);
    assert!(nominal.gain_above.unwrap().0 > 4.0, "{nominal:?}");
    let disk = nominal.disk.clone().unwrap();
    let (below, above) = disk.gain();
    assert!(below > 0.9 && judged(0.9).verdict.growing > 0, "{disk:?}");
    // What it promises holds.
    for factor in [0.999 * below + 0.001, 0.999 * above + 0.001] {
        assert_eq!(judged(factor).verdict.growing, 0, "{factor} {disk:?}");
    }
    assert_eq!(disk.direction.len(), 2);
    // One interface DOF needs none.
    let single = described(three_storeys(), actuator(), 1e-3);
    let open = OpenLoop::sampled(&single).unwrap();
    assert_eq!(margins::margins(&open, &Curve::follow(&open).unwrap()).unwrap().disk, None);
}

/// A chain with modal damping, cut at its last mass: the loop by the motions of its
/// numerical part is the loop by its matrix.
#[test]
fn a_large_structure_gets_the_verdict_of_its_matrix() {
    let n = 24;
    let stiffness = DMatrix::from_fn(n, n, |i, j| match i.abs_diff(j) {
        0 if i + 1 == n => 4e5,
        0 => 8e5,
        1 => -4e5,
        _ => 0.0,
    });
    let mass = DMatrix::identity(n, n) * 100.0;
    let modes = eigen::symmetric_modes(&stiffness, &mass).unwrap();
    let heavy = &mass * &modes.shapes;
    let damping = &heavy * DMatrix::from_diagonal(&(0.04 * &modes.omega_rad_s)) * heavy.transpose();
    let mut numerical = equations(mass, damping, stiffness, RelativeDof::of_dof(n - 1));
    numerical.matrices.stiffness[(n - 1, n - 1)] -= 2e5;
    for (samples, grows) in [(0.0, false), (12.0, true)] {
        let rig = TransferSystem::Delay { samples };
        let description = described((numerical.clone(), spring(2e5)), rig, 1e-3);
        let found = StructureModes::found(&description.numerical).unwrap();
        let by_motions = OpenLoop::sampled_by(&description, found.as_ref()).unwrap();
        let by_matrix = OpenLoop::sampled_by(&description, None).unwrap();
        assert!(by_motions.closed_poles().unwrap().is_none());
        let [one, other] = [by_motions, by_matrix].map(|open| {
            let curve = Curve::follow(&open).unwrap();
            let truth = true_modes(&whole(&description)).unwrap();
            let slowest = follow(&open, &curve, &truth).unwrap().dominant_among(&curve).unwrap().0;
            (judge(&open).unwrap(), slowest)
        });
        assert_eq!((one.0.growing > 0, one.0.growing), (grows, other.0.growing), "{samples}");
        assert!((one.1.exponent - other.1.exponent).norm() < 1e-7 * other.1.exponent.norm());
        let margins = [one.0, other.0].map(|verdict| verdict.delay_margin.map(|c| c.delay_s));
        match margins {
            [Some(one), Some(other)] => assert!((one / other - 1.0).abs() < 1e-7, "{margins:?}"),
            _ => assert_eq!(margins[0], margins[1]),
        }
    }
}

/// The first loss counts, also where stability comes back; each delay is asked once at
/// most, and a loop that never loses it ends at the longest.
#[test]
fn the_last_delay_before_the_first_loss_is_found() {
    for loss in 1..60_usize {
        let mut asked = Vec::new();
        let found = last_before_loss(0, 100, |ticks| {
            asked.push(ticks);
            // Comes back behind the strides that are taken from there.
            Ok(!(loss..2 * loss + 2).contains(&ticks))
        });
        assert_eq!(found.unwrap(), loss - 1);
        asked.sort_unstable();
        assert!(asked.windows(2).all(|pair| pair[0] < pair[1]), "{asked:?}");
    }
    for (from, most) in [(0, 0), (0, 1), (7, 7), (1, 256)] {
        assert_eq!(last_before_loss(from, most, |_| Ok(true)).unwrap(), most);
    }
}
