//! Figures of single channels: energies, the monitor's indicators with their levels, the use
//! of the limits, the factors of a compensator.

use std::iter;

use runtime::monitor::{KINDS, MonitorPlan, Plot, PlotLine, PlotPane, PlotSection, WARNING};

use super::histories::{Curve, Histories, LOW, Unit, peak};
use crate::page::text::number;
use crate::page::{Figure, Pane, Role};

/// A stability warning above this is not worth a scale, in per cent.
const HIGHEST_WARNING: f64 = 400.0;
/// Height of the first of several panes.
const FIRST: f64 = 200.0;

impl<'a> Histories<'a> {
    /// What the test asked for; nothing where its file cannot be read.
    fn monitor(&self) -> MonitorPlan {
        self.findings.experiment.as_ref().map(|it| it.monitor).unwrap_or_default()
    }

    /// The figures of every indicator, with the levels of the test.
    fn plots(&self) -> impl Iterator<Item = Plot> {
        let monitor = self.monitor();
        KINDS.iter().flat_map(move |kind| (kind.plots)(&monitor))
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
            ("energy.feedback", "fed back by the specimen"),
        ]);
        let most = curves.iter().map(|curve| peak(curve.2)).reduce(f64::max)?;
        let pane = self.scaled("Energy", &Unit::of("J", most), &curves);
        let caption = "Work fed back that outgrows the dissipated energy means that the loop adds \
                       energy: the test is going unstable.";
        Some(self.figure("Energies of the numerical substructure", caption, vec![pane]))
    }

    /// The stability warning, with the indicators that share its figure.
    pub(super) fn warning(&self) -> Option<Figure> {
        let mut curves = self.known(&[("stability_warning", "stability warning SW")]);
        let mut caption = "SW = 100 · W_F / (E_d + C_SW): energy fed back by the specimen as a \
                           share of the energy dissipated in the numerical substructure."
            .to_owned();
        let spec = self.monitor().stability_warning.value;
        let mut limits = vec![(100.0, "100 %: more energy fed back than dissipated".to_owned())];
        // At 100 % the line is there already.
        let stop = spec.stop_at.filter(|&stop| stop != 1.0).map(|stop| ("stop", stop));
        for (name, level) in stop.into_iter().chain(spec.levels().named()) {
            one_place(&mut limits, 100.0 * level, words(name, 100.0 * level, "%"));
        }
        for plot in self.plots().filter(|plot| plot.title == WARNING) {
            for pane in plot.panes {
                let beside = self.known(pane.curves).into_iter().zip(curves.len()..);
                let beside: Vec<Curve<'_>> =
                    beside.map(|((_, name, values), n)| (Role::Other(n), name, values)).collect();
                caption += &beside.iter().map(|_| format!(" {}", plot.caption)).collect::<String>();
                curves.extend(beside);
                for line in &pane.lines {
                    one_place(&mut limits, line.at, format!("windowed: {}", told(line)));
                }
            }
        }
        let highest = curves.iter().map(|curve| peak(curve.2)).reduce(f64::max)?;
        let top = (1.08 * highest).clamp(120.0, HIGHEST_WARNING);
        if let Some(time) = self.findings.warning_reached_s {
            caption += &format!(" It reached 100 % at {} s.", number(time));
        }
        if highest > top {
            caption += &format!(" It goes on to {} %, beyond the picture.", number(highest));
        }
        let pane = self.plain(WARNING, "%", &curves);
        let pane = limits.into_iter().fold(pane, |pane, (level, words)| pane.limit(level, words));
        Some(self.figure(WARNING, caption, vec![within(pane, 0.0, top)]))
    }

    /// The figures of the other indicators in a section.
    pub(super) fn indicators(&self, section: PlotSection) -> Vec<Figure> {
        let plots = self.plots().filter(|plot| plot.section == section && plot.title != WARNING);
        plots.flat_map(|plot| self.indicator(&plot)).collect()
    }

    fn indicator(&self, plot: &Plot) -> Vec<Figure> {
        let figure = |title: String, of_dof: &str, valid: &[f64]| {
            let panes = plot.panes.iter().filter_map(|pane| self.drawn(pane, of_dof, valid));
            let panes: Vec<Pane> = match panes.collect::<Vec<_>>() {
                panes if panes.len() > 1 => {
                    let heights = iter::once(FIRST).chain(iter::repeat(LOW));
                    panes.into_iter().zip(heights).map(|(pane, height)| pane.high(height)).collect()
                }
                panes => panes,
            };
            (!panes.is_empty()).then(|| self.figure(title, plot.caption, panes))
        };
        let Some(family) = plot.of_dof else {
            return figure(plot.title.to_owned(), "", &[]).into_iter().collect();
        };
        let figures = self.shown().filter_map(|(index, interface)| {
            let of_dof = format!(".{}", interface.name);
            let valid = self.findings.view.column(&format!("{family}.valid{of_dof}"));
            figure(self.name(plot.title, index), &of_dof, valid.unwrap_or_default())
        });
        figures.collect()
    }

    /// A pane of an indicator, if the record has its channels; nothing is drawn where `valid` is 0.
    fn drawn(&self, pane: &PlotPane, of_dof: &str, valid: &[f64]) -> Option<Pane> {
        let columns = pane.curves.iter().enumerate().filter_map(|(number, (channel, name))| {
            let column = self.findings.view.column(&format!("{channel}{of_dof}"))?;
            let is_valid = |row| valid.get(row) != Some(&0.0);
            let cells = column.iter().enumerate();
            let cells = cells.map(|(row, &x)| if is_valid(row) { x } else { f64::NAN });
            Some((Role::Other(number), *name, cells.collect()))
        });
        let columns: Vec<(Role, &str, Vec<f64>)> = columns.collect();
        let curves: Vec<Curve<'_>> =
            columns.iter().map(|(role, name, x)| (*role, *name, &**x)).collect();
        let unit = Unit { name: pane.unit.to_owned(), scale: pane.scale };
        let plain = (!curves.is_empty()).then(|| self.scaled(pane.quantity, &unit, &curves))?;
        let limited = pane.lines.iter().fold(plain, |drawn, line| drawn.limit(line.at, told(line)));
        Some(match pane.range {
            Some((low, high)) => within(limited, low, high),
            None => limited,
        })
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

/// Two lines in one place have one text.
fn one_place(limits: &mut Vec<(f64, String)>, level: f64, words: String) {
    match limits.iter_mut().find(|(known, _)| *known == level) {
        Some((_, known)) => *known += &format!("; {words}"),
        None => limits.push((level, words)),
    }
}

fn within(pane: Pane, low: f64, high: f64) -> Pane {
    Pane { y: pane.y.clone().range(low, high), ..pane }
}

/// What stands at a level.
fn told(line: &PlotLine) -> String {
    line.level.map_or_else(|| line.words.to_owned(), |(level, unit)| words(line.words, level, unit))
}

fn words(name: &str, level: f64, unit: &str) -> String {
    format!("{name} at {} {unit}", number(level))
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
