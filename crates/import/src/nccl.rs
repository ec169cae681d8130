//! The table of nccl-tests, such as `all_reduce_perf`: a line for each size, of all ranks together.

use bitcost_model::study::Label;

use crate::Found;
use crate::pair::{of_hosts, of_name};

/// A line without the number of the process that mpirun begins it with, and without `#`.
fn content(line: &str) -> &str {
    let line = line.split_once("<stdout>:").map_or(line, |(_, rest)| rest);
    line.trim_start_matches(['#', ' '])
}

/// Whether it is the head of the columns.
fn is_head(line: &str) -> bool {
    let words: Vec<&str> = content(line).split_whitespace().take(3).collect();
    words == ["size", "count", "type"] && line.contains("busbw")
}

pub(crate) fn is(text: &str) -> bool {
    text.lines().any(is_head)
}

/// The host of `Rank  0 Group  0 Pid 1478709 on      gpu23 device  0 [0x31] NVIDIA A40`.
fn host(line: &str) -> Option<&str> {
    let rank = content(line).strip_prefix("Rank ")?;
    rank.split_once(" on ")?.1.split_whitespace().next()
}

/// The test of `Collective test starting: all_reduce_perf`.
fn test(line: &str) -> Option<&str> {
    content(line).strip_prefix("Collective test starting: ")
}

pub(crate) fn read(file: &str, text: &str) -> Result<Vec<Found>, String> {
    let mut hosts: Vec<&str> = Vec::new();
    let (mut name, mut before, mut found) = (None, None, Vec::new());
    for (number, line) in (1..).zip(text.lines()) {
        name = test(line).or(name);
        hosts.extend(host(line).filter(|host| !hosts.contains(host)));
        if is_head(line) {
            let words = content(line).split_whitespace();
            // The columns before the time: size, count, type and what the test has more.
            before = words.clone().position(|word| word == "time");
        }
        let words: Vec<&str> = content(line).split_whitespace().collect();
        let figure = |column: usize| words.get(column)?.parse::<f64>().ok();
        let (Some(time), Some(size)) = (before, figure(0)) else {
            continue;
        };
        let Some(bus) = figure(time + 2) else {
            continue;
        };
        let mut run = Found::of("nccl-tests", file);
        run.run.place = Some(format!("line {number}"));
        run.level("message_size_bytes", Label::Number(size as i64));
        if let Some(name) = name {
            run.level("test", Label::Text(name.to_owned()));
        }
        match hosts[..] {
            [sender, receiver] => of_hosts(&mut run, sender, receiver),
            _ => of_name(&mut run, file),
        }
        run.figure("throughput_mbps", Some(8000.0 * bus));
        if let Some(algorithm) = figure(time + 1) {
            run.fact("algbw_gbytes_per_second", algorithm);
        }
        found.push(run);
    }
    Ok(found)
}
