//! Systems without support.

use nalgebra::DMatrix;
use numerics::delay_system::DelaySystem;
use numerics::second_order::SecondOrder;

/// Three masses in a row without support: at any delay they may rest anywhere, and
/// what decides is the motion against each other. The crossings of one late spring
/// and the history agree, and a second late signal changes nothing but the method.
#[test]
fn a_floating_system_is_judged_by_what_moves() {
    let of = |rows: &[[f64; 3]]| DMatrix::from_fn(rows.len(), 3, |i, j| rows[i][j]);
    let mass = DMatrix::from_diagonal(&nalgebra::DVector::from_vec(vec![2e3, 3e3, 2e3]));
    let spring = |k1: f64, k2: f64| {
        DMatrix::from_row_slice(3, 3, &[k1, -k1, 0.0, -k1, k1 + k2, -k2, 0.0, -k2, k2])
    };
    let late_k = 0.8e6;
    let system = |rows: &[[f64; 3]]| {
        let of = of(rows);
        let late = |k: f64| of.transpose() * k;
        let stiffness = spring(2e6, 3e6) - late(late_k) * &of;
        let now = SecondOrder { mass: mass.clone(), damping: spring(4e3, 5e3), stiffness };
        let none = DMatrix::zeros(3, rows.len());
        let late = SecondOrder { mass: none.clone(), damping: none, stiffness: late(late_k) };
        DelaySystem::new(now, late, of).unwrap()
    };
    let one = system(&[[-1.0, 1.0, 0.0]]);
    let crossings = one.crossings().unwrap();
    let critical = crossings.critical().unwrap();
    for share in [0.0, 0.01, 0.1, 0.5, 0.99, 1.01, 1.5] {
        let delay_s = share * critical.first_delay_s;
        let found = one.rightmost(delay_s).unwrap();
        assert_eq!(found.re > 0.0, share > 1.0, "{share} {found:?}");
        assert!(found.im / std::f64::consts::TAU > 1.0, "{share} {found:?}");
    }
    assert!(one.equivalent_growth_1_s(0.1 * critical.first_delay_s).unwrap() < -0.1);
    let two = system(&[[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]]);
    for delay_s in [0.0, 1e-4, 1e-3] {
        let found = two.rightmost(delay_s).unwrap();
        assert!(found.re < -0.1 && found.im / std::f64::consts::TAU > 1.0, "{delay_s} {found:?}");
    }
}
