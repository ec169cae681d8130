//! Connections that are watched, a line of each.

use bitcost_analysis::explain::Watched;
use bitcost_model::units::{counted, plain};

use crate::block::Block;
use crate::lines::Lines;

const COLUMNS: &str = "program|peer|role|Mbit/s|µs/KiB|retrans %|RTT ms|limited by";

fn line(of: &Watched) -> Vec<String> {
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), plain);
    let program = &of.program;
    let pid = program.pid.map(|pid| format!("/{pid}"));
    let peers = program.connections.iter().map(|[_, peer]| peer.as_str());
    vec![
        program.name.as_deref().unwrap_or("-").to_owned() + &pid.unwrap_or_default(),
        peers.collect(),
        of.role.name().to_owned(),
        number(of.throughput_mbps),
        number(of.cpu_us_per_kib),
        number(of.retransmitted_pct),
        number(of.rtt_ms),
        of.verdict.limiter().to_string(),
    ]
}

/// A table of these, and how many others there are.
pub fn watched_blocks(all: &[Watched], rest: usize) -> Vec<Block> {
    let rows = all.iter().map(line);
    let table = Block::Table(String::new(), Lines::new(COLUMNS.split('|'), rows));
    let table = Some(table).filter(|_| !all.is_empty());
    let moving = counted(all.len(), "connection");
    let unseen = all.iter().filter(|of| of.program.pid.is_none()).count();
    let words = format!(
        "{moving} with data, {unseen} of them of programs that are not seen (root sees all); {rest} with less data or none"
    );
    table.into_iter().chain([Block::words(words)]).collect()
}
