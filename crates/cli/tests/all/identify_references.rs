//! `twinrig identify` against scipy and the multi-rate paper.

use crate::common::{Lab, python};
use crate::identify::draft;

/// The response that scipy makes of the same table.
#[test]
fn scipy_finds_the_same_response() {
    let lab = Lab::new();
    lab.write("rig.toml", draft().with("sensors", "displacement_noise = \"20 um\"").text());
    let arguments = ["--duration", "20 s", "--order", "3", "--segment", "2048", "--out", "id"];
    lab.twinrig(["identify", "rig.toml"].into_iter().chain(arguments)).exits(0);
    let program = "
import numpy as np, scipy.signal as ss
t, u, y, _ = np.loadtxt('id/test.csv', delimiter=',', skiprows=1).T
r = np.loadtxt('id/response.csv', delimiter=',', skiprows=1)
f, pxx = ss.welch(u, 1000, 'hann', 2048)
_, pyy = ss.welch(y, 1000, 'hann', 2048)
_, pxy = ss.csd(u, y, 1000, 'hann', 2048)
hold = np.sinc(f / 1000) * np.exp(-1j * np.pi * f / 1000)
at = np.rint(r[:, 0] * 2.048).astype(int)
h1 = (pxy / pxx / hold)[at]; h2 = (pyy / np.conj(pxy) / hold)[at]
c = (abs(pxy) ** 2 / pxx / pyy)[at]
ours = r[:, 1] + 1j * r[:, 2], r[:, 4] + 1j * r[:, 5]
band = r[:, 0] < 25
worst = max(np.max(abs(o - s)[band] / abs(s)[band]) for o, s in zip(ours, (h1, h2)))
print(worst, np.max(abs(c - r[:, 6])[band]))
";
    let Some(out) = python(program, &["numpy", "scipy"], lab.folder()) else { return };
    let found: Vec<f64> = out.split_whitespace().map(|word| word.parse().unwrap()).collect();
    assert!(found[0] < 1e-9 && found[1] < 1e-9, "{out}");
}

/// The multi-rate paper's structures and identification, all recomputed.
#[test]
fn the_multi_rate_paper_is_recomputed() {
    let json = Lab::new().twinrig(["reproduce", "waldbjorn", "--json"]).exits(0).json();
    let value = |id: &str| -> f64 {
        let rows = json["rows"].as_array().unwrap();
        let row = rows.iter().find(|row| row["id"] == id).unwrap_or_else(|| panic!("no {id}"));
        row["ours"].as_f64().unwrap_or_else(|| panic!("{row}"))
    };
    // A uniform chain: ω = 2 √(k/m) sin((2i − 1)π/14).
    for (id, i) in [("mdof_f1", 1.0), ("mdof_f2", 3.0), ("mdof_f3", 5.0)] {
        let exact = 2.0 * (275e3_f64 / 440.0).sqrt() * (i * std::f64::consts::PI / 14.0).sin();
        assert!((value(id) * std::f64::consts::TAU / exact - 1.0).abs() < 1e-9, "{id}");
    }
    let exact = (250e3_f64 / 6300.0).sqrt() / std::f64::consts::TAU;
    assert!((value("sdof_f1") / exact - 1.0).abs() < 1e-9);
    assert!((value("tau_cr_sdof") - 21.6).abs() < 0.05);
    assert!((value("tau_cr_mdof") - 14.36).abs() < 0.005);
    assert!((value("ga_dc_gain") - 0.9491).abs() < 5e-5);
    assert!((value("ga_delay_dc") - 16.36).abs() < 0.005);
    assert!(value("fit_worst_coefficient") < 0.1);
    assert!(value("fit_worst_coefficient_noise_free") < 1e-6);
    assert!(value("fit_worst_coefficient_noise_x6") < 1.6);
    // The estimate is as good as any can be: its spread is that of the bound, as
    // far as eight seeds tell.
    for test in ["", "_printed_test"] {
        let (spread, bound) =
            (value(&format!("fit_spread{test}")), value(&format!("fit_bound{test}")));
        assert!((0.4..1.8).contains(&(spread / bound)), "{spread} {bound}");
    }
}
