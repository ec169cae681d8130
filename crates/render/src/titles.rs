//! Titles of metrics, with their units and their better side.

use bitcost_analysis::metrics::{Better, Metric, metric};

use crate::words::around;

/// `Throughput (Mbit/s, higher is better)`.
pub fn title(name: &str) -> String {
    let Some(metric) = metric(name) else {
        return name.to_owned();
    };
    let better = match metric.better {
        Better::Higher => ", higher is better",
        Better::Lower => ", lower is better",
        Better::Neither => "",
    };
    let remarks = format!("{}{better}", metric.unit);
    metric.title.to_owned() + &around(" (", remarks.trim_start_matches(", "), ")")
}

/// `Throughput (Mbit/s)`.
pub fn named(metric: &Metric) -> String {
    metric.title.to_owned() + &around(" (", metric.unit, ")")
}
