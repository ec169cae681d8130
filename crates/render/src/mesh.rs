//! What a mesh shows, as text and JSON: the hosts and pairs that are slower than the others, settings that one host has
//! alone, and the matrix.

use bitcost_analysis::mesh::{Different, MeshFindings, Named, Outlier};
use bitcost_model::harmless_page;
use bitcost_model::units::counted;
use serde_json::{Value, json};

use crate::answer::lowered;
use crate::layout::{TextOptions, heading, paragraph};
use crate::number;

/// Most hosts of a matrix of text.
const MATRIX: usize = 16;

/// Outliers, hosts without runs, and hosts with other settings that are listed, each.
const LISTED: usize = 20;

/// How outliers are found, below them.
const METHOD: &str = "Effects are of a robust two-way model of the logarithms (host as sender, host as receiver, pair), with 95 % intervals; what is named is significant at 1 % for all effects and pairs together (Holm) and at least 3 % of a host or 10 % of a pair.";

/// The answer in a sentence or two.
pub fn mesh_sentences(of: &MeshFindings) -> Vec<String> {
    let hosts = counted(of.mesh.hosts.len(), "host");
    let pairs: std::collections::BTreeSet<_> = of.runs.iter().map(|run| run.pair).collect();
    let basis = format!(
        "{} of {}",
        counted(of.runs.len(), "run"),
        counted(pairs.len(), "pair")
    );
    if of.model.is_none() {
        return vec![format!("Too few runs to compare {hosts}: {basis}.")];
    }
    let title = lowered(of.metric.title);
    let names: Vec<String> = of
        .outliers
        .iter()
        .take(LISTED)
        .map(|outlier| of.name(outlier.named))
        .collect();
    let more = of.outliers.len().saturating_sub(LISTED);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    match of.outliers.len() {
        0 => vec![format!(
            "No host and no pair of {hosts} is worse than the others in {title} ({basis})."
        )],
        1 => vec![format!(
            "Worse than the others in {title}: {} ({basis}, {hosts}).",
            names[0]
        )],
        count => vec![format!(
            "{count} of {hosts} or pairs are worse than the others in {title}: {}{more} ({basis}).",
            names.join("; ")
        )],
    }
}

/// `host n07 as receiver is 31 % [27, 35] below the others: receiver's CPU`
fn outlier_words(of: &MeshFindings, outlier: &Outlier) -> String {
    let percent = |pct: f64| number::plain(pct.abs());
    let mut bounds = outlier.interval.map(|(a, b)| [a.abs(), b.abs()]);
    bounds
        .iter_mut()
        .for_each(|bounds| bounds.sort_by(f64::total_cmp));
    let interval = bounds.map_or_else(String::new, |[a, b]| {
        format!(" [{}, {}]", percent(a), percent(b))
    });
    let side = if outlier.pct < 0.0 { "below" } else { "above" };
    let others = match outlier.named {
        Named::Pair(..) => "what its hosts have with others",
        _ => "the others",
    };
    let limiter = match outlier.limiter.as_deref() {
        None | Some("unknown") => ", for a reason that its runs do not show".to_owned(),
        Some(limiter) => format!(": {limiter}"),
    };
    format!(
        "{} is {} %{interval} {side} {others}{limiter} ({})",
        of.name(outlier.named),
        percent(outlier.pct),
        counted(outlier.runs, "run")
    )
}

/// The command that takes a slow node of Slurm out of service; absent for a pair, and for hosts of no Slurm.
fn drain_words(of: &MeshFindings, outlier: &Outlier) -> Option<String> {
    let (Named::Host(host) | Named::Sender(host) | Named::Receiver(host)) = outlier.named else {
        return None;
    };
    let node = of.mesh.written[host].strip_prefix("slurm:")?;
    let reason = outlier_words(of, outlier).replace(['"', '\\', '$', '`'], "");
    Some(format!(
        "to drain it: scontrol update NodeName={node} State=DRAIN Reason=\"bitcost: {reason}\""
    ))
}

/// `n07 differs from its 15 peers: MTU 1500 (9000)`
fn different_words(different: &Different) -> String {
    format!(
        "{} differs from {} of its peers: {}",
        different.host,
        different.others,
        different.settings.join(", ")
    )
}

/// The lists below the answer, each line with its mark.
pub(crate) fn mesh_paragraphs(of: &MeshFindings) -> Vec<String> {
    let mut said: Vec<String> = of
        .outliers
        .iter()
        .take(LISTED)
        .map(|outlier| outlier_words(of, outlier))
        .collect();
    said.extend(
        of.outliers
            .iter()
            .take(LISTED)
            .filter_map(|outlier| drain_words(of, outlier)),
    );
    let suspected = of
        .suspected
        .iter()
        .take(LISTED)
        .map(|(a, b)| of.name(Named::Pair(*a, *b)));
    said.extend(suspected.map(|pair| {
        format!("{pair} was slow in its only run, which more blocks would confirm or not")
    }));
    said.extend(of.different.iter().take(LISTED).map(different_words));
    let missing = of.missing.iter().take(LISTED);
    said.extend(missing.map(|(host, reason)| format!("{host} has no result: {reason}")));
    if !of.followed.is_empty() {
        let hosts: Vec<&str> = of
            .followed
            .iter()
            .map(|host| of.mesh.hosts[*host].as_str())
            .collect();
        said.push(format!("second stage, between: {}", hosts.join(", ")));
    }
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

/// The medians of the pairs, senders in rows; absent where there are too many hosts for the width.
fn matrix(of: &MeshFindings, width: usize) -> Option<String> {
    let hosts = &of.mesh.hosts;
    let cell = |pair| {
        of.value(pair)
            .map_or("·".to_owned(), |value| format!("{value:.0}"))
    };
    let places = 0..hosts.len();
    if hosts.len() > MATRIX {
        return None;
    }
    let rows: Vec<Vec<String>> = places
        .clone()
        .map(|a| places.clone().map(|b| cell((a, b))).collect())
        .collect();
    let lengths = rows
        .iter()
        .flatten()
        .chain(hosts)
        .map(|words| words.chars().count());
    let column = lengths.max()? + 1;
    let line = |first: &str, cells: &[String]| {
        let cells: String = cells
            .iter()
            .map(|words| format!("{words:>column$}"))
            .collect();
        format!("{first:<column$}{cells}\n")
    };
    let rows = hosts
        .iter()
        .zip(&rows)
        .map(|(host, cells)| line(host, cells));
    let text = line("", hosts) + &rows.collect::<String>();
    (column * (hosts.len() + 1) <= width).then_some(text)
}

/// The answer, the outliers with their limiters, and the matrix.
pub fn mesh_text(of: &MeshFindings, title: &str, options: TextOptions) -> String {
    let width = usize::from(options.width);
    let mut text = heading(title, options);
    for words in mesh_sentences(of) {
        text += &paragraph("", &words, width);
    }
    for words in mesh_paragraphs(of) {
        text += &paragraph("- ", &words, width);
    }
    if let Some(words) = spread_words(of) {
        text += &format!("\n{}", paragraph("", &words, width));
    }
    if let Some(matrix) = matrix(of, width) {
        text += "(senders in rows, receivers in columns)\n";
        text += &harmless_page(&matrix);
    }
    if of.model.is_some() {
        text += &format!("\n{}", paragraph("", METHOD, width));
    }
    text
}

/// The mesh as a value of the document.
pub(crate) fn mesh_json(of: &MeshFindings) -> Value {
    let host = |host: usize| of.mesh.hosts[host].as_str();
    let outlier = |outlier: &Outlier| {
        let (kind, sender, receiver) = match outlier.named {
            Named::Host(place) => ("host", Some(host(place)), Some(host(place))),
            Named::Sender(place) => ("sender", Some(host(place)), None),
            Named::Receiver(place) => ("receiver", None, Some(host(place))),
            Named::Pair(sender, receiver) => ("pair", Some(host(sender)), Some(host(receiver))),
        };
        json!({
            "kind": kind, "sender": sender, "receiver": receiver, "pct": outlier.pct,
            "low_pct": outlier.interval.map(|(low, _)| low), "high_pct": outlier.interval.map(|(_, high)| high),
            "runs": outlier.runs, "limiter": outlier.limiter,
        })
    };
    let effects = of.model.as_ref().map(|model| {
        let effect = |place: usize| {
            let log = |side: &[Option<bitcost_analysis::statistics::RowEffect>]| side[place].map(|effect| effect.value);
            json!({ "host": host(place), "sender": log(&model.rows), "receiver": log(&model.columns) })
        };
        (0..of.mesh.hosts.len()).map(effect).collect::<Vec<_>>()
    });
    let different = of.different.iter().map(|different| {
        json!({ "host": different.host, "peers": different.others, "settings": different.settings })
    });
    json!({
        "metric": of.metric.name,
        "pattern": of.mesh.pattern.name(),
        "outliers": of.outliers.iter().map(outlier).collect::<Vec<_>>(),
        "effects": effects,
        "different_settings": different.collect::<Vec<_>>(),
        "missing": of.missing.iter().map(|(host, reason)| json!({ "host": host, "reason": reason })).collect::<Vec<_>>(),
        "second_stage": of.followed.iter().map(|place| host(*place)).collect::<Vec<_>>(),
    })
}
