//! MiniEdit's files (`.mn`), read as the lab that Mininet would make of them, with a warning for
//! everything without counterpart.
//!
//! The rules are those of Mininet's MiniEdit and its `TCLink`: ports are numbered by the order of
//! links, addresses come from `nodeNum`, and a link with options shapes both of its ends in the
//! same way. Commands in a file are never run.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use bitcost_model::Invalid;
use bitcost_model::shaping::{PPM, QueueLimit, Shaping, time};
use bitcost_model::topology::{Address, End, Link, Node, NodeKind, Route, Topology, check_count};
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    pub topology: Topology,
    /// Differences from Mininet, and faults of the file, one sentence each.
    pub warnings: Vec<String>,
}

/// An IPv4 network: its address and the length of its prefix.
type Network = (Ipv4Addr, u8);

/// MiniEdit's network of a file that names none.
const IP_BASE: &str = "10.0.0.0/8";

/// The options that are read or of no matter, and the values with which others have no effect.
const KNOWN: &str = "hostname nodeNum ip defaultRoute switchType controllers dpctl dpid bw delay \
    jitter loss max_queue_size";
const NONE: [&str; 4] = ["", "0", "0.0", "host"];

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
        true => Invalid(format!(
            "not a file of MiniEdit of Mininet 2.2 or later: {error}"
        )),
        false => Invalid(format!("not a whole JSON document: {error}")),
    })?;
    check_count(file.hosts.len() + file.switches.len(), file.links.len())?;
    let mut reader = Reader::default();
    let read = reader.read(&file);
    read.map_err(|why| Invalid(reader.placed(why)))?;
    Ok(reader.lab)
}

#[derive(Default)]
struct Reader {
    lab: Imported,
    /// The place in the file of what is being read, and its name.
    at: String,
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
        for (list, entries) in [
            ("hosts", &file.hosts),
            ("switches", &file.switches),
            ("links", &file.links),
        ] {
            for (index, entry) in entries.iter().enumerate() {
                self.at = format!("{list}[{index}]");
                match list {
                    "links" => self.link(entry)?,
                    _ => self.node(entry, list == "hosts", base)?,
                }
                self.ignored(entry);
            }
        }
        self.at.clear();
        if file.links.iter().any(|link| !link.opts.is_empty()) {
            self.warn("links with options: Mininet turns GRO off at both of their ends; here it stays on unless the lab file has these devices in `gro_off`");
        }
        self.leave_out();
        let checked = self.lab.topology.check();
        checked.map_err(|problem| problem.message)
    }

    fn node(&mut self, entry: &Entry, is_host: bool, base: Network) -> Result<(), String> {
        let switch = entry.word("switchType").unwrap_or_default();
        let (kind, letter) = match switch.as_str() {
            _ if is_host => (NodeKind::Host, 'h'),
            "legacyRouter" => (NodeKind::Router, 'r'),
            _ => (NodeKind::Switch, 's'),
        };
        let numbered = || Some(format!("{letter}{}", word(&entry.number)?));
        let name = entry.word("hostname").or_else(numbered);
        let name = name.ok_or("it has neither a hostname nor a number")?;
        self.at += &format!(" {}", name.escape_debug());
        let (mut address, mut routes) = (None, Vec::new());
        match kind {
            NodeKind::Host => {
                let own = host_address(entry, base)?;
                routes.extend(self.default_route(entry, own));
                address = Some(own);
            }
            NodeKind::Router => {
                // Mininet counts every host that it adds, and counts routers as hosts.
                let nodes = self.lab.topology.nodes.iter();
                let hosts = nodes.filter(|node| node.kind != NodeKind::Switch).count();
                let ip = nth(base, hosts as u64 + 1).ok_or("no address is left for it")?;
                address = Some(Address::new(ip, base.1));
                self.warn(format!("only its first device has an address ({ip}), as in Mininet; others come from its start command"));
            }
            _ if ["user", "userns", "ivs"].contains(&switch.as_str()) => {
                self.warn(format!("a {switch} datapath becomes the kernel's bridge"));
            }
            _ => {}
        }
        let address = address.map(|address| (name.clone(), address));
        self.addresses.extend(address);
        self.lab.topology.nodes.push(Node { name, kind, routes });
        Ok(())
    }

    fn default_route(&mut self, host: &Entry, own: Address) -> Option<Route> {
        let text = host.word("defaultRoute")?;
        let via: Option<IpAddr> = text.trim_start_matches("via ").trim().parse().ok();
        let via = via.filter(|via| own.has(*via));
        if via.is_none() {
            let text = text.escape_debug();
            self.warn(format!(
                "defaultRoute: `{text}` is no address in its network; left out"
            ));
        }
        let to = Address::new(Ipv4Addr::UNSPECIFIED, 0);
        Some(Route { to, via: via? })
    }

    /// Warns of the options that are not read and have an effect, and of commands, which are not run.
    fn ignored(&mut self, entry: &Entry) {
        for (key, value) in &entry.opts {
            let words = word(value).unwrap_or_else(|| match value {
                Value::Array(list) if list.is_empty() => String::new(),
                value => value.to_string(),
            });
            let is_known = KNOWN.split_whitespace().any(|known| known == key);
            if !is_known && !NONE.contains(&words.as_str()) {
                let [key, words] = [key, &words].map(|text| text.escape_debug());
                self.warn(format!("{key}: `{words}` is ignored"));
            }
        }
    }

    fn link(&mut self, link: &Entry) -> Result<(), String> {
        let near = word(&link.src).ok_or("`src` is missing")?;
        let far = word(&link.dest).ok_or("`dest` is missing")?;
        self.at += &format!(" ({} - {})", near.escape_debug(), far.escape_debug());
        let shaping = self.shaping(link);
        let topology = &mut self.lab.topology;
        let ends = [near, far].map(|node| {
            let first = topology
                .node(&node)
                .map_or(0, |node| node.kind.first_port());
            let links = topology.ends().filter(|end| end.node == node).count();
            End {
                addresses: self.addresses.remove(&node).into_iter().collect(),
                device: format!("{node}-eth{}", first + links),
                node,
                egress: shaping.clone(),
                gro_off: false,
            }
        });
        let mtu_bytes = MTU_BYTES;
        topology.links.push(Link { ends, mtu_bytes });
        Ok(())
    }

    /// What `TCLink` makes of the options: a token bucket, with netem or a queue of packets below it.
    fn shaping(&mut self, link: &Entry) -> Shaping {
        let mut shaping = Shaping {
            delay_us: self.time(link, "delay"),
            jitter_us: self.time(link, "jitter"),
            ..Shaping::default()
        };
        if let Some(mbps) = self.in_range(link, "bw", RATE_MAX_MBPS) {
            shaping.rate_bps = Some((mbps * 1e6).round() as u64);
            shaping.burst_bytes = Some(BURST_BYTES);
        }
        if let Some(loss) = self.in_range(link, "loss", 100.0) {
            shaping.loss_ppm = (loss * f64::from(PPM) / 100.0).round() as u32;
        }
        let limit = self.in_range(link, "max_queue_size", f64::from(u32::MAX));
        if !shaping.is_nothing() || limit.is_some() {
            let packets = limit.map_or(LIMIT_PACKETS, |limit| limit as u32);
            shaping.queue_limit = Some(QueueLimit::Packets(packets.max(1)));
        }
        shaping
    }

    /// A number over 0 and up to `most`; another one is ignored, as in Mininet, with a warning.
    fn in_range(&mut self, link: &Entry, key: &str, most: f64) -> Option<f64> {
        let word = link.word(key)?;
        let number = word.parse().ok().filter(|one| (0.0..=most).contains(one));
        if number.is_none() {
            let word = word.escape_debug();
            self.warn(format!(
                "{key}: `{word}` is not from 0 to {most}; ignored, as Mininet does"
            ));
        }
        number.filter(|number| *number > 0.0)
    }

    /// A time in microseconds, with the units of tc(8): a number alone is microseconds.
    fn time(&mut self, link: &Entry, key: &str) -> u64 {
        let Some(text) = link.word(key) else {
            return 0;
        };
        let shown = text.escape_debug();
        let is_bare = text.parse::<f64>().is_ok();
        let us = match is_bare {
            true => time(&format!("{text}us")),
            false => time(text.trim_end_matches("ecs")),
        };
        match us {
            None => self.warn(format!("{key}: `{shown}` is not a time such as \"20ms\", up to a minute; ignored")),
            Some(1..) if is_bare => self.warn(format!("{key}: `{shown}` has no unit, and tc takes it for MICROSECONDS, which are kept; if milliseconds were meant, write \"{shown}ms\"")),
            _ => {}
        }
        us.unwrap_or(0)
    }

    /// Leaves out hosts without a link, and links that close a loop of switches.
    fn leave_out(&mut self) {
        for name in std::mem::take(&mut self.addresses).into_keys() {
            if self.lab.topology.hosts().any(|host| host.name == name) {
                let shown = name.escape_debug();
                self.warn(format!("host {shown}: it has no link, and is left out"));
                self.lab.topology.nodes.retain(|node| node.name != name);
            }
        }
        for index in self.lab.topology.loop_links().into_iter().rev() {
            let [near, far] = self.lab.topology.links.remove(index).ends;
            self.warn(format!(
                "links[{index}] ({} - {}): it closes a loop of switches; left out, as a spanning tree leaves it out",
                near.node.escape_debug(),
                far.node.escape_debug()
            ));
        }
    }
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
    // The prefix of Mininet's `setIP`, whatever that of the network is.
    Ok(Address::new(ip, 8))
}

/// The address with this number in a network; `None` where the network is smaller.
fn nth((base, prefix_length): Network, number: u64) -> Option<Ipv4Addr> {
    let most = u32::MAX.checked_shr(prefix_length.into()).unwrap_or(0);
    let number = u32::try_from(number).ok().filter(|one| *one <= most)?;
    let network = base.to_bits() & !most;
    Some(Ipv4Addr::from_bits(network.wrapping_add(number)))
}
