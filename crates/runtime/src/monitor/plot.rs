//! How a report draws an indicator: words, channels and levels, and nothing of pages.

use super::alarm::Levels;

/// A figure of an indicator. One with the title [`WARNING`] joins that of the stability warning.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// Where it stands.
    pub section: PlotSection,
    /// Its title.
    pub title: &'static str,
    /// What it shows.
    pub caption: &'static str,
    /// Where there is one for each interface DOF, whose number ends the channels: the family of
    /// channels of which `valid` is 0 where nothing is to be drawn.
    pub of_dof: Option<&'static str>,
    /// One above the other.
    pub panes: Vec<PlotPane>,
}

/// The title of the figure of the stability warning.
pub const WARNING: &str = "Stability warning";

/// The section of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlotSection {
    /// Energies and what follows from them.
    Stability,
    /// How the measured follows the desired motion.
    Tracking,
    /// What the gate allows.
    Limits,
}

/// Curves over time with the levels of their indicator.
#[derive(Debug, Clone, PartialEq)]
pub struct PlotPane {
    /// What is drawn.
    pub quantity: &'static str,
    /// In which unit.
    pub unit: &'static str,
    /// From the unit of the channels.
    pub scale: f64,
    /// Channel and name.
    pub curves: &'static [(&'static str, &'static str)],
    /// What is worth a scale; the rest is not in the picture.
    pub range: Option<(f64, f64)>,
    /// Levels.
    pub lines: Vec<PlotLine>,
}

/// A level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlotLine {
    /// Where it is drawn.
    pub at: f64,
    /// What happens there; empty for a line without words.
    pub words: &'static str,
    /// The level as it is told, with its unit; `None` where the words say it.
    pub level: Option<(f64, &'static str)>,
}

impl Plot {
    pub(super) fn new(
        section: PlotSection,
        title: &'static str,
        caption: &'static str,
        panes: impl Into<Vec<PlotPane>>,
    ) -> Self {
        Self { section, title, caption, of_dof: None, panes: panes.into() }
    }
}

impl PlotPane {
    pub(super) fn new(
        quantity: &'static str,
        unit: &'static str,
        curves: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { quantity, unit, scale: 1.0, curves, range: None, lines: Vec::new() }
    }

    pub(super) fn scaled(self, scale: f64) -> Self {
        Self { scale, ..self }
    }

    pub(super) fn within(self, low: f64, high: f64) -> Self {
        Self { range: Some((low, high)), ..self }
    }

    /// With the levels of its indicator, told by `factor` in `unit`; `places` says where each is
    /// drawn.
    pub(super) fn levels<const N: usize>(
        mut self,
        levels: &Levels,
        (factor, unit): (f64, &'static str),
        places: impl Fn(f64) -> [f64; N],
    ) -> Self {
        for (words, level) in levels.named() {
            let level = factor * level;
            for (nth, at) in places(level).into_iter().enumerate() {
                // The second line of a level needs no words.
                let (words, level) =
                    if nth == 0 { (words, Some((level, unit))) } else { ("", None) };
                self.lines.push(PlotLine { at, words, level });
            }
        }
        self
    }

    pub(super) fn line(mut self, at: f64, words: &'static str) -> Self {
        self.lines.push(PlotLine { at, words, level: None });
        self
    }
}
