//! Which cells are compared with which, and whether their blocks are the same.

use std::collections::BTreeMap;

use bitcost_model::study::Label;
use bitcost_model::units::counted;
use bitcost_study::Compared;

use super::change::{Pair, Runs, change_of};
use super::found::{ComparedCell, Comparison, Unmatched};
use super::matching::{Matched, matched};
use super::remarks::{host_sentences, machine_remark, run_remarks, same_cpus, setting_differences};
use crate::cells::RunRow;
use crate::findings::Findings;
use crate::metrics::Metric;
use crate::summary::counterpart;

/// Compares two sides, each of one execution or several, cell by cell. Cells correspond where no level
/// known to both differs; those of the first old execution are compared.
pub fn across(
    old: &[Findings],
    new: &[Findings],
    metrics: &[&'static Metric],
    threshold_pct: f64,
) -> Comparison {
    let mut comparison = Comparison {
        old: side_name(old),
        new: side_name(new),
        threshold_pct,
        ..Comparison::default()
    };
    let ([first, ..], [other, ..]) = (old, new) else {
        return comparison;
    };
    let matched = matched(first, other);
    comparison.seconds = old.iter().map(seconds).sum();
    comparison.host_differences = host_sentences(first, other);
    comparison.setting_differences = setting_differences(first, other, &matched.pairs);
    comparison.run_remarks = old.iter().chain(new).filter_map(run_remarks).collect();
    let mut are_alike = true;
    for side in [old, new] {
        for it in &side[1..] {
            are_alike &= comparison.differ_within(&side[0], it);
        }
    }
    let (olds, news): (Vec<usize>, Vec<usize>) = matched.pairs.iter().copied().unzip();
    let levels = matched.pairs.iter().map(|(was, is)| {
        let is_new = |level: &&(String, Label)| first.summary.study.factor(&level.0).is_none();
        let was = first.summary.cells[*was].levels.iter();
        let is = other.summary.cells[*is].levels.iter();
        was.chain(is.filter(is_new)).cloned().collect()
    });
    let sides = runs_of(old, &olds).into_iter().zip(runs_of(new, &news));
    let pairs = sides.zip(&matched.pairs).map(|((old, new), cells)| Pair {
        old,
        new,
        same_blocks: false,
        same_cpus: are_alike && same_cpus([first, other], *cells),
    });
    comparison.compare(levels.zip(pairs), metrics);
    let names = [&*comparison.old, &*comparison.new];
    let machine = machine_remark(names, [old, new]);
    let machine = machine.filter(|_| comparison.changes().any(|of| !of.is_adjusted));
    comparison.run_remarks.extend(machine);
    comparison.unmatched = matched.unmatched;
    comparison.hold_together();
    comparison
}

/// How long the runs of an execution take.
fn seconds(execution: &Findings) -> f64 {
    let summary = &execution.summary;
    // How long a run of another program took is not known.
    let planned = |run: &RunRow| {
        summary
            .planned
            .get(run.cell)
            .filter(|_| !summary.is_imported)
    };
    let runs = summary.runs.iter().filter_map(planned);
    runs.map(|cell| cell.conditions.run_time().as_secs_f64())
        .sum()
}

fn side_name(executions: &[Findings]) -> String {
    let names: Vec<&str> = executions.iter().map(|one| one.name.as_str()).collect();
    match &names[..] {
        [first, second, third, others @ ..] if !others.is_empty() => {
            format!("{first}, {second}, {third} and {} more", others.len())
        }
        _ => names.join(", "),
    }
}

/// The runs of these cells of the first execution of a side.
fn runs_of<'a>(executions: &'a [Findings], cells: &[usize]) -> Vec<Runs<'a>> {
    let mut found = vec![Vec::new(); cells.len()];
    for (number, execution) in executions.iter().enumerate() {
        let rows = execution.summary.used();
        let places: BTreeMap<usize, usize> = match number {
            0 => cells.iter().map(|cell| (*cell, *cell)).collect(),
            _ => BTreeMap::from_iter(matched(&executions[0], execution).pairs),
        };
        for (runs, cell) in found.iter_mut().zip(cells) {
            runs.extend(places.get(cell).map(|place| rows[*place].clone()));
        }
    }
    found
}

impl Comparison {
    /// Adds what differs from the first execution of a side to another one, whose runs are taken
    /// together with its own; whether their cells had the same CPUs.
    fn differ_within(&mut self, first: &Findings, it: &Findings) -> bool {
        let Matched { pairs, unmatched } = matched(first, it);
        let named = |words: String| format!("{} → {}: {words}", first.name, it.name);
        let hosts = host_sentences(first, it).into_iter();
        self.host_differences.extend(hosts.map(named));
        let settings = setting_differences(first, it, &pairs).into_iter();
        self.setting_differences.extend(settings.map(named));
        let lone = unmatched.iter().filter(|one| !one.is_old).count();
        let lone = (lone > 0).then(|| counted(lone, "cell") + " without a counterpart");
        self.run_remarks.extend(lone.map(named));
        pairs.iter().all(|pair| same_cpus([first, it], *pair))
    }

    /// Adds cells with their levels and the runs of both sides.
    fn compare<'a>(
        &mut self,
        cells: impl Iterator<Item = (Vec<(String, Label)>, Pair<'a>)>,
        metrics: &[&'static Metric],
    ) {
        let threshold_pct = self.threshold_pct;
        self.cells.extend(cells.map(|(levels, pair)| {
            let change = |metric: &&'static Metric| change_of(&pair, metric, threshold_pct);
            let changes = metrics.iter().filter_map(change).collect();
            ComparedCell { levels, changes }
        }));
    }
}

/// Compares the cells of one execution that have the old level of a factor with those that have the new one, each with the
/// cell whose other levels are the same. The runs are in the same blocks, unless they are of other programs.
pub fn within(
    execution: &Findings,
    compared: &Compared,
    metrics: &[&'static Metric],
    threshold_pct: f64,
) -> Comparison {
    let Compared { factor, old, new } = compared;
    let (summary, rows) = (&execution.summary, execution.summary.used());
    let mut comparison = Comparison {
        old: format!("{factor}={old}"),
        new: format!("{factor}={new}"),
        same_blocks: !summary.is_imported,
        is_within: true,
        threshold_pct,
        run_remarks: run_remarks(execution).into_iter().collect(),
        seconds: seconds(execution) / 2.0,
        command_line: summary.command_line.clone(),
        ..Comparison::default()
    };
    let turned = Compared {
        old: new.clone(),
        new: old.clone(),
        ..compared.clone()
    };
    let mut pairs = Vec::new();
    for (is_old, compared) in [(true, compared), (false, &turned)] {
        for (place, cell) in summary.cells.iter().enumerate() {
            let Some((levels, other)) = counterpart(compared, &cell.levels) else {
                continue;
            };
            match summary.place(&other) {
                Some(other) if is_old => {
                    let [old, new] = [place, other].map(|place| vec![rows[place].clone()]);
                    let pair = Pair {
                        old,
                        new,
                        same_blocks: comparison.same_blocks,
                        same_cpus: same_cpus([execution; 2], (place, other)),
                    };
                    pairs.push((levels, pair));
                }
                Some(_) => {}
                None => comparison.unmatched.push(Unmatched {
                    cell: cell.name(),
                    is_old,
                }),
            }
        }
    }
    comparison.compare(pairs.into_iter(), metrics);
    comparison.hold_together();
    comparison
}
