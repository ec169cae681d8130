//! nttcp's table: a line of the local endpoint (`l`) and one of the remote endpoint (`1`, `2` …).

use crate::Found;

pub(crate) fn is(text: &str) -> bool {
    let is_head = |line: &str| line.trim().starts_with("Bytes ") && line.contains("Real-MBit/s");
    text.lines().any(is_head)
}

/// One endpoint: bytes, real s, CPU s, real Mbit/s, CPU Mbit/s, calls, real calls/s, CPU calls/s.
fn end(line: &str) -> Option<(&str, Vec<f64>)> {
    let (mark, rest) = line.trim_start().split_at_checked(1)?;
    let is_mark = mark == "l" || mark.parse::<u8>().is_ok();
    let words = rest.split_whitespace().map(|word| word.parse().ok());
    let numbers: Vec<f64> = words.collect::<Option<_>>()?;
    (is_mark && (5..=8).contains(&numbers.len())).then_some((mark, numbers))
}

pub(crate) fn read(file: &str, text: &str) -> Result<Vec<Found>, String> {
    let mut found: Vec<Found> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let Some((mark, numbers)) = end(line) else {
            continue;
        };
        let (kib, rate) = (numbers[0] / 1024.0, Some(numbers[3]));
        let cpu = Some(numbers[2] * 1e6 / kib).filter(|_| kib > 0.0);
        if mark == "l" {
            let mut run = Found::of("nttcp", file);
            run.run.place = Some(format!("line {number}"));
            run.figure("send_throughput_mbps", rate);
            run.figure("sender_thread_cpu_us_per_kib", cpu);
            run.fact("elapsed_time", numbers[1]);
            found.push(run);
        } else if let Some(run) = found.last_mut() {
            run.figure("throughput_mbps", rate);
            run.figure("receiver_thread_cpu_us_per_kib", cpu);
        }
    }
    Ok(found)
}
