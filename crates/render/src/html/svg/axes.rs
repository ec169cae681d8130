//! Grid, labels and titles of a panel.

use super::axis::Axis;
use super::chart::{LETTER, LINE, Panel, Scale};
use super::plane::Plane;
use super::short::short;
use crate::html::writer::Html;

/// The most letters of a name next to its band.
const NAME: usize = 36;

/// Room for the labels left of a panel.
pub(super) fn margin(panel: &Panel) -> f64 {
    let longest = |words: &mut dyn Iterator<Item = usize>| words.max().unwrap_or(0);
    let letters = match &panel.y {
        Scale::Numbers(axis) => longest(&mut axis.ticks.iter().map(|(_, words)| words.len())),
        Scale::Names(names) => longest(&mut names.iter().map(|name| name.chars().count())),
    };
    16.0 + LETTER * letters.min(NAME) as f64
}

/// Room for the titles of the vertical axis and of columns.
pub(super) fn above(panel: &Panel) -> f64 {
    if panel.y_title.is_empty() && panel.columns.is_empty() {
        6.0
    } else {
        LINE + 8.0
    }
}

/// Room for the labels and the title of the horizontal axis.
pub(super) fn below(panel: &Panel, is_last: bool) -> f64 {
    match (is_last, panel.x_title.is_empty()) {
        (false, _) => 6.0,
        (true, true) => LINE + 6.0,
        (true, false) => 2.0 * LINE + 6.0,
    }
}

pub(super) fn write(page: &mut Html, plane: &Plane) {
    let panel = plane.panel;
    begin(page, "x", is_log(&panel.x), &panel.x_title);
    across(page, plane);
    page.raw("</g>\n");
    match &panel.y {
        Scale::Numbers(axis) => {
            begin(page, "y", is_log(axis), &panel.y_title);
            upwards(page, plane, axis);
        }
        Scale::Names(names) => {
            begin(page, "y", "names", &panel.y_title);
            bands(page, plane, names);
        }
    }
    if !panel.y_title.is_empty() {
        text(
            page,
            "title",
            "start",
            8.0,
            plane.top - 10.0,
            &panel.y_title,
        );
    }
    page.raw("</g>\n");
    for rule in panel.rules.iter().filter_map(|value| plane.x(*value)) {
        page.raw(&line("rule", (rule, plane.top), (rule, plane.bottom)));
    }
}

fn is_log(axis: &Axis) -> &'static str {
    if axis.is_log { "log" } else { "linear" }
}

fn begin(page: &mut Html, name: &str, scale: &str, title: &str) {
    page.raw(&format!(
        "<g class=\"axis {name}\" data-scale=\"{scale}\" data-title=\""
    ))
    .text(title)
    .raw("\">\n");
}

/// The ticks of the horizontal axis, with the labels for which there is room.
fn across(page: &mut Html, plane: &Plane) {
    let mut free = f64::NEG_INFINITY;
    for (value, words) in &plane.panel.x.ticks {
        let Some(x) = plane.x(*value) else { continue };
        page.raw(&line("grid", (x, plane.top), (x, plane.bottom)));
        let half = LETTER * words.len() as f64 / 2.0;
        if plane.is_last && x - half > free {
            text(page, "tick", "middle", x, plane.bottom + LINE, words);
            free = x + half + LETTER;
        }
    }
    if plane.is_last && !plane.panel.x_title.is_empty() {
        let y = plane.bottom + 2.0 * LINE;
        text(page, "title", "end", plane.right, y, &plane.panel.x_title);
    }
}

/// The ticks of the vertical axis, from below, with the labels for which there is room.
fn upwards(page: &mut Html, plane: &Plane, axis: &Axis) {
    let mut free = f64::INFINITY;
    for (value, words) in &axis.ticks {
        let Some(y) = plane.y(*value) else { continue };
        page.raw(&line("grid", (plane.left, y), (plane.right, y)));
        if y < free {
            text(page, "tick", "end", plane.left - 6.0, y + 4.5, words);
            free = y - LINE;
        }
    }
}

fn bands(page: &mut Html, plane: &Plane, names: &[String]) {
    for (place, name) in names.iter().enumerate() {
        let Some(y) = plane.y(place as f64) else {
            continue;
        };
        page.raw(&format!(
            "<text class=\"tick\" text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">",
            plane.left - 6.0,
            y + 4.5
        ))
        .text(&short(name, NAME));
        if name.chars().count() > NAME {
            page.raw("<title>").text(name).raw("</title>");
        }
        page.raw("</text>\n");
    }
}

pub(super) fn text(page: &mut Html, class: &str, anchor: &str, x: f64, y: f64, words: &str) {
    page.raw(&format!(
        "<text class=\"{class}\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">"
    ))
    .text(words)
    .raw("</text>\n");
}

fn line(class: &str, from: (f64, f64), to: (f64, f64)) -> String {
    format!(
        "<path class=\"{class}\" d=\"M{:.1} {:.1}L{:.1} {:.1}\"/>\n",
        from.0, from.1, to.0, to.1
    )
}
