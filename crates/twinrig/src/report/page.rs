//! The report as one HTML file that needs nothing else.

use std::fmt::Write as _;

use super::chapters::{Chapter, chapters};
use super::figure::{Figure, Width};
use super::findings::Findings;
use super::outcome::Status;
use super::punctuality;
use super::summary::{duration_s, nrmse_rows, remarks, shown_peak};
use super::text::{count, counted, escape, label, number, number_or_dash, script_json, seconds};

/// Points over all curves: with the plotting library the file stays below 8 MB.
const POINTS: usize = 150_000;
/// Points of one curve: more cannot be told apart on a screen.
const MOST_POINTS: usize = 5000;
const FEWEST_POINTS: usize = 400;
/// The longest experiment file shown whole, in characters.
const SHOWN_TEXT: usize = 200_000;
/// The longest table of channels, inputs or machine facts.
const SHOWN_ROWS: usize = 500;

/// The page may run what it carries and nothing else, and may load nothing.
pub(super) const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      img-src data: blob:; base-uri 'none'; form-action 'none'";

/// The page.
pub(super) fn page(findings: &Findings<'_>) -> String {
    let chapters = chapters(findings);
    let title = title(findings);
    let mut page = String::new();
    let _ = write!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title} – twinrig report</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n",
        include_str!("page.css")
    );
    let _ =
        write!(page, "<header>\n<p class=\"kicker\">Hybrid test report</p>\n<h1>{title}</h1>\n");
    navigation(&mut page, &chapters);
    page.push_str("</header>\n");
    banner(&mut page, findings);
    facts(&mut page, findings);
    events(&mut page, findings);
    punctuality::section(&mut page, findings);
    results(&mut page, findings);
    if findings.view.rows() == 0 {
        page.push_str(
            "<p class=\"empty\">The record holds no frames: there is nothing to draw.</p>\n",
        );
    }
    figures(&mut page, &chapters);
    appendix(&mut page, findings);
    page.push_str("</main>\n");
    if !chapters.is_empty() {
        page.push_str(&library());
        let _ = write!(page, "<script>\n{}</script>\n", include_str!("page.js"));
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn title(findings: &Findings<'_>) -> String {
    let header = &findings.view.record.header;
    let names = [&header.title, &header.experiment_name].map(|name| label(name));
    let named = names.iter().find(|name| !name.is_empty());
    named.map_or_else(|| "Hybrid test".to_owned(), |name| escape(name))
}

fn navigation(page: &mut String, chapters: &[Chapter<'_>]) {
    page.push_str("<nav>");
    page.push_str("<a href=\"#results\">Results</a>");
    for Chapter { id, title, .. } in chapters {
        let _ = write!(page, "<a href=\"#{id}\">{}</a>", escape(title));
    }
    page.push_str("<a href=\"#experiment\">Experiment</a></nav>\n");
}

fn banner(page: &mut String, findings: &Findings<'_>) {
    let outcome = &findings.outcome;
    let class = match outcome.status {
        Status::Completed => "good",
        Status::Incomplete | Status::LoadBrokeOff | Status::CutOff => "doubtful",
        Status::Tripped => "bad",
    };
    let _ = write!(
        page,
        "<section class=\"banner {class}\" role=\"status\">\n<h2>{}</h2>\n<p>{}</p>\n",
        outcome.status.word(),
        escape(&outcome.statements.join(" "))
    );
    if let Some(trip) = &outcome.trip {
        let cells = [
            ("Time", seconds(trip.time_s)),
            ("Value", number_or_dash(trip.value)),
            ("Limit", number_or_dash(trip.limit)),
            ("Code", trip.code.to_string()),
        ];
        page.push_str("<dl class=\"trip\">");
        for (name, value) in cells {
            let _ = write!(page, "<div><dt>{name}</dt><dd>{value}</dd></div>");
        }
        page.push_str("</dl>\n");
    }
    page.push_str("</section>\n");
}

fn facts(page: &mut String, findings: &Findings<'_>) {
    let view = &findings.view;
    let header = &view.record.header;
    let rate = match header.every {
        0 | 1 => format!("{} Hz", number(header.rate_hz)),
        every => format!("{} Hz, one frame in {every} ticks", number(header.rate_hz)),
    };
    let mut rows = vec![
        ("Experiment", label(&header.experiment_name)),
        ("Duration", duration_s(findings).map_or_else(|| "–".to_owned(), seconds)),
        ("Rate", rate),
        (
            "Structure",
            format!(
                "{}, {} at the interface",
                counted(view.dofs as u64, "DOF"),
                view.interfaces.len()
            ),
        ),
        ("Frames", count(view.rows() as u64)),
    ];
    if let Some(summary) = &view.record.summary {
        rows.push(("Ticks", count(summary.ticks)));
        rows.push(("Frames lost", count(summary.frames_lost)));
    }
    rows.push(("Seed", header.seed.to_string()));
    rows.push((
        "Started",
        if header.started.is_empty() {
            "rehearsal in virtual time".to_owned()
        } else {
            label(&header.started)
        },
    ));
    rows.push(("twinrig", label(&header.version)));
    page.push_str("<dl class=\"facts\">\n");
    for (name, value) in rows {
        let _ = writeln!(page, "<div><dt>{name}</dt><dd>{}</dd></div>", escape(&value));
    }
    page.push_str("</dl>\n");
}

fn events(page: &mut String, findings: &Findings<'_>) {
    let events = findings.events();
    if events.is_empty() {
        return;
    }
    page.push_str(
        "<section id=\"events\">\n<h2>Events</h2>\n<table>\n<thead><tr><th class=\"n\">Time</th>\
         <th>Event</th><th>Cause</th></tr></thead>\n<tbody>\n",
    );
    for event in events.iter().take(SHOWN_ROWS) {
        let _ = writeln!(
            page,
            "<tr><td class=\"n\">{}</td><td>{}</td><td>{}</td></tr>",
            seconds(event.time_s),
            escape(&label(&event.what)),
            escape(&label(&event.text))
        );
    }
    page.push_str("</tbody>\n</table>\n");
    if events.len() > SHOWN_ROWS {
        let _ =
            writeln!(page, "<p class=\"notes\">The first {SHOWN_ROWS} of {}.</p>", events.len());
    }
    page.push_str("</section>\n");
}

fn results(page: &mut String, findings: &Findings<'_>) {
    page.push_str("<section id=\"results\">\n<h2>Results</h2>\n<div class=\"columns\">\n");
    if !findings.criteria.is_empty() {
        page.push_str(
            "<table>\n<caption>Evaluation criteria</caption>\n<thead><tr><th></th>\
             <th>What it says</th><th class=\"n\">Value</th><th></th></tr></thead>\n<tbody>\n",
        );
        for criterion in findings.shown_criteria() {
            let note = criterion.note.map_or_else(String::new, |note| {
                format!("<small>{}</small>", escape(&note.to_string()))
            });
            let words = format!("{}{note}", escape(&label(&criterion.quantity)));
            row(page, &escape(&label(&criterion.id)), &words, criterion.value, criterion.unit);
        }
        for (id, quantity, value) in nrmse_rows(findings) {
            row(page, &escape(&id), &escape(&quantity), value, "%");
        }
        page.push_str("</tbody>\n</table>\n");
    }
    if findings.peaks.iter().any(|row| row.peak.is_some()) {
        page.push_str(
            "<table>\n<caption>Peaks</caption>\n<thead><tr><th>Quantity</th>\
             <th class=\"n\">Value</th><th></th><th class=\"n\">at</th></tr></thead>\n<tbody>\n",
        );
        for peak in findings.shown_peaks() {
            let (value, unit) = shown_peak(peak);
            let time = peak.peak.map_or_else(|| "–".to_owned(), |(_, time)| seconds(time));
            let _ = writeln!(
                page,
                "<tr><td>{}</td><td class=\"n\">{value}</td><td class=\"u\">{unit}</td><td class=\"n\">{time}</td></tr>",
                escape(&label(&peak.quantity))
            );
        }
        page.push_str("</tbody>\n</table>\n");
    }
    page.push_str("</div>\n");
    if !findings.criteria.is_empty() {
        page.push_str(
            "<p class=\"notes\">An error is the standard deviation of the difference over that of \
             the signal compared with; a peak error is the largest difference over the largest \
             value; the normalised rms error is the rms of the difference over the rms of the \
             reference. The delay is the lag of largest correlation.</p>\n",
        );
    }
    for remark in remarks(findings) {
        let _ = writeln!(page, "<p class=\"notes\">{}</p>", escape(&remark));
    }
    page.push_str("</section>\n");
}

fn row(page: &mut String, id: &str, words: &str, value: Option<f64>, unit: &str) {
    let _ = writeln!(
        page,
        "<tr><th scope=\"row\">{id}</th><td>{words}</td><td class=\"n\">{}</td><td class=\"u\">{unit}</td></tr>",
        number_or_dash(value)
    );
}

fn figures(page: &mut String, chapters: &[Chapter<'_>]) {
    let curves: usize =
        chapters.iter().flat_map(|chapter| &chapter.figures).map(Figure::curves).sum();
    let points = (POINTS / curves.max(1)).clamp(FEWEST_POINTS, MOST_POINTS);
    for Chapter { id, title, figures } in chapters {
        let _ = write!(
            page,
            "<section id=\"{id}\">\n<h2>{}</h2>\n<div class=\"figures\">\n",
            escape(title)
        );
        for figure in figures {
            let width = match figure.width {
                Width::Whole => "whole",
                Width::Half => "half",
            };
            let title = escape(&figure.title);
            let _ = write!(page, "<figure class=\"{width}\">\n<figcaption><h3>{title}</h3>");
            if !figure.caption.is_empty() {
                let _ = write!(page, "<p>{}</p>", figure.caption);
            }
            let _ = write!(
                page,
                "</figcaption>\n<div class=\"plot\" role=\"img\" aria-label=\"{title}\" \
                 style=\"height:{}px\"></div>\n<script type=\"application/json\">{}</script>\n\
                 </figure>\n",
                figure.height_px,
                script_json(&figure.plotly(points))
            );
        }
        page.push_str("</div>\n</section>\n");
    }
}

/// A file to fold out; nothing for an empty one.
fn file_text(page: &mut String, what: &str, name: &str, text: &str) {
    if text.is_empty() {
        return;
    }
    let mut shown: String = text.chars().take(SHOWN_TEXT).collect();
    if shown.len() < text.len() {
        shown.push_str("\n… (cut here; the record holds the whole file)");
    }
    let _ = write!(
        page,
        "<details>\n<summary>{what} {}</summary>\n<pre>{}</pre>\n</details>\n",
        escape(&label(name)),
        escape(&shown)
    );
}

fn appendix(page: &mut String, findings: &Findings<'_>) {
    let record = findings.view.record;
    let header = &record.header;
    page.push_str("<section id=\"experiment\">\n<h2>Experiment</h2>\n");
    file_text(page, "Experiment file", &header.experiment_name, &header.experiment);
    // What it includes is a part of it.
    for file in header.inputs.iter().filter(|file| file.name.ends_with(".toml")) {
        let text = String::from_utf8_lossy(&file.bytes);
        file_text(page, "Included file", &file.name, &text);
    }
    let inputs: Vec<[String; 2]> = header
        .inputs
        .iter()
        .map(|file| [label(&file.name), format!("{} bytes", count(file.bytes.len() as u64))])
        .collect();
    details(page, "Files the experiment named", ["File", "Size"], &inputs);
    let machine: Vec<[String; 2]> =
        header.machine.iter().map(|(name, value)| [label(name), label(value)]).collect();
    details(page, "Machine", ["Fact", "Value"], &machine);
    let channels: Vec<[String; 3]> = record
        .channels
        .iter()
        .map(|channel| [label(&channel.name), label(&channel.unit), label(&channel.description)])
        .collect();
    details(page, "Channels of the record", ["Channel", "Unit", "Meaning"], &channels);
    page.push_str("</section>\n");
}

fn details<const N: usize>(page: &mut String, title: &str, head: [&str; N], rows: &[[String; N]]) {
    if rows.is_empty() {
        return;
    }
    let _ = write!(page, "<details>\n<summary>{title}</summary>\n<table>\n<thead><tr>");
    for name in head {
        let _ = write!(page, "<th>{name}</th>");
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for cells in rows.iter().take(SHOWN_ROWS) {
        page.push_str("<tr>");
        for cell in cells {
            let _ = write!(page, "<td>{}</td>", escape(cell));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody>\n</table>\n");
    if rows.len() > SHOWN_ROWS {
        let _ = writeln!(page, "<p class=\"notes\">The first {SHOWN_ROWS} of {}.</p>", rows.len());
    }
    page.push_str("</details>\n");
}

/// The plotting library in its script element.
///
/// The crate appends MathJax, which would add 2 MB and typeset whatever a record
/// puts between dollar signs; only the first element, plotly itself, is taken.
pub(super) fn library() -> String {
    const END: &str = "</script>";
    let mut sources = plotly::Plot::offline_js_sources();
    if let Some(end) = sources.find(END) {
        sources.truncate(end + END.len());
    }
    sources + "\n"
}
