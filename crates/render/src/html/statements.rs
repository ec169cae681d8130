//! Statements of the paper and its measured figures, tested on these runs.

use crate::lines::Lines;
use crate::number;
use crate::statements::claim_sentence;
use crate::titles::title;
use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::checks::{CheckSummary, Verdict};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::metrics::{METRICS, Metric};
use bitcost_analysis::summary::Summary;
use bitcost_model::units::counted;

use crate::html::fold;
use crate::html::pictures::{DOCUMENT, Picture};
use crate::html::section;
use crate::html::table::table;
use crate::html::writer::Html;

/// Each statement with its verdict and figures; nothing if the study has none.
pub(crate) fn section(page: &mut Html, execution: &Findings) {
    let checks = &execution.summary.checks;
    if checks.is_empty() {
        return;
    }
    fold::open(page, "Statements of the document", &tallied(checks));
    page.element("p", "fine", &tally(checks))
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
    fold::close(page);
}

fn verdict(page: &mut Html, verdict: Verdict) {
    page.raw(&format!("<b class=\"verdict {}\">", verdict.key()))
        .text(verdict.name())
        .raw("</b> ");
}

/// `4 pass, 2 fail, 1 cannot tell`
fn tallied(checks: &[CheckSummary]) -> String {
    let count = |verdict: Verdict| {
        checks
            .iter()
            .filter(|check| check.verdict == verdict)
            .count()
    };
    let counts = Verdict::ALL.map(|verdict| (count(verdict), verdict.name()));
    let counts = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{count} {words}"));
    counts.collect::<Vec<_>>().join(", ")
}

/// `7 statements: 4 pass, 2 fail, 1 cannot tell`, and the meaning of these words.
fn tally(checks: &[CheckSummary]) -> String {
    format!(
        "{} computed from these runs: {}. In brackets the 95 % interval; one that reaches over a bound \
         cannot tell, and neither can cells of fewer than {} runs. One that fails is a finding about this machine, not an error.",
        counted(checks.len(), "statement"),
        tallied(checks),
        bitcost_analysis::checks::ENOUGH_RUNS
    )
}

/// Each figure of the document next to ours, in pictures and in a table per metric; nothing if the
/// study has none.
pub(crate) fn figures(page: &mut Html, summary: &Summary, pictures: &[Picture]) {
    let Some(expect) = &summary.study.expect else {
        return;
    };
    let metrics = METRICS.iter().filter(|metric| has(summary, metric));
    let tables: Vec<(&Metric, Lines)> = metrics
        .map(|metric| (metric, lines(summary, metric)))
        .collect();
    let rows: usize = tables.iter().map(|(_, lines)| lines.rows.len()).sum();
    if rows == 0 {
        return;
    }
    fold::open(page, DOCUMENT, &counted(rows, "figure"));
    page.element("p", "fine", &format!("document: {}", expect.source));
    for picture in pictures {
        section::figure(page, picture);
    }
    for (metric, lines) in &tables {
        let title = title(metric.name);
        table(
            page,
            &title,
            &format!("{title}, compared with the document"),
            lines,
        );
    }
    fold::close(page);
}

fn has(summary: &Summary, metric: &Metric) -> bool {
    summary
        .cells
        .iter()
        .any(|cell| cell.expected(metric.name).is_some())
}

fn lines(summary: &Summary, metric: &Metric) -> Lines {
    let row = |cell: &CellSummary| {
        let expected = cell.expected(metric.name)?;
        let ours = cell.figure(metric.name);
        let ratio = ours.map_or("-".to_owned(), |ours| {
            format!("×{}", number::plain(ours.value / expected))
        });
        let ours = ours.map_or("-".to_owned(), number::interval);
        Some(vec![cell.name(), ours, expected.to_string(), ratio])
    };
    let header = ["cell", "ours", "document", "ours ÷ document"];
    Lines::new(header, summary.cells.iter().filter_map(row))
}
