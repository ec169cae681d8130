//! MiniEdit's files (`.mn`), read as the lab that Mininet would make of them, with a warning for
//! everything without counterpart.
//!
//! The rules are those of Mininet's MiniEdit and its `TCLink`: ports are numbered by the order of
//! links, addresses come from `nodeNum`, and a link with options shapes both of its ends in the
//! same way. Commands in a file are shown, never run.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use bitcost_model::Invalid;
use bitcost_model::near::did_you_mean;
use bitcost_model::shaping::{PPM, QueueLimit, Shaper, Shaping, time};
use bitcost_model::topology::{
    Address, At, End, Link, Node, NodeKind, Problem, Route, Topology, is_node_name,
};
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Clone, Debug, PartialEq, Eq)]
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
const IP_BASE: Network = (Ipv4Addr::new(10, 0, 0, 0), 8);

/// The prefix length of a host's address without a prefix, whatever the network's prefix is: that
/// of Mininet's `setIP`.
const PREFIX_LENGTH: u8 = 8;

/// Options of nodes and of links: those without counterpart, and those that are known.
const IGNORED: &str = "cpu cores privateDirectory vlanInterfaces sched sflow netflow switchIP";
const OF_LINKS: [&str; 6] = ["bw", "delay", "jitter", "loss", "max_queue_size", "speedup"];

/// The most entries of a list.
const MOST: usize = 1000;

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
    /// Its place in the file and its name, where that is known.
    #[serde(skip)]
    at: String,
    number: Value,
    src: Value,
    dest: Value,
    opts: Map<String, Value>,
}

impl Entry {
    fn fault(&self, sentence: impl std::fmt::Display) -> String {
        format!("{}: {sentence}", self.at)
    }

    fn word(&self, key: &str) -> Option<String> {
        word(self.opts.get(key)?)
    }

    fn length(&self, key: &str) -> usize {
        let list = self.opts.get(key).and_then(Value::as_array);
        list.map_or(0, Vec::len)
    }

    /// True where an option has another value than the one that has no effect.
    fn has(&self, key: &str) -> bool {
        let none = ["0", "0.0", "host"];
        self.length(key) > 0 || self.word(key).is_some_and(|text| !none.contains(&&*text))
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
    let read = || {
        let mut file = parse(text)?;
        let mut reader = Reader::default();
        let base = reader.head(&file)?;
        reader.nodes(&mut file, base)?;
        reader.links(file.links)?;
        reader.finish()
    };
    read().map_err(Invalid)
}

/// The file, with the place of each entry.
fn parse(text: &str) -> Result<File, String> {
    let file: Result<File, _> = serde_json::from_str(text);
    let mut file = file.map_err(|error| match error.is_data() {
        true => format!("not a MiniEdit file of version 2: {error}"),
        false => format!("not a whole JSON document: {error}"),
    })?;
    for (key, list) in [
        ("controllers", &mut file.controllers),
        ("hosts", &mut file.hosts),
        ("switches", &mut file.switches),
        ("links", &mut file.links),
    ] {
        let count = list.len();
        if count > MOST {
            return Err(format!("{key}: {count} entries; allowed: at most {MOST}"));
        }
        for (index, entry) in list.iter_mut().enumerate() {
            entry.at = format!("{key}[{index}]");
        }
    }
    Ok(file)
}

#[derive(Default)]
struct Reader {
    topology: Topology,
    warnings: Vec<String>,
    commands: Vec<String>,
    ports: BTreeMap<String, usize>,
    /// Those of nodes without a device yet.
    addresses: BTreeMap<String, Address>,
}

impl Reader {
    fn warn(&mut self, sentence: impl Into<String>) {
        self.warnings.push(sentence.into());
    }

    /// What a file has apart from nodes and links; the result is the network of its hosts.
    fn head(&mut self, file: &File) -> Result<Network, String> {
        match word(&file.version) {
            None => self.warn("version: missing; read as version 2"),
            Some(version) if version == "2" => {}
            Some(version) => {
                return Err(format!(
                    "version: `{}`; allowed: \"2\"; open the file in a MiniEdit of Mininet 2.2 or later and save it again",
                    version.escape_debug()
                ));
            }
        }
        let is_far = |kind: &String| kind == "remote" || kind == "inband";
        let mut controllers = file.controllers.iter();
        if controllers.any(|one| one.word("controllerType").is_some_and(|kind| is_far(&kind))) {
            self.warn("controllers: a remote controller decides what its switches forward; here they learn addresses automatically");
        }
        let Some(base) = file.application.get("ipBase").and_then(word) else {
            return Ok(IP_BASE);
        };
        parse_network(&base).ok_or_else(|| {
            let base = base.escape_debug();
            format!(
                "application.ipBase: `{base}` is not a network; allowed: such as \"10.0.0.0/8\""
            )
        })
    }

    fn nodes(&mut self, file: &mut File, base: Network) -> Result<(), String> {
        for host in &mut file.hosts {
            let name = self.name(host, "h")?;
            let address = host_address(host, base).map_err(|why| host.fault(why))?;
            self.addresses.insert(name.clone(), address);
            let mut routes = Vec::new();
            if let Some(via) = host.word("defaultRoute") {
                let via = via.trim_start_matches("via ").trim();
                let wrong = |_| {
                    let via = via.escape_debug();
                    host.fault(format!("defaultRoute: `{via}` is not an address"))
                };
                let via: Ipv4Addr = via.parse().map_err(wrong)?;
                let (to, via) = (Address::new(Ipv4Addr::UNSPECIFIED, 0), via.into());
                match address.has(via) {
                    true => routes.push(Route { to, via }),
                    false => self.warn(format!(
                        "host {name}: its defaultRoute {via} is not in its network; left out"
                    )),
                }
            }
            self.node((name, NodeKind::Host, routes), host);
        }
        // Mininet counts every host that it adds, and counts routers as hosts.
        let mut hosts = self.topology.nodes.len() as u64;
        for switch in &mut file.switches {
            let kind = switch.word("switchType").unwrap_or("default".to_owned());
            let is_router = kind == "legacyRouter";
            let (letter, node) = match is_router {
                true => ("r", NodeKind::Router),
                false => ("s", NodeKind::Switch),
            };
            let name = self.name(switch, letter)?;
            if is_router {
                hosts += 1;
                let ip = nth(base, hosts);
                let ip = ip.ok_or_else(|| switch.fault("no address is left for it"))?;
                self.addresses
                    .insert(name.clone(), Address::new(ip, base.1));
                self.warn(switch.fault(format!(
                    "only its first device has an address ({ip}), as in Mininet; others come from its start command"
                )));
            } else if !["default", "ovs", "legacySwitch"].contains(&kind.as_str()) {
                let kind = kind.escape_debug();
                self.warn(switch.fault(format!("a {kind} datapath becomes the kernel's bridge")));
            }
            let is_controlled = switch.length("controllers") > 0 || kind == "legacySwitch";
            if !is_controlled && !is_router {
                self.warn(switch.fault("it has no controller, and would forward nothing in Mininet unless its start command changes that; here it learns addresses as a bridge does"));
            }
            self.node((name, node, Vec::new()), switch);
        }
        Ok(())
    }

    /// The name by which links call a node, which its place contains from here on.
    fn name(&self, entry: &mut Entry, letter: &str) -> Result<String, String> {
        let numbered = || Some(format!("{letter}{}", word(&entry.number)?));
        let name = entry.word("hostname").or_else(numbered);
        let name = name.ok_or_else(|| entry.fault("it has neither a hostname nor a number"))?;
        let wrong = match self.topology.node(&name) {
            Some(_) => "is used twice",
            None if is_node_name(&name) => {
                entry.at += &format!(" {name}");
                return Ok(name);
            }
            None => "is not a name of a node; allowed: letters, digits, - _ and .",
        };
        Err(entry.fault(format!("`{}` {wrong}", name.escape_debug())))
    }

    /// Adds a node, with the options that every kind of node can have.
    fn node(&mut self, (name, kind, routes): (String, NodeKind, Vec<Route>), entry: &Entry) {
        for key in IGNORED.split_whitespace().filter(|key| entry.has(key)) {
            self.warn(entry.fault(format!("{key}: ignored")));
        }
        let external = entry.length("externalInterfaces");
        if external > 0 {
            self.warn(entry.fault(format!(
                "externalInterfaces: not attached; they take {external} port numbers, as in Mininet"
            )));
        }
        for when in ["start", "stop"] {
            let command = entry.word(&format!("{when}Command"));
            let shown = |text: String| format!("{name} {when} command: {}", text.escape_debug());
            self.commands.extend(command.map(shown));
        }
        self.ports
            .insert(name.clone(), kind.first_port() + external);
        self.topology.nodes.push(Node { name, kind, routes });
    }

    fn links(&mut self, links: Vec<Entry>) -> Result<(), String> {
        let mut without_gro = Vec::new();
        for mut link in links {
            let names = [("src", &link.src), ("dest", &link.dest)];
            let [near, far] = names.map(|(key, name)| self.linked(&link, key, name));
            let nodes = [near?, far?];
            link.at += &format!(" ({} - {})", nodes[0], nodes[1]);
            let shaping = self.shaping(&link)?;
            let ends = nodes.map(|node| self.end(node, &link, &shaping));
            if !link.opts.is_empty() {
                without_gro.extend(ends.each_ref().map(|end| format!("{:?}", end.device)));
            }
            let mtu_bytes = MTU_BYTES;
            self.topology.links.push(Link { ends, mtu_bytes });
        }
        if !without_gro.is_empty() {
            let ends = without_gro.join(", ");
            self.warn(format!("links with options: Mininet turns GRO off at both of their ends; here it stays on unless the lab file has `gro_off = [{ends}]`"));
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
    fn end(&mut self, node: String, link: &Entry, shaping: &Shaping) -> End {
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
            gro_off: false,
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
        for key in keys.filter(|key| !OF_LINKS.contains(&key.as_str())) {
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
        let us = us.ok_or_else(|| {
            let allowed = "allowed: such as \"20ms\", up to a minute";
            link.fault(format!("{key}: `{shown}` is not a time; {allowed}"))
        })?;
        if is_bare && us > 0 {
            self.warn(link.fault(format!(
                "{key}: `{shown}` has no unit, and tc takes it for MICROSECONDS: {us} us are kept; if milliseconds were meant, write \"{shown}ms\""
            )));
        }
        Ok(us)
    }

    fn finish(mut self) -> Result<Imported, String> {
        for name in std::mem::take(&mut self.addresses).into_keys() {
            if self.topology.hosts().any(|host| host.name == name) {
                self.warn(format!("host {name}: it has no link, and is left out"));
                self.topology.nodes.retain(|node| node.name != name);
            }
        }
        for index in self.topology.loop_links().into_iter().rev() {
            let [near, far] = self.topology.links.remove(index).ends;
            self.warn(format!(
                "links[{index}] ({} - {}): it closes a loop of switches; left out, as a spanning tree leaves it out",
                near.node, far.node
            ));
        }
        let checked = self.topology.check();
        checked.map_err(|Problem { at, message }| match at {
            At::Link(index) => format!("links[{index}]: {message}"),
            _ => message,
        })?;
        Ok(Imported {
            topology: self.topology,
            warnings: self.warnings,
            commands: self.commands,
        })
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
    word.parse().ok().filter(|number: &f64| number.is_finite())
}

fn parse_network(text: &str) -> Option<Network> {
    let (ip, length) = text.split_once('/').unwrap_or((text, "8"));
    let (ip, length): Network = (ip.parse().ok()?, length.parse().ok()?);
    (length <= 32).then_some((ip, length))
}

/// A host's address: the one in the file, otherwise the one with its number in the network.
fn host_address(host: &Entry, base: Network) -> Result<Address, String> {
    if let Some(own) = host.word("ip") {
        let (ip, length) = parse_network(&own)
            .ok_or_else(|| format!("ip: `{}` is not an address", own.escape_debug()))?;
        return Ok(Address::new(ip, length));
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
