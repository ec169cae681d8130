//! The sections of a chapter: tables, statements, the document's figures, bottlenecks, losses, caveats, runs, and where
//! the figures come from.

use bitcost_analysis::cells::{CellSummary, RunRow, Status};
use bitcost_analysis::checks::{ENOUGH_RUNS, Verdict};
use bitcost_analysis::evenly::evenly;
use bitcost_analysis::findings::Findings;
use bitcost_analysis::frame::RunRows;
use bitcost_analysis::metrics::{Metric, metric};
use bitcost_analysis::summary::{Summary, shown_metrics};
use bitcost_model::units::counted;

use super::writer::Html;
use crate::explained::{explanation_lines, explanation_text};
use crate::lines::Lines;
use crate::losses;
use crate::notes::notes;
use crate::number;
use crate::provenance::Source;
use crate::statements::claim_sentence;
use crate::tables::{COLUMNS, tables as all_tables};
use crate::text::head;
use crate::time_series::time_series_text;
use crate::titles::named;
use crate::words::around;

/// The most runs that are listed.
const LISTED: usize = 500;

/// The most runs whose losses have a table, and metrics that are above 0 where a run lost or retransmitted something.
const LOSSES: usize = 10;
const SIGNS: [&str; 3] = ["retransmits", "loss_pct", "requests_lost_pct"];

fn shown(summary: &Summary) -> Vec<&'static Metric> {
    shown_metrics(summary)
        .into_iter()
        .filter_map(metric)
        .collect()
}

/// The tables of every metric, and the spread of the runs.
pub(crate) fn tables(page: &mut Html, execution: &Findings) {
    let summary = &execution.summary;
    let metrics = counted(shown(summary).len(), "metric");
    let words = format!("{metrics} of {}", counted(summary.cells.len(), "cell"));
    page.fold("Table", &words, |page| {
        for line in head(summary).iter().skip(1) {
            page.element("p", "fine", line);
        }
        for tables in all_tables(summary, COLUMNS) {
            page.element("h3", "", &tables.title);
            for (place, lines) in &tables.tables {
                page.table(place.as_deref().unwrap_or(""), lines);
            }
        }
        for series in &summary.time_series {
            page.listing(&time_series_text(series));
        }
    });
}

/// Each statement with its verdict and figures; nothing if the study has none.
pub(crate) fn statements(page: &mut Html, summary: &Summary) {
    let checks = &summary.checks;
    if checks.is_empty() {
        return;
    }
    let count = |verdict: &Verdict| {
        checks
            .iter()
            .filter(|check| check.verdict == *verdict)
            .count()
    };
    let counts = Verdict::ALL.iter().filter(|verdict| count(verdict) > 0);
    let counts: Vec<String> = counts
        .map(|verdict| format!("{} {}", count(verdict), verdict.name()))
        .collect();
    page.fold("Statements of the document", &counts.join(", "), |page| {
        let words = format!(
            "In brackets the 95 % interval; one that reaches over a bound cannot tell, and neither can cells of fewer than {ENOUGH_RUNS} runs. One that fails is a finding about this machine, not an error."
        );
        page.element("p", "fine", &words)
            .raw("<ul class=\"statements\">\n");
        for check in checks {
            page.raw("<li>");
            verdict(page, check.verdict);
            page.text(&check.statement).raw("\n<ul>\n");
            for claim in &check.claims {
                page.raw("<li>");
                if check.claims.len() > 1 {
                    verdict(page, claim.verdict);
                }
                page.text(&claim_sentence(claim)).raw("</li>\n");
            }
            page.raw("</ul></li>\n");
        }
        page.raw("</ul>\n");
    });
}

fn verdict(page: &mut Html, verdict: Verdict) {
    page.raw(&format!("<b class=\"verdict {}\">", verdict.key()))
        .text(verdict.name())
        .raw("</b> ");
}

/// A line per cell, and the evidence with cost models and warnings.
pub(crate) fn explained(page: &mut Html, execution: &Findings) {
    let explanation = &execution.explanation;
    page.fold(
        "What limited it",
        "the evidence for each bottleneck",
        |page| {
            page.list(explanation_lines(explanation));
            page.raw("<details><summary>The evidence</summary>\n")
                .listing(&explanation_text(explanation, false))
                .raw("</details>\n");
        },
    );
}

/// What became of lost and retransmitted packets, for the first runs that had some.
pub(crate) fn losses(page: &mut Html, execution: &Findings) {
    let is_marked = |row: &RunRow| {
        let mut signs = SIGNS.iter().filter_map(|name| row.value(metric(name)?));
        row.status == Status::Used && signs.any(|value| value > 0.0)
    };
    let marked = execution.summary.runs.iter().filter(|row| is_marked(row));
    let marked: Vec<u32> = marked.map(|row| row.run).collect();
    if !marked.is_empty() {
        let first = &marked[..marked.len().min(LOSSES)];
        page.fold("Losses", &counted(marked.len(), "run"), |page| {
            execution.each_run(|row| first.contains(&row.run), &mut |row, _, view| {
                page.listing(&format!("Run {}: {}", row.run + 1, losses::text(view)));
            });
        });
    }
}

pub(crate) fn remarks(page: &mut Html, summary: &Summary) {
    let notes = notes(summary);
    if !notes.is_empty() {
        page.fold("Caveats", &notes.len().to_string(), |page| {
            page.list(notes.iter().map(|note| note.mark.to_owned() + &note.words));
        });
    }
}

/// Every run in its order, and a file with all of them.
pub(crate) fn runs(page: &mut Html, execution: &Findings) {
    let summary = &execution.summary;
    let all = summary.runs.len();
    let metrics = shown(summary);
    let header = ["run", "block", "cell", "begun", "outcome"].map(str::to_owned);
    let header = header
        .into_iter()
        .chain(metrics.iter().map(|metric| named(metric)));
    let row = |run: &RunRow| {
        let cell = summary.cells.get(run.cell).map(CellSummary::name);
        let status = run.status.name().replace('_', " ");
        let reason = run.reason.as_deref().unwrap_or_default();
        let mut row = [run.run + 1, run.block + 1]
            .map(|number| number.to_string())
            .to_vec();
        row.extend([cell, run.began_at.clone()].map(Option::unwrap_or_default));
        row.push(status + &around(": ", reason, ""));
        let values = metrics.iter().map(|metric| run.value(metric));
        row.extend(values.map(|value| value.map_or("-".to_owned(), number::plain)));
        row
    };
    let rows = evenly(all, LISTED).map(|place| row(&summary.runs[place]));
    let lines = Lines::new(header, rows);
    page.fold("Runs in their order", &counted(all, "run"), |page| {
        if all > LISTED {
            let words = format!(
                "{LISTED} of {all} runs are listed, evenly chosen; `bitcost show FOLDER --format csv` prints all."
            );
            page.element("p", "fine", &words);
        }
        page.table("Runs in their order", &lines);
        let rows = RunRows::new(std::slice::from_ref(execution));
        page.download("runs", &rows.columns, (all, rows.iter()));
    });
}

pub(crate) fn provenance(page: &mut Html, execution: &Findings, source: &Source) {
    let summary = &execution.summary;
    page.fold("Provenance", "study, seed, command, version, log", |page| {
        let rows: [(&str, String); 7] = [
            ("Execution", execution.name.clone()),
            ("Begun", summary.began_at.clone()),
            ("Command", summary.command_line.join(" ")),
            ("Version", summary.bitcost_version.clone()),
            ("Seed of the order", summary.seed.to_string()),
            ("Log", format!("{} ({} bytes)", source.path, source.bytes)),
            ("SHA-256 of the log", source.sha256.clone()),
        ];
        page.raw("<dl>\n");
        for (name, words) in rows {
            page.raw("<dt>")
                .text(name)
                .raw("</dt><dd><code>")
                .text(&words)
                .raw("</code></dd>\n");
        }
        page.raw("</dl>\n<details><summary>The study</summary>\n")
            .listing(&summary.study.text)
            .raw("</details>\n");
    });
}
