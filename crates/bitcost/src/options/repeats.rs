//! Repeating a run until the interval of its median is narrow enough.

use bitcost_analysis::compare::compared_metrics;
use bitcost_analysis::metrics::{METRICS, Metric, metric};
use bitcost_analysis::summary::Summary;
use bitcost_model::conditions::Conditions;
use bitcost_model::near::did_you_mean;
use bitcost_model::study::UntilInterval;

use crate::failure::Failure;

#[derive(clap::Args)]
pub struct Repeats {
    /// Repeat the run until the 95 % confidence interval of --metric's median is narrower than this
    /// share of it, such as 5% [default: one run]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    until_interval: Option<f64>,
    /// Metric of --until-interval [default: throughput_mbps, or transactions_per_second]
    #[arg(long, value_name = "NAME", requires = "until_interval")]
    metric: Option<String>,
    /// Minimum and maximum number of runs with --until-interval
    #[arg(long, value_name = "MIN-MAX", requires = "until_interval", value_parser = range, default_value = "5-30")]
    repeats: (u32, u32),
}

/// Reads a share such as `5%`, in per cent.
pub fn percent(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.strip_suffix('%').unwrap_or(text).trim().parse().ok();
    let possible = number.filter(|number| *number > 0.0 && *number <= 100.0);
    possible.ok_or_else(|| {
        format!("`{text}` is not a share; allowed: over 0 % up to 100 %, such as 5%")
    })
}

fn range(text: &str) -> Result<(u32, u32), String> {
    let bounds = text
        .split_once('-')
        .and_then(|(least, most)| Some((least.parse().ok()?, most.parse().ok()?)));
    let possible = bounds.filter(|(least, most)| *least >= 2 && least <= most && *most <= 10_000);
    possible.ok_or_else(|| {
        format!("`{text}` is not a range; allowed: MIN-MAX from 2 to 10000, such as 5-30")
    })
}

pub fn metric_option(name: &str) -> Result<&'static Metric, Failure> {
    metric(name).ok_or_else(|| {
        let hint = did_you_mean(name, METRICS.iter().map(|metric| metric.name));
        Failure::Usage(format!(
            "--metric: `{name}` is not a metric{hint}; docs/reference/metrics.md lists them"
        ))
    })
}

/// The metrics of these names, each once; those that the executions' tables show where none is named.
pub fn compared_options(
    names: &[String],
    summaries: &[&Summary],
) -> Result<Vec<&'static Metric>, Failure> {
    if names.is_empty() {
        return Ok(compared_metrics(summaries));
    }
    let mut found: Vec<&'static Metric> = Vec::new();
    for name in names {
        let metric = metric_option(name)?;
        if found.iter().all(|known| known.name != metric.name) {
            found.push(metric);
        }
    }
    Ok(found)
}

impl Repeats {
    /// The least number of runs and the rule; absent if one run was requested.
    pub fn rule(&self, conditions: &Conditions) -> Result<Option<(u32, UntilInterval)>, Failure> {
        let Some(width_pct) = self.until_interval else {
            return Ok(None);
        };
        let transactions = conditions.workload.is_transactional();
        let default = if transactions {
            "transactions_per_second"
        } else {
            "throughput_mbps"
        };
        let metric = metric_option(self.metric.as_deref().unwrap_or(default))?;
        let (least, max_blocks) = self.repeats;
        Ok(Some((
            least,
            UntilInterval {
                metric: metric.name.to_owned(),
                width_pct,
                max_blocks,
            },
        )))
    }
}
