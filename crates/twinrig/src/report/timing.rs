//! How punctual a real-time run was: in words, numbers and a figure.

use experiment::Experiment;
use runtime::record::{LatencyNote, TimingNote};

use super::findings::Findings;
use super::histories::Histories;
use crate::page::text::{count, counted, label};
use crate::page::{Axis, Block, Figure, Pane, Role, Series};
use crate::table::Table;

/// More facts or notices than this are not shown.
const MOST_ROWS: usize = 100;

/// The times as a table and what there is to say; nothing for a rehearsal.
pub(super) fn punctuality(findings: &Findings<'_>) -> Option<(Table, Vec<String>)> {
    let note = findings.timing()?;
    let table = Table::new(&["Latency [µs]", "", "p50", "p90", "p99", "p99.9", "max"]);
    let rows = note.latencies.iter().map(|latency| {
        let (name, words) = told(latency);
        let LatencyNote { p50_s, p90_s, p99_s, p999_s, max_s, .. } = *latency;
        let times = [p50_s, p90_s, p99_s, p999_s, max_s].map(microseconds);
        [name.to_owned(), words.to_owned()].into_iter().chain(times)
    });
    let mut lines = vec![verdict(note)];
    let notices = note.notices.iter().take(MOST_ROWS);
    lines.extend(notices.map(|notice| format!("Notice: {}", label_long(notice))));
    Some((table.aligned("<<>>>>>").filled(rows), lines))
}

/// For the page; nothing for a rehearsal with one rate.
pub(super) fn blocks(histories: &Histories<'_>) -> Vec<Block> {
    let mut blocks = Vec::new();
    if let Some((table, lines)) = punctuality(histories.findings) {
        blocks.push(table.into());
        blocks.extend(lines.into_iter().map(Block::Text));
    }
    let histogram = histories.findings.timing().and_then(histogram);
    let figures = [histogram, late_steps(histories), bridged(histories)];
    blocks.extend(figures.into_iter().flatten().map(Block::from));
    blocks
}

/// The histograms, all in one figure.
fn histogram(note: &TimingNote) -> Option<Figure> {
    let axis = |title: &str| Axis::new(title).log();
    let mut pane = Pane::new(axis("Time [µs]"), axis("Count").reach(0.6));
    let usable = |bin: &&(f64, f64, u64)| bin.0 > 0.0 && bin.1 > bin.0 && bin.2 > 0;
    for (number, latency) in note.latencies.iter().enumerate() {
        let bins = latency.bins.iter().filter(usable);
        let bins = bins.map(|&(low, high, count)| (1e6 * low, 1e6 * high, count as f64)).collect();
        let name = told(latency).0.to_owned();
        pane = pane.with(Series::Steps { role: Role::Other(number), name, bins });
    }
    let empty = note.latencies.iter().all(|latency| latency.bins.is_empty());
    let period_us = 1e6 * note.period_s;
    if period_us.is_finite() && period_us > 0.0 {
        pane.x = pane.x.reach(period_us);
        pane = pane.event(period_us, "period");
    }
    let caption = "How often each time occurred, over all ticks. The dashed line is the period: \
                   what lies beyond it missed its deadline.";
    (!empty).then(|| Figure::new("Latency histograms", caption, vec![pane]))
}

/// When the main loop was late, and by how many ticks.
fn late_steps(histories: &Histories<'_>) -> Option<Figure> {
    let bridged = histories.findings.view.column("main.bridged")?;
    let late = bridged.windows(2).filter(|pair| pair[0] == 0.0 && pair[1] > 0.0).count();
    let curve = (Role::Error, "ticks in a row", bridged);
    let mut pane = histories.plain("Ticks extrapolated", "–", &[curve]).high(160.0);
    if let Some(rates) = histories.findings.experiment.as_ref().and_then(Experiment::rates) {
        pane = pane.limit(rates.bridge as f64, format!("{} allowed", rates.bridge));
    }
    let caption = format!(
        "Points that a late step of the main loop had not delivered were extrapolated, {} times.",
        count(late as u64)
    );
    (late > 0).then(|| histories.figure("Late steps of the main loop", caption, vec![pane]))
}

/// When answers of a rig behind a wire were missing.
fn bridged(histories: &Histories<'_>) -> Option<Figure> {
    let view = &histories.findings.view;
    let column = view.column("rig.bridged").filter(|_| view.bridged > 0)?;
    let curve = (Role::Error, "ticks in a row", column);
    let pane = histories.plain("Ticks without an answer", "–", &[curve]).high(160.0);
    let caption = "Ticks in a row that had no answer of the rig when they needed one. The loop \
                   went on with what stood in for it; no curve or number above shows that.";
    Some(histories.figure("Answers of the rig that did not come in time", caption, vec![pane]))
}

/// Overruns and what the threads got, in sentences.
fn verdict(note: &TimingNote) -> String {
    let mut said = match note.overruns {
        0 => format!("No deadline missed, period {} µs.", microseconds(note.period_s)),
        overruns => format!(
            "{} late by a period or more, {} without a tick, at most {} in a row ({} allowed), \
             period {} µs.",
            counted(overruns, "tick"),
            counted(note.missed, "period"),
            count(note.most_in_a_row),
            count(note.overrun_limit),
            microseconds(note.period_s),
        ),
    };
    let facts = note.facts.iter().take(MOST_ROWS);
    let facts: Vec<String> =
        facts.map(|(name, value)| format!("{}: {}", label(name), label(value))).collect();
    if !facts.is_empty() {
        said += &format!(" {}.", facts.join("; "));
    }
    said
}

/// What a histogram is about: our words, whatever the record calls it.
fn told(latency: &LatencyNote) -> (&'static str, &'static str) {
    match latency.name.as_str() {
        "wake_up" => ("wake-up", "start of the tick after its deadline"),
        "execution" => ("execution", "duration of the tick"),
        "round_trip" => ("round trip", "from a command to the rig's answer"),
        "main.wake_up" => ("main loop wake-up", "start of a main step after its deadline"),
        "main.execution" => ("main loop execution", "duration of a main step"),
        _ => ("other", "a time this version does not know"),
    }
}

/// A time in microseconds, to a tenth below a hundred.
fn microseconds(seconds: f64) -> String {
    let value = 1e6 * seconds;
    if !value.is_finite() {
        "–".to_owned()
    } else if value < 10.0 {
        format!("{value:.2}")
    } else if value < 100.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

/// A notice may be longer than a label, and is as little to be trusted.
fn label_long(notice: &str) -> String {
    let words: Vec<String> = notice.split(' ').take(100).map(label).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::html;
    use super::super::tests::{json, sample, text};
    use super::*;
    use crate::page::figure::Scale;

    fn latency(name: &str) -> LatencyNote {
        LatencyNote {
            name: name.into(),
            count: 5,
            min_s: 5e-6,
            mean_s: 3e-5,
            p50_s: 2.5e-5,
            p90_s: 4e-5,
            p99_s: 9.876e-5,
            p999_s: 1e-3,
            max_s: 0.0123,
            bins: vec![(1e-5, 1.1e-5, 3), (1.1e-5, 1.2e-5, 1), (0.012, 0.0124, 1)],
        }
    }

    fn timed() -> runtime::record::Record {
        let mut record = sample::benchmark().rows(500).record();
        record.summary.as_mut().unwrap().timing = Some(TimingNote {
            period_s: 1e-3,
            overruns: 2,
            missed: 12,
            most_in_a_row: 11,
            overrun_limit: 20,
            facts: vec![("loop <i>scheduling".into(), "SCHED_FIFO\u{1b}[31m".into())],
            notices: vec!["no <b>priority</b>".into()],
            latencies: vec![latency("wake_up"), latency("<script>")],
        });
        record
    }

    #[test]
    fn every_form_tells_the_same_and_nothing_marks_up() {
        let record = timed();
        let (page, text) = (html(&record).unwrap(), text(&record));
        for form in [&page, &text] {
            for words in ["98.8", "12300", "2 ticks late", "12 periods", "at most 11 in a row"] {
                assert!(form.contains(words), "{words}");
            }
        }
        assert!(page.contains("Latency histograms"));
        assert!(!page.contains("loop <i>") && !page.contains("<b>priority"));
        assert!(!text.contains('\u{1b}'));
        let json = json(&record);
        assert_eq!(json["timing"]["latencies"][0]["p99_s"], 9.876e-5);
        assert_eq!(json["timing"]["missed"], 12);
    }

    #[test]
    fn a_rehearsal_says_nothing_of_it() {
        let record = sample::benchmark().rows(500).record();
        assert!(!html(&record).unwrap().contains("id=\"timing\""));
        assert_eq!(json(&record)["timing"], serde_json::Value::Null);
    }

    #[test]
    fn the_figure_is_logarithmic_and_empty_bins_are_gaps() {
        let record = timed();
        let figure = histogram(record.summary.unwrap().timing.as_ref().unwrap()).unwrap();
        let pane = &figure.panes[0];
        assert_eq!((pane.x.scale, pane.y.scale), (Scale::Log, Scale::Log));
        let Series::Steps { bins, .. } = &pane.series[0] else { panic!("a histogram") };
        assert_eq!(bins.len(), 3, "the bins that hold something");
        assert!((bins[0].0 - 10.0).abs() < 1e-3);
    }
}
