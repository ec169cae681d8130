//! Why a level makes such a difference, and a run of each cell second by second.

use bitcost_analysis::summary::Summary;
use bitcost_model::units::counted;

use crate::html::fold;
use crate::html::writer::Html;
use crate::queue_limits::queue_limits_text;
use crate::time_series::time_series_text;
use bitcost_analysis::explain::queue_limits;

/// The explanation of the drop from one level to another; nothing if no cell sets the limit of an
/// emulator's queue.
pub(crate) fn why(page: &mut Html, summary: &Summary) {
    let paragraphs = queue_limits_text(&queue_limits(summary));
    if paragraphs.is_empty() {
        return;
    }
    fold::open(page, "Why", "what a level changes in the queue of the link");
    page.list(paragraphs);
    fold::close(page);
}

/// The median run of each cell in iperf3's format, if the study asks for each second.
pub(crate) fn seconds(page: &mut Html, summary: &Summary) {
    if summary.time_series.is_empty() {
        return;
    }
    let count = summary.time_series.len();
    fold::open(
        page,
        "Second by second",
        &format!("the middle run of {}", counted(count, "cell")),
    );
    for series in &summary.time_series {
        page.raw("<pre tabindex=\"0\">")
            .text(&time_series_text(series))
            .raw("</pre>\n");
    }
    fold::close(page);
}
