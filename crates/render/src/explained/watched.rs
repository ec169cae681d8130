//! Connections, or sockets of datagrams, that are watched, a line of each.

use bitcost_analysis::explain::{Hop, Listed, Watched};
use bitcost_model::record::Role;
use bitcost_model::units::{counted, plain};

use crate::block::Block;
use crate::lines::Lines;

/// Headings; below is a figure, with the key that sorts by it, or words, with their part of the width that figures leave.
pub type Columns = &'static [(&'static str, &'static str, u16)];

pub const TCP: Columns = &[
    ("program", "", 12),
    ("peer", "", 17),
    ("Mbit/s", "m", 0),
    ("µs/KiB", "c", 0),
    ("retrans %", "r", 0),
    ("RTT ms", "t", 0),
    ("limited by", "", 18),
];

pub const UDP: Columns = &[
    ("program", "", 12),
    ("socket", "", 17),
    ("drops/s", "d", 0),
    ("Recv-Q", "r", 0),
    ("rcvbuf", "b", 0),
    ("Send-Q", "s", 0),
    ("CPU %", "c", 0),
    ("limited by", "", 14),
];

/// The words of a connection in these columns.
pub fn watched_row(of: &Watched) -> Vec<String> {
    let program = of.program.name.as_deref().unwrap_or("-").to_owned();
    let pid = of.program.pid.map(|pid| format!("/{pid}"));
    let ends = of.program.connections.iter();
    let ends = ends.map(|[local, peer]| match of.role {
        Some(Role::Sender) => format!("→ {peer}"),
        Some(Role::Receiver) => format!("← {peer}"),
        // It has no peer.
        None if peer.ends_with(":0") => local.clone(),
        None => format!("{local}-{peer}"),
    });
    let figures = of.figures.iter();
    let figures = figures.map(|(_, value)| value.map_or_else(|| "-".to_owned(), plain));
    let mut row = vec![program + &pid.unwrap_or_default(), ends.collect()];
    row.extend(figures);
    let has_no_drops = of.role.is_none() && of.figures[0].1 == Some(0.0);
    row.push(match has_no_drops {
        true => "-".to_owned(),
        false => of.verdict.limiter().to_string(),
    });
    row
}

/// How many there are, how many others, and what is not seen of them; of datagrams those of the network namespace.
pub fn watched_words(listed: &Listed) -> String {
    let all = &listed.connections;
    let unseen = match all.iter().filter(|of| of.program.pid.is_none()).count() {
        0 => String::new(),
        count => format!(", {count} of them of programs that are not seen (root sees all)"),
    };
    let Some(datagrams) = &listed.datagrams else {
        let moving = counted(all.len(), "connection");
        return format!(
            "{moving} with data{unseen}; {} with less data or none",
            listed.others
        );
    };
    let datagrams = datagrams.iter();
    let datagrams = datagrams.map(|(name, each)| format!("{name} {}", plain(*each)));
    format!(
        "{}{unseen}, queues and buffers in KiB; {} others; each second in the network namespace: {}",
        counted(all.len(), "UDP socket"),
        listed.others,
        datagrams.collect::<Vec<_>>().join(", ")
    )
}

/// The most queues that are shown.
const HOPS: usize = 5;

/// The queues that packets of runs pass.
pub fn hop_blocks(hops: &[Hop]) -> Option<Block> {
    let row = |hop: &Hop| {
        let figures = [hop.passed_bps / 1e6, hop.waiting, hop.drops].map(plain);
        [[hop.name.clone(), hop.kind.clone()].as_slice(), &figures].concat()
    };
    let rows = hops.iter().take(HOPS).map(row);
    let lines = Lines::new(["hop", "queue", "Mbit/s", "packets", "drops"], rows);
    (!lines.rows.is_empty()).then(|| Block::Table(String::new(), lines))
}

/// A table of these, and how many others there are.
pub fn watched_blocks(listed: &Listed) -> Vec<Block> {
    let columns = listed.datagrams.as_ref().map_or(TCP, |_| UDP);
    let headings = columns.iter().map(|(heading, ..)| *heading);
    let lines = Lines::new(headings, listed.connections.iter().map(watched_row));
    let table = Block::Table(String::new(), lines);
    let table = Some(table).filter(|_| !listed.connections.is_empty());
    let words = Block::words(watched_words(listed));
    table.into_iter().chain([words]).collect()
}
