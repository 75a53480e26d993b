//! The page of a reduction: the interface response of both models, their error, their motion.

use crate::page::text::number;
use crate::page::{
    Axis, Block, Figure, Grade, KeyNumber, Page, Pane, Point, Role, Section, Series,
};
use crate::page::{Symbol, Table, Verdict};

/// Interface DOFs that are drawn.
pub const DRAWN: usize = 4;
/// A relative error above this is doubtful.
pub const DOUBTFUL: f64 = 0.01;

/// What a reduction has to show.
pub struct ReductionPage {
    /// The experiment's title.
    pub title: String,
    /// How good it is, in a word and a sentence.
    pub verdict: (Grade, &'static str, String),
    /// Names and values for the head of the page.
    pub facts: Vec<(String, String)>,
    /// Quantities and values.
    pub rows: Vec<(String, String)>,
    /// End of the band, Hz.
    pub band_hz: f64,
    /// Largest relative error within the band.
    pub largest_error: f64,
    /// Receptances at each interface DOF over Hz, m/N: of the full model where it was
    /// computed, and of the reduced one.
    pub responses: Vec<[Vec<(f64, f64)>; 2]>,
    /// The relative error over Hz.
    pub errors: Vec<(f64, f64)>,
    /// Motions in time.
    pub histories: Vec<Figure>,
}

impl ReductionPage {
    /// The page.
    pub fn page(self) -> Page {
        let (grade, word, sentence) = self.verdict;
        let allowed = format!("doubtful above {} %", 100.0 * DOUBTFUL);
        let largest = format!("{} %", number(100.0 * self.largest_error));
        let numbers = vec![
            KeyNumber::new("Largest error at the interface", largest, allowed),
            KeyNumber::new("Band", format!("0 to {} Hz", number(self.band_hz)), ""),
        ];
        let rows = self.rows.into_iter().map(|(name, value)| [name, value]);
        let table = Table::new("", &["Quantity", "Value"]).rows(rows);
        let responses = self.responses.into_iter().enumerate();
        let responses = responses.map(|(dof, curves)| response(dof, self.band_hz, curves).into());
        let error = error(self.band_hz, self.errors).into();
        Page {
            kind: "Component mode synthesis",
            title: self.title,
            verdict: Verdict { grade, word: word.to_owned(), sentence, numbers },
            facts: self.facts,
            sections: vec![
                Section::new("Reduction", vec![table.into()]),
                Section::new("Response at the interface", responses.chain([error]).collect()),
                Section::new(
                    "Motion in time",
                    self.histories.into_iter().map(Block::from).collect(),
                ),
            ],
        }
    }
}

/// Receptance of one interface DOF, full as dots and reduced as a line.
fn response(dof: usize, band_hz: f64, [full, reduced]: [Vec<(f64, f64)>; 2]) -> Figure {
    let points = full.into_iter().map(Point::from).collect();
    let (role, name) = (Role::Reference, "full model".to_owned());
    let y = Axis::new("Receptance [m/N]").log();
    let pane = Pane::new(frequency(band_hz), y)
        .line(Role::Other(0), "reduced model", reduced)
        .with(Series::Points { role, name, symbol: Symbol::Circle, points });
    let caption = "Displacement over force at the interface DOF itself. The full model is shown at \
                   the frequencies where it was computed.";
    Figure::new(format!("Interface DOF {}", dof + 1), caption, vec![pane])
}

/// The error over frequency.
fn error(band_hz: f64, errors: Vec<(f64, f64)>) -> Figure {
    let percent = errors.into_iter().map(|(hertz, error)| (hertz, 100.0 * error));
    let pane = Pane::new(frequency(band_hz), Axis::new("Relative error [%]").log())
        .high(200.0)
        .line(Role::Error, "reduced against full", percent)
        .limit(100.0 * DOUBTFUL, "doubtful above");
    let caption = "Relative to the full model, over all interface DOFs together.";
    Figure::new("Error of the interface response", caption, vec![pane])
}

fn frequency(band_hz: f64) -> Axis {
    Axis::frequency().range(0.0, band_hz)
}
