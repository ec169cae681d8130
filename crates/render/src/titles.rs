//! Titles of metrics, with their units and their better side.

use bitcost_analysis::metrics::{Better, Metric, metric};

/// `Throughput (Mbit/s, higher is better)`.
pub fn title(name: &str) -> String {
    let Some(Metric {
        title,
        unit,
        better,
        ..
    }) = metric(name)
    else {
        return name.to_owned();
    };
    let direction = match better {
        Better::Higher => "higher is better",
        Better::Lower => "lower is better",
        Better::Neither => "",
    };
    let remarks: Vec<&str> = [*unit, direction]
        .into_iter()
        .filter(|remark| !remark.is_empty())
        .collect();
    if remarks.is_empty() {
        (*title).to_owned()
    } else {
        format!("{title} ({})", remarks.join(", "))
    }
}

/// `Throughput (Mbit/s)`.
pub fn named(metric: &Metric) -> String {
    if metric.unit.is_empty() {
        metric.title.to_owned()
    } else {
        format!("{} ({})", metric.title, metric.unit)
    }
}
