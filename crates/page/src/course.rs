//! Why a level makes so much of a difference, and a run of each cell second by second.

use report::Summary;

use crate::html::Html;

/// What explains the fall from one level to another; nothing where no queue that delays was set.
pub(crate) fn why(page: &mut Html, summary: &Summary) {
    let paragraphs = summary.why.paragraphs();
    if paragraphs.is_empty() {
        return;
    }
    page.raw("<section>\n").element("h2", "", "Why").raw("<ul>\n");
    for words in paragraphs {
        page.element("li", "", &words);
    }
    page.raw("</ul>\n</section>\n");
}

/// The middle run of each cell as iperf3 would print it, where the study asks for each second.
pub(crate) fn seconds(page: &mut Html, summary: &Summary) {
    if summary.courses.is_empty() {
        return;
    }
    let count = summary.courses.len();
    page.raw("<details><summary>")
        .text(&format!("Second by second: the middle run of {count} cells"))
        .raw("</summary>\n");
    for course in &summary.courses {
        page.raw("<pre tabindex=\"0\">").text(&course.text()).raw("</pre>\n");
    }
    page.raw("</details>\n");
}
