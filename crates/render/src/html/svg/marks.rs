//! The marks of a trace. Those whose numbers have no place on the axes are left out.

use super::chart::{Mark, Marks, Quartiles, Trace};
use super::plane::Plane;
use crate::html::writer::Html;

pub(super) fn write(page: &mut Html, plane: &Plane, trace: &Trace) {
    page.raw(&format!(
        "<g class=\"trace {} {}\" data-name=\"",
        kind(&trace.marks),
        trace.ink.class()
    ))
    .text(&trace.name)
    .raw("\">\n");
    match &trace.marks {
        Marks::Points(marks) => signs(page, plane, trace, marks),
        Marks::Line(marks) => {
            let places: Vec<(f64, f64)> = marks.iter().map(|mark| (mark.x, mark.y)).collect();
            curve(page, plane, trace, &places);
            signs(page, plane, trace, marks);
        }
        Marks::Curve(places) => curve(page, plane, trace, places),
        Marks::Bars(marks) => {
            for mark in marks {
                bar(page, plane, trace, mark);
            }
        }
        Marks::Boxes(boxes) => {
            for of in boxes {
                quartiles(page, plane, trace, of);
            }
        }
    }
    page.raw("</g>\n");
}

/// The name of the marks' kind in the page.
fn kind(marks: &Marks) -> &'static str {
    match marks {
        Marks::Points(_) => "points",
        Marks::Line(_) => "lines",
        Marks::Curve(_) => "curve",
        Marks::Bars(_) => "bars",
        Marks::Boxes(_) => "boxes",
    }
}

/// The middle of a trace's part of a name's band, or the place of a number.
fn middle(plane: &Plane, trace: &Trace, y: f64) -> Option<f64> {
    Some(plane.y(y)? + trace.slot.centre * plane.band())
}

/// The attributes with a mark's numbers.
fn numbers(page: &mut Html, plane: &Plane, mark: &Mark) {
    page.raw(&format!(" data-x=\"{}\" data-y=\"", mark.x))
        .text(&plane.y_words(mark.y))
        .raw("\"");
    for (name, bound) in [("low", mark.low), ("high", mark.high)] {
        if let Some(bound) = bound {
            page.raw(&format!(" data-{name}=\"{bound}\""));
        }
    }
}

fn signs(page: &mut Html, plane: &Plane, trace: &Trace, marks: &[Mark]) {
    let reach = trace.slot.width * plane.band() / 2.0 + 2.0;
    for mark in marks {
        let (Some(x), Some(y)) = (plane.x(mark.x), middle(plane, trace, mark.y)) else {
            continue;
        };
        page.raw("<g class=\"mark\"");
        numbers(page, plane, mark);
        page.raw(">");
        interval(page, plane, mark, (x, y));
        page.raw(&format!(
            "<path class=\"sign {}\" d=\"{}\"/>",
            trace.sign.name(),
            trace.sign.path(x, y, reach)
        ));
        title(page, &mark.title);
        page.raw("</g>\n");
    }
}

/// The bar between a mark's bounds.
fn interval(page: &mut Html, plane: &Plane, mark: &Mark, (x, y): (f64, f64)) {
    let known = |bound: Option<f64>| bound.filter(|bound| bound.is_finite());
    let (Some(low), Some(high)) = (known(mark.low), known(mark.high)) else {
        return;
    };
    // A bound below a logarithmic axis is at the axis' start.
    let path = if plane.is_of_names() {
        let from = plane.x(low).unwrap_or(plane.left);
        let Some(to) = plane.x(high) else { return };
        format!("M{from:.1} {:.1}v8m0 -4H{to:.1}m0 -4v8", y - 4.0)
    } else {
        let from = plane.y(low).unwrap_or(plane.bottom);
        let Some(to) = plane.y(high) else { return };
        format!("M{:.1} {from:.1}h8m-4 0V{to:.1}m-4 0h8", x - 4.0)
    };
    // A wider line of the page's colour behind it, so that it is seen over any bar.
    page.raw(&format!(
        "<path class=\"halo\" d=\"{path}\"/><path class=\"interval\" d=\"{path}\"/>"
    ));
}

/// The bounds of all bars, over the bars that are next to them.
pub(super) fn intervals_of_bars(page: &mut Html, plane: &Plane) {
    for trace in &plane.panel.traces {
        let Marks::Bars(marks) = &trace.marks else {
            continue;
        };
        page.raw("<g class=\"bounds\">\n");
        for mark in marks {
            let place = plane.x(mark.x).zip(middle(plane, trace, mark.y));
            if let Some(place) = place {
                interval(page, plane, mark, place);
            }
        }
        page.raw("</g>\n");
    }
}

fn curve(page: &mut Html, plane: &Plane, trace: &Trace, places: &[(f64, f64)]) {
    let drawn: Vec<(f64, f64)> = places
        .iter()
        .filter_map(|(x, y)| Some((plane.x(*x)?, plane.y(*y)?)))
        .collect();
    let path: Vec<String> = drawn
        .iter()
        .map(|(x, y)| format!("{x:.1} {y:.1}"))
        .collect();
    let list = |of: fn(&(f64, f64)) -> f64| {
        let words: Vec<String> = places.iter().map(|place| of(place).to_string()).collect();
        words.join(" ")
    };
    page.raw(&format!(
        "<path class=\"line d{}\" d=\"M{}\"",
        trace.dash,
        path.join("L")
    ));
    if matches!(trace.marks, Marks::Curve(_)) {
        page.raw(&format!(
            " data-x=\"{}\" data-y=\"{}\">",
            list(|place| place.0),
            list(|place| place.1)
        ));
        title(page, &trace.name);
        page.raw("</path>\n");
    } else {
        page.raw("/>\n");
    }
}

fn bar(page: &mut Html, plane: &Plane, trace: &Trace, mark: &Mark) {
    let (Some(from), Some(to), Some(y)) = (
        plane.x(mark.from),
        plane.x(mark.x),
        middle(plane, trace, mark.y),
    ) else {
        return;
    };
    let height = trace.slot.width * plane.band();
    page.raw("<g class=\"mark\"");
    numbers(page, plane, mark);
    page.raw(&format!(
        "><rect class=\"bar\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\"/>",
        from.min(to),
        y - height / 2.0,
        (to - from).abs(),
    ));
    title(page, &mark.title);
    page.raw("</g>\n");
}

fn quartiles(page: &mut Html, plane: &Plane, trace: &Trace, of: &Quartiles) {
    let Some(y) = middle(plane, trace, of.y) else {
        return;
    };
    let found: Vec<f64> = of.five.iter().filter_map(|value| plane.x(*value)).collect();
    let [least, low, median, high, most] = found[..] else {
        return;
    };
    let half = trace.slot.width * plane.band() / 2.0;
    let five = of.five.map(|value| value.to_string()).join(" ");
    page.raw(&format!("<g class=\"mark\" data-five=\"{five}\" data-y=\""))
        .text(&plane.y_words(of.y))
        .raw(&format!(
            "\"><path class=\"box\" d=\"M{low:.1} {:.1}H{high:.1}v{:.1}H{low:.1}z\"/>\
             <path class=\"line d0\" d=\"M{least:.1} {y:.1}H{low:.1}M{high:.1} {y:.1}H{most:.1}\"/>\
             <path class=\"median\" d=\"M{median:.1} {:.1}v{:.1}\"/>",
            y - half,
            2.0 * half,
            y - half,
            2.0 * half,
        ));
    title(page, &of.title);
    page.raw("</g>\n");
}

fn title(page: &mut Html, words: &str) {
    page.raw("<title>").text(words).raw("</title>");
}
