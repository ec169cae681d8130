//! Values that each stream of a test reports, combined over all streams.

use serde_json::Value;

use crate::lenient::measured;

/// The mean of a value over the streams; absent where no stream has measured it.
pub(super) fn mean(streams: &Value, of: impl Fn(&Value) -> &Value) -> Option<f64> {
    let all: Vec<f64> = values(streams, of).collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

/// The measured values of the streams; 0 means *not measured*, because times and windows are never
/// 0.
pub(super) fn values(streams: &Value, of: impl Fn(&Value) -> &Value) -> impl Iterator<Item = f64> {
    streams
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(move |stream| measured(of(stream)).filter(|value| *value > 0.0))
}
