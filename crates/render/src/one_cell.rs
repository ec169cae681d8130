//! One cell, such as a test: the answer of its only run, or the medians of its runs with their intervals.

use bitcost_analysis::findings::{Findings, Single};
use bitcost_analysis::metrics::{Metric, disturbance_bounds};
use bitcost_analysis::summary::measured;
use bitcost_model::record::Role;
use bitcost_model::units::counted;

use crate::answer::floor;
use crate::block::Block;
use crate::experiment::searches;
use crate::explained::cell_blocks;
use crate::lines::Lines;
use crate::notes::{caveats, without_result};
use crate::number;
use crate::one_run::{all_figures, bottleneck, shown, test_answer};
use crate::stop_rule::stop_rule_text;
use crate::words::intervals_of_runs;

/// The blocks of one cell; `verbose` also has all figures of its run, and the evidence for the
/// bottleneck.
pub(crate) fn one_cell(findings: &Findings, single: &Single, verbose: bool) -> Vec<Block> {
    let mut blocks = searches(findings);
    blocks.extend((!blocks.is_empty()).then_some(Block::Gap));
    // `limiter: receiver's CPU …` with its evidence and remedy.
    let evidence = || {
        let of = single.limiter.iter();
        let lines = of.flat_map(|cell| cell_blocks("limiter", cell));
        std::iter::once(Block::Gap).chain(lines)
    };
    if findings.summary.precision.is_some() || findings.shown_runs().count() > 1 {
        blocks.extend(medians(findings, single, verbose));
        if verbose {
            blocks.extend(evidence());
            blocks.push(Block::Gap);
        }
        blocks.extend(bottleneck(single.limiter));
        blocks.extend(of_runs(findings));
    } else {
        if verbose {
            blocks.extend(all_figures(&single.first));
            blocks.extend(evidence());
            blocks.push(Block::Gap);
        }
        let (place, floor) = (place(findings), floor(&findings.summary));
        blocks.extend(test_answer(&single.first, &place, single.limiter, floor));
    }
    blocks.extend(caveats(&findings.summary));
    blocks
}

/// The most caveats of repeated runs: their numbers differ from run to run.
const OF_RUNS: usize = 6;

/// The caveats of repeated runs, and those without a result.
fn of_runs(findings: &Findings) -> impl Iterator<Item = Block> {
    let mut all = findings.of_runs(|row| &row.caveats);
    let more = all.len().saturating_sub(OF_RUNS);
    all.truncate(OF_RUNS);
    let more = (more > 0).then(|| format!("{more} more with --json"));
    let all = all.into_iter().map(str::to_owned).chain(more);
    all.map(|words| Block::Note("caveat: ".to_owned(), words))
        .chain(without_result(&findings.summary))
}

/// `h1 to h2 in lab wire`.
fn place(findings: &Findings) -> String {
    let summary = &findings.summary;
    let [sender, receiver] = [Role::Sender, Role::Receiver].map(|role| {
        let end = summary.ends.iter().find(|end| end.role == role);
        end.map_or(role.name(), |end| {
            end.place.strip_prefix("netns:").unwrap_or(&end.place)
        })
    });
    match &summary.lab {
        Some(lab) => format!("{sender} to {receiver} in lab {}", lab.topology),
        None => format!("{sender} to {receiver}"),
    }
}

/// Medians with their intervals in brackets, of all figures where `verbose`, and whether the interval that was requested was
/// reached.
fn medians(findings: &Findings, single: &Single, verbose: bool) -> Vec<Block> {
    let answer = measured(&findings.summary);
    let is_shown = |metric: &&'static Metric| {
        verbose || answer.is_empty() || answer.iter().any(|of| of.name == metric.name)
    };
    let runs = findings.shown_runs().count();
    let (count, intervals) = (counted(runs, "run"), intervals_of_runs(runs));
    let row = |metric: &'static Metric| {
        let median = number::interval(&single.figure(metric)?);
        Some(
            [metric.title, &median, metric.unit]
                .map(str::to_owned)
                .to_vec(),
        )
    };
    let header = ["metric", "median", "unit"];
    let metrics = shown(&single.first).filter(is_shown);
    let lines = Lines::new(header, metrics.filter_map(row));
    let caption = format!("{count}; medians, in brackets their {intervals}");
    let disturbed = findings.shown_runs().filter(|row| row.is_disturbed).count();
    let disturbed = (disturbed > 0).then(|| {
        let (count, bounds) = (counted(disturbed, "run"), disturbance_bounds());
        format!("disturbed: in {count} {bounds}")
    });
    let rule = findings.summary.precision.as_ref().map(stop_rule_text);
    let notes = disturbed.into_iter().chain(rule);
    std::iter::once(Block::Table(caption, lines))
        .chain(notes.map(Block::words))
        .collect()
}
