//! Links of a MiniEdit file, and the meaning of their options in Mininet's `TCLink`.

use serde_json::Value;

use super::{Object, Options, Reader, list, options, text, word};
use bitcost_model::near::did_you_mean;
use bitcost_model::shaping::{PPM, QueueLimit, Shaper, Shaping};
use bitcost_model::topology::{End, Link};

/// The MTU of a veth device, in bytes.
const MTU_BYTES: u32 = 1500;
/// The limit of the rates that `TCLink` accepts, in Mbit/s.
const RATE_MAX_MBPS: f64 = 1000.0;
/// The default `burst 15k` of `TCLink`'s htb, in bytes.
const BURST_BYTES: u32 = 15 * 1024;
/// The default limit of a netem, and of an htb's queue, in packets.
const LIMIT_PACKETS: u32 = 1000;
/// The options that are read.
const KNOWN: [&str; 6] = ["bw", "delay", "jitter", "loss", "max_queue_size", "speedup"];

impl Reader {
    pub(super) fn links(&mut self, root: &Object, asked: Options) -> Result<(), String> {
        for (index, entry) in list(root, "links")?.iter().enumerate() {
            let at = format!("links[{index}]");
            let opts = options(entry, &at)?;
            let near = self.linked(entry, "src", &at)?;
            let far = self.linked(entry, "dest", &at)?;
            let at = format!("{at} ({near} - {far})");
            let shaping = self.shaping(opts, &at)?;
            let gro_off = asked.mininet_compat && !opts.is_empty();
            let ends = [
                self.end(near, opts, &shaping, gro_off),
                self.end(far, opts, &shaping, gro_off),
            ];
            self.topology.links.push(Link {
                ends,
                mtu_bytes: MTU_BYTES,
            });
        }
        let has_options = |entry: &Value| options(entry, "").is_ok_and(|opts| !opts.is_empty());
        if !asked.mininet_compat && list(root, "links")?.iter().any(has_options) {
            self.warn("links with options: Mininet turns GRO off at both of their ends; here it stays on unless --mininet-compat is given");
        }
        Ok(())
    }

    /// The node at one end of a link.
    fn linked(&self, entry: &Value, key: &str, at: &str) -> Result<String, String> {
        let name = entry
            .get(key)
            .and_then(text)
            .ok_or_else(|| format!("{at}: `{key}` is missing"))?;
        if self.topology.node(&name).is_some() {
            return Ok(name);
        }
        let hint = did_you_mean(
            &name,
            self.topology.nodes.iter().map(|node| node.name.as_str()),
        );
        Err(format!(
            "{at}: {key}: unknown node `{}`{hint}",
            name.escape_debug()
        ))
    }

    /// The next port of a node, with the shaping of the packets that leave by it.
    fn end(&mut self, node: String, opts: &Object, shaping: &Shaping, gro_off: bool) -> End {
        let port = self.ports.entry(node.clone()).or_default();
        let device = format!("{node}-eth{port}");
        *port += 1;
        let mut egress = shaping.clone();
        let speedup = opts
            .get("speedup")
            .and_then(number)
            .filter(|speedup| *speedup > 0.0 && node.starts_with('s'));
        if let Some(speedup) = speedup.filter(|speedup| *speedup <= RATE_MAX_MBPS) {
            with_rate(&mut egress, speedup);
        }
        End {
            node,
            device,
            addresses: Vec::new(),
            egress,
            gro_off,
        }
    }

    fn shaping(&mut self, opts: &Object, at: &str) -> Result<Shaping, String> {
        let mut shaping = Shaping::default();
        if let Some(rate) = self.in_range(opts, "bw", RATE_MAX_MBPS, at)? {
            with_rate(&mut shaping, rate);
        }
        shaping.delay_us = self.time(opts, "delay", at)?;
        shaping.jitter_us = self.time(opts, "jitter", at)?;
        if let Some(loss) = self.in_range(opts, "loss", 100.0, at)? {
            shaping.loss_ppm = (loss * f64::from(PPM) / 100.0).round() as u32;
        }
        let limit = self.in_range(opts, "max_queue_size", f64::from(u32::MAX), at)?;
        if !shaping.is_nothing() || limit.is_some() {
            shaping.queue_limit = Some(QueueLimit::Packets(
                limit.map_or(LIMIT_PACKETS, |limit| limit as u32).max(1),
            ));
        }
        for key in opts.keys().filter(|key| !KNOWN.contains(&key.as_str())) {
            let key = key.escape_debug();
            self.warn(format!("{at}: {key}: ignored"));
        }
        Ok(shaping)
    }

    /// A number over 0 and up to `most`; a number out of range is ignored, as in Mininet, with a
    /// warning.
    fn in_range(
        &mut self,
        opts: &Object,
        key: &str,
        most: f64,
        at: &str,
    ) -> Result<Option<f64>, String> {
        let Some(value) = opts.get(key).filter(|value| text(value).is_some()) else {
            return Ok(None);
        };
        let number =
            number(value).ok_or_else(|| format!("{at}: {key}: {value} is not a number"))?;
        if number < 0.0 || number > most {
            self.warn(format!(
                "{at}: {key}: {number} is not from 0 to {most}; ignored, as Mininet does"
            ));
        }
        Ok(Some(number).filter(|number| *number > 0.0 && *number <= most))
    }

    /// A time of tc(8) in microseconds: a number alone is microseconds.
    fn time(&mut self, opts: &Object, key: &str, at: &str) -> Result<u64, String> {
        const UNITS: [(&str, f64); 9] = [
            ("usecs", 1.0),
            ("usec", 1.0),
            ("us", 1.0),
            ("msecs", 1e3),
            ("msec", 1e3),
            ("ms", 1e3),
            ("secs", 1e6),
            ("sec", 1e6),
            ("s", 1e6),
        ];
        const MOST_US: f64 = 60e6;
        let Some(time) = word(opts, key) else {
            return Ok(0);
        };
        let shown = time.escape_debug();
        let (digits, scale) = match UNITS
            .iter()
            .find_map(|(unit, scale)| Some((time.strip_suffix(unit)?, *scale)))
        {
            Some((digits, scale)) => (digits.trim(), scale),
            None => (time.as_str(), 1.0),
        };
        let number = digits
            .parse::<f64>()
            .ok()
            .map(|number| number * scale)
            .filter(|us| (0.0..=MOST_US).contains(us));
        let us = number.ok_or_else(|| {
            format!(
                "{at}: {key}: `{shown}` is not a time; allowed: such as \"20ms\", up to a minute"
            )
        })?;
        if digits.len() == time.len() && us > 0.0 {
            self.warn(format!(
                "{at}: {key}: `{shown}` has no unit, and tc takes it for MICROSECONDS: {us} us are kept; if milliseconds were meant, write \"{shown}ms\""
            ));
        }
        Ok(us.round() as u64)
    }
}

/// Adds a rate: `TCLink` shapes by an htb, with netem or a queue of packets below it.
fn with_rate(shaping: &mut Shaping, mbps: f64) {
    shaping.rate_bps = Some((mbps * 1e6).round() as u64);
    shaping.burst_bytes = Some(BURST_BYTES);
    shaping.shaper = Shaper::Htb;
    shaping
        .queue_limit
        .get_or_insert(QueueLimit::Packets(LIMIT_PACKETS));
}

fn number(value: &Value) -> Option<f64> {
    text(value)?
        .parse::<f64>()
        .ok()
        .filter(|number| number.is_finite())
}
