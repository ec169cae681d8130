//! Charts as SVG elements that need no script: axes, marks and a legend. The page's style sheet has
//! the colours; each mark carries its numbers as attributes and its words as a `title`.

mod axes;
mod axis;
mod chart;
mod columns;
mod legend;
mod marks;
mod plane;
mod short;
mod sign;

pub(crate) use axis::{Axis, LOGARITHMIC, range};
pub(crate) use chart::*;
pub(crate) use sign::Sign;

use super::writer::Html;
use plane::Plane;

impl Chart {
    /// Appends the chart and its legend; `id` is its name in the page.
    pub fn write(&self, page: &mut Html, id: &str) {
        let left = self.panels.iter().map(axes::margin).fold(0.0, f64::max);
        let mut top = 0.0;
        let mut planes = Vec::new();
        for (place, panel) in self.panels.iter().enumerate() {
            let is_last = place + 1 == self.panels.len();
            let right = self.width - 24.0 - columns::width(&panel.columns);
            planes.push(Plane::new(
                panel,
                (left, right),
                top + axes::above(panel),
                is_last,
            ));
            top += axes::above(panel) + panel.height + axes::below(panel, is_last);
        }
        page.raw(
            "<div class=\"chart\" tabindex=\"0\" role=\"region\" aria-label=\"",
        )
        .text(&self.label)
        .raw(&format!(
            "\">\n<svg id=\"{id}\" viewBox=\"0 0 {} {top}\" role=\"img\" aria-label=\"Picture: ",
            self.width
        ))
        .text(&self.label)
        .raw("\">\n");
        for plane in &planes {
            page.raw("<g class=\"panel\">\n");
            axes::write(page, plane);
            for trace in &plane.panel.traces {
                marks::write(page, plane, trace);
            }
            marks::intervals_of_bars(page, plane);
            columns::write(page, plane);
            page.raw("</g>\n");
        }
        page.raw("</svg>\n</div>\n");
        legend::write(page, self);
    }
}
