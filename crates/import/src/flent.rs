//! flent's data files: series over the same times, of rates in Mbit/s and of round-trip times in ms.

use bitcost_model::conditions::Direction;
use bitcost_model::record::Role;
use jiff::Timestamp;

use crate::json::{Node, documents};
use crate::run::{Run, Runs, mean};

pub(crate) fn is(text: &str) -> bool {
    let text = text.trim_start();
    let has = |key| text.contains(key);
    text.starts_with('{') && has("\"x_values\"") && has("\"results\"") && has("\"metadata\"")
}

type Series = Vec<Option<f64>>;

/// The values of a list; null, or what is none, is absent.
fn series(list: Node) -> Series {
    let values = list.0.into_iter();
    values.map(|(_, value)| value.get().parse().ok()).collect()
}

pub(crate) fn read(file: &str, text: &str, runs: &mut Runs) -> Result<(), String> {
    let is_one = |node: &Node| node.get("x_values").is_some();
    let broken = documents(text, is_one, &mut |node| runs.push(run(file, &node)))?;
    match broken.filter(|_| runs.all.is_empty()) {
        Some(broken) => Err(format!("its JSON cannot be read: {broken}")),
        None => Ok(()),
    }
}

fn run(file: &str, document: &Node) -> Run {
    let (metadata, results) = (document.node("metadata"), document.node("results"));
    let mut run = Run::of("flent", file);
    run.imported.tool_version = metadata.text("FLENT_VERSION");
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
    for (factor, value) in [
        ("test", metadata.text("NAME")),
        ("brand", title),
        ("direction", direction.map(|one| one.name().to_owned())),
        (near.name(), metadata.text("LOCAL_HOST")),
        (near.other().name(), metadata.text("HOST")),
    ] {
        value.into_iter().for_each(|value| run.level(factor, value));
    }
    let background = upload.as_ref().and(download.as_ref());
    let rate = |series: &Series| mean(series.iter().copied().flatten());
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
    let times = series(document.node("x_values")).into_iter();
    let step = metadata.number("STEP_SIZE").unwrap_or(0.2);
    for (begin, rate) in times.zip(own.into_iter().flatten()) {
        if let (Some(begin), Some(_)) = (begin, rate) {
            let span = [begin, begin + step];
            run.interval(Role::Receiver, span, &[("throughput_mbps", *rate)]);
        }
    }
    if run.imported.figures.is_empty() {
        run.error = Some("no series of rates in Mbit/s or of round-trip times in ms".to_owned());
    }
    run
}

/// The rate of a direction at each time: the series of the sum, else the sum of the flows'.
fn rates(results: &Node, way: &str) -> Option<Series> {
    let names = results.0.iter().map(|(name, _)| name.as_str());
    let names: Vec<&str> = names
        .filter(|name| name.split(['_', ' ', ':']).any(|word| word == way))
        .collect();
    if let Some(sum) = names.iter().find(|name| name.ends_with(" sum")) {
        return Some(series(results.node(sum)));
    }
    let flows = names.iter().filter(|name| !name.ends_with(" avg"));
    let add = |sum: Series, flow: Series| {
        let both = sum.into_iter().zip(flow);
        both.map(|(a, b)| a.zip(b).map(|(a, b)| a + b).or(a).or(b))
            .collect()
    };
    flows.map(|name| series(results.node(name))).reduce(add)
}

/// The round-trip times: their mean over the probes where the file has it, else the first probe's.
fn pings(results: &Node) -> Series {
    let names = || results.0.iter().map(|(name, _)| name.as_str());
    let is_ping = |name: &&str| name.contains("(ms)");
    let mean = names().filter(is_ping).find(|name| name.ends_with(" avg"));
    let name = mean.or(names().find(is_ping)).unwrap_or_default();
    series(results.node(name))
}
