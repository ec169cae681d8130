//! The gates of a test: bounds of its figures, which its exit code reports.

use bitcost_analysis::checks::Verdict;
use bitcost_analysis::findings::Findings;
use bitcost_analysis::metrics::metric;
use bitcost_model::conditions::Direction;
use bitcost_model::units::{parse_rate, plain};
use bitcost_render::number;

use crate::failure::Failure;

/// What is said of a figure that the test does not have; no longer test has it, either.
const UNKNOWN: &str = " is not known";

/// What is said of a figure without an interval; against an iperf3 server a longer test has none, either.
const ALONE: &str = "; its error is not known from one test";

#[derive(clap::Args)]
pub struct Gates {
    /// Exit with code 1 if the throughput is under this rate, such as 5G, or fewer transactions a
    /// second are made; with 4 if its interval contains the bound
    #[arg(long, value_name = "RATE", value_parser = parse_rate, conflicts_with = "against")]
    fail_under: Option<u64>,
    /// Exit with code 1 if the cost at either end is over this number of µs for a KiB, or for a
    /// transaction, such as 0.5; with 4 if its interval contains the bound
    #[arg(long, value_name = "MICROSECONDS", value_parser = cost, conflicts_with = "against")]
    pub fail_over_cost: Option<f64>,
}

fn cost(text: &str) -> Result<f64, String> {
    let number = text
        .parse()
        .ok()
        .filter(|cost: &f64| *cost > 0.0 && cost.is_finite());
    number.ok_or_else(|| {
        format!("`{text}` is not a cost; allowed: a number above 0, without a unit, such as 0.5 (µs/KiB, of transactions µs/transaction)")
    })
}

impl Gates {
    pub fn is_given(&self) -> bool {
        self.fail_under.is_some() || self.fail_over_cost.is_some()
    }

    /// Fails if a figure of the test breaks its bound, or else if one may.
    pub fn check(&self, findings: &Findings) -> Result<(), Failure> {
        let planned = findings.summary.planned.first();
        let is_transactional =
            planned.is_some_and(|cell| cell.conditions.workload.is_transactional());
        let (rate, scale, unit) = match is_transactional {
            true => ("transactions_per_second", 1.0, "transaction"),
            false => ("throughput_mbps", 1e6, "kib"),
        };
        let least = self.fail_under.map(|least| least as f64 / scale);
        let mut bounds = Vec::from_iter(least.map(|_| (rate.to_owned(), (least, None))));
        if planned.is_some_and(|cell| cell.conditions.direction == Direction::Both) {
            // The other way is the first background workload.
            bounds.extend(least.map(|_| (format!("background_{rate}"), (least, None))));
        }
        bounds.extend(self.fail_over_cost.into_iter().flat_map(|most| {
            let name = |end| format!("{end}_service_demand_us_per_{unit}");
            ["send", "receive"].map(|end| (name(end), (None, Some(most))))
        }));
        let judged: Vec<(Verdict, String)> = bounds
            .iter()
            .filter_map(|(name, bounds)| judge(findings, name, *bounds))
            .collect();
        let of = |verdict| {
            let of = judged.iter().filter(|(one, _)| *one == verdict);
            of.map(|(_, words)| words.as_str())
                .collect::<Vec<_>>()
                .join("; ")
        };
        match (of(Verdict::Fail), of(Verdict::CannotTell)) {
            (none, open) if none.is_empty() && open.is_empty() => Ok(()),
            (none, open) if none.is_empty() => {
                let remedy = match [ALONE, UNKNOWN].map(|words| open.contains(words)) {
                    [true, _] => "; use --until-interval 5%, or a test of a second or more",
                    [_, true] => "",
                    _ => {
                        "; a longer test (--time), or several (--until-interval 5%), may decide it"
                    }
                };
                Err(Failure::Undecided(format!("cannot tell: {open}{remedy}")))
            }
            (failed, _) => Err(Failure::Check(failed)),
        }
    }
}

/// A figure of the test and its bounds, in words, with the verdict.
fn judge(
    findings: &Findings,
    name: &str,
    (least, most): (Option<f64>, Option<f64>),
) -> Option<(Verdict, String)> {
    let metric = metric(name)?;
    let (title, unit) = (metric.title, metric.unit);
    let cell = findings.summary.cells.first();
    let Some(figure) = cell.and_then(|cell| cell.figure(name)) else {
        return Some((Verdict::CannotTell, format!("{title}{UNKNOWN}")));
    };
    let bound = match (least, most) {
        (Some(least), _) => format!("at least {}", plain(least)),
        (_, most) => format!("at most {}", plain(most?)),
    };
    let figure_words = number::known(&figure, &format!(" {unit}"));
    let alone = if figure.low.is_none() { ALONE } else { "" };
    let words = format!("{title} is {figure_words}, allowed: {bound}{alone}");
    Some((Verdict::of(figure, least, most), words))
}
