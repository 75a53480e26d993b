//! Checks of `[excitation]`.

use super::super::Experiment;
use super::super::diagnostic::{Diagnostic, shorten};
use super::super::excitation::{Excitation, SignalFile, SignalFormat, SignalSource};
use super::super::sweep::Place;
use super::File;
use keys::Keys as _;
use keys::describe::Shape;
use keys::quantity::Kind;
use keys::tree::{Branch, Node};
use model::excitation::{Generated, Impulse, Synthetic};

pub(super) fn check(file: &File<'_>, found: &mut Vec<Diagnostic>) {
    let Some(excitation) = file.section(Experiment::EXCITATION) else { return };
    let ground = excitation.table(Excitation::GROUND);
    for signal in ground.into_iter().chain(excitation.tables(Excitation::FORCES)) {
        check_envelope(signal, file, found);
        check_start(signal, file, found);
    }
    // The stream has a rate of its own.
    let signals = [Excitation::GROUND, Excitation::FORCES];
    let nyquist_hz = file.pace.map_or(f64::INFINITY, |pace| pace.rate_hz() / 2.0);
    for signal in
        signals.iter().filter_map(|key| Place::of(file.root, &[Experiment::EXCITATION, key]))
    {
        signal.each(&mut |shape, node| {
            if let (Shape::Quantity(Kind::Frequency, ..), Some(frequency)) = (shape, node.number())
                && frequency > nyquist_hz
            {
                let error =
                    node.error(format!("{frequency} Hz is above half the rate of the loop"));
                let remedy =
                    format!("stay below {nyquist_hz} Hz, or raise the rate in [integrator]");
                found.push(error.remedy(remedy));
            }
        });
    }
}

/// The envelope of an earthquake fits into its length.
fn check_envelope(signal: &Branch, file: &File<'_>, found: &mut Vec<Diagnostic>) {
    let Some(synthetic) = signal.table(Generated::SYNTHETIC) else { return };
    let (Some(duration), Some(declared)) = (file.duration_s, Synthetic::read_table(synthetic))
    else {
        return;
    };
    let quake = declared.earthquake(duration, 0);
    let (rise, decay, length) = (quake.rise_s, quake.decay_s, quake.duration_s);
    if rise + decay > length
        && let Some(node) = synthetic.node(Synthetic::DECAY_S).or(synthetic.node(Synthetic::RISE_S))
    {
        let message = format!("rise {rise} s and decay {decay} s do not fit into {length} s");
        found.push(node.error(message).remedy("shorten them, or lengthen `duration`"));
    }
}

/// A signal that begins after the end of the test does nothing.
fn check_start(signal: &Branch, file: &File<'_>, found: &mut Vec<Diagnostic>) {
    let (Some(source), Some(duration)) = (SignalSource::read_table(signal), file.duration_s) else {
        return;
    };
    let start = source.start_s();
    if start < duration {
        return;
    }
    let tables = signal.entries.values().filter_map(Node::table).chain([signal]);
    let place = tables.filter_map(|it| it.given(SignalFile::START_S).or(it.given(Impulse::AT_S)));
    let message = format!("the signal begins at {start} s, after the test of {duration} s");
    found.extend(place.map(|node| node.warning(&message).remedy("begin it earlier")));
}

impl SignalFile {
    /// Its format is known, and its columns go with that.
    pub(crate) fn check(&self, branch: &Branch, found: &mut Vec<Diagnostic>) {
        match self.format() {
            None => {
                let shown = shorten(&self.name);
                let error =
                    branch.error(Self::NAME, format!("the format of \"{shown}\" is not known"));
                found.push(error.remedy("add `format = \"csv\"` or `format = \"at2\"`"));
            }
            Some(SignalFormat::At2) => {
                for key in [Self::COLUMN, Self::TIME_COLUMN, Self::STEP_S] {
                    if let Some(node) = branch.given(key) {
                        let error = node.error(format!("`{key}` does not go with an AT2 record"));
                        found.push(error.remedy("remove it: the record states its own step"));
                    }
                }
            }
            Some(SignalFormat::Csv) => {
                if self.step_s.is_some() && self.time_column.is_some() {
                    let message = "`step` and `time_column` exclude one another";
                    let error = branch.error(Self::STEP_S, message);
                    found.push(error.remedy("remove `step` if the file has a column of times"));
                }
                if self.column.is_some() && self.column == self.time_column {
                    let message = "`column` and `time_column` are the same";
                    let error = branch.error(Self::COLUMN, message);
                    found.push(error.remedy("give the signal and the time their own columns"));
                }
            }
        }
    }
}
