//! Figures of the compensator: what it has learnt in the course of the test.

use super::chapters::{history, line, name_of, pane};
use super::figure::{Figure, Pane, Role};
use super::findings::Findings;

/// Title, unit, scale and name in the legend, by the derivative a factor acts on.
const FACTORS: [(&str, &str, f64, &str); 4] = [
    ("a₀", "", 1.0, "on displacement"),
    ("a₁ [ms]", "ms", 1e3, "on velocity"),
    ("a₂ [ms²]", "ms²", 1e6, "on acceleration"),
    ("a₃ [ms³]", "ms³", 1e9, "on jerk"),
];

/// The adapted factors of one interface DOF; none for a fixed compensator.
pub(super) fn figure<'a>(findings: &'a Findings<'a>, index: usize) -> Option<Figure<'a>> {
    let interface = &findings.view.interfaces[index];
    let panes: Vec<Pane<'a>> = FACTORS
        .iter()
        .enumerate()
        .filter_map(|(order, (title, unit, scale, name))| {
            let channel = format!("compensator.{}.a{order}", interface.name);
            let lines = vec![line(Role::Desired, name, findings.view.column(&channel)?)];
            Some(Pane { scale: *scale, ..pane(title, unit, 1.0, lines) })
        })
        .collect();
    if panes.is_empty() {
        return None;
    }
    let caption = "The command is a<sub>0</sub> × displacement + a<sub>1</sub> × velocity + … of \
                   the desired motion. a<sub>1</sub> is about the delay of the rig, a<sub>0</sub> \
                   the inverse of its gain; where they settle, the rig is known, and where they \
                   move on, it changes.";
    let height_px = 120 + 110 * panes.len() as u32;
    let title = name_of(findings, interface, "Adapted factors");
    Some(history(findings, title, caption.into(), height_px, panes))
}
