//! Checks of `[excitation]`.

use super::super::Experiment;
use super::super::diagnostic::{Diagnostic, Diagnostics, shorten};
use super::super::excitation::{
    Chirp, Excitation, Harmonic, Impulse, Multisine, Noise, SignalFile, SignalFormat, SignalSource,
    Synthetic,
};
use super::super::input::Column;
use super::pace;
use keys::tree::{Branch, Node};
use keys::value::key;
use keys::{Keys as _, Read as _};

/// Most sines in a multisine.
const MOST_LINES: f64 = 1e5;

/// What a signal is checked against.
struct Test {
    duration: Option<f64>,
    /// Half the rate of the loop: faster motion is not seen.
    nyquist: Option<f64>,
}

pub(super) fn check(root: &Branch, out: &mut Diagnostics) {
    let Some(excitation) = root.table(Experiment::EXCITATION) else { return };
    let nyquist = pace(root).map(|pace| pace.rate_hz() / 2.0);
    let test = Test { duration: root.number(Experiment::DURATION_S), nyquist };
    let ground = excitation.table(Excitation::GROUND);
    for signal in ground.into_iter().chain(excitation.tables(Excitation::FORCES)) {
        check_file(signal, out);
        check_generators(signal, &test, out);
    }
}

fn check_file(signal: &Branch, out: &mut Diagnostics) {
    let Some(file) = signal.given(SignalFile::NAME) else { return };
    let name = file.text().unwrap_or_default();
    let stated: Option<SignalFormat> = key(signal, SignalFile::FORMAT);
    let at = |node: &Node, message: String| Diagnostic::error(message).at(node.span.clone());
    match SignalFormat::of(stated, name) {
        None => {
            let shown = shorten(name);
            let error = at(file, format!("the format of \"{shown}\" is not known"));
            out.push(error.remedy("add `format = \"csv\"` or `format = \"at2\"`"));
        }
        Some(SignalFormat::At2) => {
            for key in [SignalFile::COLUMN, SignalFile::TIME_COLUMN, SignalFile::STEP_S] {
                if let Some(node) = signal.given(key) {
                    let error = at(node, format!("`{key}` does not go with an AT2 record"));
                    out.push(error.remedy("remove it: the record states its own step"));
                }
            }
        }
        Some(SignalFormat::Csv) => {
            let column = |key| signal.given(key).and_then(Column::read);
            if let (Some(step), Some(_)) =
                (signal.given(SignalFile::STEP_S), column(SignalFile::TIME_COLUMN))
            {
                let error = at(step, "`step` and `time_column` exclude one another".to_owned());
                out.push(error.remedy("remove `step` if the file has a column of times"));
            }
            if let (Some(time), Some(node)) =
                (column(SignalFile::TIME_COLUMN), signal.given(SignalFile::COLUMN))
                && Column::read(node) == Some(time)
            {
                let error = at(node, "`column` and `time_column` are the same".to_owned());
                out.push(error.remedy("give the signal and the time their own columns"));
            }
        }
    }
}

fn check_generators(signal: &Branch, test: &Test, out: &mut Diagnostics) {
    for (table, keys) in [
        (SignalSource::HARMONIC, &[Harmonic::FREQUENCY_HZ][..]),
        (SignalSource::CHIRP, &[Chirp::FROM_HZ, Chirp::TO_HZ][..]),
        (SignalSource::SYNTHETIC, &[Synthetic::GROUND_FREQUENCY_HZ][..]),
    ] {
        let Some(table) = signal.table(table) else { continue };
        keys.iter().filter_map(|key| table.node(key)).for_each(|node| frequency(node, test, out));
    }
    let bands =
        [(SignalSource::NOISE, Noise::BAND_HZ), (SignalSource::MULTISINE, Multisine::BAND_HZ)];
    for (table, band) in bands {
        let Some(node) = signal.table(table).and_then(|table| table.node(band)) else { continue };
        let Some(&[low, high]) = node.numbers().as_deref() else { continue };
        if low >= high {
            let error = Diagnostic::error(format!("the band from {low} Hz to {high} Hz is empty"));
            out.push(error.at(node.span.clone()).remedy("write the lower frequency first"));
        }
        node.list().into_iter().flatten().for_each(|edge| frequency(edge, test, out));
    }
    if let Some(multisine) = signal.table(SignalSource::MULTISINE) {
        check_lines(multisine, out);
    }
    if let Some(synthetic) = signal.table(SignalSource::SYNTHETIC) {
        check_envelope(synthetic, test, out);
    }
    check_start(signal, test, out);
}

fn frequency(node: &Node, test: &Test, out: &mut Diagnostics) {
    if let (Some(frequency), Some(nyquist)) = (node.number(), test.nyquist)
        && frequency > nyquist
    {
        let error = Diagnostic::error(format!("{frequency} Hz is above half the rate of the loop"))
            .remedy(format!("stay below {nyquist} Hz, or raise the rate in [integrator]"));
        out.push(error.at(node.span.clone()));
    }
}

fn check_lines(multisine: &Branch, out: &mut Diagnostics) {
    let period = multisine.number(Multisine::PERIOD_S);
    let Some(node) = multisine.node(Multisine::BAND_HZ) else { return };
    let (Some(&[low, high]), Some(period)) = (node.numbers().as_deref(), period) else { return };
    let available = (high * period).floor() - (low * period).ceil().max(1.0) + 1.0;
    if low < high && available < 1.0 {
        let message = format!("no multiple of 1/{period} Hz lies in the band");
        let error = Diagnostic::error(message).remedy("choose a longer period or a wider band");
        out.push(error.at(node.span.clone()));
    } else if let Some(lines) = multisine.node(Multisine::LINES)
        && lines.count().is_some_and(|lines| lines as f64 > available)
    {
        let error = Diagnostic::error(format!("the band has only {available} lines"));
        out.push(error.at(lines.span.clone()).remedy("choose fewer lines or a longer period"));
    } else if multisine.node(Multisine::LINES).is_none() && available > MOST_LINES {
        let error = Diagnostic::error(format!(
            "the band has {available:.3e} lines, at most 1e5 are summed"
        ));
        out.push(error.at(node.span.clone()).remedy("add `lines`, or choose a shorter period"));
    }
}

fn check_envelope(synthetic: &Branch, test: &Test, out: &mut Diagnostics) {
    let (Some(duration), Some(declared)) = (test.duration, Synthetic::read_table(synthetic)) else {
        return;
    };
    let quake = declared.earthquake(duration, 0);
    let (rise, decay, length) = (quake.rise_s, quake.decay_s, quake.duration_s);
    if rise + decay > length
        && let Some(node) = synthetic.node(Synthetic::DECAY_S).or(synthetic.node(Synthetic::RISE_S))
    {
        let message = format!("rise {rise} s and decay {decay} s do not fit into {length} s");
        let error = Diagnostic::error(message).remedy("shorten them, or lengthen `duration`");
        out.push(error.at(node.span.clone()));
    }
}

/// A signal that begins after the end of the test does nothing.
fn check_start(signal: &Branch, test: &Test, out: &mut Diagnostics) {
    let generated = [
        (SignalSource::HARMONIC, Harmonic::START_S),
        (SignalSource::CHIRP, Chirp::START_S),
        (SignalSource::NOISE, Noise::START_S),
        (SignalSource::IMPULSE, Impulse::AT_S),
    ];
    let starts = generated.into_iter().filter_map(|(table, key)| signal.table(table)?.given(key));
    for node in signal.given(SignalFile::START_S).into_iter().chain(starts) {
        if let (Some(start), Some(duration)) = (node.number(), test.duration)
            && start >= duration
        {
            let message = format!("the signal begins at {start} s, after the test of {duration} s");
            let warning = Diagnostic::warning(message).remedy("begin it earlier");
            out.push(warning.at(node.span.clone()));
        }
    }
}
