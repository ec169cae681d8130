//! The most user data that a link carries, with the arithmetic, and how that depends on the size of
//! messages.

use bitcost_analysis::theory::{Framing, Goodput, OnWire, Point, Transport};
use serde_json::{Value, json};

use crate::layout::paragraph;

use super::quantity::{named_values, rate, short_rate, table};

/// Columns of a terminal that nobody has widened.
const WIDTH: usize = 80;

/// Why measured goodput is not simply one of the two columns.
const BETWEEN: &str = "The kernel coalesces small writes into full segments while data waits to be sent, so measured goodput may lie anywhere between the two columns. Compare segments on the wire, not messages.";

/// The answer for people.
pub fn goodput_text(goodput: &Goodput) -> String {
    let framing = &goodput.framing;
    let rate = short_rate(goodput.rate_bps as f64);
    let of_message = goodput.message_size_bytes.map_or_else(String::new, |size| {
        let rows = named_values(&of_message(goodput, size));
        format!("\nmessages of {size} bytes\n{rows}")
    });
    format!(
        "{}, MTU {}, {rate}\n\n{}{of_message}\n{}",
        framing.name(),
        framing.mtu_bytes,
        named_values(&arithmetic(goodput, &rate)),
        curve_text(goodput)
    )
}

fn arithmetic(goodput: &Goodput, rate_words: &str) -> Vec<(&'static str, String)> {
    let framing = &goodput.framing;
    let (frame, packet) = (framing.frame_bytes(), framing.packet_header_bytes());
    let (payload, wire) = (framing.full_payload_bytes(), framing.full().bytes);
    let headers = framing.headers().into_iter();
    let mut rows: Vec<_> = headers
        .map(|(name, bytes)| (name, format!("{bytes} B")))
        .collect();
    rows.extend([
        (
            "user data in a full packet",
            format!("{} − {packet} = {payload} B", framing.mtu_bytes),
        ),
        (
            "full packet on the wire",
            format!("{payload} + {packet} + {frame} = {wire} B"),
        ),
        (
            "efficiency",
            format!("{payload} ÷ {wire} = {:.2} %", 100.0 * goodput.efficiency()),
        ),
        (
            "maximum goodput",
            format!(
                "{rate_words} × {payload} ÷ {wire} = {}",
                rate(goodput.goodput_bps())
            ),
        ),
        (
            "full packets",
            format!(
                "{rate_words} ÷ ({wire} B × 8) = {:.0} per second",
                goodput.packets_per_second()
            ),
        ),
    ]);
    rows
}

fn of_message(goodput: &Goodput, size: u32) -> Vec<(&'static str, String)> {
    let point = goodput.point(size);
    let OnWire { packets, bytes } = point.alone;
    let share = 100.0 * f64::from(size) / bytes as f64;
    let mut rows = vec![("packets of a message separately", packets.to_string())];
    if let Some(fragments) = fragments(&goodput.framing, &point) {
        let piece = |(count, packet): &(u64, u32)| format!("{count} × {packet} B");
        let list = fragments.iter().map(piece).collect::<Vec<_>>().join(" + ");
        let remark = "IP packets; the loss of one is the loss of the message";
        rows.push(("fragments", format!("{list} ({remark})")));
    }
    rows.push((
        "on the wire",
        format!("{bytes} B, {share:.2} % of it user data"),
    ));
    rows.push(("maximum goodput, each separately", rate(point.goodput_bps)));
    let coalesced = point.coalesced_goodput_bps;
    rows.extend(coalesced.map(|bps| ("maximum goodput, coalesced", rate(bps))));
    rows.push((
        "packets, each separately",
        format!("{:.0} per second", point.packets_per_second),
    ));
    rows
}

/// The IP packets of a datagram that does not fit into one.
fn fragments(framing: &Framing, point: &Point) -> Option<Vec<(u64, u32)>> {
    (framing.transport == Transport::Udp && point.alone.packets > 1)
        .then(|| framing.fragments(point.message_size_bytes))
}

fn curve_text(goodput: &Goodput) -> String {
    let row = |point: &Point| {
        let mut row = vec![
            point.message_size_bytes.to_string(),
            point.alone.packets.to_string(),
            rate(point.goodput_bps),
            format!("{:.0}", point.packets_per_second),
        ];
        row.extend(point.coalesced_goodput_bps.map(rate));
        row
    };
    let rows: Vec<Vec<String>> = goodput.curve().iter().map(row).collect();
    let mut headings = vec!["message, B", "packets", "goodput, separately", "packets/s"];
    if goodput.framing.transport == Transport::Udp {
        return table(&headings, &rows);
    }
    headings.push("goodput, coalesced");
    format!(
        "{}\n{}",
        table(&headings, &rows),
        paragraph("", BETWEEN, WIDTH)
    )
}

/// The answer for programs.
pub fn goodput_json(goodput: &Goodput) -> Value {
    let framing = &goodput.framing;
    let headers = framing.headers().into_iter();
    let point = |point: &Point| point_json(framing, point);
    json!({
        "packets": framing.name(),
        "rate_bps": goodput.rate_bps,
        "mtu_bytes": framing.mtu_bytes,
        "headers": headers.map(|(name, bytes)| json!({ "name": name, "bytes": bytes })).collect::<Vec<_>>(),
        "payload_bytes": framing.full_payload_bytes(),
        "wire_bytes": framing.full().bytes,
        "efficiency": goodput.efficiency(),
        "goodput_bps": goodput.goodput_bps(),
        "packets_per_second": goodput.packets_per_second(),
        "message": goodput.message_size_bytes.map(|size| point(&goodput.point(size))),
        "curve": goodput.curve().iter().map(point).collect::<Vec<_>>(),
    })
}

fn point_json(framing: &Framing, point: &Point) -> Value {
    let mut entry = json!({
        "message_size_bytes": point.message_size_bytes,
        "packets_per_message": point.alone.packets,
        "wire_bytes_per_message": point.alone.bytes,
        "goodput_bps": point.goodput_bps,
        "packets_per_second": point.packets_per_second,
    });
    if let Some(coalesced) = point.coalesced_goodput_bps {
        entry["coalesced_goodput_bps"] = json!(coalesced);
    }
    if let Some(fragments) = fragments(framing, point) {
        entry["fragments"] = fragments
            .into_iter()
            .map(|(count, bytes)| json!({ "count": count, "packet_bytes": bytes }))
            .collect();
    }
    entry
}
