//! Figures of single channels: energies, the monitor's indicators with their levels, the use
//! of the limits, the factors of a compensator.

use experiment::MonitorSpec;
use experiment::watch::LevelsSpec;

use super::histories::{Curve, Histories, LOW, Unit, peak};
use crate::page::text::number;
use crate::page::{Figure, Pane, Role};

/// A stability warning above this is not worth a scale, in per cent.
const HIGHEST_WARNING: f64 = 400.0;
/// A forecast beyond this is not worth a scale, s.
const LONGEST_FORECAST: f64 = 20.0;

/// A level to draw and its words.
type Line = (f64, String);

impl<'a> Histories<'a> {
    fn monitor(&self) -> Option<&MonitorSpec> {
        self.findings.experiment.as_ref().map(|experiment| &experiment.monitor)
    }

    /// The channels that the record has of these, by channel and name.
    fn known(&self, channels: &[(&str, &'a str)]) -> Vec<Curve<'a>> {
        let known = channels.iter().enumerate().filter_map(|(number, (channel, name))| {
            Some((Role::Other(number), *name, self.findings.view.column(channel)?))
        });
        known.collect()
    }

    /// The energies of the numerical substructure.
    pub(super) fn energies(&self) -> Option<Figure> {
        let curves = self.known(&[
            ("energy.input", "input work"),
            ("energy.dissipated", "dissipated"),
            ("energy.kinetic", "kinetic"),
            ("energy.strain", "strain"),
            ("energy.numerical", "numerical damping"),
            ("energy.feedback", "fed back by the specimen"),
        ]);
        let most = curves.iter().map(|curve| peak(curve.2)).reduce(f64::max)?;
        let pane = self.scaled("Energy", &Unit::of("J", most), &curves);
        let caption = "Work fed back that outgrows the dissipated energy means that the loop adds \
                       energy: the test is going unstable.";
        Some(self.figure("Energies of the numerical substructure", caption, vec![pane]))
    }

    /// The stability warning, the windowed one beside it.
    pub(super) fn warning(&self) -> Option<Figure> {
        let curves = self.known(&[
            ("stability_warning", "stability warning SW"),
            ("stability_warning.windowed", "windowed SW"),
        ]);
        let highest = curves.iter().map(|curve| peak(curve.2)).reduce(f64::max)?;
        let mut caption = "SW = 100 · W_F / (E_d + C_SW): energy fed back by the specimen as a \
                           share of the energy dissipated in the numerical substructure."
            .to_owned();
        if curves.len() > 1 {
            caption += " The windowed one counts the recent past alone.";
        }
        let mut limits = vec![(100.0, "100 %: more energy fed back than dissipated".to_owned())];
        if let Some(monitor) = self.monitor() {
            // At 100 % the line is there already.
            let stop = monitor.stability_warning.stop_at.filter(|&stop| stop != 1.0);
            limits.extend(stop.map(|stop| line("stop", 100.0 * stop, "%")));
            let mut more = levels(&monitor.stability_warning.levels(), 100.0, "%");
            if let Some(windowed) = &monitor.windowed_warning {
                let windowed = levels(&windowed.levels, 100.0, "%").into_iter();
                more.extend(windowed.map(|(level, words)| (level, format!("windowed: {words}"))));
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
        let pane = self.plain("Stability warning", "%", &curves);
        let pane = within(limited(pane, limits), 0.0, top);
        Some(self.figure("Stability warning", caption, vec![pane]))
    }

    pub(super) fn forecast(&self) -> Option<Figure> {
        let curve = (Role::Other(2), "forecast", self.findings.view.column("forecast")?);
        let spec = self.monitor().and_then(|monitor| monitor.forecast.as_ref());
        let limits = spec.map_or_else(Vec::new, |spec| levels(&spec.levels(), 1.0, "s"));
        let pane = limited(self.plain("Time to 100 %", "s", &[curve]), limits);
        let caption = "Time left until the stability warning reaches 100 %, if the trend of its \
                       crests holds. Where nothing is drawn it does not rise, or the time is \
                       beyond the picture.";
        Some(self.figure("Forecast", caption, vec![within(pane, 0.0, LONGEST_FORECAST)]))
    }

    pub(super) fn energy_error(&self) -> Option<Figure> {
        let column = self.findings.view.column("energy_error")?;
        let curve = (Role::Error, "energy error index EEI", column);
        let spec = self.monitor().and_then(|monitor| monitor.energy_error.as_ref());
        let limits = spec.map_or_else(Vec::new, |spec| levels(&spec.levels, 100.0, "%"));
        let pane = self.plain("Energy error", "%", &[curve]);
        let pane = limits.iter().fold(pane, |pane, (level, _)| pane.limit(-level, ""));
        let caption = "What is missing in the energy balance when the specimen is taken at its \
                       measured displacement, as a share of the input work. Below zero the \
                       transfer system feeds energy in, above it takes energy out.";
        Some(self.figure("Energy error", caption, vec![limited(pane, limits)]))
    }

    /// Delay and amplitude in a moving window.
    pub(super) fn windowed_tracking(&self) -> Vec<Figure> {
        let view = &self.findings.view;
        let spec = self.monitor().and_then(|monitor| monitor.tracking.as_ref());
        let figures = self.shown().filter_map(|(index, interface)| {
            let of = |name: &str| view.column(&format!("tracking.{name}.{}", interface.name));
            let valid = of("valid").unwrap_or_default();
            // Where there was no motion there is nothing to draw.
            let known = |column: &[f64], scale: f64| -> Vec<f64> {
                let cells = column.iter().enumerate();
                let is_valid = |row| valid.get(row) != Some(&0.0);
                cells.map(|(row, x)| if is_valid(row) { scale * x } else { f64::NAN }).collect()
            };
            let (delay, amplitude) = (known(of("delay")?, 1e3), known(of("amplitude")?, 1.0));
            let mut late = self.plain("Delay", "ms", &[(Role::Other(3), "delay", &delay)]);
            let curve = (Role::Other(4), "amplitude ratio", &*amplitude);
            let mut size = self.plain("Amplitude", "–", &[curve]).high(LOW);
            if let Some(spec) = spec {
                late = limited(late, levels(&spec.delay.levels, 1e3, "ms"));
                for (level, words) in levels(&spec.amplitude.levels, 100.0, "% off") {
                    size = size.limit(1.0 + 0.01 * level, words).limit(1.0 - 0.01 * level, "");
                }
            }
            let caption = "Delay and amplitude ratio of the measured against the desired motion in \
                           a moving window; nothing is drawn where there was too little motion to \
                           tell.";
            let title = self.name("Tracking while the test ran", index);
            Some(self.figure(title, caption, vec![late.high(200.0), size]))
        });
        figures.collect()
    }

    pub(super) fn limits_used(&self) -> Option<Figure> {
        let curves = self.known(&[
            ("limits_used.position", "displacement"),
            ("limits_used.rate", "rate"),
            ("limits_used.force", "force"),
            ("limits_used.tracking_error", "tracking error"),
        ]);
        curves.first()?;
        let pane = self.plain("Share of the limit", "%", &curves);
        let pane = pane.limit(100.0, "100 %: the gate trips");
        let spec = self.monitor().and_then(|monitor| monitor.limits_used.as_ref());
        let limits = spec.map_or_else(Vec::new, |spec| levels(&spec.levels, 100.0, "%"));
        let pane = within(limited(pane, limits), 0.0, 110.0);
        let caption = "How much of each limit was used, the largest over the interface DOFs.";
        Some(self.figure("Use of the limits", caption, vec![pane]))
    }

    /// The factors that an adaptive compensator has learnt.
    pub(super) fn adaptation(&self) -> Vec<Figure> {
        const FACTORS: [(&str, &str, &str, f64); 4] = [
            ("a₀", "a₀ (displacement)", "–", 1.0),
            ("a₁", "a₁ (velocity)", "ms", 1e3),
            ("a₂", "a₂ (acceleration)", "ms²", 1e6),
            ("a₃", "a₃ (jerk)", "ms³", 1e9),
        ];
        let figures = self.shown().filter_map(|(index, interface)| {
            let panes = (0..).zip(FACTORS).filter_map(|(order, (factor, name, unit, scale))| {
                let channel = format!("compensator.{}.a{order}", interface.name);
                let curve = (Role::Other(order), name, self.findings.view.column(&channel)?);
                let unit = Unit { name: unit.to_owned(), scale };
                Some(self.scaled(factor, &unit, &[curve]).high(LOW))
            });
            let panes: Vec<Pane> = panes.collect();
            let caption = "The command is a₀ × displacement + a₁ × velocity + … of the desired \
                           motion. a₁ is about the delay of the rig, a₀ the inverse of its gain.";
            let title = self.name("Adapted factors of the compensator", index);
            (!panes.is_empty()).then(|| self.figure(title, caption, panes))
        });
        figures.collect()
    }
}

fn limited(pane: Pane, limits: Vec<Line>) -> Pane {
    limits.into_iter().fold(pane, |pane, (level, words)| pane.limit(level, words))
}

fn within(pane: Pane, low: f64, high: f64) -> Pane {
    Pane { y: pane.y.clone().range(low, high), ..pane }
}

/// The levels of an indicator.
fn levels(spec: &LevelsSpec, scale: f64, unit: &str) -> Vec<Line> {
    let named = [
        ("warn", spec.warn_at),
        ("hold", spec.hold_at),
        ("ramp down", spec.ramp_down_at),
        ("abort", spec.abort_at),
    ];
    let lines = named.into_iter().filter_map(|(words, at)| Some(line(words, scale * at?, unit)));
    lines.collect()
}

fn line(words: &str, level: f64, unit: &str) -> Line {
    (level, format!("{words} at {} {unit}", number(level)))
}

#[cfg(test)]
mod tests {
    use runtime::record::{EventKind, EventNote};

    use super::super::tests::{json, sample, text};
    use super::super::{Findings, html};
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
        let (page, text) = (html(&record).unwrap(), text(&record));
        assert!(page.contains("stability &lt;b&gt;warning&lt;/b&gt;: 40.1 %"));
        assert!(text.contains("1.250") && text.contains("40.1 %") && !text.contains('\u{1b}'));
        let json = json(&record);
        assert_eq!(json["events"][0]["what"], "warning");
        assert_eq!(json["events"][0]["limit"], 40.0);
        assert_eq!(json["events"].as_array().unwrap().len(), 1);
    }
}
