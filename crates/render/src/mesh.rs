//! What a mesh shows: the hosts and pairs that are slower than the others, settings that one host has
//! alone, and the matrix.

use bitcost_analysis::mesh::{
    Different, EFFECT_LEAST, MeshFindings, Named, Outlier, PAIR_LEAST, SCORE_LEAST,
};
use bitcost_model::shell::shell_word;
use bitcost_model::units::counted;

use crate::block::Block;
use crate::lines::Lines;
use crate::number;
use crate::words::lowered;

const MATRIX: usize = 16;

/// Outliers, hosts without runs, and hosts with other settings that are listed, each.
const LISTED: usize = 20;

fn method() -> String {
    let (host, pair) = (100.0 * EFFECT_LEAST, 100.0 * PAIR_LEAST);
    format!(
        "Scores are differences of logarithms from the median in robust standard deviations, of a table of senders and receivers that is polished by medians; what is named has a score of {SCORE_LEAST} or more and at least {host:.0} % of a host, {pair:.0} % of a pair."
    )
}

pub(crate) fn mesh_sentence(of: &MeshFindings) -> String {
    let hosts = counted(of.mesh.hosts.len(), "host");
    let pairs: std::collections::BTreeSet<_> = of.runs.iter().map(|run| run.pair).collect();
    let basis = format!(
        "{} of {}",
        counted(of.runs.len(), "run"),
        counted(pairs.len(), "pair")
    );
    if of.scores.is_none() {
        return format!("Too few runs to compare {hosts}: {basis}.");
    }
    let title = lowered(of.metric.title);
    let names = of.outliers.iter().take(LISTED);
    let names: Vec<String> = names.map(|outlier| of.name(outlier.named)).collect();
    let more = match of.outliers.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match of.outliers.len() {
        0 => {
            format!("No host and no pair of {hosts} is worse than the others in {title} ({basis}).")
        }
        _ => format!(
            "Worse than the others in {title}: {}{more} ({basis}, {hosts}).",
            names.join("; ")
        ),
    }
}

/// `host n07 as receiver is 31 % below the others (score 12): receiver's CPU (12 of 14 runs)`
fn outlier_words(of: &MeshFindings, outlier: &Outlier) -> String {
    let name = of.name(outlier.named);
    let runs = counted(outlier.runs, "run");
    let side = if outlier.pct < 0.0 { "below" } else { "above" };
    let others = match outlier.named {
        Named::Pair(..) => "what its hosts have with others",
        _ => "the others",
    };
    let limiter = match outlier.limiter.as_deref() {
        None => format!(", for a reason that its runs do not show ({runs})"),
        Some(limiter) => format!(": {limiter} ({} of {runs})", outlier.limited),
    };
    let [percent, score] = [outlier.pct, outlier.score].map(|value| number::plain(value.abs()));
    format!("{name} is {percent} % {side} {others} (score {score}){limiter}")
}

/// The command that takes a slow node of Slurm out of service; absent for a pair, and for hosts of no Slurm.
fn drain_words(of: &MeshFindings, outlier: &Outlier) -> Option<String> {
    let (Named::Host(host) | Named::Sender(host) | Named::Receiver(host)) = outlier.named else {
        return None;
    };
    let node = of.mesh.written[host].strip_prefix("slurm:")?;
    let reason = outlier_words(of, outlier).replace(['"', '\\', '$', '`'], "");
    Some(format!(
        "to drain {node}: scontrol update NodeName={} State=DRAIN Reason=\"bitcost: {reason}\"",
        shell_word(node)
    ))
}

fn paragraphs(of: &MeshFindings) -> Vec<String> {
    let words =
        |outlier| std::iter::once(outlier_words(of, outlier)).chain(drain_words(of, outlier));
    let outliers = of.outliers.iter().take(LISTED);
    let mut said: Vec<String> = outliers.flat_map(words).collect();
    let suspected = of.suspected.iter().take(LISTED);
    said.extend(suspected.map(|pair| {
        let pair = of.name(*pair);
        format!("{pair} was slow in its only run; more blocks (--blocks) would show whether it is")
    }));
    said.extend(of.different.iter().take(LISTED).map(|different| {
        let settings = different.settings.join(", ");
        let Different { host, others, .. } = different;
        format!("{host} differs from {others} of its peers: {settings}")
    }));
    let missing = of.missing.iter().take(LISTED);
    said.extend(missing.map(|of| format!("{} has no result: {}", of.host, of.reason)));
    said
}

/// `throughput in Mbit/s: 812 to 948, median 941 (quartiles 930, 945)`
fn spread_words(of: &MeshFindings) -> Option<String> {
    let [least, low, middle, high, most] = of.spread()?.map(number::plain);
    Some(format!(
        "{} of all runs: {least} to {most} {unit}, median {middle} (quartiles {low}, {high})",
        of.metric.title,
        unit = of.metric.unit
    ))
}

/// The metric of each pair, senders in rows, with its title; absent where there are too many hosts.
fn matrix(of: &MeshFindings) -> Option<(String, Lines)> {
    let hosts = &of.mesh.hosts;
    if hosts.len() > MATRIX {
        return None;
    }
    let value = |sender: usize, receiver: usize| match of.value((sender, receiver)) {
        Some(value) => number::plain(value),
        None => "·".to_owned(),
    };
    let receivers = 0..hosts.len();
    let row = |from: usize| {
        let figures = receivers.clone().map(|to| value(from, to));
        std::iter::once(hosts[from].clone())
            .chain(figures)
            .collect()
    };
    let rows = receivers.clone().map(row);
    let header = std::iter::once(String::new()).chain(hosts.clone());
    let title = format!(
        "{} in {} (senders down, receivers across)",
        of.metric.title, of.metric.unit
    );
    Some((title, Lines::new(header, rows)))
}

/// What is said of the hosts and pairs below the answer, and the matrix if it fits the width: with broken lines it
/// cannot be read.
pub(crate) fn mesh(of: &MeshFindings, width: u16) -> Vec<Block> {
    let item = |words| Block::Note("- ".to_owned(), words);
    let mut blocks: Vec<Block> = paragraphs(of).into_iter().map(item).collect();
    blocks.extend(spread_words(of).map(Block::words));
    let fits = |(_, lines): &(String, Lines)| lines.fits(width);
    let matrix = matrix(of).filter(fits);
    blocks.extend(matrix.map(|(title, lines)| Block::Table(title, lines)));
    if of.scores.is_some() {
        blocks.push(Block::words(method()));
    }
    blocks
}
