//! flent's data files: series over the same times, of rates in Mbit/s and of round-trip times in ms.

use bitcost_model::conditions::Direction;
use bitcost_model::record::Role;
use jiff::Timestamp;

use crate::json::Node;
use crate::run::{Run, mean, measured};

type Series = Vec<Option<f64>>;

pub(crate) fn read(run: &mut Run, document: &Node) {
    let (metadata, results) = (document.node("metadata"), document.node("results"));
    run.imported.began_at = metadata
        .text("TIME")
        .filter(|at| at.parse::<Timestamp>().is_ok());
    let (upload, download) = (rates(&results, "upload"), rates(&results, "download"));
    let direction = match (&upload, &download) {
        (Some(_), Some(_)) => Some(Direction::Both),
        (None, Some(_)) => Some(Direction::Reverse),
        (Some(_), None) => Some(Direction::Forward),
        (None, None) => None,
    };
    let near = direction.unwrap_or_default().role_of(Role::Sender);
    let title = metadata.text("TITLE").filter(|title| !title.is_empty());
    for (factor, words) in [
        ("test", metadata.text("NAME")),
        ("brand", title),
        ("direction", direction.map(|one| one.name().to_owned())),
        (near.name(), metadata.text("LOCAL_HOST")),
        (near.other().name(), metadata.text("HOST")),
    ] {
        run.level(factor, words);
    }
    let rate = |series: &Series| mean(series.iter().copied().flatten());
    let background = upload.as_ref().and(download.as_ref());
    run.figure("background_throughput_mbps", background.and_then(rate));
    let own = upload.as_ref().or(download.as_ref());
    run.figure("throughput_mbps", own.and_then(rate));
    // Outside of the streams' time there is no load.
    let is_loaded = |at: usize| own.is_none_or(|own| own.get(at).is_some_and(Option::is_some));
    let times = (0..)
        .zip(pings(&results))
        .filter_map(|(at, time)| time.filter(|_| is_loaded(at)));
    let latency = mean(times).map(|ms| ms * 1000.0);
    let metric = match own {
        Some(_) => "background_latency_mean_us",
        None => "latency_mean_us",
    };
    run.figure(metric, latency);
    if run.imported.figures.is_empty() {
        run.error = Some("no series of rates in Mbit/s or of round-trip times in ms".to_owned());
    }
}

/// The values of a list; null, or what is none, is absent.
fn series(list: &Node) -> Series {
    let values = list.0.iter();
    values.map(|(_, value)| measured(value.get())).collect()
}

/// The rate of a direction at each time: the series of the sum, else the sum of the flows'.
fn rates(results: &Node, way: &str) -> Option<Series> {
    let names = results.0.iter().map(|(name, _)| name.as_str());
    let names: Vec<&str> = names
        .filter(|name| name.split(['_', ' ', ':']).any(|word| word == way))
        .collect();
    let of = |name: &&str| series(&results.node(name));
    if let Some(sum) = names.iter().find(|name| name.ends_with(" sum")) {
        return Some(of(sum));
    }
    // `TCP upload::2`; of its socket there are series such as `TCP upload::tcp_rtt`.
    let is_flow = |name: &&&str| {
        let child = name.rsplit_once("::");
        child.is_none_or(|(_, child)| child.parse::<u32>().is_ok()) && !name.ends_with(" avg")
    };
    let flows = names.iter().filter(is_flow);
    let add = |sum: Series, flow: Series| {
        let both = sum.into_iter().zip(flow);
        both.map(|(a, b)| a.zip(b).map(|(a, b)| a + b).or(a).or(b))
            .collect()
    };
    flows.map(of).reduce(add)
}

/// The round-trip times: their mean over the probes where the file has it, else the first probe's.
fn pings(results: &Node) -> Series {
    let names = results.0.iter().map(|(name, _)| name.as_str());
    let pings = names.filter(|name| name.contains("(ms)"));
    let name = pings.min_by_key(|name| !name.ends_with(" avg"));
    series(&results.node(name.unwrap_or_default()))
}
