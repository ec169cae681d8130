//! Columns right of the bands of names: numbers with a small bar, and words.

use super::axes::text;
use super::chart::{Column, LETTER, LINE};
use super::plane::Plane;
use super::short::short;
use crate::html::writer::Html;

/// Room left of a column.
const GAP: f64 = 16.0;

/// The share of a column's width that its longest bar takes.
const BAR: f64 = 0.5;

pub(super) fn width(columns: &[Column]) -> f64 {
    columns.iter().map(|column| GAP + column.width).sum()
}

pub(super) fn write(page: &mut Html, plane: &Plane) {
    let mut left = plane.right;
    for column in &plane.panel.columns {
        left += GAP;
        page.raw("<g class=\"column\" data-title=\"")
            .text(&column.title)
            .raw("\">\n");
        text(
            page,
            "title",
            "start",
            left,
            plane.top - 10.0,
            &column.title,
        );
        let most = column
            .cells
            .iter()
            .filter_map(|cell| cell.value.filter(|value| value.is_finite()))
            .fold(0.0, f64::max);
        for (place, cell) in column.cells.iter().enumerate() {
            let Some(y) = plane.y(place as f64) else {
                continue;
            };
            let value = cell.value.filter(|value| value.is_finite() && *value > 0.0);
            let bar = value.map_or(0.0, |value| BAR * column.width * value / most);
            if value.is_some() {
                page.raw(&format!(
                    "<rect class=\"extent\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{bar:.1}\" height=\"10\"/>\n",
                    y - 5.0
                ));
            }
            let begin = if bar > 0.0 { left + bar + 6.0 } else { left };
            let room = (column.width / LETTER) as usize;
            page.raw(&format!(
                "<text class=\"word\" x=\"{begin:.1}\" y=\"{:.1}\">",
                y + LINE / 4.0
            ))
            .text(&short(&cell.words, room));
            if !cell.title.is_empty() {
                page.raw("<title>").text(&cell.title).raw("</title>");
            }
            page.raw("</text>\n");
        }
        page.raw("</g>\n");
        left += column.width;
    }
}
