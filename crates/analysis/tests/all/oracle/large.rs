//! Structures too large for one matrix, against their matrix all the same.

use analysis::critical_delay::{critical_delay, critical_delay_by};
use analysis::loop_stability::margins::margins;
use analysis::loop_stability::modes::{follow, true_modes};
use analysis::loop_stability::{Curve, OpenLoop, StructureModes, growing, judge};

use super::continuous::formula;
use super::*;

const DOFS: usize = 122;

fn chain(interface: &[RelativeDof]) -> Equations {
    let spring: Vec<f64> = (0..DOFS).map(|i| 4e5 + 1e3 * (i % 7) as f64).collect();
    let damper: Vec<f64> = spring.iter().map(|k| 2e-4 * k).collect();
    storeys(&vec![100.0; DOFS], &spring, &damper, interface)
}

fn cases() -> Vec<(&'static str, LoopDescription)> {
    let scalar = || specimen(one(10.0), one(60.0), one(2e5));
    let last = [ground(DOFS - 1)];
    let mut damped = chain(&last);
    damped.matrices.damping[(60, 60)] += 700.0;
    let both = [ground(3), between(80, 81)];
    vec![
        ("modal", described(chain(&last), scalar(), delay(9.0), Method::Newmark)),
        ("mode by mode", described(chain(&last), scalar(), actuator(0.0), Method::ChenRicles)),
        (
            "two DOFs with mass at once",
            described(chain(&both), coupled_specimen(), delay(0.3), EXACT),
        ),
        ("a damper", described(damped, scalar(), delay(4.0), Method::RungeKutta4)),
    ]
}

#[test]
fn a_large_structure_has_the_loop_gain_of_its_matrix() {
    for (name, description) in cases() {
        assert!(StructureModes::of(&description.numerical).unwrap().is_some());
        let open = OpenLoop::sampled(&description).unwrap();
        let curve = Curve::follow(&open).unwrap();
        let wired = Wired::of(&description, 0);
        for point in curve.points.iter().step_by(curve.points.len() / 3) {
            let s = Complex::new(curve.shift_1_s, point.omega_rad_s);
            let found = wired.loci(s);
            for locus in &point.loci {
                let apart = found.iter().map(|l| (l - locus).norm()).fold(f64::INFINITY, f64::min);
                assert!(apart < 1e-6 * (1.0 + locus.norm()), "{name}: {point:?} {found:?}");
            }
        }
        let poles = wired.closed(1.0);
        assert_eq!(curve.growing, grow(&poles), "{name}");
        assert_eq!(growing(&description).unwrap(), grow(&poles), "{name}");
        let truth = true_modes(&whole(&description)).unwrap();
        let found = follow(&open, &curve, &truth).unwrap();
        let (motion, _) = found.dominant_among(&curve).unwrap();
        let slowest = poles.iter().map(|(s, _)| *s).max_by(|a, b| a.re.total_cmp(&b.re)).unwrap();
        if grow(&poles) > 0 {
            assert!(near(motion.exponent, slowest, 1e-5), "{name}: {motion:?} {slowest}");
        }
        for mode in found.modes.iter().filter_map(|mode| mode.in_loop) {
            assert!(poles.iter().any(|(s, _)| near(mode.exponent, *s, 1e-5)), "{name}: {mode:?}");
        }
        // By modes that are at hand it is the same loop.
        let modes = StructureModes::of(&description.numerical).unwrap();
        let again = OpenLoop::sampled_by(&description, modes.as_deref()).unwrap();
        assert_eq!(judge(&again).unwrap(), judge(&open).unwrap(), "{name}");
        let told = margins(&open, &curve).unwrap();
        for switch in told.switches.iter().take(2) {
            let value = wired.difference(axis(TAU * switch.frequency_hz), switch.delay_s);
            assert!(value.norm() < 1e-3, "{name}: {switch:?} {value}");
        }
    }
}

#[test]
fn a_large_structure_has_the_formula_of_its_matrices() {
    for (name, description) in cases() {
        let open = OpenLoop::continuous(&description).unwrap();
        let curve = Curve::follow(&open).unwrap();
        for point in curve.points.iter().step_by(curve.points.len() / 6) {
            let s = Complex::new(curve.shift_1_s, point.omega_rad_s);
            let found = complex_eigen::eigenvalues(&formula(&description, s));
            for locus in &point.loci {
                let apart = found.iter().map(|l| (l - locus).norm()).fold(f64::INFINITY, f64::min);
                assert!(apart < 1e-5 * (1.0 + locus.norm()), "{name}: {point:?} {found:?}");
            }
        }
        let LoopDescription { numerical, specimen, .. } = &description;
        let modes = StructureModes::of(numerical).unwrap();
        let critical = critical_delay(numerical, specimen, None).unwrap();
        assert_eq!(
            critical,
            critical_delay_by(numerical, specimen, None, modes.as_deref()).unwrap()
        );
        if let Some(critical) = critical.filter(|c| c.delay_s > 0.0) {
            let at_once = LoopDescription {
                transfer_system: TransferSystem::Ideal,
                extra_delay_s: critical.delay_s,
                ..description.clone()
            };
            let gain = formula(&at_once, axis(TAU * critical.frequency_hz));
            let loci = complex_eigen::eigenvalues(&gain);
            let apart = loci.iter().map(|l| (l + 1.0).norm()).fold(f64::INFINITY, f64::min);
            assert!(apart < 1e-4, "{name}: {critical:?} {loci:?}");
        }
    }
}
