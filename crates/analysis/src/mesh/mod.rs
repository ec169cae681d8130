//! What the runs of a mesh say of its hosts: which are slower than the others as a sender or as a receiver,
//! which pairs are slow alone, what limits them, and which settings they have alone.

mod found;
mod judge;
mod settings;

use std::collections::{BTreeSet, HashMap};

use bitcost_model::study::Label;
use bitcost_study::mesh::{Mesh, RECEIVER, SENDER};

use crate::cells::RunRow;
use crate::explain::Limiter;
use crate::metrics::{Metric, metric as metric_named};
use crate::summary::{Summary, measured};

pub use found::{MeshFindings, Missing, Named, Outlier, PairRun};
pub use judge::{EFFECT_LEAST, PAIR_LEAST, SCORE_LEAST};
pub use settings::Different;

use settings::majority_differences;

pub type LimiterOf<'a> = &'a dyn Fn(usize) -> Option<Limiter>;

/// What the runs of a mesh show; absent where the study is none, or no run is used.
pub fn mesh(summary: &Summary, limiter: LimiterOf) -> Option<MeshFindings> {
    let mesh = summary.study.mesh.clone()?;
    let metric = measured(summary).into_iter().next();
    let metric = metric.or_else(|| metric_named("throughput_mbps"))?;
    let runs = runs((summary, limiter), &mesh, metric);
    let ends = summary.ends.iter();
    let names = ends.map(|end| (name_of(&end.place).to_owned(), &end.host));
    let names: Vec<(String, &_)> = names.collect();
    let (different, missing) = (majority_differences(&names), missing(summary, &mesh, &runs));
    Some(MeshFindings {
        different,
        missing,
        ..judge::judged(mesh, metric, runs)
    })
}

/// A place without what it begins with: `n1` of `ssh:n1`.
fn name_of(place: &str) -> &str {
    place.split_once(':').map_or(place, |(_, name)| name)
}

fn runs(
    (summary, limiter): (&Summary, LimiterOf),
    mesh: &Mesh,
    metric: &'static Metric,
) -> Vec<PairRun> {
    let hosts = mesh.hosts.iter().map(String::as_str).zip(0..);
    let hosts: HashMap<&str, usize> = hosts.collect();
    let limiters: Vec<Option<Limiter>> = (0..summary.cells.len()).map(limiter).collect();
    let of = |row: &RunRow| {
        let value = row.used_value(metric).filter(|value| *value > 0.0)?;
        let cell = &summary.cells[row.cell];
        let host = |factor: &str| {
            let (_, label) = cell.levels.iter().find(|(name, _)| name == factor)?;
            hosts.get(label.to_string().as_str()).copied()
        };
        let own = |(name, _): &&(String, Label)| ![SENDER, RECEIVER].contains(&name.as_str());
        Some(PairRun {
            pair: (host(SENDER)?, host(RECEIVER)?),
            levels: cell.levels.iter().filter(own).cloned().collect(),
            value,
            limiter: limiters[row.cell].clone(),
        })
    };
    summary.runs.iter().filter_map(of).collect()
}

/// The hosts without a run that is used, with the reason of one that has none.
fn missing(summary: &Summary, mesh: &Mesh, runs: &[PairRun]) -> Vec<Missing> {
    let there: BTreeSet<usize> = runs
        .iter()
        .flat_map(|run| <[usize; 2]>::from(run.pair))
        .collect();
    let without = (0..mesh.hosts.len()).filter(|host| !there.contains(host));
    let reason = |host: usize| {
        let host = mesh.hosts[host].clone();
        let is_of = |row: &&RunRow| {
            let mut levels = summary.cells[row.cell].levels.iter().take(2);
            !row.is_used() && levels.any(|(_, label)| label.to_string() == host)
        };
        let reason = summary.runs.iter().find(is_of)?.reason.clone()?;
        Some(Missing { host, reason })
    };
    without.filter_map(reason).collect()
}
