//! Whole experiments: a random loop with a load of a real size, and everything else that a file may
//! declare beside it.

use std::fmt::Write as _;

use super::further;
use super::generator::{Draw, Drawn, Load, draw_with};

/// The experiment of a seed. What the program refuses is drawn again with the next `attempt`.
pub fn draw(seed: u64, attempt: u32) -> Drawn {
    let mut drawn = draw_with(seed, attempt, Load::Test);
    let mut draw = Draw::new(seed, &format!("random experiment {attempt}"));
    let Drawn { text, kinds } = &mut drawn;
    let two_rates = kinds.rates != "one rate";
    let (exact, fixed) =
        (kinds.integrator.starts_with("exact"), !kinds.features.contains(&"inside"));
    let mut feature = |feature: &'static str| kinds.features.push(feature);
    if draw.chance(0.4) {
        feature("noise");
        let noise = format!(
            "[sensors]\ndisplacement_noise = \"{:.2} um\"\nforce_noise = \"{:.1} N\"\n",
            draw.log_between(0.1, 100.0),
            draw.log_between(0.1, 100.0)
        );
        match text.contains("[sensors]\n") {
            true => *text = text.replace("[sensors]\n", &noise),
            false => text.push_str(&noise),
        }
    }
    if draw.chance(0.2) && fixed {
        feature("element of the specimen");
        let _ = writeln!(text, "[[partition.element]]\nat = 1\n{}", law(&mut draw));
    }
    if draw.chance(0.15) && !exact {
        feature("element of the structure");
        let law = law(&mut draw);
        let _ = writeln!(text, "[[structure.element]]\nbetween = [\"ground\", 1]\n{law}");
    }
    text.push_str("[monitor]\n");
    let indicators = ["windowed_warning", "energy_error", "forecast", "tracking", "limits_used"];
    for name in indicators.iter().filter(|name| !two_rates || **name != "energy_error") {
        if draw.chance(0.25) {
            feature("indicators");
            let _ = writeln!(text, "{name} = {{}}");
        }
    }
    if draw.chance(0.3) {
        feature("every few frames");
        let _ = writeln!(text, "[record]\nevery = {}", draw.pick(&[2, 3, 5]));
    }
    if draw.chance(0.1) {
        feature("phases");
        text.push_str(
            "[phases]\ninitiating = { rate = \"20 mm/s\", reach = \"2 mm\", settle = \"0.1 s\", \
             within = \"1 mm\", stands_at = \"1 mm\" }\n",
        );
    }
    further::add(&mut drawn, &mut Draw::new(seed, &format!("further experiment {attempt}")));
    drawn
}

/// The law of a nonlinear element.
fn law(draw: &mut Draw) -> String {
    let stiffness = draw.log_between(1e4, 1e6);
    let force = stiffness * draw.log_between(1e-4, 1e-2);
    let kind = draw.pick(&["bilinear", "elastic_plastic", "bouc_wen"]);
    let hardening = if kind == "elastic_plastic" { "" } else { "hardening = 0.05\n" };
    format!(
        "kind = \"{kind}\"\nstiffness = \"{stiffness:.1} N/m\"\nyield_force = \"{force:.3} N\"\n\
         {hardening}"
    )
}
