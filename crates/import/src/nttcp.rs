//! nttcp's table: a line of the local endpoint (`l`) and one of the remote endpoint (`1`, `2` …).

use crate::Found;

const HEAD: [&str; 3] = ["Bytes", "Real", "CPU"];

pub(crate) fn is(text: &str) -> bool {
    text.lines().any(is_head)
}

fn is_head(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.starts_with(&HEAD[..2]) && line.contains("Real-MBit/s")
}

/// One endpoint: bytes, real s, CPU s, real Mbit/s, CPU Mbit/s, calls, real calls/s, CPU calls/s.
fn end(line: &str) -> Option<(char, Vec<f64>)> {
    let line = line.trim_start();
    let mark = line
        .chars()
        .next()
        .filter(|mark| *mark == 'l' || mark.is_ascii_digit())?;
    let numbers: Option<Vec<f64>> = line[1..]
        .split_whitespace()
        .map(|word| word.parse().ok())
        .collect();
    Some((
        mark,
        numbers.filter(|numbers| (5..=8).contains(&numbers.len()))?,
    ))
}

pub(crate) fn read(file: &str, text: &str) -> Result<Vec<Found>, String> {
    let mut found: Vec<Found> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let Some((mark, numbers)) = end(line) else {
            continue;
        };
        let (bytes, seconds, cpu_s, rate) = (numbers[0], numbers[1], numbers[2], numbers[3]);
        let kib = bytes / 1024.0;
        let demand = if kib > 0.0 {
            Some(cpu_s * 1e6 / kib)
        } else {
            None
        };
        if mark == 'l' {
            let mut run = Found::of("nttcp", file);
            run.run.place = Some(format!("line {number}"));
            run.figure("send_throughput_mbps", Some(rate));
            run.figure("sender_thread_cpu_us_per_kib", demand);
            run.fact("elapsed_time", seconds);
            found.push(run);
        } else if let Some(run) = found.last_mut() {
            run.figure("throughput_mbps", Some(rate));
            run.figure("receiver_thread_cpu_us_per_kib", demand);
        }
    }
    Ok(found)
}
