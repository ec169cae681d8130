//! The table of perftest's bandwidth tests, such as `ib_write_bw`: a line for each size of messages.

use bitcost_model::study::Label;

use crate::Found;
use crate::pair::of_name;

/// The heads of the columns of the mean bandwidth, each with its unit in Mbit/s: MB are 2^20 bytes.
const MEANS: [(&str, f64); 2] = [
    ("BW average[Gb/sec]", 1000.0),
    ("BW average[MB/sec]", 8.388_608),
];

fn unit(line: &str) -> Option<f64> {
    let means = MEANS.iter().filter(|_| line.contains("#bytes"));
    let mut found = means.filter(|(head, _)| line.contains(head));
    found.next().map(|(_, mbps)| *mbps)
}

pub(crate) fn is(text: &str) -> bool {
    text.lines().any(|line| unit(line).is_some())
}

/// `RDMA_Write BW Test`, as the level of a test: `RDMA_Write`.
fn test(line: &str) -> Option<&str> {
    line.trim().strip_suffix(" BW Test").map(str::trim)
}

pub(crate) fn read(file: &str, text: &str) -> Result<Vec<Found>, String> {
    let (mut mbps, mut name) = (None, None);
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        name = test(line).or(name);
        mbps = unit(line).or(mbps);
        let numbers: Vec<f64> = line
            .split_whitespace()
            .map_while(|word| word.parse().ok())
            .collect();
        // Size, iterations, peak, mean, messages in 10^6 per second.
        let (Some(mbps), [size, _, _, mean, ..]) = (mbps, &numbers[..]) else {
            continue;
        };
        let mut run = Found::of("perftest", file);
        run.run.place = Some(format!("line {number}"));
        run.level("message_size_bytes", Label::Number(*size as i64));
        if let Some(name) = name {
            run.level("test", Label::Text(name.to_owned()));
        }
        of_name(&mut run, file);
        run.figure("throughput_mbps", Some(mean * mbps));
        let rate = numbers.get(4).map(|millions| 1e6 * millions);
        run.figure("messages_per_second", rate);
        found.push(run);
    }
    Ok(found)
}
