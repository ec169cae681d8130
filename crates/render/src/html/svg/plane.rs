//! From values to places in a chart.

use super::axis::Axis;
use super::chart::{Panel, Scale};

/// Room between the last values and the ends of an axis, so that signs there are whole.
const INSET: f64 = 8.0;

/// A panel with its place in the chart.
pub(super) struct Plane<'a> {
    pub panel: &'a Panel,
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
    /// Whether the labels of the horizontal axis stand under it.
    pub is_last: bool,
}

impl Plane<'_> {
    pub fn new(panel: &Panel, (left, right): (f64, f64), top: f64, is_last: bool) -> Plane<'_> {
        Plane {
            panel,
            left,
            right,
            top,
            bottom: top + panel.height,
            is_last,
        }
    }

    /// The horizontal place of a value; none where it cannot be drawn.
    pub fn x(&self, value: f64) -> Option<f64> {
        let width = self.right - self.left - 2.0 * INSET;
        Some(self.left + INSET + width * share(&self.panel.x, value)?)
    }

    /// The vertical place of a value, or of the middle of a name's band.
    pub fn y(&self, value: f64) -> Option<f64> {
        match &self.panel.y {
            Scale::Numbers(axis) => {
                let height = self.bottom - self.top - 2.0 * INSET;
                Some(self.bottom - INSET - height * share(axis, value)?)
            }
            Scale::Names(names) => {
                let height = (self.bottom - self.top) / names.len() as f64;
                Some(self.top + height * (value + 0.5))
            }
        }
    }

    /// Height of a name's band; of numbers there is none.
    pub fn band(&self) -> f64 {
        match &self.panel.y {
            Scale::Numbers(_) => 0.0,
            Scale::Names(names) => (self.bottom - self.top) / names.len() as f64,
        }
    }

    /// Whether values are along the horizontal axis.
    pub fn is_of_names(&self) -> bool {
        matches!(self.panel.y, Scale::Names(_))
    }

    /// A value of the vertical axis in words.
    pub fn y_words(&self, value: f64) -> String {
        match &self.panel.y {
            Scale::Numbers(_) => value.to_string(),
            Scale::Names(names) => names.get(value as usize).cloned().unwrap_or_default(),
        }
    }
}

/// The share of an axis at which a value is; none if the axis has no place for it.
fn share(axis: &Axis, value: f64) -> Option<f64> {
    let has_place = value.is_finite() && (value > 0.0 || !axis.is_log);
    has_place.then(|| axis.place(value))
}
