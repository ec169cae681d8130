//! The answers of `bitcost limits`: the arithmetic as text.

use bitcost_analysis::theory::{Bdp, Goodput, Point};
use bitcost_model::framing::{Fragments, Transport};

use crate::block::Block;
use crate::lines::Lines;

/// A rate in bit/s by the prefix for its size.
fn scaled(bits_per_second: f64) -> (f64, &'static str) {
    let (scale, unit) = match bits_per_second {
        bits if bits >= 1e9 => (1e9, "Gbit/s"),
        bits if bits >= 1e6 => (1e6, "Mbit/s"),
        bits if bits >= 1e3 => (1e3, "kbit/s"),
        _ => (1.0, "bit/s"),
    };
    (bits_per_second / scale, unit)
}

/// A rate that was computed: `2.354 Gbit/s`.
fn rate(bits_per_second: f64) -> String {
    let (value, unit) = scaled(bits_per_second);
    format!("{value:.3} {unit}")
}

/// A rate that was requested, as it was: `2.5 Gbit/s`.
fn requested(bits_per_second: u64) -> String {
    let (value, unit) = scaled(bits_per_second as f64);
    format!("{value} {unit}")
}

fn named_values(title: String, rows: &[(&str, String)]) -> Vec<Block> {
    let widths = rows.iter().map(|(name, _)| name.chars().count());
    let width = widths.max().unwrap_or(0);
    let row =
        |(name, value): &(&str, String)| Block::Note(format!("  {name:<width$}  "), value.clone());
    [Block::words(title), Block::Gap]
        .into_iter()
        .chain(rows.iter().map(row))
        .chain([Block::Gap])
        .collect()
}

/// The most user data that a link carries, with the arithmetic, and how that depends on the size of
/// messages.
pub fn goodput_blocks(goodput: &Goodput) -> Vec<Block> {
    let framing = &goodput.framing;
    let link = requested(goodput.rate_bps);
    let mtu = framing.mtu_bytes;
    let (frame, packet) = (framing.frame_bytes(), framing.packet_header_bytes());
    let (payload, wire) = (framing.full_payload_bytes(), framing.full().bytes);
    let efficiency = 100.0 * framing.efficiency();
    let (most, packets) = (rate(goodput.goodput_bps()), goodput.packets_per_second());
    let headers = framing.headers().into_iter();
    let mut rows: Vec<_> = headers
        .map(|(name, bytes)| (name, format!("{bytes} B")))
        .collect();
    rows.extend([
        (
            "user data in a full packet",
            format!("{mtu} − {packet} = {payload} B"),
        ),
        (
            "full packet on the wire",
            format!("{payload} + {packet} + {frame} = {wire} B"),
        ),
        (
            "efficiency",
            format!("{payload} ÷ {wire} = {efficiency:.2} %"),
        ),
        (
            "maximum goodput",
            format!("{link} × {payload} ÷ {wire} = {most}"),
        ),
        (
            "full packets",
            format!("{link} ÷ ({wire} B × 8) = {packets:.0} per second"),
        ),
    ]);
    let message = goodput.message_size_bytes.map(|size| goodput.point(size));
    if let Some(point) = message.filter(|point| !point.fragments.is_empty()) {
        let piece = |of: &Fragments| format!("{} × {} B", of.count, of.packet_bytes);
        let pieces: Vec<String> = point.fragments.iter().map(piece).collect();
        rows.push(("fragments of the message", pieces.join(" + ")));
    }
    let mut blocks = named_values(format!("{}, MTU {mtu}, {link}", framing.name()), &rows);
    blocks.push(Block::Table(String::new(), curve(goodput)));
    if framing.transport != Transport::Udp {
        blocks.push(Block::words("The kernel coalesces small writes into full segments while data waits to be sent, so measured goodput may lie anywhere between the two columns. Compare segments on the wire, not messages."));
    }
    blocks
}

fn curve(goodput: &Goodput) -> Lines {
    let points = goodput.curve();
    let is_tcp = goodput.framing.transport != Transport::Udp;
    let coalesced = is_tcp.then(|| rate(goodput.goodput_bps()));
    let row = |point: &Point| {
        let mut row = vec![
            point.message_size_bytes.to_string(),
            point.alone.packets.to_string(),
            rate(point.goodput_bps),
            format!("{:.0}", point.packets_per_second),
        ];
        row.extend(coalesced.clone());
        row
    };
    let mut header = vec!["message, B", "packets", "goodput, separately", "packets/s"];
    header.extend(coalesced.as_ref().map(|_| "goodput, coalesced"));
    Lines::new(header, points.iter().map(row))
}

pub fn bdp_blocks(bdp: &Bdp) -> Vec<Block> {
    let (link, ms) = (requested(bdp.rate_bps), bdp.rtt.as_secs_f64() * 1e3);
    let bytes = bdp.bytes();
    let (segments, super_packets) = (bdp.segments(), bdp.super_packets());
    let rows = [
        (
            "bandwidth-delay product",
            format!("{link} × {ms} ms ÷ 8 = {bytes} B"),
        ),
        (
            "in full segments",
            format!("{segments} (MTU {})", bdp.mtu_bytes),
        ),
        ("in super-packets of 64 KiB", super_packets.to_string()),
    ];
    let rest = format!(
        "To keep the path full, a receive buffer must hold 2 × BDP: about half of its memory is user data. A queue that is limited in packets holds super-packets or segments, depending on the offloads: a limit that is enough for {super_packets} of one kind is not enough for {segments} of the other."
    );
    let mut blocks = named_values(format!("a path of {link} and {ms} ms"), &rows);
    blocks.push(Block::words(rest));
    blocks
}
