//! MiniEdit's files (`.mn`), read as the lab that Mininet would make of them, with a warning for
//! everything without counterpart.
//!
//! The rules are those of Mininet's MiniEdit and its `TCLink`: ports are numbered by the order of
//! links, addresses come from `nodeNum`, and a link with options shapes both of its ends in the
//! same way. Commands in a file are shown, never run.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use bitcost_model::Invalid;
use bitcost_model::shaping::{PPM, QueueLimit, Shaping, time};
use bitcost_model::topology::{
    Address, At, End, Link, Node, NodeKind, Problem, Route, Topology, check_count,
};
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    pub topology: Topology,
    /// Differences from Mininet, and faults of the file, one sentence each.
    pub warnings: Vec<String>,
    /// Start and stop commands, with control characters escaped.
    pub commands: Vec<String>,
}

/// An IPv4 network: its address and the length of its prefix.
type Network = (Ipv4Addr, u8);

/// MiniEdit's network of a file that names none.
const IP_BASE: &str = "10.0.0.0/8";

/// The prefix length of a host's address without a prefix, whatever the network's prefix is: that
/// of Mininet's `setIP`.
const PREFIX_LENGTH: u8 = 8;

/// The options that are read or of no matter, and the values with which others have no effect.
const KNOWN: &str = "hostname nodeNum ip defaultRoute switchType controllers dpctl dpid startCommand \
    stopCommand bw delay jitter loss max_queue_size";
const NONE: [&str; 3] = ["0", "0.0", "host"];

/// The MTU of a veth device, the limit of `TCLink`'s rates, the burst of its htb (`15k`), and the
/// limit of its queues in packets.
const MTU_BYTES: u32 = 1500;
const RATE_MAX_MBPS: f64 = 1000.0;
const BURST_BYTES: u32 = 15 * 1024;
const LIMIT_PACKETS: u32 = 1000;

/// What is read of a file; the rest is ignored.
#[derive(Default, Deserialize)]
#[serde(default)]
struct File {
    version: Value,
    application: Map<String, Value>,
    controllers: Vec<Entry>,
    hosts: Vec<Entry>,
    switches: Vec<Entry>,
    links: Vec<Entry>,
}

/// An entry of a list, with its options.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry {
    number: Value,
    src: Value,
    dest: Value,
    opts: Map<String, Value>,
}

impl Entry {
    fn word(&self, key: &str) -> Option<String> {
        word(self.opts.get(key)?)
    }
}

/// A word or a number as text; `None` for an empty value or another type.
fn word(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// Reads a file's text.
pub fn import(text: &str) -> Result<Imported, Invalid> {
    let file: Result<File, _> = serde_json::from_str(text);
    let file = file.map_err(|error| match error.is_data() {
        true => Invalid(format!("not a MiniEdit file of version 2: {error}")),
        false => Invalid(format!("not a whole JSON document: {error}")),
    })?;
    check_count(file.hosts.len() + file.switches.len(), file.links.len())?;
    let mut reader = Reader::default();
    let read = reader.read(&file);
    read.map_err(|why| Invalid(reader.placed(why)))?;
    reader.finish().map_err(Invalid)
}

#[derive(Default)]
struct Reader {
    lab: Imported,
    /// The place in the file of what is being read, and its name.
    at: String,
    ports: BTreeMap<String, usize>,
    /// Those of nodes without a device yet.
    addresses: BTreeMap<String, Address>,
}

impl Reader {
    fn placed(&self, sentence: impl std::fmt::Display) -> String {
        match self.at.as_str() {
            "" => sentence.to_string(),
            at => format!("{at}: {sentence}"),
        }
    }

    fn warn(&mut self, sentence: impl std::fmt::Display) {
        self.lab.warnings.push(self.placed(sentence));
    }

    fn read(&mut self, file: &File) -> Result<(), String> {
        if let Some(other) = word(&file.version).filter(|version| version != "2") {
            let other = other.escape_debug();
            return Err(format!(
                "version: `{other}`; allowed: \"2\"; open the file in a MiniEdit of Mininet 2.2 or later and save it again"
            ));
        }
        let is_far = |kind: String| kind == "remote" || kind == "inband";
        let mut controllers = file.controllers.iter();
        if controllers.any(|one| one.word("controllerType").is_some_and(is_far)) {
            self.warn("controllers: a remote controller decides what its switches forward; here they learn addresses automatically");
        }
        let base = file.application.get("ipBase").and_then(word);
        let base = base.unwrap_or(IP_BASE.to_owned());
        let base = network(&base).ok_or_else(|| {
            let base = base.escape_debug();
            format!("application.ipBase: `{base}` is not a network; allowed: such as \"{IP_BASE}\"")
        })?;
        for (index, host) in (0..).zip(&file.hosts) {
            self.at = format!("hosts[{index}]");
            self.host(host, base)?;
        }
        for (index, switch) in (0..).zip(&file.switches) {
            self.at = format!("switches[{index}]");
            self.switch(switch, base)?;
        }
        for (index, link) in (0..).zip(&file.links) {
            self.at = format!("links[{index}]");
            self.link(link)?;
        }
        self.at.clear();
        if file.links.iter().any(|link| !link.opts.is_empty()) {
            self.warn("links with options: Mininet turns GRO off at both of their ends; here it stays on unless the lab file has these devices in `gro_off`");
        }
        Ok(())
    }

    /// The name by which links call a node.
    fn name(&mut self, entry: &Entry, letter: &str) -> Result<String, String> {
        let numbered = || Some(format!("{letter}{}", word(&entry.number)?));
        let name = entry.word("hostname").or_else(numbered);
        let name = name.ok_or("it has neither a hostname nor a number")?;
        self.at += &format!(" {}", name.escape_debug());
        Ok(name)
    }

    fn host(&mut self, host: &Entry, base: Network) -> Result<(), String> {
        let name = self.name(host, "h")?;
        let address = host_address(host, base)?;
        self.addresses.insert(name.clone(), address);
        let mut routes = Vec::new();
        if let Some(via) = host.word("defaultRoute") {
            let via = via.trim_start_matches("via ").trim();
            let shown = via.escape_debug();
            let wrong = |_| format!("defaultRoute: `{shown}` is not an address");
            let via: Ipv4Addr = via.parse().map_err(wrong)?;
            let (to, via) = (Address::new(Ipv4Addr::UNSPECIFIED, 0), via.into());
            match address.has(via) {
                true => routes.push(Route { to, via }),
                false => self.warn(format!(
                    "its defaultRoute {via} is not in its network; left out"
                )),
            }
        }
        self.node(name, NodeKind::Host, routes, host);
        Ok(())
    }

    fn switch(&mut self, switch: &Entry, base: Network) -> Result<(), String> {
        let kind = switch.word("switchType").unwrap_or("default".to_owned());
        if kind == "legacyRouter" {
            let name = self.name(switch, "r")?;
            // Mininet counts every host that it adds, and counts routers as hosts.
            let nodes = self.lab.topology.nodes.iter();
            let hosts = nodes.filter(|node| node.kind != NodeKind::Switch).count();
            let ip = nth(base, hosts as u64 + 1).ok_or("no address is left for it")?;
            let address = Address::new(ip, base.1);
            self.addresses.insert(name.clone(), address);
            self.warn(format!("only its first device has an address ({ip}), as in Mininet; others come from its start command"));
            self.node(name, NodeKind::Router, Vec::new(), switch);
            return Ok(());
        }
        let name = self.name(switch, "s")?;
        if !["default", "ovs", "legacySwitch"].contains(&kind.as_str()) {
            self.warn(format!(
                "a {} datapath becomes the kernel's bridge",
                kind.escape_debug()
            ));
        }
        self.node(name, NodeKind::Switch, Vec::new(), switch);
        Ok(())
    }

    /// Adds a node, with the options that every kind of node can have.
    fn node(&mut self, name: String, kind: NodeKind, routes: Vec<Route>, entry: &Entry) {
        self.ignored(entry);
        for when in ["start", "stop"] {
            let command = entry.word(&format!("{when}Command"));
            let shown = |text: String| format!("{name} {when} command: {}", text.escape_debug());
            self.lab.commands.extend(command.map(shown));
        }
        self.ports.insert(name.clone(), kind.first_port());
        self.lab.topology.nodes.push(Node { name, kind, routes });
    }

    /// Warns of the options that are not read and have an effect.
    fn ignored(&mut self, entry: &Entry) {
        let is_none = |value: &Value| match value {
            Value::Array(list) => list.is_empty(),
            value => word(value).is_none_or(|word| NONE.contains(&word.as_str())),
        };
        let is_known = |key: &str| KNOWN.split_whitespace().any(|known| known == key);
        for (key, value) in &entry.opts {
            if !is_known(key) && !is_none(value) {
                self.warn(format!("{}: ignored", key.escape_debug()));
            }
        }
    }

    fn link(&mut self, link: &Entry) -> Result<(), String> {
        let near = word(&link.src).ok_or("`src` is missing")?;
        let far = word(&link.dest).ok_or("`dest` is missing")?;
        self.at += &format!(" ({} - {})", near.escape_debug(), far.escape_debug());
        let shaping = self.shaping(link)?;
        self.ignored(link);
        let ends = [near, far].map(|node| {
            let port = self.ports.entry(node.clone()).or_default();
            let device = format!("{node}-eth{port}");
            *port += 1;
            End {
                addresses: self.addresses.remove(&node).into_iter().collect(),
                node,
                device,
                egress: shaping.clone(),
                gro_off: false,
            }
        });
        let mtu_bytes = MTU_BYTES;
        self.lab.topology.links.push(Link { ends, mtu_bytes });
        Ok(())
    }

    fn shaping(&mut self, link: &Entry) -> Result<Shaping, String> {
        let mut shaping = Shaping::default();
        // `TCLink` shapes by a token bucket, with netem or a queue of packets below it.
        if let Some(mbps) = self.in_range(link, "bw", RATE_MAX_MBPS)? {
            shaping.rate_bps = Some((mbps * 1e6).round() as u64);
            shaping.burst_bytes = Some(BURST_BYTES);
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
        Ok(shaping)
    }

    /// A number over 0 and up to `most`; a number out of range is ignored, as in Mininet, with a
    /// warning.
    fn in_range(&mut self, link: &Entry, key: &str, most: f64) -> Result<Option<f64>, String> {
        let Some(word) = link.word(key) else {
            return Ok(None);
        };
        let number = number(&word);
        let number = number.ok_or(format!("{key}: `{}` is not a number", word.escape_debug()))?;
        if !(0.0..=most).contains(&number) {
            self.warn(format!(
                "{key}: {number} is not from 0 to {most}; ignored, as Mininet does"
            ));
        }
        Ok(Some(number).filter(|number| *number > 0.0 && *number <= most))
    }

    /// A time in microseconds, with the units of tc(8): a number alone is microseconds.
    fn time(&mut self, link: &Entry, key: &str) -> Result<u64, String> {
        let Some(text) = link.word(key) else {
            return Ok(0);
        };
        let shown = text.escape_debug();
        let is_bare = number(&text).is_some();
        let us = match is_bare {
            true => time(&format!("{text}us")),
            false => time(text.trim_end_matches("ecs")),
        };
        let allowed = "allowed: such as \"20ms\", up to a minute";
        let us = us.ok_or(format!("{key}: `{shown}` is not a time; {allowed}"))?;
        if is_bare && us > 0 {
            self.warn(format!("{key}: `{shown}` has no unit, and tc takes it for MICROSECONDS: {us} us are kept; if milliseconds were meant, write \"{shown}ms\""));
        }
        Ok(us)
    }

    fn finish(mut self) -> Result<Imported, String> {
        for name in std::mem::take(&mut self.addresses).into_keys() {
            if self.lab.topology.hosts().any(|host| host.name == name) {
                self.warn(format!("host {name}: it has no link, and is left out"));
                self.lab.topology.nodes.retain(|node| node.name != name);
            }
        }
        for index in self.lab.topology.loop_links().into_iter().rev() {
            let [near, far] = self.lab.topology.links.remove(index).ends;
            self.warn(format!(
                "links[{index}] ({} - {}): it closes a loop of switches; left out, as a spanning tree leaves it out",
                near.node, far.node
            ));
        }
        let checked = self.lab.topology.check();
        checked.map_err(|Problem { at, message }| match at {
            At::Link(index) => format!("links[{index}]: {message}"),
            _ => message,
        })?;
        Ok(self.lab)
    }
}

fn number(word: &str) -> Option<f64> {
    word.parse().ok().filter(|number: &f64| number.is_finite())
}

fn network(text: &str) -> Option<Network> {
    let (ip, length) = text.split_once('/').unwrap_or((text, "8"));
    let (ip, length): Network = (ip.parse().ok()?, length.parse().ok()?);
    (length <= 32).then_some((ip, length))
}

/// A host's address: the one in the file, otherwise the one with its number in the network.
fn host_address(host: &Entry, base: Network) -> Result<Address, String> {
    if let Some(own) = host.word("ip") {
        let own = network(&own).ok_or(format!("ip: `{}` is not an address", own.escape_debug()));
        return own.map(|(ip, length)| Address::new(ip, length));
    }
    let number = host.word("nodeNum").or_else(|| word(&host.number));
    let number = number.and_then(|number| number.parse().ok());
    let number = number.ok_or("it has neither an ip nor a nodeNum")?;
    let ip = nth(base, number)
        .ok_or_else(|| format!("the network has no address for its nodeNum {number}"))?;
    Ok(Address::new(ip, PREFIX_LENGTH))
}

/// The address with this number in a network; `None` where the network is smaller.
fn nth((base, prefix_length): Network, number: u64) -> Option<Ipv4Addr> {
    let most = u32::MAX.checked_shr(prefix_length.into()).unwrap_or(0);
    let number = u32::try_from(number).ok().filter(|one| *one <= most)?;
    let network = base.to_bits() & !most;
    Some(Ipv4Addr::from_bits(network.wrapping_add(number)))
}
