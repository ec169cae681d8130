//! The contents of a chapter: links to its sections after its header, and names that distinguish
//! its parts from those of other chapters.

use crate::html::writer::{Html, escape};

const HEADING: (&str, &str) = ("<h2>", "</h2>");

/// What begins the names of the parts that are named.
const NAMED: [&str; 2] = [
    "role=\"region\" aria-label=\"",
    "role=\"img\" aria-label=\"",
];

const HEADER_ENDS: &str = "</header>\n";

/// Puts a chapter into the page. `number` is its place in the page; `name` is its subject, if there
/// are several chapters.
pub(crate) fn chapter(page: &mut Html, chapter: Html, number: usize, name: Option<&str>) {
    let body = chapter.finish();
    let (header, body) = body.split_once(HEADER_ENDS).unwrap_or(("", &body));
    let (links, body) = linked(body, number);
    page.raw(header).raw(HEADER_ENDS);
    let of = name
        .map(|name| format!("{}. {}: ", number + 1, escape(name)))
        .unwrap_or_default();
    // A chapter alone is short until its folds are opened.
    if links.len() > 1 && name.is_some() {
        page.raw(&format!(
            "<nav class=\"contents\" aria-label=\"{of}contents\">\n<ul>\n"
        ));
        for (place, words) in links.iter().enumerate() {
            page.raw(&format!(
                "<li><a href=\"#{}\">{words}</a></li>\n",
                anchor(number, place)
            ));
        }
        page.raw("</ul>\n</nav>\n");
    }
    let body = NAMED.iter().fold(body, |body, begin| {
        body.replace(begin, &format!("{begin}{of}"))
    });
    page.raw(&body);
}

fn anchor(chapter: usize, section: usize) -> String {
    format!("chapter{chapter}-section{section}")
}

/// The headings' words, which are HTML, and the body with an anchor at each of them. Measured data
/// is escaped, so it never contains the markup of a heading.
fn linked(body: &str, chapter: usize) -> (Vec<String>, String) {
    let mut links = Vec::new();
    let mut text = String::with_capacity(body.len());
    let mut parts = body.split(HEADING.0);
    text.push_str(parts.next().unwrap_or_default());
    for part in parts {
        text.push_str(&format!("<h2 id=\"{}\">", anchor(chapter, links.len())));
        text.push_str(part);
        links.push(part.split(HEADING.1).next().unwrap_or_default().to_owned());
    }
    (links, text)
}
