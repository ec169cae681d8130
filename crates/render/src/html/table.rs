//! A table of the report.

use crate::html::writer::Html;
use crate::lines::Lines;

/// A table that scrolls on its own if it is wider than the page.
pub(crate) fn table(page: &mut Html, caption: &str, label: &str, lines: &Lines) {
    page.raw("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"")
        .text(label)
        .raw("\">\n<table>\n");
    if !caption.is_empty() {
        page.element("caption", "", caption);
    }
    page.raw("<thead><tr>");
    for words in &lines.header {
        page.raw("<th scope=\"col\">").text(words).raw("</th>");
    }
    page.raw("</tr></thead>\n<tbody>\n");
    for (is_document, row) in &lines.rows {
        page.raw(if *is_document {
            "<tr class=\"document\">"
        } else {
            "<tr>"
        });
        for (place, words) in row.iter().enumerate() {
            let (open, close) = if place == 0 {
                ("<th scope=\"row\">", "</th>")
            } else {
                ("<td>", "</td>")
            };
            page.raw(open).text(words.trim()).raw(close);
        }
        page.raw("</tr>\n");
    }
    page.raw("</tbody>\n</table>\n</div>\n");
}
