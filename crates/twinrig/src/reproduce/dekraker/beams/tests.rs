//! The acceptance values, to their printed digits.

use super::*;
use model::reduction::response::Response;

impl FullBeam {
    /// Complex eigenvalues with Im > 0, slowest first.
    fn complex_eigenvalues(&self) -> Vec<Complex<f64>> {
        let complex = |value: &&Complex<f64>| value.im > 1e-6 * value.norm();
        let mut complex: Vec<_> = self.eigenvalues.iter().filter(complex).copied().collect();
        complex.sort_by(|a, b| a.im.total_cmp(&b.im));
        complex
    }

    /// Receptance of the tip.
    fn receptance(&self, omega_rad_s: f64) -> Result<Complex<f64>, ReductionError> {
        let response = Response::of_component(&coupled()?, &[TIP], &[omega_rad_s])?;
        Ok(response.receptances[0][(0, 0)])
    }
}

/// The rows of the comparison: cut-off and method.
fn table() -> Vec<(f64, Variant)> {
    let second = |method, dampers| Variant::SecondOrder { method, dampers };
    vec![
        (5e4, Variant::StateSpace(Completion::Flexibility)),
        (5e4, Variant::StateSpace(Completion::ResidualFlexibility)),
        (5e4, Variant::StateSpace(Completion::None)),
        (5e4, second(Method::CraigBampton, false)),
        (5e4, second(Method::Rubin, false)),
        (5e4, second(Method::Rubin, true)),
        (2e4, Variant::StateSpace(Completion::Flexibility)),
        (2e4, second(Method::Rubin, true)),
    ]
}

/// Equal to so many printed digits: within half of the last one.
fn printed(value: f64, expected: f64, digits: i32) -> bool {
    let unit = 10_f64.powi(expected.abs().log10().floor() as i32 - digits + 1);
    (value - expected).abs() <= 0.5001 * unit
}

fn has(values: &[Complex<f64>], re: f64, im: f64) -> bool {
    values.iter().any(|v| (v.re - re).abs() < 6e-11 && (v.im.abs() - im).abs() < 6e-10)
}

/// Rows of the states in the order u1, v1, u4, v4, u2, v2, u3, v3.
fn ordered(column: nalgebra::DVectorView<'_, f64>) -> [f64; 8] {
    [0, 4, 3, 7, 1, 5, 2, 6].map(|k| column[k])
}

#[test]
fn the_bar_with_proportional_damping() {
    let parts = bar_parts(0.0).unwrap();
    assert_eq!(parts.values.len(), 6);
    for (re, im) in [(-0.01, 0.4471017781), (-0.05, 0.9987492178), (-0.1, 1.410673598)] {
        assert!(has(&parts.values, re, im), "{re} {im}: {:?}", parts.values);
    }
    let expected = DMatrix::from_row_slice(2, 2, &[0.0, 18.0, 18.0, 0.0]);
    assert!((&parts.c_rr - expected).amax() < 1e-11);
    let psi = |column| ordered(parts.flexibility.column(column));
    let near = |found: [f64; 8], wanted: [f64; 8]| {
        found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-12)
    };
    // Columns: u1, u4, v1, v4.
    let (u1, v1) = (
        [35.0 / 36.0, 0.0, -19.0 / 36.0, 0.0, 5.0 / 36.0, 0.0, -13.0 / 36.0, 0.0],
        [0.0, -47.0 / 90.0, 0.0, 7.0 / 90.0, 0.0, 19.0 / 90.0, 0.0, 1.0 / 90.0],
    );
    assert!(near(psi(0), u1), "{:?}", psi(0));
    assert!(near(psi(2), v1), "{:?}", psi(2));
    // Columns u4 and v4 mirror them.
    let mirror = |c: [f64; 8]| [c[2], c[3], c[0], c[1], c[6], c[7], c[4], c[5]];
    assert!(near(psi(1), mirror(u1)) && near(psi(3), mirror(v1)));
    let boundary = [0, 4, 3, 7];
    let at: DMatrix<f64> =
        DMatrix::from_fn(4, 4, |i, j| parts.flexibility[(boundary[i], [0, 2, 1, 3][j])]);
    let values = at.svd(false, false).singular_values;
    assert!((values.max() / values.min() - 3.375).abs() < 1e-9);
}

#[test]
fn the_bar_with_a_damper_to_the_ground() {
    let parts = bar_parts(0.2).unwrap();
    assert_eq!(parts.values.len(), 7);
    for (re, im) in [
        (-0.0111186715, 0.0),
        (-0.0133338205, 0.446980243),
        (-0.0555587241, 0.9985331222),
        (-0.1166592308, 1.4089106088),
    ] {
        assert!(has(&parts.values, re, im), "{re} {im}: {:?}", parts.values);
    }
    assert!((parts.c_rr[(0, 0)] - 0.2).abs() < 1e-12 && parts.c_rr.len() == 1);
    let near = |found: [f64; 8], wanted: [f64; 8]| {
        found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-9)
    };
    let u1 = ordered(parts.flexibility.column(0));
    assert!(near(u1, [-449.0, 5.0, -450.0, 5.0, -450.0, 5.0, -450.0, 5.0]), "{u1:?}");
    let v1 = ordered(parts.flexibility.column(2));
    let n = 45.0;
    let wanted = [5.0, -26.0 / n, 5.0, 1.0 / n, 5.0, 7.0 / n, 5.0, -2.0 / n];
    assert!(near(v1, wanted), "{v1:?}");
}

#[test]
fn the_coupled_beam_in_full() {
    let full = FullBeam::new().unwrap();
    assert_eq!(full.eigenvalues.len(), 72);
    let real = full.real_eigenvalues();
    assert_eq!(real.len(), 4);
    for (found, (wanted, digits)) in
        real.iter().zip([(-1.084859, 7), (-68.673607, 8), (-18217.57, 7), (-18220.07, 7)])
    {
        assert!(printed(*found, wanted, digits), "{found} {wanted}");
    }
    let complex = full.complex_eigenvalues();
    for (found, (re, im)) in complex.iter().zip([
        (-35.567584, 551.984660),
        (-152.584882, 1245.512623),
        (-89.278173, 3073.168784),
    ]) {
        assert!((found.re - re).abs() < 1e-6 && (found.im - im).abs() < 1e-6, "{found}");
    }
    let h = |omega| full.receptance(omega).unwrap();
    assert!(printed(h(0.0).re, 1.9047619e-3, 8));
    assert!(printed(h(1000.0).re, -1.26333271e-5, 9) && printed(h(1000.0).im, -7.8672050e-6, 8));
    assert!(printed(h(1e4).re, -5.2489885e-7, 8) && printed(h(1e4).im, -5.2084835e-8, 8));
}

#[test]
fn the_whole_table_to_its_two_digits() {
    let full = FullBeam::new().unwrap();
    // States, eigenvalue error max and median, FRF error max and median.
    let expected = [
        (46, 3.6e-3, 1.5e-5, 6.0e-2, 1.0e-3),
        (46, 3.6e-3, 1.5e-5, 6.0e-2, 1.0e-3),
        (34, 9.2e-2, 4.1e-2, 2.1, 0.47),
        (40, 4.1e-2, 1.7e-3, 0.24, 2.7e-2),
        (46, 2.9e-2, 7.0e-4, 4.2e-2, 8.6e-3),
        (50, 9.5e-4, 8.9e-7, 1.5e-2, 4.0e-5),
        (32, 1.7e-2, 4.9e-5, 0.55, 2.2e-3),
        (36, 3.6e-3, 4.6e-6, 0.19, 7.4e-5),
    ];
    for ((cut_off, variant), wanted) in table().into_iter().zip(expected) {
        let row = full.row(cut_off, variant).unwrap();
        println!("{row:?}");
        assert_eq!(row.states, wanted.0, "{variant:?}");
        assert!(printed(row.eigenvalues.max, wanted.1, 2), "{row:?}");
        assert!(printed(row.eigenvalues.median, wanted.2, 2), "{row:?}");
        assert!(printed(row.response.max, wanted.3, 2), "{row:?}");
        assert!(printed(row.response.median, wanted.4, 2), "{row:?}");
        if variant == Variant::StateSpace(Completion::Flexibility) && cut_off == 5e4 {
            assert_eq!((row.kept, row.rigid), ([20, 15], 3));
        }
    }
}
