//! Figures of the monitor: every indicator with its levels drawn in.

use analysis::criteria;

use super::chapters::{history, line, name_of, pane};
use super::figure::{Figure, Line, Pane, Role};
use super::findings::Findings;
use super::text::number;
use experiment::watch::LevelsSpec;

/// A stability warning above this is not worth a scale, in per cent.
const HIGHEST_WARNING: f64 = 400.0;
/// A forecast beyond this is not worth a scale, s.
const LONGEST_FORECAST: f64 = 20.0;

/// The stability warning, the windowed one beside it.
pub(super) fn warning<'a>(findings: &'a Findings<'a>) -> Option<Figure<'a>> {
    let column = findings.view.column("stability_warning")?;
    let mut highest = peak(column);
    let mut lines = vec![line(Role::Warning, "stability warning SW", column)];
    let mut caption =
        "SW = 100 · W<sub>F</sub> / (E<sub>d</sub> + C<sub>SW</sub>): energy fed back by the specimen as a share of the energy \
         dissipated in the numerical substructure."
            .to_owned();
    if let Some(windowed) = findings.view.column("stability_warning.windowed") {
        lines.push(line(Role::Windowed, "windowed SW", windowed));
        highest = highest.max(peak(windowed));
        caption += " The windowed one counts the recent past alone.";
    }
    let mut shown = pane("stability warning [%]", "%", 1.0, lines);
    shown.limits = vec![(100.0, "100 %: more energy fed back than dissipated".to_owned())];
    if let Some(monitor) = &findings.monitor {
        // At 100 % the line is there already.
        let stop = monitor.stability_warning.stop_at.filter(|&stop| stop != 1.0);
        shown.limits.extend(stop.map(|stop| (100.0 * stop, told("stop", 100.0 * stop, "%"))));
        let mut more = levels(&monitor.stability_warning.levels(), 100.0, "%", "");
        if let Some(windowed) = &monitor.windowed_warning {
            more.extend(levels(&windowed.levels, 100.0, "%", "windowed: "));
        }
        for (level, words) in more {
            // Two lines in one place have one text.
            match shown.limits.iter_mut().find(|(known, _)| *known == level) {
                Some((_, known)) => *known += &format!("; {words}"),
                None => shown.limits.push((level, words)),
            }
        }
    }
    let top = (1.08 * highest).clamp(120.0, HIGHEST_WARNING);
    shown.range = Some((0.0, top));
    if let Some(time) = findings.warning_reached_s {
        caption += &format!(" It reached 100 % at {} s.", number(time));
    }
    if highest > top {
        caption += &format!(" It goes on to {} %, beyond the picture.", number(highest));
    }
    Some(history(findings, "Stability warning".into(), caption, 300, vec![shown]))
}

/// The indicators that the file asked for.
pub(super) fn figures<'a>(findings: &'a Findings<'a>) -> Vec<Figure<'a>> {
    let mut figures = Vec::new();
    figures.extend(forecast(findings));
    figures.extend(energy_error(findings));
    figures.extend(findings.shown_interfaces.iter().filter_map(|&i| tracking(findings, i)));
    figures.extend(limits_used(findings));
    figures
}

fn forecast<'a>(findings: &'a Findings<'a>) -> Option<Figure<'a>> {
    let column = findings.view.column("forecast")?;
    let mut shown =
        pane("time to 100 % [s]", "s", 1.0, vec![line(Role::Forecast, "forecast", column)]);
    shown.range = Some((0.0, LONGEST_FORECAST));
    if let Some(spec) = findings.monitor.as_ref().and_then(|monitor| monitor.forecast.as_ref()) {
        shown.limits = levels(&spec.levels(), 1.0, "s", "");
    }
    let caption = "Time left until the stability warning reaches 100 %, if the trend of its \
                   crests holds. Where nothing is drawn it does not rise, or the time is beyond \
                   the picture.";
    Some(history(findings, "Forecast".into(), caption.into(), 260, vec![shown]))
}

fn energy_error<'a>(findings: &'a Findings<'a>) -> Option<Figure<'a>> {
    let column = findings.view.column("energy_error")?;
    let lines = vec![line(Role::Error, "energy error index EEI", column)];
    let mut shown = pane("energy error [%]", "%", 1.0, lines);
    if let Some(spec) = findings.monitor.as_ref().and_then(|monitor| monitor.energy_error.as_ref())
    {
        let above = levels(&spec.levels, 100.0, "%", "");
        let below: Vec<_> = above.iter().map(|(level, _)| (-level, String::new())).collect();
        shown.limits = above;
        shown.limits.extend(below);
    }
    let caption = "What is missing in the energy balance when the specimen is taken at its \
                   measured displacement, as a share of the input work. Below zero the transfer \
                   system feeds energy in, above it takes energy out.";
    Some(history(findings, "Energy error".into(), caption.into(), 280, vec![shown]))
}

fn tracking<'a>(findings: &'a Findings<'a>, index: usize) -> Option<Figure<'a>> {
    let view = &findings.view;
    let interface = &view.interfaces[index];
    let of = |name: &str| view.column(&format!("tracking.{name}.{}", interface.name));
    let (delay, amplitude) = (of("delay")?, of("amplitude")?);
    let valid = of("valid").unwrap_or_default();
    // Where there was no motion there is nothing to draw.
    let told = |column: &[f64]| -> Vec<f64> {
        let cells = column.iter().enumerate();
        cells.map(|(row, &x)| if valid.get(row) == Some(&0.0) { f64::NAN } else { x }).collect()
    };
    let lines = vec![line(Role::Measured, "delay", told(delay))];
    let mut late = Pane { scale: 1e3, ..pane("delay [ms]", "ms", 1.0, lines) };
    let lines = vec![line(Role::Desired, "amplitude ratio", told(amplitude))];
    let mut size = pane("amplitude [–]", "", 1.0, lines);
    if let Some(spec) = findings.monitor.as_ref().and_then(|monitor| monitor.tracking.as_ref()) {
        late.limits = levels(&spec.delay.levels, 1e3, "ms", "");
        for (level, words) in levels(&spec.amplitude.levels, 100.0, "% off", "") {
            size.limits.push((1.0 + 0.01 * level, words));
            size.limits.push((1.0 - 0.01 * level, String::new()));
        }
    }
    let title = name_of(findings, interface, "Tracking while the test ran");
    let caption = "Delay and amplitude ratio of the measured against the desired motion in a \
                   moving window; nothing is drawn where there was too little motion to tell.";
    Some(history(findings, title, caption.into(), 400, vec![late, size]))
}

fn limits_used<'a>(findings: &'a Findings<'a>) -> Option<Figure<'a>> {
    let names = [
        (Role::Command, "position", "displacement"),
        (Role::Achieved, "rate", "rate"),
        (Role::Measured, "force", "force"),
        (Role::Error, "tracking_error", "tracking error"),
    ];
    let lines: Vec<Line<'_>> = names
        .into_iter()
        .filter_map(|(role, name, words)| {
            let column = findings.view.column(&format!("limits_used.{name}"))?;
            Some(line(role, words, column))
        })
        .collect();
    if lines.is_empty() {
        return None;
    }
    let mut shown = pane("share of the limit [%]", "%", 1.0, lines);
    shown.limits = vec![(100.0, "100 %: the gate trips".to_owned())];
    shown.range = Some((0.0, 110.0));
    if let Some(spec) = findings.monitor.as_ref().and_then(|monitor| monitor.limits_used.as_ref()) {
        shown.limits.extend(levels(&spec.levels, 100.0, "%", ""));
    }
    let caption = "How much of each limit was used, the largest over the interface DOFs.";
    Some(history(findings, "Use of the limits".into(), caption.into(), 300, vec![shown]))
}

/// The levels of an indicator as lines to draw.
fn levels(spec: &LevelsSpec, scale: f64, unit: &str, prefix: &str) -> Vec<(f64, String)> {
    let named = [
        ("warn", spec.warn_at),
        ("hold", spec.hold_at),
        ("ramp down", spec.ramp_down_at),
        ("abort", spec.abort_at),
    ];
    let lines = named.into_iter().filter_map(|(words, level)| Some((words, scale * level?)));
    lines.map(|(words, level)| (level, prefix.to_owned() + &told(words, level, unit))).collect()
}

fn told(words: &str, level: f64, unit: &str) -> String {
    format!("{words} at {} {unit}", number(level))
}

fn peak(column: &[f64]) -> f64 {
    criteria::peak(column).map_or(0.0, |peak| peak.value.abs())
}

#[cfg(test)]
mod tests {
    use super::super::{html, sample, summary_json, summary_text};
    use super::*;

    fn guarded() -> runtime::record::Record {
        let mut record = sample::tripped().rows(6000).record();
        record.header.experiment = r#"title = "x"
duration = "40 s"
structure = { mass = ["1 t"], stiffness = ["1 MN/m"] }
partition = { interface = [1], stiffness = ["0.1 MN/m"] }
excitation = { ground = { synthetic = { peak = "0.1 g" } } }
integrator = { method = "rk4", rate = "1024 Hz" }
[monitor]
stability_warning = { warn_at = "40 %", stop_at = "90 %" }
windowed_warning = { hold_at = "70 %" }
energy_error = { warn_at = "30 %" }
forecast = { warn_below = "3 s" }
tracking = { delay = { warn_at = "2 ms" }, amplitude = { warn_at = "10 %" } }
limits_used = { warn_at = "80 %" }
"#
        .to_owned();
        let rows = record.columns[0].len();
        for (name, value) in [
            ("stability_warning.windowed", 33.0),
            ("forecast", f64::INFINITY),
            ("energy_error", -12.0),
            ("tracking.delay.1", 0.004),
            ("tracking.amplitude.1", 0.97),
            ("tracking.valid.1", 1.0),
            ("limits_used.force", 55.0),
        ] {
            record.channels.push(model::channel::Channel::new(name, "", ""));
            record.columns.push(vec![value; rows]);
        }
        record.summary.as_mut().unwrap().events = vec![runtime::record::EventNote {
            time_s: 1.25,
            what: "warning".into(),
            text: "stability <b>warning</b>: 40.1 % \u{1b}[31m".into(),
            value: Some(40.1),
            limit: Some(40.0),
        }];
        record
    }

    #[test]
    fn every_indicator_is_drawn_with_its_levels() {
        let record = guarded();
        let findings = Findings::of(&record).unwrap();
        let shown = warning(&findings).unwrap().plotly(100);
        let words = shown["layout"]["annotations"].to_string();
        for level in ["warn at 40.00 %", "stop at 90.00 %", "windowed: hold at 70.00 %"] {
            assert!(words.contains(level), "{level}: {words}");
        }
        assert_eq!(shown["data"].as_array().unwrap().len(), 2);
        let titles: Vec<String> = figures(&findings).iter().map(|f| f.title.clone()).collect();
        let all = ["Forecast", "Energy error", "Tracking while the test ran", "Use of the limits"];
        assert_eq!(titles, all);
        assert_eq!(findings.gaps, [], "a forecast of never is no gap");
    }

    #[test]
    fn events_are_told_in_every_form_and_cannot_mark_up() {
        let record = guarded();
        let (page, text) = (html(&record).unwrap(), summary_text(&record));
        assert!(page.contains("stability &lt;b&gt;warning&lt;/b&gt;: 40.1 %"));
        assert!(text.contains("1.250") && text.contains("40.1 %") && !text.contains('\u{1b}'));
        let json = summary_json(&record);
        assert_eq!(json["events"][0]["what"], "warning");
        assert_eq!(json["events"][0]["limit"], 40.0);
        assert_eq!(json["events"].as_array().unwrap().len(), 1);
    }
}
