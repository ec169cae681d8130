//! Charts as SVG elements that need no script: axes, marks and a legend. The page's style sheet has
//! the colours; each mark carries its numbers as attributes and its words as a `title`.

mod axes;
mod axis;
mod chart;
mod columns;
mod legend;
mod marks;
mod narrow;
mod plane;
mod short;
mod sign;

pub(crate) use axis::{Axis, LOGARITHMIC};
pub(crate) use chart::*;
pub(crate) use sign::Sign;

use super::writer::Html;
use plane::Plane;

impl Chart {
    /// Appends the chart and its legend; `id` is its name in the page. A chart with columns has a
    /// second form for narrow screens, of which the style sheet shows one.
    pub fn write(&self, page: &mut Html, id: &str) {
        let is_twofold = self.panels.iter().any(|panel| !panel.columns.is_empty());
        self.wide(page, id, if is_twofold { " wide-only" } else { "" });
        if is_twofold {
            self.narrow(page, id);
        }
        legend::write(page, self);
    }

    fn wide(&self, page: &mut Html, id: &str, class: &str) {
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
        page.raw(&format!(
            "<div class=\"chart{class}\" tabindex=\"0\" role=\"region\" aria-label=\""
        ))
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
    }
}
