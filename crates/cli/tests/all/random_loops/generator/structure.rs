//! Structures and what of them stands in the laboratory.

use std::f64::consts::TAU;
use std::fmt::Write as _;

use super::Draw;

/// A structure of one to eight DOFs.
pub struct Structure {
    mass: Vec<Vec<f64>>,
    stiffness: Vec<Vec<f64>>,
    springs: Vec<f64>,
    dampers: Vec<f64>,
    pub is_chain: bool,
    pub text: String,
}

impl Structure {
    pub fn draw(draw: &mut Draw) -> Self {
        let n = draw.pick(&[1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6, 8]);
        let base_hz = draw.log_between(0.5, 12.0);
        let masses: Vec<f64> = (0..n).map(|_| draw.between(300.0, 2000.0)).collect();
        let springs: Vec<f64> = masses
            .iter()
            .map(|m| m * (TAU * base_hz).powi(2) * draw.log_between(0.5, 3.0) * n as f64)
            .collect();
        let ratio = draw.log_between(0.003, 0.1);
        let dampers: Vec<f64> = springs
            .iter()
            .map(|k| 2.0 * ratio * draw.between(0.3, 2.0) * k / (TAU * base_hz))
            .collect();
        let mut mass = vec![vec![0.0; n]; n];
        let mut stiffness = vec![vec![0.0; n]; n];
        for i in 0..n {
            mass[i][i] = masses[i];
            tie(&mut stiffness, i.checked_sub(1), i, springs[i]);
        }
        let is_chain = draw.chance(0.25);
        if is_chain {
            let list = |values: &[f64], unit: &str| {
                let entries: Vec<String> =
                    values.iter().map(|value| format!("\"{value:.4} {unit}\"")).collect();
                format!("[{}]", entries.join(", "))
            };
            let text = format!(
                "[structure.chain]\nmass = {}\nstiffness = {}\ndamping = {}\n",
                list(&masses, "kg"),
                list(&springs, "N/m"),
                list(&dampers, "N s/m")
            );
            return Self { mass, stiffness, springs, dampers, is_chain, text };
        }
        if n > 1 && draw.chance(0.3) {
            for _ in 0..n {
                let (i, j) = (draw.below(n), draw.below(n));
                if i != j {
                    let k = draw.between(0.1, 0.6) * springs[i];
                    tie(&mut stiffness, Some(i), j, k);
                }
            }
        }
        if n > 1 && draw.chance(0.2) {
            for i in 1..n {
                let coupling = draw.between(0.0, 0.15) * masses[i].min(masses[i - 1]);
                mass[i][i - 1] += coupling;
                mass[i - 1][i] += coupling;
            }
        }
        let damping = match draw.below(4) {
            0 | 1 => format!("{{ modal = {ratio:.5} }}"),
            2 => format!("{{ modal = [{ratio:.5}, {:.5}] }}", draw.log_between(0.003, 0.1)),
            _ => {
                let mut damping = vec![vec![0.0; n]; n];
                for i in 0..n {
                    tie(&mut damping, i.checked_sub(1), i, dampers[i]);
                }
                format!("{{ unit = \"N s/m\", rows = {} }}", rows(&damping))
            }
        };
        let text = format!(
            "[structure]\nmass = {{ unit = \"kg\", rows = {} }}\nstiffness = {{ unit = \"N/m\", rows = {} }}\ndamping = {damping}\n",
            rows(&mass),
            rows(&stiffness)
        );
        Self { mass, stiffness, springs, dampers, is_chain, text }
    }

    pub fn size(&self) -> usize {
        self.mass.len()
    }

    /// About the highest natural frequency: of each DOF with its neighbours held,
    /// and moving against them.
    pub fn fastest_hz(&self) -> f64 {
        let alone = |i: usize| self.stiffness[i][i] / self.mass[i][i];
        let most = (0..self.size()).map(alone).fold(0.0, f64::max);
        most.sqrt() / TAU * if self.size() > 1 { 1.4 } else { 1.0 }
    }

    /// About the lowest natural frequency: the sway under the structure's own weight.
    pub fn slowest_hz(&self) -> f64 {
        let mut sway = 0.0;
        for storey in 0..self.size() {
            let above: f64 = (storey..self.size()).map(|i| self.mass[i][i]).sum();
            sway += above / self.springs[storey];
        }
        1.0 / (TAU * sway.sqrt())
    }

    /// Everything from a DOF on stands in the laboratory; gives the file's lines
    /// and the number of DOFs that may be loaded.
    pub fn with_inside(&self, draw: &mut Draw) -> (String, usize) {
        let interface = 1 + draw.below(self.size() - 1);
        let inside: Vec<String> =
            (interface + 1..=self.size()).map(|dof| dof.to_string()).collect();
        let mut text =
            format!("[partition]\ninterface = [{interface}]\ninside = [{}]\n", inside.join(", "));
        if draw.chance(0.5) {
            let mass = self.mass[interface - 1][interface - 1] * draw.between(0.01, 0.4);
            let _ = writeln!(text, "mass = [\"{mass:.4} kg\"]");
        }
        (text, interface)
    }

    /// The specimen; `massive` where the actuator needs mass at every DOF.
    pub fn specimen(
        &self,
        draw: &mut Draw,
        massive: bool,
        features: &mut Vec<&'static str>,
    ) -> String {
        let n = self.size();
        let count = draw.pick(&[1, 1, 1, 1, 1, 2, 2, 2, 3, 3]).min(n);
        features
            .push(["one interface DOF", "two interface DOFs", "three interface DOFs"][count - 1]);
        let mut free: Vec<usize> = (0..n).collect();
        let (mut places, mut mass, mut damping, mut stiffness) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..count {
            let at = draw.below(free.len());
            let dof = free.swap_remove(at);
            let between = dof > 0 && draw.chance(0.2);
            let (least, most) = if between { (0.01, 0.12) } else { (0.02, 0.6) };
            places.push(if between {
                format!("{{ from = {dof}, to = {} }}", dof + 1)
            } else {
                (dof + 1).to_string()
            });
            let k = if between { self.springs[dof] } else { self.stiffness[dof][dof] };
            stiffness.push(if draw.chance(0.15) { 0.0 } else { k * draw.log_between(0.02, 0.8) });
            let m = self.mass[dof][dof];
            mass.push(if draw.chance(0.45) && !massive {
                0.0
            } else {
                m * draw.log_between(least, most)
            });
            let c = self.dampers[dof];
            damping.push(if draw.chance(0.5) { 0.0 } else { c * draw.log_between(0.05, 1.0) });
        }
        if mass.iter().chain(&damping).chain(&stiffness).all(|value| *value == 0.0) {
            stiffness[0] = 0.2 * self.springs[0];
        }
        if mass.iter().any(|value| *value > 0.0) {
            features.push("mass in the laboratory");
        }
        let coupled = count > 1 && draw.chance(0.35);
        let list = |values: &[f64], share: f64| {
            let matrix: Vec<Vec<f64>> = (0..count)
                .map(|i| {
                    (0..count)
                        .map(|j| {
                            let mean = (values[i] * values[j]).sqrt();
                            if i == j { values[i] } else { share * mean }
                        })
                        .collect()
                })
                .collect();
            rows(&matrix)
        };
        let share = if coupled { draw.between(-0.4, 0.4) } else { 0.0 };
        format!(
            "[partition]\ninterface = [{}]\nmass = {{ unit = \"kg\", rows = {} }}\ndamping = {{ unit = \"N s/m\", rows = {} }}\nstiffness = {{ unit = \"N/m\", rows = {} }}\n",
            places.join(", "),
            list(&mass, 0.0),
            list(&damping, share),
            list(&stiffness, share)
        )
    }
}

/// Adds a spring or damper between two DOFs, or one and the ground.
fn tie(matrix: &mut [Vec<f64>], from: Option<usize>, to: usize, value: f64) {
    matrix[to][to] += value;
    if let Some(from) = from {
        matrix[from][from] += value;
        matrix[from][to] -= value;
        matrix[to][from] -= value;
    }
}

fn rows(matrix: &[Vec<f64>]) -> String {
    let row = |row: &Vec<f64>| {
        let entries: Vec<String> = row.iter().map(|value| format!("{value:e}")).collect();
        format!("[{}]", entries.join(", "))
    };
    format!("[{}]", matrix.iter().map(row).collect::<Vec<_>>().join(", "))
}
