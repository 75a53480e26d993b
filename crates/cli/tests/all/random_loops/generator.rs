//! Experiment files of random loops, each from its seed alone.

mod rig;
mod structure;

use std::fmt::Write as _;

use numerics::random::Stream;

use rig::{Rig, RigKind};
use structure::Structure;

/// Height of the pulse, m/s². A linear loop does the same at every size, and from
/// here a motion can grow by a hundred decades and decay by as many before it
/// leaves the numbers; adaptive compensators learn nothing from it.
const PULSE: f64 = 1e-120;

/// What a loop was drawn with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kinds {
    pub actuator: String,
    pub compensator: String,
    pub integrator: String,
    pub rates: String,
    pub features: Vec<&'static str>,
}

/// An experiment file and what is in it.
#[derive(Debug, Clone)]
pub struct Drawn {
    pub text: String,
    pub kinds: Kinds,
}

/// The loop of a seed. What the program refuses is drawn again with the next
/// `attempt`.
pub fn draw(seed: u64, attempt: u32) -> Drawn {
    let mut draw = Draw(Stream::new(seed, &format!("random loop {attempt}")));
    let structure = Structure::draw(&mut draw);
    let ratio = if draw.chance(0.3) { draw.pick(&[1, 2, 2, 3, 4, 5, 6, 8, 10, 16]) } else { 0 };
    let rate_hz = draw.rate(structure.fastest_hz(), ratio);
    let step_s = 1.0 / rate_hz;
    let mut features = Vec::new();
    let rig = Rig::draw(&mut draw, step_s, structure.slowest_hz());
    let follows = !matches!(
        rig.kind,
        RigKind::Ideal | RigKind::IdealHeld | RigKind::DelayBelowOneSample | RigKind::Servo
    );
    let inside = structure.is_chain && structure.size() > 1 && ratio == 0 && follows;
    let (specimen, loaded) = if inside {
        features.push("inside");
        structure.with_inside(&mut draw)
    } else {
        let massive = rig.kind == RigKind::Servo;
        (structure.specimen(&mut draw, massive, &mut features), structure.size())
    };
    let continuous = matches!(rig.kind, RigKind::Degree(_) | RigKind::Servo)
        && rig.delay_s == 0.0
        && ratio == 0
        && !inside
        && draw.chance(0.15);
    if continuous {
        features.push("continuous");
    }
    let integrator = draw.integrator(continuous);
    let compensator = draw.compensator(&rig, step_s);
    let late = if !continuous && draw.chance(0.3) { 1 + draw.below(3) } else { 0 };
    if late > 0 {
        features.push("late force");
    }
    let mut text = format!(
        "title = \"Random loop {seed}.{attempt}\"\nduration = \"1 s\"\n\n{}\n{specimen}\n",
        structure.text
    );
    // No load reaches what stands in the laboratory alone.
    let width_s = 3.0 * ratio.max(1) as f64 * step_s;
    text += &draw.pulses(!inside, loaded, width_s);
    let feedback = match (&rig.kind, continuous) {
        (_, true) => "feedback = \"continuous\"\n",
        (RigKind::IdealHeld, _) => "feedback = \"held\"\n",
        _ => "",
    };
    let _ = writeln!(text, "\n[integrator]\n{}\nrate = \"{rate_hz} Hz\"\n{feedback}", integrator.1);
    let rates = if ratio > 0 {
        let (name, body) = draw.main_loop(ratio);
        text += &body;
        name
    } else {
        "one rate".to_owned()
    };
    let _ = writeln!(text, "[transfer_system]\n{}\n\n[compensator]\n{}", rig.text, compensator.1);
    if late > 0 {
        let _ = writeln!(text, "\n[sensors]\nforce_delay_samples = {late}");
    }
    text += "\n[limits]\ncommand = \"1e9 m\"\nforce = \"1e15 N\"\n";
    Drawn {
        text,
        kinds: Kinds {
            actuator: rig.name(),
            compensator: compensator.0,
            integrator: integrator.0.to_owned(),
            rates,
            features,
        },
    }
}

struct Draw(Stream);

impl Draw {
    /// A pulse of the ground, and one on each of so many DOFs.
    fn pulses(&mut self, ground: bool, loaded: usize, width_s: f64) -> String {
        let mut text = "[excitation]\n".to_owned();
        if ground {
            let _ = writeln!(
                text,
                "ground = {{ impulse = {{ amplitude = \"{PULSE:e} m/s^2\", width = \"{width_s:e} s\" }} }}"
            );
        }
        for dof in 1..=loaded {
            let force = PULSE * 1000.0 * self.between(-3.0, 3.0);
            let _ = writeln!(
                text,
                "[[excitation.force]]\ndof = {dof}\nimpulse = {{ amplitude = \"{force:e} N\", width = \"{width_s:e} s\" }}"
            );
        }
        text
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.0.uniform() < probability
    }

    fn below(&mut self, count: usize) -> usize {
        ((count as f64 * self.0.uniform()) as usize).min(count - 1)
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.uniform()
    }

    fn log_between(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.0.uniform())
    }

    /// Samples enough for the fastest mode, and rarely far too many.
    fn rate(&mut self, fastest_hz: f64, ratio: usize) -> f64 {
        let least = fastest_hz * self.log_between(5.0, 40.0) * (ratio.max(1) as f64).sqrt();
        let rates = [128.0, 256.0, 500.0, 512.0, 1000.0, 1024.0, 2000.0, 2048.0, 4096.0];
        rates.into_iter().find(|rate| *rate >= least).unwrap_or(4096.0)
    }

    fn integrator(&mut self, continuous: bool) -> (&'static str, String) {
        let method = |name: &str| format!("method = \"{name}\"");
        let choice = if continuous { self.pick(&[0, 1, 2]) } else { self.below(7) };
        match choice {
            0 => ("rk4", method("rk4")),
            1 => ("exact", method("exact")),
            2 => ("exact, first-order hold", "method = \"exact\"\nhold = \"first\"".to_owned()),
            3 => ("newmark", method("newmark")),
            4 => ("implicit_euler", method("implicit_euler")),
            5 => ("cr", method("cr")),
            _ => {
                let radius = self.between(0.0, 1.0);
                ("kr_alpha", format!("method = \"kr_alpha\"\nspectral_radius = {radius:.3}"))
            }
        }
    }

    fn compensator(&mut self, rig: &Rig, step_s: f64) -> (String, String) {
        let lead_s = (rig.late_s + 0.5 * step_s) * self.between(0.5, 1.2);
        let kind = self.pick(&[0, 0, 0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6, 7]);
        let (mut name, mut body) = match kind {
            0 => ("none".to_owned(), "kind = \"none\"".to_owned()),
            1 => {
                let gain = self.between(0.95, 1.05);
                let body =
                    format!("kind = \"first_order\"\nlead = \"{lead_s:e} s\"\ngain = {gain:.4}");
                ("first_order".to_owned(), body)
            }
            2 => {
                let order = 1 + self.below(5);
                let differences = self.chance(0.4);
                let mut term = self.between(0.97, 1.03);
                let mut coefficients = Vec::new();
                for power in 0..=order {
                    coefficients.push(format!("{:e}", term * self.between(0.7, 1.1)));
                    term *= lead_s / (power + 1) as f64;
                }
                let source = if differences { "differences" } else { "motion" };
                let body = format!(
                    "kind = \"inverse\"\ncoefficients = [{}]\nderivatives = \"{source}\"",
                    coefficients.join(", ")
                );
                (format!("inverse {order} {source}"), body)
            }
            3 => {
                let order = 1 + self.below(4);
                let gain = self.between(0.95, 1.05);
                let body = format!(
                    "kind = \"forward_prediction\"\norder = {order}\ndelay = \"{lead_s:e} s\"\ngain = {gain:.4}"
                );
                (format!("forward_prediction {order}"), body)
            }
            4 => {
                let body = format!(
                    "kind = \"pi_lead\"\nproportional = {:.4}\nintegral = {:.4}\nlead_gain = {:.4}\nlead_pole = {:.2}",
                    self.between(0.2, 1.5),
                    self.log_between(1.0, 60.0),
                    self.between(1.0, 10.0),
                    self.log_between(200.0, 9000.0)
                );
                ("pi_lead".to_owned(), body)
            }
            _ => {
                let name =
                    ["adaptive_inverse", "adaptive_model_based", "adaptive_time_series"][kind - 5];
                (name.to_owned(), format!("kind = \"{name}\"\nstart_delay = \"{lead_s:e} s\""))
            }
        };
        if self.chance(0.15) {
            let cut_off_hz = self.log_between(0.02, 0.3) / step_s;
            let _ = write!(body, "\nlow_pass = \"{cut_off_hz:.2} Hz\"");
            name += ", low_pass";
        }
        (name, body)
    }

    fn main_loop(&mut self, ratio: usize) -> (String, String) {
        let task = self.below(ratio + 1);
        let order = 1 + self.below(4);
        let points = order + 1 + self.below(4);
        let (predictor, body) = match self.below(8) {
            0 | 1 => ("hermite", "{ kind = \"hermite\" }".to_owned()),
            2 => ("lagrange", format!("{{ kind = \"lagrange\", order = {order} }}")),
            3 => (
                "lagrange two",
                format!("{{ kind = \"lagrange\", order = {order}, stages = \"two\" }}"),
            ),
            4 => (
                "least_squares",
                format!("{{ kind = \"least_squares\", order = {order}, points = {points} }}"),
            ),
            5 => ("predicted_acceleration", "{ kind = \"predicted_acceleration\" }".to_owned()),
            6 => ("model_based", "{ kind = \"model_based\" }".to_owned()),
            _ => ("combined", format!("{{ kind = \"combined\", order = {order} }}")),
        };
        let force = self.pick(&["all_samples", "all_samples", "average", "last"]);
        let lead = self.pick(&["", "", "lead = \"half_sample\"\n", "lead = \"none\"\n"]);
        let text = format!(
            "[main_loop]\nratio = {ratio}\ntask_ticks = {task}\npredictor = {body}\nforce = \"{force}\"\n{lead}\n"
        );
        (format!("two rates, {predictor}, {force}"), text)
    }
}
