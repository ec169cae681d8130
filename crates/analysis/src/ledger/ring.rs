//! One packet that several counters have: a veth counts a packet that the receiving CPU's backlog
//! had no room for as its own `tx_dropped`, and the kernel as `rx_dropped` of the peer and in
//! `/proc/net/softnet_stat` (`netif_rx` in net/core/dev.c, `veth_xmit` in drivers/net/veth.c).

use bitcost_model::counters::Softnet;
use bitcost_model::record::WholeRun;

use super::drops::Drops;
use super::readings::{Both, sum};

/// Leaves each packet that a backlog dropped in one row, which names the backlog.
pub(super) fn once(both: &Both, drops: &mut Vec<Drops>) {
    let mut left: u64 = both.receiving().map(backlog_drops).max().unwrap_or(0);
    let mut found = Vec::new();
    for arrival in drops.iter_mut().filter(|row| row.counter == "rx_dropped") {
        let packets = arrival.packets.min(left);
        left -= packets;
        if packets > 0 {
            found.push(take(arrival, packets));
        }
    }
    for row in &mut found {
        let mut double = row.packets;
        let departures = drops.iter_mut().filter(|row| row.counter == "tx_dropped");
        for departure in departures {
            let packets = departure.packets.min(double);
            double -= packets;
            if packets > 0 {
                take(departure, packets);
            }
        }
        row.by = format!(
            "the CPU's backlog for {}",
            row.by.trim_end_matches(" on arrival")
        );
        row.counter = "rx_dropped, softnet dropped";
    }
    drops.retain(|row| row.packets > 0);
    drops.append(&mut found);
}

/// Moves some packets of a row into a row of their own.
fn take(row: &mut Drops, packets: u64) -> Drops {
    let segments = (row.segments as f64 * packets as f64 / row.packets as f64).round() as u64;
    row.packets -= packets;
    row.segments -= segments.min(row.segments);
    Drops {
        packets,
        segments,
        ..row.clone()
    }
}

/// Packets that found the backlog of a CPU of this machine full.
fn backlog_drops(whole: &WholeRun) -> u64 {
    let dropped = |after: &Softnet| {
        let mut before = whole.before.softnet.iter();
        let before = before.find(|before| before.cpu == after.cpu)?;
        Some(u64::from(after.dropped.wrapping_sub(before.dropped)))
    };
    sum(whole.after.softnet.iter().filter_map(dropped))
}
