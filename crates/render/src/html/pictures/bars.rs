//! Bars: a band for each name, with the bars of each series next to or behind each other.

use bitcost_analysis::statistics::Interval;

use super::picture::{Picture, ROWS, note_rows, words};
use crate::html::chart::{Axis, Chart, Mark, Marks, Trace};

#[derive(Default)]
pub(super) struct Bars {
    pub title: String,
    pub caption: String,
    pub unit: String,
    /// Each name, and what they are names of.
    pub names: Vec<String>,
    pub names_title: String,
    pub series: Vec<Series>,
    /// Whether the bars of a name are behind each other.
    pub is_stacked: bool,
    /// Words right of each name, each column with its title.
    pub columns: Vec<(String, Vec<String>)>,
}

/// The values of all names, of one colour.
#[derive(Default)]
pub(super) struct Series {
    pub name: String,
    pub values: Vec<Option<Interval>>,
    /// The document's figures, as lines across the bars.
    pub document: Vec<Option<f64>>,
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

pub(super) const DOCUMENT: &str = "document";

const NOTHING: Interval = Interval {
    value: 0.0,
    low: Some(0.0),
    high: Some(0.0),
};

impl Bars {
    pub fn draw(self) -> Picture {
        let mut traces = Vec::new();
        let mut ends = vec![NOTHING; self.names.len()];
        let width = 0.8 / self.series.len().max(1) as f64;
        for (place, series) in self.series.iter().enumerate() {
            let mut bars = Trace::new(
                &series.name,
                place,
                Marks::Bars(self.bars(series, place, &mut ends)),
            );
            if !self.is_stacked && self.series.len() > 1 {
                bars.slot = ((place as f64 + 0.5) * width - 0.4, 0.85 * width);
            }
            // Of stacked bars the document's figure is that of their sum.
            let name = match self.is_stacked {
                true => DOCUMENT.to_owned(),
                false => format!("{}, {DOCUMENT}", series.name),
            };
            let mut document = Trace::new(&name, place, Marks::Across(self.document(series)));
            document.slot = bars.slot;
            traces.push(bars);
            traces.extend(Some(document).filter(|of| !of.marks.all().is_empty()));
        }
        let marks = traces.iter().flat_map(|trace| trace.marks.all());
        let reach = marks.flat_map(|mark| [Some(mark.x), mark.low, mark.high]);
        let reach: Vec<f64> = reach.flatten().collect();
        let all = self.names.len();
        let names = self.names.into_iter().take(ROWS).collect();
        let x = (Axis::from_zero(&reach), &*self.unit);
        let mut chart = Chart::rows(x, self.names_title, names, traces);
        chart.panels[0].columns = self.columns;
        for (_, words) in &mut chart.panels[0].columns {
            words.truncate(ROWS);
        }
        Picture {
            title: self.title,
            caption: self.caption,
            chart,
            note: note_rows(all),
        }
    }

    /// The bars of the series with this number. Stacked ones begin where those before them end, and the last one has the
    /// bounds of their sum.
    fn bars(&self, series: &Series, number: usize, ends: &mut [Interval]) -> Vec<Mark> {
        let is_last = number + 1 == self.series.len();
        let values = series.values.iter().take(ROWS).enumerate();
        let bar = |(place, value): (usize, &Option<Interval>)| {
            let value = value.as_ref()?;
            let before = if self.is_stacked {
                ends[place]
            } else {
                NOTHING
            };
            let sum = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a + b);
            ends[place] = Interval {
                value: before.value + value.value,
                low: sum(before.low, value.low),
                high: sum(before.high, value.high),
            };
            let name = format!("{}, {}", self.names[place], series.name);
            let title = words(&name, value, &self.unit);
            let end = match self.is_stacked && !is_last {
                true => Interval::alone(ends[place].value),
                false => ends[place],
            };
            Some(Mark {
                from: before.value,
                ..Mark::at(end.value, place as f64, &end, title)
            })
        };
        values.filter_map(bar).collect()
    }

    fn document(&self, series: &Series) -> Vec<Mark> {
        let values = series.document.iter().take(ROWS).enumerate();
        let mark = |(place, value): (usize, &Option<f64>)| {
            let value = Interval::alone((*value)?);
            let name = format!("{}, {DOCUMENT}", self.names[place]);
            let title = words(&name, &value, &self.unit);
            Some(Mark::at(value.value, place as f64, &value, title))
        };
        values.filter_map(mark).collect()
    }
}
