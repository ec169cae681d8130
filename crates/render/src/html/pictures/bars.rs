//! Bars: a band for each name, with the bars of each series next to or behind each other.

use bitcost_analysis::frame::{Table, Value};
use bitcost_analysis::statistics::Interval;

use super::picture::{Picture, ROWS, note_rows, words};
use crate::html::chart::{Axis, Chart, Mark, Marks, Trace};

/// What a picture of bars shows.
#[derive(Default)]
pub(crate) struct Bars {
    pub file: String,
    pub title: String,
    pub caption: String,
    pub unit: String,
    pub names: Vec<String>,
    pub series: Vec<Series>,
    /// Whether the bars of a name are behind each other.
    pub is_stacked: bool,
    /// Values at which a line stands.
    pub rules: Vec<f64>,
    /// Words right of each name, each column with its title.
    pub columns: Vec<(String, Vec<String>)>,
}

/// The values of all names, of one colour.
#[derive(Default)]
pub(crate) struct Series {
    pub name: String,
    pub values: Vec<Option<Interval>>,
    /// The document's figures, as lines across the bars.
    pub document: Vec<Option<f64>>,
    /// The class of its colour in the style sheet, if it is no colour of a series.
    pub class: Option<&'static str>,
}

impl Series {
    pub fn new(name: &str, values: Vec<Option<Interval>>) -> Series {
        Series {
            name: name.to_owned(),
            values,
            ..Series::default()
        }
    }
}

/// Figures of a document in words.
pub(super) const DOCUMENT: &str = "document";

impl Bars {
    pub fn draw(self) -> Picture {
        let mut numbers = Table::new(["name", "series", "value", "low", "high"]);
        let mut traces = Vec::new();
        let mut ends = vec![0.0; self.names.len()];
        let width = 0.8 / self.series.len().max(1) as f64;
        for (place, series) in self.series.iter().enumerate() {
            let bars = self.bars(series, &mut ends, &mut numbers);
            let mut bars = Trace::new(&series.name, place, Marks::Bars(bars));
            if let Some(class) = series.class {
                bars.class = class.to_owned();
            }
            if !self.is_stacked && self.series.len() > 1 {
                bars.slot = ((place as f64 + 0.5) * width - 0.4, 0.85 * width);
            }
            // Of stacked bars the document's figure is that of their sum.
            let name = match self.is_stacked {
                true => DOCUMENT.to_owned(),
                false => format!("{}, {DOCUMENT}", series.name),
            };
            let mut document = Trace::new(&name, place, Marks::Across(Vec::new()));
            document.slot = bars.slot;
            traces.push(bars);
            let marks = self.document(series, &mut numbers);
            if !marks.is_empty() {
                document.marks = Marks::Across(marks);
                traces.push(document);
            }
        }
        let axis = Axis::from_zero(&[reach(&traces), self.rules.clone()].concat());
        let all = self.names.len();
        let names = self.names.into_iter().take(ROWS).collect();
        let mut chart = Chart::rows((axis, &self.unit), names, traces);
        chart.panels[0].rules = self.rules;
        chart.panels[0].columns = self.columns;
        for (_, words) in &mut chart.panels[0].columns {
            words.truncate(ROWS);
        }
        Picture {
            file: self.file,
            title: self.title,
            caption: self.caption,
            chart,
            numbers,
            note: note_rows(all),
        }
    }

    /// The bars of a series, which begin where those before them end if they are stacked, and their rows in the file.
    fn bars(&self, series: &Series, ends: &mut [f64], numbers: &mut Table) -> Vec<Mark> {
        let mut marks = Vec::new();
        for (place, value) in series.values.iter().enumerate() {
            let Some(value) = value else { continue };
            let name = &self.names[place];
            numbers.rows.push(row(name, &series.name, value));
            let from = if self.is_stacked { ends[place] } else { 0.0 };
            ends[place] = from + value.value;
            if place < ROWS {
                let title = words(&format!("{name}, {}", series.name), value, &self.unit);
                marks.push(Mark {
                    x: from + value.value,
                    from,
                    low: value.low.map(|low| from + low),
                    high: value.high.map(|high| from + high),
                    ..Mark::at(0.0, place as f64, value, title)
                });
            }
        }
        marks
    }

    fn document(&self, series: &Series, numbers: &mut Table) -> Vec<Mark> {
        let mut marks = Vec::new();
        for (place, value) in series.document.iter().enumerate() {
            let Some(value) = value else { continue };
            let (name, value) = (&self.names[place], Interval::alone(*value));
            numbers.rows.push(row(name, DOCUMENT, &value));
            if place < ROWS {
                let title = words(&format!("{name}, {DOCUMENT}"), &value, &self.unit);
                marks.push(Mark::at(value.value, place as f64, &value, title));
            }
        }
        marks
    }
}

fn row(name: &str, series: &str, of: &Interval) -> Vec<Value> {
    let numbers = [Some(of.value), of.low, of.high].map(Value::from);
    [&[name, series].map(Value::from)[..], &numbers].concat()
}

/// The values to which the marks reach.
fn reach(traces: &[Trace]) -> Vec<f64> {
    let marks = traces.iter().flat_map(|trace| match &trace.marks {
        Marks::Bars(marks) | Marks::Across(marks) => &marks[..],
        _ => &[],
    });
    let all = marks.flat_map(|mark| [Some(mark.x), mark.low, mark.high]);
    all.flatten().collect()
}
