//! What a verdict advises, made: the situation with it.

use super::draw::Situation;
use super::factor::{Factor, Kind};
use crate::programs::put;

/// Parts of a remedy, each with the factor that it changes, its value where none was drawn (the
/// program's default), and by what it is multiplied.
const SCALED: [(&str, Kind, f64, f64); 10] = [
    ("larger messages", Kind::MessageSize, 131_072.0, 4.0),
    (
        "receive buffer (--receive-buffer",
        Kind::ReceiveBuffer,
        0.0,
        4.0,
    ),
    ("send buffer (--send-buffer", Kind::SendBuffer, 0.0, 4.0),
    ("more flows", Kind::Flows, 1.0, 2.0),
    ("higher rate (-b)", Kind::ApplicationRate, 0.0, 2.0),
    ("rate of that link", Kind::Rate, 0.0, 2.0),
    ("limit of that queue", Kind::Queue, 0.0, 4.0),
    ("raise the CPU quota", Kind::Quota, 0.0, 2.0),
    ("stop or move the other programs", Kind::Stress, 0.0, 2.0),
    ("stop the other programs", Kind::Stress, 0.0, 2.0),
];

/// Parts of a remedy that are options.
const OPTIONS: [(&str, &[&str]); 6] = [
    ("--tcp-buffers", &["--tcp-buffers", "67108864"]),
    (
        "larger receive calls",
        &["--set", "receive_size_bytes=auto"],
    ),
    ("(bbr)", &["-C", "bbr"]),
    ("--mode auto", &["--mode", "auto"]),
    ("busy polling", &["--set", "busy_poll_us=50us"]),
    (
        "both endpoints on one CPU",
        &["--sender-cpus", "0", "--receiver-cpus", "0"],
    ),
];

/// What a remedy says of what is not advised.
const NO_USE: &str = "change nothing";

/// The part of a remedy in words, and the situation with it, of each part that can be made here.
pub fn made(situation: &Situation, advice: &str) -> Vec<(String, Situation)> {
    let mut made = Vec::new();
    let parts = advice.split(';');
    let advice: String = parts.filter(|part| !part.contains(NO_USE)).collect();
    for (part, kind, default, times) in SCALED {
        let value = situation.value(kind).unwrap_or(default);
        if advice.contains(part) && value > 0.0 {
            let most = match situation.workload {
                "udp" => 65_507.0,
                _ => 1_048_576.0,
            };
            let value = match kind {
                Kind::MessageSize => (value * times).min(most),
                _ => kind.scaled(value, times),
            };
            made.push((part.to_owned(), situation.with(Factor { kind, value })));
        }
    }
    for (part, words) in OPTIONS {
        if advice.contains(part) {
            let mut changed = situation.clone();
            put(&mut changed.options, words);
            made.push((part.to_owned(), changed));
        }
    }
    made
}
