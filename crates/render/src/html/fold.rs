//! Parts of a chapter that are folded on screens and open in print.

use crate::html::writer::Html;

/// Begins a part; `words` say in a few words what is in it.
pub(crate) fn open(page: &mut Html, title: &str, words: &str) {
    page.raw("<details class=\"fold\">\n<summary><h2>")
        .text(title)
        .raw("</h2>");
    if !words.is_empty() {
        page.raw(" ").raw("<span>").text(words).raw("</span>");
    }
    page.raw("</summary>\n");
}

pub(crate) fn close(page: &mut Html) {
    page.raw("</details>\n");
}
