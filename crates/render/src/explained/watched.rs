//! Connections that are watched, a line of each.

use bitcost_analysis::explain::Watched;
use bitcost_model::record::Role;
use bitcost_model::units::{counted, plain};

use crate::block::Block;
use crate::lines::Lines;

/// The columns of the list.
const COLUMNS: &str = "program|peer|Mbit/s|µs/KiB|retrans %|RTT ms|limited by";

/// Their headings.
pub fn headings() -> impl Iterator<Item = &'static str> {
    COLUMNS.split('|')
}

/// The figures of a connection, which are the columns after the first two.
pub fn figures(of: &Watched) -> [Option<f64>; 4] {
    [
        of.throughput_mbps,
        of.cpu_us_per_kib,
        of.retransmitted_pct,
        of.rtt_ms,
    ]
}

/// The words of a connection in these columns.
pub fn watched_row(of: &Watched) -> Vec<String> {
    let program = of.program.name.as_deref().unwrap_or("-").to_owned();
    let pid = of.program.pid.map(|pid| format!("/{pid}"));
    let direction = match of.role {
        Role::Sender => "→",
        Role::Receiver => "←",
    };
    let peers = of.program.connections.iter();
    let peers = peers.map(|[_, peer]| format!("{direction} {peer}"));
    let figures = figures(of).map(|value| value.map_or_else(|| "-".to_owned(), plain));
    let mut row = vec![program + &pid.unwrap_or_default(), peers.collect()];
    row.extend(figures);
    row.push(of.verdict.limiter().to_string());
    row
}

/// How many there are, how many others, and what is not seen of them.
pub fn watched_words(all: &[Watched], rest: usize) -> String {
    let moving = counted(all.len(), "connection");
    let unseen = match all.iter().filter(|of| of.program.pid.is_none()).count() {
        0 => String::new(),
        count => format!(", {count} of them of programs that are not seen (root sees all)"),
    };
    format!("{moving} with data{unseen}; {rest} with less data or none")
}

/// A table of these, and how many others there are.
pub fn watched_blocks(all: &[Watched], rest: usize) -> Vec<Block> {
    let lines = Lines::new(headings(), all.iter().map(watched_row));
    let table = Some(Block::Table(String::new(), lines)).filter(|_| !all.is_empty());
    let words = Block::words(watched_words(all, rest));
    table.into_iter().chain([words]).collect()
}
