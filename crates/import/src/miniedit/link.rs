//! Links of a MiniEdit file, and the meaning of their options in Mininet's `TCLink`.

use super::{Entry, Options, Reader, word};
use bitcost_model::near::did_you_mean;
use bitcost_model::shaping::{PPM, QueueLimit, Shaper, Shaping};
use bitcost_model::topology::{End, Link};
use serde_json::Value;

/// The MTU of a veth device, in bytes.
const MTU_BYTES: u32 = 1500;
/// The limit of the rates that `TCLink` accepts, in Mbit/s.
const RATE_MAX_MBPS: f64 = 1000.0;
/// The default `burst 15k` of `TCLink`'s htb, in bytes.
const BURST_BYTES: u32 = 15 * 1024;
/// The default limit of a netem, and of an htb's queue, in packets.
const LIMIT_PACKETS: u32 = 1000;
/// The longest delay and jitter, in microseconds.
const TIME_MAX_US: f64 = 60e6;
const KNOWN: [&str; 6] = ["bw", "delay", "jitter", "loss", "max_queue_size", "speedup"];

impl Reader {
    pub(super) fn links(&mut self, links: Vec<Entry>, asked: Options) -> Result<(), String> {
        let mut has_options = false;
        for mut link in links {
            let near = self.linked(&link, "src", &link.src)?;
            let far = self.linked(&link, "dest", &link.dest)?;
            link.at += &format!(" ({near} - {far})");
            let shaping = self.shaping(&link)?;
            let is_optioned = !link.opts.is_empty();
            has_options |= is_optioned;
            let gro_off = asked.mininet_compat && is_optioned;
            let ends = [near, far].map(|node| self.end(node, &link, &shaping, gro_off));
            self.topology.links.push(Link {
                ends,
                mtu_bytes: MTU_BYTES,
            });
        }
        if has_options && !asked.mininet_compat {
            self.warn("links with options: Mininet turns GRO off at both of their ends; here it stays on unless --mininet-compat is given");
        }
        Ok(())
    }

    fn linked(&self, link: &Entry, key: &str, name: &Value) -> Result<String, String> {
        let name = word(name).ok_or_else(|| link.fault(format!("`{key}` is missing")))?;
        if self.topology.node(&name).is_some() {
            return Ok(name);
        }
        let names = self.topology.nodes.iter().map(|node| node.name.as_str());
        let hint = did_you_mean(&name, names);
        let name = name.escape_debug();
        Err(link.fault(format!("{key}: unknown node `{name}`{hint}")))
    }

    /// The next port of a node, with the shaping of the packets that leave by it.
    fn end(&mut self, node: String, link: &Entry, shaping: &Shaping, gro_off: bool) -> End {
        let port = self.ports.entry(node.clone()).or_default();
        let device = format!("{node}-eth{port}");
        *port += 1;
        let mut egress = shaping.clone();
        let speedup = link.word("speedup").and_then(|speedup| number(&speedup));
        let is_rate = |speedup: &f64| *speedup > 0.0 && *speedup <= RATE_MAX_MBPS;
        if let Some(speedup) = speedup.filter(|one| is_rate(one) && node.starts_with('s')) {
            with_rate(&mut egress, speedup);
        }
        End {
            addresses: self.addresses.remove(&node).into_iter().collect(),
            node,
            device,
            egress,
            gro_off,
        }
    }

    fn shaping(&mut self, link: &Entry) -> Result<Shaping, String> {
        let mut shaping = Shaping::default();
        if let Some(rate) = self.in_range(link, "bw", RATE_MAX_MBPS)? {
            with_rate(&mut shaping, rate);
        }
        shaping.delay_us = self.time(link, "delay")?;
        shaping.jitter_us = self.time(link, "jitter")?;
        if let Some(loss) = self.in_range(link, "loss", 100.0)? {
            shaping.loss_ppm = (loss * f64::from(PPM) / 100.0).round() as u32;
        }
        let limit = self.in_range(link, "max_queue_size", f64::from(u32::MAX))?;
        if !shaping.is_nothing() || limit.is_some() {
            let packets = limit.map_or(LIMIT_PACKETS, |limit| limit as u32);
            shaping.queue_limit = Some(QueueLimit::Packets(packets.max(1)));
        }
        let keys = link.opts.keys();
        for key in keys.filter(|key| !KNOWN.contains(&key.as_str())) {
            self.warn(link.fault(format!("{}: ignored", key.escape_debug())));
        }
        Ok(shaping)
    }

    /// A number over 0 and up to `most`; a number out of range is ignored, as in Mininet, with a
    /// warning.
    fn in_range(&mut self, link: &Entry, key: &str, most: f64) -> Result<Option<f64>, String> {
        let Some(word) = link.word(key) else {
            return Ok(None);
        };
        let Some(number) = number(&word) else {
            let word = word.escape_debug();
            return Err(link.fault(format!("{key}: `{word}` is not a number")));
        };
        if !(0.0..=most).contains(&number) {
            self.warn(link.fault(format!(
                "{key}: {number} is not from 0 to {most}; ignored, as Mininet does"
            )));
        }
        Ok(Some(number).filter(|number| *number > 0.0 && *number <= most))
    }

    /// A time of tc(8) in microseconds: a number alone is microseconds.
    fn time(&mut self, link: &Entry, key: &str) -> Result<u64, String> {
        let Some(time) = link.word(key) else {
            return Ok(0);
        };
        let shown = time.escape_debug();
        let digits = time.trim_end_matches(|letter: char| letter.is_ascii_lowercase());
        let unit = &time[digits.len()..];
        let scale = match unit {
            "" | "us" | "usec" | "usecs" => Some(1.0),
            "ms" | "msec" | "msecs" => Some(1e3),
            "s" | "sec" | "secs" => Some(1e6),
            _ => None,
        };
        let us = number(digits.trim()).and_then(|number| Some(number * scale?));
        let Some(us) = us.filter(|us| (0.0..=TIME_MAX_US).contains(us)) else {
            return Err(link.fault(format!(
                "{key}: `{shown}` is not a time; allowed: such as \"20ms\", up to a minute"
            )));
        };
        if unit.is_empty() && us > 0.0 {
            self.warn(link.fault(format!(
                "{key}: `{shown}` has no unit, and tc takes it for MICROSECONDS: {us} us are kept; if milliseconds were meant, write \"{shown}ms\""
            )));
        }
        Ok(us.round() as u64)
    }
}

/// Adds a rate: `TCLink` shapes by an htb, with netem or a queue of packets below it.
fn with_rate(shaping: &mut Shaping, mbps: f64) {
    shaping.rate_bps = Some((mbps * 1e6).round() as u64);
    shaping.burst_bytes = Some(BURST_BYTES);
    shaping.shaper = Shaper::Htb;
    let limit = QueueLimit::Packets(LIMIT_PACKETS);
    shaping.queue_limit.get_or_insert(limit);
}

fn number(word: &str) -> Option<f64> {
    let number = word.parse::<f64>().ok()?;
    number.is_finite().then_some(number)
}
