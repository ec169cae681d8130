//! The most user data that a link carries, and how that depends on the size of messages.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::theory::framing::{Framing, OnWire, Transport};
use crate::theory::show;

/// Message sizes of the curve, in bytes: those of the paper's sweep and beyond.
const SIZES: [u32; 17] = [
    1, 2, 4, 16, 32, 64, 128, 256, 512, 800, 1024, 1448, 2048, 4096, 8192, 16_384, 65_507,
];

/// The packets and the rate of the link for which goodput is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goodput {
    /// The packets.
    pub framing: Framing,
    /// Rate of the link, counting everything that passes it, in bit/s.
    pub rate_bps: u64,
    /// A message size of special interest, in bytes.
    pub message_size_bytes: Option<u32>,
}

/// The most that the link carries in messages of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The size, in bytes.
    pub message_size_bytes: u32,
    /// The packets of a message if each message travels alone.
    pub alone: OnWire,
    /// User data per second if each message travels alone, in bit/s.
    pub goodput_bps: f64,
    /// Packets per second if each message travels alone.
    pub packets_per_second: f64,
    /// User data per second if messages share full segments, in bit/s; TCP only.
    pub coalesced_goodput_bps: Option<f64>,
}

impl Goodput {
    /// Checks the input.
    ///
    /// # Errors
    /// A sentence that says what is allowed.
    pub fn check(&self) -> Result<(), String> {
        self.framing.check()?;
        let most = match self.framing.transport {
            Transport::Tcp { .. } => 1 << 30,
            Transport::Udp => self.framing.ip.udp_payload_max(),
        };
        match self.message_size_bytes {
            Some(size) if !(1..=most).contains(&size) => Err(format!(
                "a message of {size} bytes is not possible; allowed: 1 to {most}"
            )),
            _ => Ok(()),
        }
    }

    /// User data in a full packet ÷ its bytes on the wire.
    pub fn efficiency(&self) -> f64 {
        f64::from(self.framing.full_payload_bytes()) / self.framing.full().bytes as f64
    }

    /// The most user data per second, in full packets, in bit/s.
    pub fn goodput_bps(&self) -> f64 {
        self.rate_bps as f64 * self.efficiency()
    }

    /// Full packets per second at the link's rate.
    pub fn packets_per_second(&self) -> f64 {
        self.rate_bps as f64 / (8.0 * self.framing.full().bytes as f64)
    }

    /// The most that the link carries in messages of a size.
    pub fn point(&self, message_size_bytes: u32) -> Point {
        let alone = self.framing.message(message_size_bytes);
        let messages_per_second = self.rate_bps as f64 / (8.0 * alone.bytes as f64);
        Point {
            message_size_bytes,
            alone,
            goodput_bps: messages_per_second * 8.0 * f64::from(message_size_bytes),
            packets_per_second: messages_per_second * alone.packets as f64,
            coalesced_goodput_bps: (self.framing.transport != Transport::Udp)
                .then(|| self.goodput_bps()),
        }
    }

    /// The curve over message sizes, with the size of special interest.
    pub fn curve(&self) -> Vec<Point> {
        let most = self.framing.ip.udp_payload_max();
        let mut sizes: Vec<u32> = SIZES.iter().copied().filter(|size| *size <= most).collect();
        sizes.extend(self.message_size_bytes);
        sizes.push(self.framing.full_payload_bytes().min(most));
        sizes.sort_unstable();
        sizes.dedup();
        sizes.into_iter().map(|size| self.point(size)).collect()
    }

    /// The answer for people.
    pub fn text(&self) -> String {
        let Goodput {
            framing, rate_bps, ..
        } = self;
        let rate = show::short_rate(*rate_bps as f64);
        let mut text = format!("{}, MTU {}, {rate}\n\n", framing.name(), framing.mtu_bytes);
        text += &show::lines(&self.arithmetic(&rate));
        if let Some(size) = self.message_size_bytes {
            let _ = write!(
                text,
                "\nmessages of {size} bytes\n{}",
                show::lines(&self.of_message(size))
            );
        }
        text.push('\n');
        text += &self.curve_text();
        text
    }

    fn arithmetic(&self, rate: &str) -> Vec<(String, String)> {
        let framing = &self.framing;
        let (frame, packet) = (framing.frame_bytes(), framing.packet_header_bytes());
        let (payload, wire) = (framing.full_payload_bytes(), framing.full().bytes);
        let mut rows: Vec<(String, String)> = framing
            .headers()
            .iter()
            .map(|(name, bytes)| ((*name).to_owned(), format!("{bytes} B")))
            .collect();
        let efficiency = 100.0 * self.efficiency();
        let row = |name: &str, value: String| (name.to_owned(), value);
        rows.extend([
            row(
                "user data in a full packet",
                format!("{} − {packet} = {payload} B", framing.mtu_bytes),
            ),
            row(
                "full packet on the wire",
                format!("{payload} + {packet} + {frame} = {wire} B"),
            ),
            row(
                "efficiency",
                format!("{payload} ÷ {wire} = {efficiency:.2} %"),
            ),
            row(
                "most goodput",
                format!(
                    "{rate} × {payload} ÷ {wire} = {}",
                    show::rate(self.goodput_bps())
                ),
            ),
            row(
                "full packets",
                format!(
                    "{rate} ÷ ({wire} B × 8) = {:.0} per second",
                    self.packets_per_second()
                ),
            ),
        ]);
        rows
    }

    fn of_message(&self, size: u32) -> Vec<(String, String)> {
        let point = self.point(size);
        let OnWire { packets, bytes } = point.alone;
        let share = 100.0 * f64::from(size) / bytes as f64;
        let mut rows = vec![(
            "packets of a message separately".to_owned(),
            packets.to_string(),
        )];
        if self.framing.transport == Transport::Udp && packets > 1 {
            let pieces = self.framing.fragments(size);
            let piece = |(count, packet): &(u64, u32)| format!("{count} × {packet} B");
            let list = pieces.iter().map(piece).collect::<Vec<_>>().join(" + ");
            let remark = "IP packets; the loss of one is the loss of the message";
            rows.push(("fragments".to_owned(), format!("{list} ({remark})")));
        }
        rows.push((
            "on the wire".to_owned(),
            format!("{bytes} B, {share:.2} % of it user data"),
        ));
        rows.push((
            "most goodput, each separately".to_owned(),
            show::rate(point.goodput_bps),
        ));
        if let Some(coalesced) = point.coalesced_goodput_bps {
            rows.push(("most goodput, coalesced".to_owned(), show::rate(coalesced)));
        }
        rows.push((
            "packets, each separately".to_owned(),
            format!("{:.0} per second", point.packets_per_second),
        ));
        rows
    }

    fn curve_text(&self) -> String {
        let is_tcp = self.framing.transport != Transport::Udp;
        let row = |point: &Point| {
            let mut row = vec![
                point.message_size_bytes.to_string(),
                point.alone.packets.to_string(),
                show::rate(point.goodput_bps),
                format!("{:.0}", point.packets_per_second),
            ];
            row.extend(point.coalesced_goodput_bps.map(show::rate));
            row
        };
        let rows: Vec<Vec<String>> = self.curve().iter().map(row).collect();
        let mut headings = vec![
            "message, B",
            "packets",
            "goodput, each separately",
            "packets/s",
        ];
        let mut text = String::new();
        if is_tcp {
            headings.push("coalesced into full segments");
        }
        text += &show::table(&headings, &rows);
        if is_tcp {
            text += "\nThe kernel coalesces small writes while data waits to be sent, so measured goodput may lie anywhere\n\
                     between the two columns. Compare segments on the wire, not messages.\n";
        }
        text
    }

    /// The answer for programs.
    pub fn json(&self) -> Value {
        let framing = &self.framing;
        let headers: Vec<Value> = framing
            .headers()
            .iter()
            .map(|(name, bytes)| json!({ "name": name, "bytes": bytes }))
            .collect();
        json!({
            "packets": framing.name(),
            "rate_bps": self.rate_bps,
            "mtu_bytes": framing.mtu_bytes,
            "headers": headers,
            "payload_bytes": framing.full_payload_bytes(),
            "wire_bytes": framing.full().bytes,
            "efficiency": self.efficiency(),
            "goodput_bps": self.goodput_bps(),
            "packets_per_second": self.packets_per_second(),
            "message": self.message_size_bytes.map(|size| point_json(framing, &self.point(size))),
            "curve": self.curve().iter().map(|point| point_json(framing, point)).collect::<Vec<_>>(),
        })
    }
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
    if framing.transport == Transport::Udp && point.alone.packets > 1 {
        let pieces = framing.fragments(point.message_size_bytes).into_iter();
        entry["fragments"] = pieces
            .map(|(count, bytes)| json!({ "count": count, "packet_bytes": bytes }))
            .collect();
    }
    entry
}
