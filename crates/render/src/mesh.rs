//! What a mesh shows, as text and JSON: the hosts and pairs that are slower than the others, settings that one host has
//! alone, and the matrix.

use bitcost_analysis::mesh::{Different, MeshFindings, Named, NetworkRatio, Outlier, Worse};
use bitcost_analysis::statistics::Interval;
use bitcost_model::harmless_page;
use bitcost_model::units::counted;
use bitcost_study::mesh::Network;
use serde_json::{Value, json};

use crate::answer::lowered;
use crate::layout::{TextOptions, heading, paragraph};
use crate::number;

/// Most hosts of a matrix of text.
const MATRIX: usize = 16;

/// Outliers, hosts without runs, and hosts with other settings that are listed, each.
const LISTED: usize = 20;

/// What the matrix of costs shows.
const COST: &str = "CPU time of both hosts in µs/KiB";

/// How outliers are found, below them.
const METHOD: &str = "Effects are of a robust two-way model of the logarithms (host as sender, host as receiver, pair), with 95 % intervals; what is named is significant at 1 % for all effects and pairs together (Holm) and at least 3 % of a host, 10 % of a pair, or a loss of 0.5 %.";

/// The answer in a sentence.
pub fn mesh_sentence(of: &MeshFindings) -> String {
    let hosts = counted(of.mesh.hosts.len(), "host");
    let pairs: std::collections::BTreeSet<_> = of.runs.iter().map(|run| run.pair).collect();
    let basis = format!(
        "{} of {}",
        counted(of.runs.len(), "run"),
        counted(pairs.len(), "pair")
    );
    if of.model.is_none() {
        return format!("Too few runs to compare {hosts}: {basis}.");
    }
    let has_losses = of.runs.iter().any(|run| run.lost.is_some());
    let or_loss = if has_losses { " or loss" } else { "" };
    let title = lowered(of.metric.title) + or_loss;
    let named = |outlier: &Outlier| match outlier.worse {
        Worse::Slow { .. } => of.name(outlier.named),
        Worse::Loses { .. } => format!("{} (loss)", of.name(outlier.named)),
    };
    let names: Vec<String> = of.outliers.iter().take(LISTED).map(named).collect();
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

/// `host n07 as receiver is 31 % [27, 35] below the others: receiver's CPU (12 of 14 runs)`
fn outlier_words(of: &MeshFindings, outlier: &Outlier) -> String {
    let name = of.name(outlier.named);
    let runs = counted(outlier.runs, "run");
    let (pct, interval) = match outlier.worse {
        Worse::Slow { pct, interval } => (pct, interval),
        Worse::Loses { pct, others_pct } => {
            return format!(
                "{name} loses {} % of the data, the others {} %: {} ({runs})",
                number::plain(pct),
                number::plain(others_pct),
                outlier.limiter.as_deref().unwrap_or_default()
            );
        }
    };
    let percent = |pct: f64| number::plain(pct.abs());
    let interval = interval.map_or_else(String::new, |(a, b)| {
        let (low, high) = if a.abs() < b.abs() { (a, b) } else { (b, a) };
        format!(" [{}, {}]", percent(low), percent(high))
    });
    let side = if pct < 0.0 { "below" } else { "above" };
    let others = match outlier.named {
        Named::Pair(..) => "what its hosts have with others",
        _ => "the others",
    };
    let limiter = match outlier.limiter.as_deref() {
        None => format!(", for a reason that its runs do not show ({runs})"),
        Some(limiter) => format!(": {limiter} ({} of {runs})", outlier.limited),
    };
    let percent = percent(pct);
    format!("{name} is {percent} %{interval} {side} {others}{limiter}")
}

/// The command that takes a slow node of Slurm out of service; absent for a pair, and for hosts of no Slurm.
fn drain_words(of: &MeshFindings, outlier: &Outlier) -> Option<String> {
    let (Named::Host(host) | Named::Sender(host) | Named::Receiver(host)) = outlier.named else {
        return None;
    };
    let node = of.mesh.written[host].strip_prefix("slurm:")?;
    let reason = outlier_words(of, outlier).replace(['"', '\\', '$', '`'], "");
    Some(format!(
        "to drain {node}: scontrol update NodeName={node} State=DRAIN Reason=\"bitcost: {reason}\""
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

/// Where data went in a network of a cluster.
fn network_words(network: Network) -> &'static str {
    match network {
        Network::Pod => "in the pod network",
        Network::Host => "in the host network",
        Network::Service => "through a Service",
    }
}

/// `throughput in the host network is 1.38 [1.30, 1.45] times that in the pod network between the same hosts (8 pairs)`
fn ratio_words(of: &MeshFindings, found: &NetworkRatio) -> Vec<String> {
    let [here, there] = [found.network, found.to].map(network_words);
    let words = |title: String, ratio: Interval| {
        let (ratio, pairs) = (ratio.with_places(2), counted(found.pairs, "pair"));
        format!("{title} {here} is {ratio} times that {there} between the same hosts ({pairs})")
    };
    let cost = found
        .cost
        .filter(|_| !of.metric.name.contains("service_demand"));
    let cost = cost.map(|cost| words("CPU time of a KiB at both hosts".to_owned(), cost));
    let own = words(lowered(of.metric.title), found.ratio);
    std::iter::once(own).chain(cost).collect()
}

/// The lists below the answer, each line with its mark.
pub(crate) fn mesh_paragraphs(of: &MeshFindings) -> Vec<String> {
    let networks = of.networks();
    let mut said: Vec<String> = networks
        .iter()
        .flat_map(|found| ratio_words(of, found))
        .collect();
    let words =
        |outlier| std::iter::once(outlier_words(of, outlier)).chain(drain_words(of, outlier));
    said.extend(of.outliers.iter().take(LISTED).flat_map(words));
    let suspected = of
        .suspected
        .iter()
        .take(LISTED)
        .map(|(a, b)| of.name(Named::Pair(*a, *b)));
    said.extend(suspected.map(|pair| {
        format!("{pair} was slow in its only run; more blocks (--blocks) would show whether it is")
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

/// A value of each pair, senders in rows; absent where there are too many hosts for the width.
fn matrix(
    of: &MeshFindings,
    width: usize,
    cell: &dyn Fn((usize, usize)) -> Option<String>,
) -> Option<String> {
    let hosts = &of.mesh.hosts;
    let places = 0..hosts.len();
    if hosts.len() > MATRIX {
        return None;
    }
    let words = |pair| cell(pair).unwrap_or_else(|| "·".to_owned());
    let rows: Vec<Vec<String>> = places
        .clone()
        .map(|a| places.clone().map(|b| words((a, b))).collect())
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

/// The matrices of the metric and of the cost, each with what it shows.
fn matrices(of: &MeshFindings, width: usize) -> String {
    let value = |pair| Some(format!("{:.0}", of.value(pair)?));
    let cost = |pair| Some(format!("{:.2}", of.cost(pair)?));
    let metric = format!("{} in {}", of.metric.title, of.metric.unit);
    let shown = [
        (metric, matrix(of, width, &value)),
        (
            COST.to_owned(),
            matrix(of, width, &cost).filter(|_| has_costs(of)),
        ),
    ];
    let shown = shown.into_iter().filter_map(|(title, matrix)| {
        let matrix = harmless_page(&matrix?);
        Some(format!(
            "\n{}{matrix}",
            paragraph(
                "",
                &format!("{title} (senders in rows, receivers in columns):"),
                width
            )
        ))
    });
    shown.collect()
}

/// Whether a run has a cost.
fn has_costs(of: &MeshFindings) -> bool {
    of.runs
        .iter()
        .any(|run| run.cost.iter().all(Option::is_some))
}

/// `Sending a KiB costs 0.31 µs (n3) to 0.52 µs (n7), receiving it 0.42 µs (n1) to 0.61 µs (n2).`
fn cost_words(of: &MeshFindings) -> Option<String> {
    let range = |role: usize| {
        let hosts = (0..of.mesh.hosts.len()).filter_map(|host| Some((of.costs(host)[role]?, host)));
        let mut hosts: Vec<(f64, usize)> = hosts.collect();
        hosts.sort_by(|a, b| a.0.total_cmp(&b.0));
        let words = |(cost, host): &(f64, usize)| {
            format!("{} µs ({})", number::plain(*cost), of.mesh.hosts[*host])
        };
        Some(format!(
            "{} to {}",
            words(hosts.first()?),
            words(hosts.last()?)
        ))
    };
    Some(format!(
        "Sending a KiB costs a host {}, receiving it {} (medians of its runs).",
        range(0)?,
        range(1)?
    ))
}

/// The answer, the outliers with their limiters, and the matrix.
pub fn mesh_text(of: &MeshFindings, title: &str, options: TextOptions) -> String {
    let width = usize::from(options.width);
    let mut text = heading(title, options);
    text += &paragraph("", &mesh_sentence(of), width);
    for words in mesh_paragraphs(of) {
        text += &paragraph("- ", &words, width);
    }
    for words in spread_words(of).into_iter().chain(cost_words(of)) {
        text += &format!("\n{}", paragraph("", &words, width));
    }
    text += &matrices(of, width);
    if of.model.is_some() {
        text += &format!("\n{}", paragraph("", METHOD, width));
    }
    text
}

pub(crate) fn outlier_json(of: &MeshFindings, outlier: &Outlier) -> Value {
    let host = |host: usize| of.mesh.hosts[host].as_str();
    let (kind, sender, receiver) = match outlier.named {
        Named::Host(place) => ("host", Some(host(place)), Some(host(place))),
        Named::Sender(place) => ("sender", Some(host(place)), None),
        Named::Receiver(place) => ("receiver", None, Some(host(place))),
        Named::Pair(sender, receiver) => ("pair", Some(host(sender)), Some(host(receiver))),
    };
    let (mut pct, mut bounds, mut lost) = (None, None, None);
    match outlier.worse {
        Worse::Slow {
            pct: slower,
            interval,
        } => (pct, bounds) = (Some(slower), interval),
        Worse::Loses { pct, others_pct } => lost = Some((pct, others_pct)),
    }
    json!({
        "kind": kind, "sender": sender, "receiver": receiver, "pct": pct,
        "low_pct": bounds.map(|(low, _)| low), "high_pct": bounds.map(|(_, high)| high),
        "lost_pct": lost.map(|(own, _)| own), "others_lost_pct": lost.map(|(_, others)| others),
        "runs": outlier.runs, "limiter": outlier.limiter, "runs_limited": outlier.limited,
    })
}

pub(crate) fn mesh_json(of: &MeshFindings) -> Value {
    let host = |host: usize| of.mesh.hosts[host].as_str();
    let hosts = (0..of.mesh.hosts.len()).map(|place| {
        let effect = |side: &[Option<bitcost_analysis::statistics::RowEffect>]| {
            side[place].map(|effect| effect.value)
        };
        let effects = of
            .model
            .as_ref()
            .map(|model| [effect(&model.rows), effect(&model.columns)]);
        let [sender, receiver] = effects.unwrap_or_default();
        let [send, receive] = of.costs(place);
        json!({
            "host": host(place), "sender_effect": sender, "receiver_effect": receiver,
            "send_us_per_kib": send, "receive_us_per_kib": receive,
        })
    });
    let networks = of.networks().into_iter().map(|found| {
        json!({
            "network": found.network.name(), "to": found.to.name(), "ratio": found.ratio,
            "cost_ratio": found.cost, "pairs": found.pairs,
        })
    });
    json!({
        "metric": of.metric.name,
        "networks": networks.collect::<Vec<_>>(),
        "pattern": of.mesh.pattern.name(),
        "outliers": of.outliers.iter().map(|outlier| outlier_json(of, outlier)).collect::<Vec<_>>(),
        "hosts": hosts.collect::<Vec<_>>(),
        "different_settings": of.different,
        "missing": of.missing.iter().map(|(host, reason)| json!({ "host": host, "reason": reason })).collect::<Vec<_>>(),
        "second_stage": of.followed.iter().map(|place| host(*place)).collect::<Vec<_>>(),
    })
}
