//! One description of a page, and the HTML file that it becomes: no network, no library, one
//! file. What is on it stands in [`figure`] and [`table`]; how it looks, in `page.css`; what
//! moves, in `figure.js`.

pub mod decimate;
pub mod figure;
mod numbers;
mod series;
mod svg;
mod table;
pub mod text;
mod ticks;

use std::collections::HashSet;
use std::fmt::Write as _;

use runtime::verdict::Level;
use serde::Serialize;
use serde_json::{Value, json};

pub use crate::table::Table;
pub use figure::{Axis, Figure, MarkKind, Pane, Point, Role, Series, Shape, Symbol, Tone, Width};
pub use svg::svg;
use text::{escape, label, label_of, pretty, script_json};

use crate::verdict;

/// Most facts in the head of a page.
const MOST_FACTS: usize = 12;
/// The longest file shown whole, in characters.
const MOST_TEXT: usize = 200_000;
/// The longest sentence or caption, in characters.
const SENTENCE: usize = 2000;

/// The page may run what it carries and nothing else, and may load nothing.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      img-src data: blob:; base-uri 'none'; form-action 'none'";

/// A page. All texts are shown as text, whatever they contain.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// What kind of page it is.
    pub kind: &'static str,
    /// What it is about; often the user's words.
    pub title: String,
    /// What is to be known first.
    pub verdict: Verdict,
    /// Names and values; those without a value are left out.
    pub facts: Vec<(String, String)>,
    /// In the order of reading; those without content are left out.
    pub sections: Vec<Section>,
}

/// What is to be known first: a word, a sentence, and the numbers that decide.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// How far the result can be trusted.
    pub grade: Grade,
    /// In a word or two.
    pub word: String,
    /// In a sentence or two; each line is a paragraph.
    pub sentence: String,
    /// Three at most.
    pub numbers: Vec<KeyNumber>,
}

/// A number that decides, beside its limit.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyNumber {
    /// What it is.
    pub name: String,
    /// With its unit.
    pub value: String,
    /// What it is held against; may be empty.
    pub limit: String,
}

/// How far a result can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grade {
    /// As it stands.
    Good,
    /// After a look at it.
    Doubtful,
    /// Not at all.
    Bad,
}

impl From<Level> for Grade {
    fn from(level: Level) -> Self {
        match level {
            Level::Sound => Self::Good,
            Level::Doubtful => Self::Doubtful,
            Level::Wrong | Level::Unsafe => Self::Bad,
        }
    }
}

/// What stands under one heading.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// The heading, also in the navigation.
    pub title: String,
    /// From top to bottom.
    pub blocks: Vec<Block>,
}

/// A part of a section.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// Something that can be copied into a terminal.
    Code(String),
    /// A table.
    Table(Table),
    /// A figure.
    Figure(Figure),
    /// What is folded away under a line.
    Details(String, Vec<Block>),
    /// A file, as it is.
    File(String),
    /// One of several, chosen by the reader; the second number is shown first.
    Choice(String, usize, Vec<(String, Vec<Block>)>),
}

impl KeyNumber {
    /// A number beside its limit.
    pub fn new(name: impl Into<String>, value: String, limit: impl Into<String>) -> Self {
        Self { name: name.into(), value, limit: limit.into() }
    }
}

impl Verdict {
    /// The banner of a study: its verdict and how it ended, then why it is no better, then what
    /// was found.
    pub fn of(
        verdict: &verdict::Verdict,
        ended: &str,
        statements: &[String],
        numbers: Vec<KeyNumber>,
    ) -> Self {
        let grade = verdict.level.into();
        // What the ending says already is not said twice.
        let others = verdict.reasons.iter().filter(|reason| !statements.contains(&reason.text));
        let reasons = others.map(|verdict::Reason { level, text, remedy, .. }| {
            let remedy = if remedy.is_empty() { String::new() } else { format!(" → {remedy}") };
            format!("{}: {}{remedy}", level.word(), text.trim_end_matches('.'))
        });
        let ending = (!statements.is_empty()).then(|| statements.join(" "));
        let sentence = reasons.chain(ending).collect::<Vec<_>>().join("\n");
        Self { grade, word: format!("{}: {ended}", verdict.level.word()), sentence, numbers }
    }
}

impl Section {
    /// A section.
    pub fn new(title: impl Into<String>, blocks: Vec<Block>) -> Self {
        Self { title: title.into(), blocks }
    }

    /// The experiment file, and which program wrote the page.
    pub fn provenance(name: &str, text: &str) -> Self {
        let version = format!("Written by twinrig {}.", env!("CARGO_PKG_VERSION"));
        let file = Block::Details(
            format!("Experiment file {}", label(name)),
            vec![Block::File(text.to_owned())],
        );
        Self::new("Provenance", vec![file, Block::Text(version)])
    }
}

impl From<Figure> for Block {
    fn from(figure: Figure) -> Self {
        Self::Figure(figure)
    }
}

impl From<Table> for Block {
    fn from(table: Table) -> Self {
        Self::Table(table)
    }
}

impl Page {
    /// One HTML file that needs nothing else.
    pub fn html(&self) -> String {
        let title = match label(&self.title) {
            title if title.is_empty() => self.kind.to_owned(),
            title => title,
        };
        let foot = foot_style(&title);
        let title = escape(&title);
        let mut page = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title} – {kind}</title>\n<style id=\"drawing\">\n{drawing}</style>\n\
             <style>\n{foot}{sheet}</style>\n</head>\n<body>\n<header>\n\
             <p class=\"kicker\">{kind}</p>\n<h1>{title}</h1>\n</header>\n",
            kind = self.kind,
            drawing = include_str!("drawing.css"),
            sheet = include_str!("page.css"),
        );
        let sections: Vec<&Section> =
            self.sections.iter().filter(|section| !section.blocks.is_empty()).collect();
        let ids = ids(&sections);
        page.push_str(
            "<nav><details open><summary>Contents</summary><a href=\"#verdict\">Verdict</a>",
        );
        for (section, id) in sections.iter().zip(&ids) {
            let _ = write!(page, "<a href=\"#{id}\">{}</a>", escape(&section.title));
        }
        page.push_str("</details></nav>\n<main>\n");
        self.verdict.html(&mut page);
        page.push_str("<dl class=\"facts\">\n");
        let known = self.facts.iter().filter(|(_, value)| !value.is_empty());
        for (name, value) in known.take(MOST_FACTS) {
            let (name, value) = (escape(&label(name)), escape(&pretty(&label(value))));
            let _ = writeln!(page, "<div><dt>{name}</dt><dd>{value}</dd></div>");
        }
        page.push_str("</dl>\n");
        for (section, id) in sections.iter().zip(&ids) {
            let _ = writeln!(page, "<section id=\"{id}\">\n<h2>{}</h2>", escape(&section.title));
            blocks(&mut page, &section.blocks);
            page.push_str("</section>\n");
        }
        page.push_str("</main>\n");
        if page.contains("<figure") || page.contains("<select") {
            let _ = write!(page, "<script>\n{}</script>\n", include_str!("figure.js"));
        }
        page + "</body>\n</html>\n"
    }
}

impl Verdict {
    fn html(&self, page: &mut String) {
        let class = match self.grade {
            Grade::Good => "good",
            Grade::Doubtful => "doubtful",
            Grade::Bad => "bad",
        };
        let _ = write!(
            page,
            "<section id=\"verdict\" class=\"banner {class}\" role=\"status\">\n<div><h2>{}</h2>\n\
             {}</div>\n",
            escape(&self.word),
            self.sentence.lines().map(paragraph).collect::<String>()
        );
        if !self.numbers.is_empty() {
            page.push_str("<dl class=\"key\">");
            for number in self.numbers.iter().take(3) {
                let _ = write!(
                    page,
                    "<div><dt>{}</dt><dd>{}</dd><dd class=\"of\">{}</dd></div>",
                    escape(&number.name),
                    escape(&pretty(&number.value)),
                    escape(&pretty(&label(&number.limit)))
                );
            }
            page.push_str("</dl>\n");
        }
        page.push_str("</section>\n");
    }
}

fn paragraph(line: &str) -> String {
    format!("<p>{}</p>", escape(&label_of(line, SENTENCE)))
}

fn blocks(page: &mut String, blocks: &[Block]) {
    let mut rest = blocks;
    while let Some(first) = rest.first() {
        // Figures that follow each other share the rows of one grid.
        let figures = rest.iter().take_while(|block| matches!(block, Block::Figure(_))).count();
        if figures > 0 {
            page.push_str("<div class=\"figures\">\n");
            for block in &rest[..figures] {
                if let Block::Figure(drawn) = block {
                    figure(page, drawn);
                }
            }
            page.push_str("</div>\n");
        } else {
            block(page, first);
        }
        rest = &rest[figures.max(1)..];
    }
}

fn block(page: &mut String, block: &Block) {
    let _ = match block {
        Block::Text(text) => {
            writeln!(page, "<p class=\"notes\">{}</p>", escape(&label_of(text, SENTENCE)))
        }
        Block::Code(text) => writeln!(page, "<pre><code>{}</code></pre>", escape(text)),
        Block::Table(table) => {
            table::html(table, page);
            Ok(())
        }
        Block::Figure(drawn) => {
            figure(page, drawn);
            Ok(())
        }
        Block::Details(summary, inner) => {
            let _ = writeln!(page, "<details>\n<summary>{}</summary>", escape(&label(summary)));
            blocks(page, inner);
            writeln!(page, "</details>")
        }
        Block::File(text) => {
            let mut shown: String = text.chars().take(MOST_TEXT).collect();
            if shown.len() < text.len() {
                shown.push_str("\n… (cut here)");
            }
            writeln!(page, "<pre>{}</pre>", escape(&shown))
        }
        Block::Choice(name, first, options) => {
            choice(page, name, *first, options);
            Ok(())
        }
    };
}

fn choice(page: &mut String, name: &str, first: usize, options: &[(String, Vec<Block>)]) {
    let _ = write!(page, "<div class=\"choice\">\n<label>{} <select>", escape(name));
    for (index, (option, _)) in options.iter().enumerate() {
        let selected = if index == first { " selected" } else { "" };
        let _ = write!(page, "<option{selected}>{}</option>", escape(&label(option)));
    }
    page.push_str("</select></label>\n");
    for (index, (_, inner)) in options.iter().enumerate() {
        let hidden = if index == first { "" } else { " hidden" };
        let _ = writeln!(page, "<div class=\"option\"{hidden}>");
        blocks(page, inner);
        page.push_str("</div>\n");
    }
    page.push_str("</div>\n");
}

fn figure(page: &mut String, figure: &Figure) {
    let class = match figure.width {
        Width::Whole => "whole",
        Width::Half => "half",
        Width::Third => "third",
    };
    let _ = write!(
        page,
        "<figure class=\"{class}\" data-figure><figcaption><h3>{}</h3>",
        escape(&label(&figure.title))
    );
    if !figure.caption.is_empty() {
        let _ = write!(page, "<p>{}</p>", escape(&label_of(&figure.caption, SENTENCE)));
    }
    let _ = writeln!(
        page,
        "</figcaption><script type=\"application/json\">{}</script></figure>",
        script_json(&description(figure))
    );
}

/// A pane, and the range of each axis that holds all it shows.
#[derive(Serialize)]
struct Drawn<'a> {
    #[serde(flatten)]
    pane: &'a Pane,
    ranges: [(f64, f64); 2],
}

/// What `figure.js` reads.
fn description(figure: &Figure) -> Value {
    let drawn = figure.panes.iter().map(|pane| Drawn { pane, ranges: pane.ranges() });
    json!({ "title": figure.title, "panes": drawn.collect::<Vec<_>>() })
}

/// An address within the page for each section, no two alike.
fn ids(sections: &[&Section]) -> Vec<String> {
    let mut seen = HashSet::from(["verdict".to_owned(), "drawing".to_owned()]);
    let slug = |title: &str| -> String {
        let letters = title.chars().filter(|c| c.is_ascii_alphanumeric() || *c == ' ');
        letters.take(40).map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
    };
    let ids = sections.iter().enumerate().map(|(index, section)| {
        let slug = slug(&section.title);
        if seen.insert(slug.clone()) { slug } else { format!("{slug}-{index}") }
    });
    ids.collect()
}

/// The title at the foot of every sheet of paper: letters, digits and spaces alone, as no
/// other text is safe within a style.
fn foot_style(title: &str) -> String {
    let plain: String = title.chars().filter(|c| c.is_alphanumeric() || *c == ' ').collect();
    format!("@page {{ @bottom-left {{ content: \"{plain}\"; font: 10px sans-serif; }} }}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ATTACK: &str = "</script><img src=x onerror=\"alert(1)\">";

    fn page() -> Page {
        let attack = || ATTACK.to_owned();
        let pane = Pane::new(Axis::time(), Axis::new(ATTACK));
        let pane = pane.line(Role::Desired, ATTACK, [(0.0, 1.0)]).event(0.0, ATTACK);
        let figure = Figure::new(ATTACK, ATTACK, vec![pane]);
        let table = Table::new(&[ATTACK]).titled(ATTACK).filled([[attack()]]);
        let blocks = vec![
            Block::Text(attack()),
            Block::Code(attack()),
            table.into(),
            figure.clone().into(),
            Block::Details(attack(), vec![Block::File(attack())]),
            Block::Choice(attack(), 1, vec![(attack(), vec![]), (attack(), vec![figure.into()])]),
        ];
        let numbers = vec![KeyNumber::new(ATTACK, attack(), attack())];
        let verdict = Verdict { grade: Grade::Bad, word: attack(), sentence: attack(), numbers };
        let sections = ["One", "One", "Verdict", ""].map(|name| Section::new(name, blocks.clone()));
        let mut sections = sections.to_vec();
        sections.push(Section::new("Nothing", vec![]));
        let facts = vec![(attack(), attack()); 20];
        Page { kind: "Test report", title: attack(), verdict, facts, sections }
    }

    #[test]
    fn hostile_text_is_shown_not_run() {
        let html = page().html();
        assert!(!html.contains("<img") && html.contains("&lt;img src=x"));
        assert_eq!(html.matches("<script").count(), html.matches("</script>").count());
        for outside in ["<script src", "<link", "<iframe", "@import", "url(http"] {
            assert!(!html.contains(outside), "{outside}");
        }
    }

    #[test]
    fn a_page_has_its_navigation_and_no_more_than_twelve_facts() {
        let html = page().html();
        for link in ["#one", "#one-1", "#verdict-2"] {
            assert!(html.contains(&format!("href=\"{link}\"")), "{link}");
            assert!(html.contains(&format!("<section id=\"{}\"", &link[1..])), "{link}");
        }
        assert!(!html.contains("Nothing"));
        let facts = html.split("class=\"facts\"").nth(1).unwrap().split("</dl>").next().unwrap();
        assert_eq!(facts.matches("<dt>").count(), MOST_FACTS);
    }
}
