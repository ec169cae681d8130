//! What the signs and colours of a chart are, in words under it.

use super::chart::{Chart, Legend, Marks, Trace};
use crate::html::writer::Html;

pub(super) fn write(page: &mut Html, chart: &Chart) {
    match chart.legend {
        Legend::None => {}
        Legend::Traces => {
            page.raw("<ul class=\"legend\">\n");
            let traces = chart.panels.iter().flat_map(|panel| &panel.traces);
            for trace in traces.filter(|trace| trace.is_named) {
                entry(page, trace);
            }
            page.raw("</ul>\n");
        }
    }
}

fn swatch(class: &str, drawn: &str) -> String {
    format!(
        "<li><svg class=\"swatch {class}\" viewBox=\"0 0 28 14\" aria-hidden=\"true\">{drawn}</svg>"
    )
}

fn entry(page: &mut Html, trace: &Trace) {
    let line = format!("<path class=\"line d{}\" d=\"M0 7H28\"/>", trace.dash);
    let sign = format!(
        "<path class=\"sign {}\" d=\"{}\"/>",
        trace.sign.name(),
        trace.sign.path(14.0, 7.0, 7.0)
    );
    let drawn = match &trace.marks {
        Marks::Points(_) => sign,
        Marks::Line(_) => line + &sign,
        Marks::Curve(_) => line,
        Marks::Bars(_) | Marks::Boxes(_) => {
            "<rect class=\"bar\" width=\"28\" height=\"14\"/>".to_owned()
        }
    };
    page.raw(&swatch(&trace.ink.class(), &drawn))
        .text(&trace.name)
        .raw("</li>\n");
}
