//! A chart as SVG: grid, labels, marks, columns of words, and the legend under it.

use super::axis::Axis;
use super::{Chart, Mark, Marks, Panel, Quartiles, Scale, Trace};
use crate::html::writer::Html;

/// A chart is drawn for a desk and for a phone, of which the style sheet shows one: the class, and the width in its own
/// units, which are CSS pixels where there is room.
const WIDTHS: [(&str, f64); 2] = [("broad", 900.0), ("narrow", 360.0)];

/// About the width of a letter, and the height of a line of text.
const LETTER: f64 = 7.2;
const LINE: f64 = 18.0;

/// The most letters of a name left of its band, and of a word in a column; and of a title.
const NAME: usize = 36;
const TITLE: usize = 46;

/// Room between the last values and the ends of an axis, so that signs there are whole.
const INSET: f64 = 8.0;

/// The most places of a line that have a dot.
const DOTS: usize = 60;

impl Chart {
    pub fn write(&self, page: &mut Html, label: &str) {
        page.raw("<div class=\"chart\">\n");
        for (class, width) in WIDTHS {
            self.drawing(page, label, class, width);
        }
        page.raw("</div>\n");
        if self.has_legend {
            page.raw("<ul class=\"legend\">\n");
            let traces: Vec<&Trace> = self.panels.iter().flat_map(|panel| &panel.traces).collect();
            let of_one = |one: &&Trace, next: &&Trace| one.name == next.name;
            for of_name in traces.chunk_by(of_one) {
                legend(page, of_name[0]);
            }
            page.raw("</ul>\n");
        }
    }

    fn drawing(&self, page: &mut Html, label: &str, class: &str, width: f64) {
        let is_narrow = width < WIDTHS[0].1;
        let left = self.panels.iter().map(|panel| margin(panel, is_narrow));
        let left = left.fold(0.0, f64::max);
        let (mut top, mut planes) = (0.0, Vec::new());
        for (place, panel) in self.panels.iter().enumerate() {
            let is_last = place + 1 == self.panels.len();
            let has_words = !panel.y_title.is_empty() || !panel.columns.is_empty();
            top += if has_words { LINE + 8.0 } else { 6.0 };
            let lines = if is_narrow { lines(panel) } else { 0 };
            let names = match &panel.y {
                Scale::Names(names) => names.len(),
                Scale::Numbers(_) => 0,
            };
            let columns = panel.columns.iter().filter(|_| !is_narrow);
            let columns = columns.map(column_width).sum::<f64>();
            let bottom = top + panel.height + LINE * (lines * names) as f64;
            planes.push(Plane {
                panel,
                left,
                right: width - if is_narrow { 14.0 } else { 24.0 } - columns,
                top,
                bottom,
                is_last,
                lines,
            });
            top = bottom + if is_last { 2.0 * LINE + 6.0 } else { 6.0 };
        }
        page.raw(&format!(
            "<svg class=\"{class}\" viewBox=\"0 0 {width} {top}\" role=\"img\" aria-label=\"Picture: "
        ))
        .text(label)
        .raw("\">\n");
        for plane in &planes {
            plane.axes(page);
            for trace in &plane.panel.traces {
                plane.trace(page, trace);
            }
            plane.intervals_of_bars(page);
            plane.columns(page);
        }
        page.raw("</svg>\n");
    }
}

/// Room for the labels left of a panel; names are above their bands where it is narrow.
fn margin(panel: &Panel, is_narrow: bool) -> f64 {
    let letters = match &panel.y {
        Scale::Numbers(axis) => axis.ticks.iter().map(|(_, words)| words.len()).max(),
        Scale::Names(_) if is_narrow => None,
        Scale::Names(names) => names.iter().map(|name| name.chars().count()).max(),
    };
    16.0 + LETTER * letters.unwrap_or(0).min(NAME) as f64
}

/// The lines above each band of a narrow panel: one that its name and its word in the first column share, or one for each.
fn lines(panel: &Panel) -> usize {
    let longest = |all: &[String]| all.iter().map(|words| words.chars().count()).max();
    match (&panel.y, panel.columns.first()) {
        (Scale::Numbers(_), _) => 0,
        (Scale::Names(_), None) => 1,
        (Scale::Names(names), Some((_, words))) => {
            let letters = longest(names).unwrap_or(0).min(NAME) + longest(words).unwrap_or(0);
            if letters > NAME + 10 { 2 } else { 1 }
        }
    }
}

fn column_width((title, words): &(String, Vec<String>)) -> f64 {
    let all = words.iter().chain([title]);
    let longest = all.map(|words| words.chars().count()).max().unwrap_or(0);
    16.0 + LETTER * longest.min(NAME) as f64
}

/// Words in one line, which end in `…` if they have more letters.
fn short(words: &str, letters: usize) -> String {
    let words = words.replace(char::is_control, " ");
    match words.chars().count() <= letters {
        true => words,
        false => words.chars().take(letters - 1).chain(['…']).collect(),
    }
}

/// A panel with its place in the chart.
struct Plane<'a> {
    panel: &'a Panel,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    /// Whether the labels of the horizontal axis stand under it.
    is_last: bool,
    /// The lines above each band, of its name and of its word in the first column; none where these stand left and right.
    lines: usize,
}

impl Plane<'_> {
    /// The horizontal place of a value; none where it cannot be drawn.
    fn x(&self, value: f64) -> Option<f64> {
        let width = self.right - self.left - 2.0 * INSET;
        Some(self.left + INSET + width * self.panel.x.place(value)?)
    }

    /// The vertical place of a value, or of the middle of a name's band.
    fn y(&self, value: f64) -> Option<f64> {
        match &self.panel.y {
            Scale::Numbers(axis) => {
                let height = self.bottom - self.top - 2.0 * INSET;
                Some(self.bottom - INSET - height * axis.place(value)?)
            }
            Scale::Names(names) => {
                let step = (self.bottom - self.top) / names.len() as f64;
                Some(self.top + step * (value + 1.0) - self.band() / 2.0)
            }
        }
    }

    /// Height of a name's band without the line above it; of numbers there is none.
    fn band(&self) -> f64 {
        match &self.panel.y {
            Scale::Numbers(_) => 0.0,
            Scale::Names(names) => (self.bottom - self.top) / names.len() as f64 - self.above(),
        }
    }

    /// The height of the lines above a band.
    fn above(&self) -> f64 {
        LINE * self.lines as f64
    }

    /// Where words about a band stand: in its middle, or in this line above it.
    fn line_of(&self, place: usize, line: usize) -> f64 {
        let middle = self.y(place as f64).unwrap_or(self.top);
        let up = match self.lines {
            0 => 0.0,
            lines => self.band() / 2.0 + LINE * ((lines - line) as f64 - 0.5),
        };
        middle - up + 4.5
    }

    fn axes(&self, page: &mut Html) {
        let mut free = f64::NEG_INFINITY;
        for (value, words) in &self.panel.x.ticks {
            let Some(x) = self.x(*value) else { continue };
            line(page, "grid", (x, self.top), (x, self.bottom));
            let half = LETTER * words.len() as f64 / 2.0;
            if self.is_last && x - half > free {
                text(page, "tick", "middle", (x, self.bottom + LINE), words);
                free = x + half + LETTER;
            }
        }
        if self.is_last {
            let at = (self.right, self.bottom + 2.0 * LINE);
            text(page, "title", "end", at, &self.panel.x_title);
        }
        match &self.panel.y {
            Scale::Numbers(axis) => self.upwards(page, axis),
            Scale::Names(names) => {
                for (place, name) in names.iter().enumerate() {
                    let (anchor, x) = match self.lines {
                        0 => ("end", self.left - 6.0),
                        _ => ("start", 8.0),
                    };
                    let at = (x, self.line_of(place, 0));
                    text(page, "tick name", anchor, at, name);
                }
            }
        }
        text(
            page,
            "title",
            "start",
            (8.0, self.top - 10.0),
            &self.panel.y_title,
        );
    }

    /// The ticks of the vertical axis, from below, with the labels for which there is room.
    fn upwards(&self, page: &mut Html, axis: &Axis) {
        let mut free = f64::INFINITY;
        for (value, words) in &axis.ticks {
            let Some(y) = self.y(*value) else { continue };
            line(page, "grid", (self.left, y), (self.right, y));
            if y < free {
                text(page, "tick", "end", (self.left - 6.0, y + 4.5), words);
                free = y - LINE;
            }
        }
    }

    fn columns(&self, page: &mut Html) {
        let mut left = self.right;
        let shown = if self.lines > 0 { 1 } else { usize::MAX };
        for column in self.panel.columns.iter().take(shown) {
            let (anchor, x) = match self.lines {
                0 => ("start", left + 16.0),
                _ => ("end", self.right),
            };
            text(page, "title", anchor, (x, self.top - 10.0), &column.0);
            let line = self.lines.saturating_sub(1);
            for (place, words) in column.1.iter().enumerate() {
                let at = (x, self.line_of(place, line));
                text(page, "word", anchor, at, words);
            }
            left += column_width(column);
        }
    }

    fn trace(&self, page: &mut Html, trace: &Trace) {
        page.raw(&format!("<g class=\"trace {}\">\n", trace.class));
        match &trace.marks {
            Marks::Line(marks) => {
                self.line(page, trace, marks);
                if marks.len() <= DOTS {
                    marks.iter().for_each(|mark| self.sign(page, trace, mark));
                }
            }
            Marks::Bars(marks) => marks.iter().for_each(|mark| self.bar(page, trace, mark)),
            Marks::Boxes(boxes) => boxes.iter().for_each(|of| self.quartiles(page, trace, of)),
            Marks::Dots(marks) | Marks::Open(marks) | Marks::Across(marks) => {
                marks.iter().for_each(|mark| self.sign(page, trace, mark));
            }
        }
        page.raw("</g>\n");
    }

    /// The middle of a trace's part of a name's band, or the place of a number.
    fn middle(&self, trace: &Trace, y: f64) -> Option<f64> {
        Some(self.y(y)? + trace.slot.0 * self.band())
    }

    fn sign(&self, page: &mut Html, trace: &Trace, mark: &Mark) {
        let (Some(x), Some(y)) = (self.x(mark.x), self.middle(trace, mark.y)) else {
            return;
        };
        page.raw("<g class=\"mark\">");
        self.interval(page, mark, (x, y));
        page.raw(&sign(
            &trace.marks,
            x,
            y,
            trace.slot.1 * self.band() / 2.0 + 2.0,
        ));
        title(page, &mark.title);
    }

    fn interval(&self, page: &mut Html, mark: &Mark, (x, y): (f64, f64)) {
        let (Some(low), Some(high)) = (mark.low, mark.high) else {
            return;
        };
        // A bound below a logarithmic axis is at the axis' start.
        let path = match &self.panel.y {
            Scale::Names(_) => {
                let from = self.x(low).unwrap_or(self.left);
                let Some(to) = self.x(high) else { return };
                format!("M{from:.1} {:.1}v8m0 -4H{to:.1}m0 -4v8", y - 4.0)
            }
            Scale::Numbers(_) => {
                let from = self.y(low).unwrap_or(self.bottom);
                let Some(to) = self.y(high) else { return };
                format!("M{:.1} {from:.1}h8m-4 0V{to:.1}m-4 0h8", x - 4.0)
            }
        };
        // A wider line of the page's colour behind it, so that it is seen over any bar.
        page.raw(&format!(
            "<path class=\"halo\" d=\"{path}\"/><path class=\"interval\" d=\"{path}\"/>"
        ));
    }

    /// The bounds of all bars, over the bars that are next to them.
    fn intervals_of_bars(&self, page: &mut Html) {
        page.raw("<g class=\"bounds\">\n");
        for trace in &self.panel.traces {
            let Marks::Bars(marks) = &trace.marks else {
                continue;
            };
            for mark in marks {
                if let Some(at) = self.x(mark.x).zip(self.middle(trace, mark.y)) {
                    self.interval(page, mark, at);
                }
            }
        }
        page.raw("</g>\n");
    }

    fn line(&self, page: &mut Html, trace: &Trace, marks: &[Mark]) {
        let place = |mark: &Mark| Some(format!("{:.1} {:.1}", self.x(mark.x)?, self.y(mark.y)?));
        let path: Vec<String> = marks.iter().filter_map(place).collect();
        let path = path.join("L");
        page.raw(&format!(
            "<g><path class=\"line d{}\" d=\"M{path}\"/>",
            trace.dash
        ));
        title(page, &trace.name);
    }

    fn bar(&self, page: &mut Html, trace: &Trace, mark: &Mark) {
        let ends = self.x(mark.from).zip(self.x(mark.x));
        let (Some((from, to)), Some(y)) = (ends, self.middle(trace, mark.y)) else {
            return;
        };
        let height = trace.slot.1 * self.band();
        page.raw(&format!(
            "<g class=\"mark\"><rect class=\"bar\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\"/>",
            from.min(to),
            y - height / 2.0,
            (to - from).abs(),
        ));
        title(page, &mark.title);
    }

    fn quartiles(&self, page: &mut Html, trace: &Trace, of: &Quartiles) {
        let places: Vec<f64> = of.five.iter().filter_map(|value| self.x(*value)).collect();
        let ([least, low, median, high, most], Some(y)) = (&places[..], self.middle(trace, of.y))
        else {
            return;
        };
        let height = trace.slot.1 * self.band();
        let top = y - height / 2.0;
        page.raw(&format!(
            "<g class=\"mark\"><path class=\"box\" d=\"M{low:.1} {top:.1}H{high:.1}v{height:.1}H{low:.1}z\"/>\
             <path class=\"line d0\" d=\"M{least:.1} {y:.1}H{low:.1}M{high:.1} {y:.1}H{most:.1}\"/>\
             <path class=\"median\" d=\"M{median:.1} {top:.1}v{height:.1}\"/>"
        ));
        title(page, &of.title);
    }
}

/// A sign around a place; `reach` is how far one across a band reaches to both sides.
fn sign(of: &Marks, x: f64, y: f64, reach: f64) -> String {
    let (class, path) = match of {
        Marks::Across(_) => ("across", format!("m0 {:.1}v{:.1}", -reach, 2.0 * reach)),
        Marks::Open(_) => ("open", "m0 -5.5l5 5.5l-5 5.5l-5 -5.5z".to_owned()),
        _ => ("dot", "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z".to_owned()),
    };
    format!("<path class=\"sign {class}\" d=\"M{x:.1} {y:.1}{path}\"/>")
}

fn legend(page: &mut Html, trace: &Trace) {
    let line = format!("<path class=\"line d{}\" d=\"M0 7H28\"/>", trace.dash);
    let drawn = match &trace.marks {
        Marks::Bars(_) | Marks::Boxes(_) => {
            "<rect class=\"bar\" width=\"28\" height=\"14\"/>".to_owned()
        }
        Marks::Line(_) => line + &sign(&trace.marks, 14.0, 7.0, 7.0),
        _ => sign(&trace.marks, 14.0, 7.0, 7.0),
    };
    page.raw(&format!(
        "<li><svg class=\"swatch {}\" viewBox=\"0 0 28 14\" aria-hidden=\"true\">{drawn}</svg>",
        trace.class
    ))
    .text(&trace.name)
    .raw("</li>\n");
}

/// Ends a group with the words that the pointer shows.
fn title(page: &mut Html, words: &str) {
    page.raw("<title>").text(words).raw("</title></g>\n");
}

fn text(page: &mut Html, class: &str, anchor: &str, (x, y): (f64, f64), words: &str) {
    if words.is_empty() {
        return;
    }
    let letters = if class == "title" { TITLE } else { NAME };
    let shown = short(words, letters);
    page.raw(&format!(
        "<text class=\"{class}\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">"
    ))
    .text(&shown);
    if shown != words {
        page.raw("<title>").text(words).raw("</title>");
    }
    page.raw("</text>\n");
}

fn line(page: &mut Html, class: &str, (x, y): (f64, f64), to: (f64, f64)) {
    page.raw(&format!(
        "<path class=\"{class}\" d=\"M{x:.1} {y:.1}L{:.1} {:.1}\"/>\n",
        to.0, to.1
    ));
}
