//! Figures of the monitor, every indicator with its levels drawn in, and the use of the limits.

use experiment::watch::LevelsSpec;
use experiment::{MonitorSpec, PerDof};

use super::findings::Findings;
use super::histories::{FORCES, Histories, LENGTHS, LOW, Prefixed, Unit, peak};
use crate::page::text::{label, number, seconds};
use crate::page::{Figure, Pane, Role, Table};

/// A stability warning above this is not worth a scale, in per cent.
const HIGHEST_WARNING: f64 = 400.0;
/// A forecast beyond this is not worth a scale, s.
const LONGEST_FORECAST: f64 = 20.0;

impl Histories<'_> {
    fn monitor(&self) -> Option<&MonitorSpec> {
        self.findings.experiment.as_ref().map(|experiment| &experiment.monitor)
    }

    /// The stability warning, the windowed one beside it.
    pub(super) fn warning(&self) -> Option<Figure> {
        let view = &self.findings.view;
        let column = view.column("stability_warning")?;
        let mut highest = peak(column);
        let mut curves = vec![(Role::Other(0), "stability warning SW", column.into())];
        let mut caption = "SW = 100 · W_F / (E_d + C_SW): energy fed back by the specimen as a \
                           share of the energy dissipated in the numerical substructure."
            .to_owned();
        if let Some(windowed) = view.column("stability_warning.windowed") {
            curves.push((Role::Other(1), "windowed SW", windowed.into()));
            highest = highest.max(peak(windowed));
            caption += " The windowed one counts the recent past alone.";
        }
        let mut limits = vec![(100.0, "100 %: more energy fed back than dissipated".to_owned())];
        if let Some(monitor) = self.monitor() {
            // At 100 % the line is there already.
            let stop = monitor.stability_warning.stop_at.filter(|&stop| stop != 1.0);
            limits.extend(stop.map(|stop| (100.0 * stop, told("stop", 100.0 * stop, "%"))));
            let mut more = levels(&monitor.stability_warning.levels(), 100.0, "%", "");
            if let Some(windowed) = &monitor.windowed_warning {
                more.extend(levels(&windowed.levels, 100.0, "%", "windowed: "));
            }
            for (level, words) in more {
                // Two lines in one place have one text.
                match limits.iter_mut().find(|(known, _)| *known == level) {
                    Some((_, known)) => *known += &format!("; {words}"),
                    None => limits.push((level, words)),
                }
            }
        }
        let top = (1.08 * highest).clamp(120.0, HIGHEST_WARNING);
        if let Some(time) = self.findings.warning_reached_s {
            caption += &format!(" It reached 100 % at {} s.", number(time));
        }
        if highest > top {
            caption += &format!(" It goes on to {} %, beyond the picture.", number(highest));
        }
        let pane = limited(self.plain("Stability warning", "%", curves), limits);
        let pane = Pane { y: pane.y.clone().range(0.0, top), ..pane };
        Some(self.figure("Stability warning", caption, vec![pane]))
    }

    pub(super) fn forecast(&self) -> Option<Figure> {
        let column = self.findings.view.column("forecast")?;
        let pane =
            self.plain("Time to 100 %", "s", vec![(Role::Other(2), "forecast", column.into())]);
        let spec = self.monitor().and_then(|monitor| monitor.forecast.as_ref());
        let limits = spec.map_or_else(Vec::new, |spec| levels(&spec.levels(), 1.0, "s", ""));
        let pane = limited(pane, limits);
        let pane = Pane { y: pane.y.clone().range(0.0, LONGEST_FORECAST), ..pane };
        let caption = "Time left until the stability warning reaches 100 %, if the trend of its \
                       crests holds. Where nothing is drawn it does not rise, or the time is \
                       beyond the picture.";
        Some(self.figure("Forecast", caption, vec![pane]))
    }

    pub(super) fn energy_error(&self) -> Option<Figure> {
        let column = self.findings.view.column("energy_error")?;
        let curves = vec![(Role::Error, "energy error index EEI", column.into())];
        let spec = self.monitor().and_then(|monitor| monitor.energy_error.as_ref());
        let mut limits = spec.map_or_else(Vec::new, |spec| levels(&spec.levels, 100.0, "%", ""));
        let below: Vec<_> = limits.iter().map(|(level, _)| (-level, String::new())).collect();
        limits.extend(below);
        let pane = limited(self.plain("Energy error", "%", curves), limits);
        let caption = "What is missing in the energy balance when the specimen is taken at its \
                       measured displacement, as a share of the input work. Below zero the \
                       transfer system feeds energy in, above it takes energy out.";
        Some(self.figure("Energy error", caption, vec![pane]))
    }

    /// Delay and amplitude in a moving window.
    pub(super) fn windowed_tracking(&self) -> Vec<Figure> {
        let view = &self.findings.view;
        let figures = self.findings.shown_interfaces.iter().filter_map(|&index| {
            let interface = &view.interfaces[index];
            let of = |name: &str| view.column(&format!("tracking.{name}.{}", interface.name));
            let (delay, amplitude) = (of("delay")?, of("amplitude")?);
            let valid = of("valid").unwrap_or_default();
            // Where there was no motion there is nothing to draw.
            let known = |column: &[f64]| -> Vec<f64> {
                let cells = column.iter().enumerate();
                cells
                    .map(|(row, &x)| if valid.get(row) == Some(&0.0) { f64::NAN } else { x })
                    .collect()
            };
            let late = vec![(Role::Other(3), "delay", known(delay).into())];
            let size = vec![(Role::Other(4), "amplitude ratio", known(amplitude).into())];
            let mut late = self.milli("Delay", "ms", late).high(200.0);
            let mut size = self.plain("Amplitude", "–", size).high(LOW);
            if let Some(spec) = self.monitor().and_then(|monitor| monitor.tracking.as_ref()) {
                late = limited(late, levels(&spec.delay.levels, 1e3, "ms", ""));
                for (level, words) in levels(&spec.amplitude.levels, 100.0, "% off", "") {
                    size = size.limit(1.0 + 0.01 * level, words).limit(1.0 - 0.01 * level, "");
                }
            }
            let title = self.name("Tracking while the test ran", interface);
            let caption = "Delay and amplitude ratio of the measured against the desired motion in \
                           a moving window; nothing is drawn where there was too little motion to \
                           tell.";
            Some(self.figure(title, caption, vec![late, size]))
        });
        figures.collect()
    }

    pub(super) fn limits_used(&self) -> Option<Figure> {
        const NAMES: [(&str, &str); 4] = [
            ("position", "displacement"),
            ("rate", "rate"),
            ("force", "force"),
            ("tracking_error", "tracking error"),
        ];
        let curves: Vec<_> = NAMES
            .iter()
            .enumerate()
            .filter_map(|(index, (name, words))| {
                let column = self.findings.view.column(&format!("limits_used.{name}"))?;
                Some((Role::Other(index), *words, column.into()))
            })
            .collect();
        if curves.is_empty() {
            return None;
        }
        let pane =
            self.plain("Share of the limit", "%", curves).limit(100.0, "100 %: the gate trips");
        let spec = self.monitor().and_then(|monitor| monitor.limits_used.as_ref());
        let pane =
            limited(pane, spec.map_or_else(Vec::new, |spec| levels(&spec.levels, 100.0, "%", "")));
        let pane = Pane { y: pane.y.clone().range(0.0, 110.0), ..pane };
        let caption = "How much of each limit was used, the largest over the interface DOFs.";
        Some(self.figure("Use of the limits", caption, vec![pane]))
    }
}

/// A quantity, its limit, its course and its units.
type Limited<'a> = (&'a str, &'a Option<PerDof>, &'a [f64], &'a [Prefixed]);

/// What the gate allows, and what was used of it.
pub(super) fn limits(findings: &Findings<'_>) -> Table {
    let header = ["Limit", "Allowed", "Peak", "Unit", "Share [%]", "At"];
    let mut table = Table::new("", &header);
    let Some(limits) = findings.experiment.as_ref().map(|experiment| &experiment.limits) else {
        return table;
    };
    let view = &findings.view;
    let several = view.interfaces.len() > 1;
    for (index, interface) in view.interfaces.iter().enumerate() {
        let error = super::findings::difference(interface.command, &interface.measured);
        let rows: [Limited<'_>; 3] = [
            ("command", &limits.command, interface.command, &LENGTHS),
            ("force", &limits.force, &interface.force, &FORCES),
            ("tracking error", &limits.tracking_error, &error, &LENGTHS),
        ];
        for (name, limit, column, units) in rows {
            let Some(limit) = limit.as_ref().and_then(|limit| limit.get(index)) else { continue };
            let unit = Unit::choose(limit, units);
            let found = analysis::criteria::peak(column);
            let (value, time) = found.map_or((f64::NAN, "–".to_owned()), |found| {
                (found.value.abs(), seconds(view.time[found.index]))
            });
            let at = if several {
                format!(", interface {}", label(&interface.name))
            } else {
                String::new()
            };
            table.rows.push(vec![
                format!("{name}{at}"),
                number(unit.scale * limit),
                number(unit.scale * value),
                unit.name.to_owned(),
                number(100.0 * value / limit),
                time,
            ]);
        }
    }
    table
}

fn limited(pane: Pane, limits: Vec<(f64, String)>) -> Pane {
    limits.into_iter().fold(pane, |pane, (level, words)| pane.limit(level, words))
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

#[cfg(test)]
mod tests {
    use runtime::record::{EventKind, EventNote};

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
        let text = "stability <b>warning</b>: 40.1 % \u{1b}[31m";
        record.summary.as_mut().unwrap().events = vec![EventNote {
            value: Some(40.1),
            limit: Some(40.0),
            ..EventNote::new(1.25, EventKind::Warning, text)
        }];
        record
    }

    #[test]
    fn every_indicator_is_drawn_with_its_levels() {
        let record = guarded();
        let findings = Findings::of(&record).unwrap();
        let histories = Histories::of(&findings);
        let shown = histories.warning().unwrap();
        let words = format!("{:?}", shown.panes[0].lines);
        for level in ["warn at 40.00 %", "stop at 90.00 %", "windowed: hold at 70.00 %"] {
            assert!(words.contains(level), "{level}: {words}");
        }
        assert_eq!(shown.panes[0].series.len(), 2);
        let page = html(&record).unwrap();
        for title in
            ["Forecast", "Energy error", "Tracking while the test ran", "Use of the limits"]
        {
            assert!(page.contains(&format!("<h3>{title}</h3>")), "{title}");
        }
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
