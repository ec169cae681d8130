//! What the document states and what it measured, on these runs.

use metrics::{METRICS, Metric};
use report::frame::Execution;
use report::{CellSummary, CheckSummary, Lines, Summary, Verdict, claim_sentence, number, title};

use crate::html::Html;
use crate::section::table;

/// Each statement with its verdict and figures; nothing where the study has none.
pub(crate) fn section(page: &mut Html, execution: &Execution) {
    let checks = &execution.summary.checks;
    if checks.is_empty() {
        return;
    }
    page.raw("<section>\n").element("h2", "", "What the document states");
    page.element("p", "fine", &tally(checks)).raw("<ul class=\"statements\">\n");
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
    page.raw("</ul>\n</section>\n");
}

fn verdict(page: &mut Html, verdict: Verdict) {
    page.raw(&format!("<b class=\"verdict {}\">", verdict.name())).text(verdict.words()).raw("</b> ");
}

/// `7 statements: 4 pass, 2 fail, 1 cannot tell`, and what that means.
fn tally(checks: &[CheckSummary]) -> String {
    let count = |verdict: Verdict| checks.iter().filter(|check| check.verdict == verdict).count();
    let counts = [Verdict::Pass, Verdict::Fail, Verdict::CannotTell].map(|verdict| (count(verdict), verdict.words()));
    let counts = counts.iter().filter(|(count, _)| *count > 0).map(|(count, words)| format!("{count} {words}"));
    let statements = if checks.len() == 1 { "statement" } else { "statements" };
    format!(
        "{} {statements} computed from these runs: {}. In brackets the 95 % interval; one that reaches over a bound \
         cannot tell, and neither can cells of fewer than {} runs. One that fails is a finding about this machine, not an error.",
        checks.len(),
        counts.collect::<Vec<_>>().join(", "),
        report::ENOUGH_RUNS
    )
}

/// Rows up to which the comparison with the document is unfolded.
const UNFOLDED: usize = 12;

/// Each figure of the document with ours beside it, a table per metric; nothing where the study has none.
pub(crate) fn figures(page: &mut Html, summary: &Summary) {
    let Some(expect) = &summary.study.expect else { return };
    let metrics = METRICS.iter().filter(|metric| has(summary, metric));
    let tables: Vec<(&Metric, Lines)> = metrics.map(|metric| (metric, lines(summary, metric))).collect();
    let rows: usize = tables.iter().map(|(_, lines)| lines.rows.len()).sum();
    if rows == 0 {
        return;
    }
    page.raw("<section>\n").element("h2", "", "Beside the document\u{2019}s figures");
    page.element("p", "fine", &format!("document: {}", expect.source));
    page.raw(if rows > UNFOLDED { "<details><summary>" } else { "<details open><summary>" });
    page.text(&format!("{rows} figures")).raw("</summary>\n");
    for (metric, lines) in &tables {
        let title = title(metric.name);
        table(page, &title, &format!("{title}, beside the document"), lines);
    }
    page.raw("</details>\n</section>\n");
}

fn has(summary: &Summary, metric: &Metric) -> bool {
    summary.cells.iter().any(|cell| cell.expected(metric.name).is_some())
}

fn lines(summary: &Summary, metric: &Metric) -> Lines {
    let row = |cell: &CellSummary| {
        let expected = cell.expected(metric.name)?;
        let ours = cell.figure(metric.name);
        let ratio = ours.map_or("-".to_owned(), |ours| format!("×{}", number::plain(ours.value / expected)));
        let ours = ours.map_or("-".to_owned(), number::interval);
        Some((false, vec![cell.name(), ours, expected.to_string(), ratio]))
    };
    let header = ["cell", "ours", "document", "ours ÷ document"].map(str::to_owned).to_vec();
    Lines { header, rows: summary.cells.iter().filter_map(row).collect() }
}
