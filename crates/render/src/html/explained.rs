//! What limited each cell, what a message costs, and the warnings.

use bitcost_analysis::explain::Explanation;

use super::fold;
use super::writer::Html;
use crate::explained::{cost_text, explanation_lines, explanation_text, warning_line};
use crate::words::around;

/// A line per cell with its evidence, the cost models, and the warnings.
pub(crate) fn section(page: &mut Html, explanation: &Explanation) {
    fold::open(page, "What limited it", "the evidence for each bottleneck");
    page.list(explanation_lines(explanation));
    page.raw("<details><summary>The evidence</summary>\n<pre tabindex=\"0\">");
    page.text(&explanation_text(explanation, false))
        .raw("</pre></details>\n");
    if !explanation.costs.is_empty() {
        page.element("h3", "", "What a message costs");
        for (line, cost) in &explanation.costs {
            let of = around("", line, ": ");
            page.raw("<pre tabindex=\"0\">")
                .text(&format!("{of}{}", cost_text(cost)))
                .raw("</pre>\n");
        }
    }
    for warning in explanation
        .warnings
        .iter()
        .map(warning_line)
        .chain(explanation.remarks.iter().cloned())
    {
        page.element("p", "", &warning);
    }
    fold::close(page);
}
