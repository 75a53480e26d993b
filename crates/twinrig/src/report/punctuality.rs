//! How punctual a real-time run was: in words, numbers and a figure.

use std::fmt::Write as _;

use runtime::record::{LatencyNote, TimingNote};

use super::figure::{Content, Distribution, Figure, Role, Width};
use super::findings::Findings;
use super::text::{count, counted, escape, label};
use crate::table::Table;
use crate::words::Words;

/// More facts or notices than this are not shown.
const MOST_ROWS: usize = 100;

/// The note of a real-time run; a rehearsal has none.
pub(super) fn note<'a>(findings: &'a Findings<'a>) -> Option<&'a TimingNote> {
    findings.view.record.summary.as_ref()?.timing.as_ref()
}

/// In words; nothing for a rehearsal.
pub(super) fn words(findings: &Findings<'_>, words: &mut Words) {
    let Some(note) = note(findings) else { return };
    let mut table = Table::new(&["real time [µs]", "p50", "p90", "p99", "p99.9", "max"]);
    for latency in &note.latencies {
        let mut row = vec![told(latency).0.to_owned()];
        row.extend(quantiles(latency).map(|(_, seconds)| microseconds(seconds)));
        table.rows.push(row);
    }
    words.table(table);
    words.line(verdict(note));
    for notice in note.notices.iter().take(MOST_ROWS) {
        words.line(format!("notice: {}", label_long(notice)));
    }
    words.line("");
}

/// For the page; empty for a rehearsal.
pub(super) fn section(page: &mut String, findings: &Findings<'_>) {
    let Some(note) = note(findings) else { return };
    page.push_str(
        "<section id=\"punctuality\">\n<h2>Real time</h2>\n<table>\n<thead><tr><th>Time in µs</th>\
         <th></th><th class=\"n\">p50</th><th class=\"n\">p90</th><th class=\"n\">p99</th>\
         <th class=\"n\">p99.9</th><th class=\"n\">max</th></tr></thead>\n<tbody>\n",
    );
    for latency in &note.latencies {
        let (name, words) = told(latency);
        let _ = write!(page, "<tr><th scope=\"row\">{name}</th><td>{words}</td>");
        for (_, seconds) in quantiles(latency) {
            let _ = write!(page, "<td class=\"n\">{}</td>", microseconds(seconds));
        }
        page.push_str("</tr>\n");
    }
    let _ = writeln!(page, "</tbody>\n</table>\n<p class=\"notes\">{}</p>", escape(&verdict(note)));
    for notice in note.notices.iter().take(MOST_ROWS) {
        let _ = writeln!(page, "<p class=\"notes\">Notice: {}</p>", escape(&label_long(notice)));
    }
    page.push_str("</section>\n");
}

/// The histograms, all in one figure.
pub(super) fn figures<'a>(findings: &'a Findings<'a>) -> Vec<Figure<'a>> {
    let Some(note) = note(findings) else { return Vec::new() };
    let drawn = note.latencies.iter().filter(|latency| !latency.bins.is_empty());
    let distributions: Vec<Distribution<'_>> = drawn
        .map(|latency| Distribution {
            role: role(latency),
            name: told(latency).0,
            bins: &latency.bins,
        })
        .collect();
    if distributions.is_empty() {
        return Vec::new();
    }
    let content = Content::Histogram { distributions, mark_s: Some(note.period_s) };
    let caption = "How often each time occurred, over all ticks. The dashed line is the period: \
                   what lies beyond it missed its deadline.";
    vec![Figure {
        title: "Latency histograms".into(),
        caption: caption.into(),
        width: Width::Whole,
        height_px: 380,
        content,
    }]
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

fn role(latency: &LatencyNote) -> Role {
    match latency.name.as_str() {
        "wake_up" => Role::Measured,
        "execution" => Role::Desired,
        "round_trip" => Role::Achieved,
        "main.wake_up" => Role::Command,
        "main.execution" => Role::Strain,
        _ => Role::Reference,
    }
}

fn quantiles(latency: &LatencyNote) -> [(&'static str, f64); 5] {
    [
        ("p50", latency.p50_s),
        ("p90", latency.p90_s),
        ("p99", latency.p99_s),
        ("p99.9", latency.p999_s),
        ("max", latency.max_s),
    ]
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
    use super::super::{html, sample, summary_json, summary_text};
    use super::*;

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
        let (page, text) = (html(&record).unwrap(), summary_text(&record));
        for form in [&page, &text] {
            for words in ["98.8", "12300", "2 ticks late", "12 periods", "at most 11 in a row"] {
                assert!(form.contains(words), "{words}");
            }
        }
        assert!(page.contains("Latency histograms"));
        assert!(!page.contains("loop <i>") && !page.contains("<b>priority"));
        assert!(!text.contains('\u{1b}'));
        let json = summary_json(&record);
        assert_eq!(json["timing"]["latencies"][0]["p99_s"], 9.876e-5);
        assert_eq!(json["timing"]["missed"], 12);
    }

    #[test]
    fn a_rehearsal_says_nothing_of_it() {
        let record = sample::benchmark().rows(500).record();
        assert!(!html(&record).unwrap().contains("punctuality"));
        assert_eq!(summary_json(&record)["timing"], serde_json::Value::Null);
    }

    #[test]
    fn the_figure_is_logarithmic_and_empty_bins_are_gaps() {
        let record = timed();
        let findings = Findings::of(&record).unwrap();
        let drawn = figures(&findings)[0].plotly(100);
        assert_eq!(drawn["layout"]["xaxis"]["type"], "log");
        assert_eq!(drawn["layout"]["yaxis"]["type"], "log");
        let x = drawn["data"][0]["x"].as_array().unwrap();
        assert_eq!(x.iter().filter(|value| value.is_null()).count(), 2, "two groups of bins");
        assert!((x[0].as_f64().unwrap() - 10.0).abs() < 1e-3);
    }
}
