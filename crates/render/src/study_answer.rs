//! The answer of a study on the last screen of a terminal: one table, one sentence, the
//! bottlenecks, caveats, and the commands for more.

use bitcost_analysis::caveat::Caveat;
use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::findings::Findings;
use bitcost_analysis::metrics::{Metric, metric};
use bitcost_analysis::summary::{Summary, measured};
use bitcost_model::units::counted;

use crate::answer::{Answer, stacked};
use crate::figure::{figure, figure_marked};
use crate::layout::{WIDTH, labelled, paragraph};
use crate::lines::Lines;
use crate::words::around;

/// The most figures of a cell.
const FIGURES: usize = 3;

/// The answer; `folder` is where the log is.
pub fn study_answer(execution: &Findings, folder: &str) -> String {
    let summary = &execution.summary;
    let answer = Answer::of(execution);
    let mut text = paragraph("", &summary.study.question, WIDTH);
    text += &format!("\n{}\n", table(summary));
    text += &paragraph("", &answer.sentence, WIDTH);
    text += &labelled("bottleneck", &answer.bottleneck);
    let caveats = caveats(summary, &answer);
    text.extend(caveats.iter().map(|caveat| labelled("caveat", caveat)));
    let verbs = [
        ("pictures", "report"),
        ("why", "explain"),
        ("all tables", "show"),
    ];
    text.extend(verbs.map(|(label, verb)| labelled(label, &format!("bitcost {verb} {folder}"))));
    text
}

/// The metrics of the table: throughput, those of the study's sentences, and the cost at both
/// endpoints; without these, the first that the study shows.
fn columns(summary: &Summary) -> Vec<&'static Metric> {
    let mut found: Vec<&'static Metric> = Vec::new();
    let throughput = metric("throughput_mbps").filter(|metric| has(summary, metric));
    let sentences = summary.study.sentences.iter();
    let said = sentences.flat_map(|sentence| &sentence.metrics);
    let said = said.filter_map(|name| metric(name));
    let all = throughput.into_iter().chain(said);
    let all = all.filter(|metric| has(summary, metric));
    for metric in all.chain(stacked(summary)).chain(measured(summary)) {
        if found.len() < FIGURES && !found.iter().any(|known| known.name == metric.name) {
            found.push(metric);
        }
    }
    found
}

fn has(summary: &Summary, metric: &Metric) -> bool {
    let mut cells = summary.cells.iter();
    cells.any(|cell| cell.figure(metric.name).is_some())
}

/// A row per cell, the first figure with its interval, the others without.
fn table(summary: &Summary) -> String {
    let metrics = columns(summary);
    let row = |cell: &CellSummary| {
        let figures = metrics.iter().enumerate().map(|(place, metric)| {
            let shown = match place {
                0 => figure(cell, metric.name),
                _ => figure_marked(cell, metric.name),
            };
            shown.unwrap_or("-".to_owned())
        });
        std::iter::once(cell.name()).chain(figures).collect()
    };
    let title = |metric: &&Metric| {
        let words = match metric.name {
            name if name.starts_with("send_service_demand") => "send cost".to_owned(),
            name if name.starts_with("receive_service_demand") => "receive cost".to_owned(),
            _ => metric.title.to_lowercase(),
        };
        words + &around(", ", metric.unit, "")
    };
    let header = std::iter::once(String::new()).chain(metrics.iter().map(title));
    let rows: Vec<Vec<String>> = summary.cells.iter().map(row).collect();
    let is_marked = rows
        .iter()
        .flat_map(|row| &row[1..])
        .any(|figure| figure.ends_with('*'));
    let text = Lines::new(header, rows).text(WIDTH as u16);
    match is_marked {
        true => text + FEWER_RUNS,
        false => text,
    }
}

/// The line below a table with asterisks.
const FEWER_RUNS: &str = "* from fewer runs than the cell has; `bitcost show` prints how many\n";

/// What changes the answer, the most first: runs that are not in it, costs that are not known,
/// warnings; and how many other warnings there are.
fn caveats(summary: &Summary, answer: &Answer) -> Vec<String> {
    let mut found = answer.caveats.clone();
    let planned = summary.blocks as usize * summary.cells.len();
    let mut missing = |count: usize, how: &str| {
        if count > 0 {
            let words = format!("{} of {planned} {how}", counted(count, "run"));
            found.push(Caveat::new(count as f64 / planned.max(1) as f64, words));
        }
    };
    missing(summary.excluded.len(), "left out");
    missing(summary.incomplete.len(), "not made");
    let mut found = Caveat::by_weight(found);
    if answer.other_warnings > 0 {
        found.push(format!(
            "{}; see `bitcost explain`",
            counted(answer.other_warnings, "warning")
        ));
    }
    found
}
