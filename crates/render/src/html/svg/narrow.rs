//! A chart with a band for each name as a narrow screen has it: the name above its marks, and the
//! words of all columns below them.

use super::axes::{self, text};
use super::chart::{Chart, LETTER, LINE, Panel, Scale};
use super::marks;
use super::plane::{Bands, Plane};
use super::short::short;
use crate::html::writer::Html;

/// Width in the chart's own units, which are CSS pixels on a telephone.
const WIDTH: f64 = 360.0;

/// Room left of the marks, and right of them, where half of the last label is.
const MARGIN: f64 = 4.0;
const RIGHT: f64 = 16.0;

/// Height of the marks of a name, and of the room between names.
const MARKS: f64 = 22.0;
const GAP: f64 = 8.0;

/// The most letters of a line.
const LETTERS: usize = ((WIDTH - 2.0 * MARGIN) / LETTER) as usize;

impl Chart {
    pub(super) fn narrow(&self, page: &mut Html, id: &str) {
        let mut body = Html::default();
        let mut top = 0.0;
        for (place, panel) in self.panels.iter().enumerate() {
            let is_last = place + 1 == self.panels.len();
            top = write_panel(&mut body, panel, top, is_last);
        }
        page.raw("<div class=\"chart narrow-only\" role=\"region\" aria-label=\"Narrow: ")
            .text(&self.label)
            .raw(&format!(
                "\">\n<svg id=\"{id}-narrow\" viewBox=\"0 0 {WIDTH} {top}\" role=\"img\" aria-label=\"Narrow picture: "
            ))
            .text(&self.label)
            .raw("\">\n")
            .raw(&body.finish())
            .raw("</svg>\n</div>\n");
    }
}

/// Writes a panel below `top`, and returns where it ends.
fn write_panel(page: &mut Html, panel: &Panel, top: f64, is_last: bool) -> f64 {
    let names: &[String] = match &panel.y {
        Scale::Names(names) => names,
        Scale::Numbers(_) => &[],
    };
    let below: Vec<Vec<String>> = (0..names.len()).map(|place| words(panel, place)).collect();
    let lines = below.iter().map(Vec::len).max().unwrap_or(0) as f64;
    let height = LINE + MARKS + lines * LINE + GAP;
    let mut plane = Plane::new(panel, (MARGIN, WIDTH - RIGHT), top + 6.0, is_last);
    plane.bottom = plane.top + height * names.len() as f64;
    plane.bands = Bands {
        share: MARKS / height,
        lift: height / 2.0 - LINE - MARKS / 2.0,
    };
    page.raw("<g class=\"panel\">\n");
    axes::horizontal(page, &plane);
    for trace in &panel.traces {
        marks::write(page, &plane, trace);
    }
    marks::intervals_of_bars(page, &plane);
    for ((place, name), lines) in names.iter().enumerate().zip(&below) {
        let Some(y) = plane.y(place as f64) else {
            continue;
        };
        let name = short(name, LETTERS);
        text(page, "name", "start", MARGIN, y - MARKS / 2.0 - 4.0, &name);
        for (line, words) in lines.iter().enumerate() {
            let y = y + MARKS / 2.0 + 13.0 + LINE * line as f64;
            text(page, "word", "start", MARGIN, y, words);
        }
    }
    page.raw("</g>\n");
    plane.bottom + axes::below(panel, is_last)
}

/// The words of all columns for a name, each with its unit, in lines of at most [`LETTERS`].
fn words(panel: &Panel, place: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for column in &panel.columns {
        let Some(cell) = column
            .cells
            .get(place)
            .filter(|cell| !cell.words.is_empty())
        else {
            continue;
        };
        let words = short(
            format!("{} {}", cell.words, column.unit).trim_end(),
            LETTERS,
        );
        match lines.last_mut() {
            Some(line) if line.chars().count() + 3 + words.chars().count() <= LETTERS => {
                *line += &format!(" \u{b7} {words}");
            }
            _ => lines.push(words),
        }
    }
    lines
}
