//! MiniEdit's files (`.mn`), read as the lab that Mininet would make of them, with a warning for
//! everything without counterpart.
//!
//! The rules are those of Mininet's MiniEdit and its `TCLink`: ports are numbered by the order of
//! links, addresses come from `nodeNum`, and a link with options shapes both of its ends in the
//! same way. Commands in a file are shown, never run.

mod link;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use serde::Deserialize;
use serde_json::{Map, Value};

use bitcost_model::Invalid;
use bitcost_model::topology::{
    Address, At, Node, NodeKind, Problem, Route, Topology, is_node_name,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    pub topology: Topology,
    /// Differences from Mininet, and faults of the file, one sentence each.
    pub warnings: Vec<String>,
    pub commands: Vec<FileCommand>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCommand {
    pub node: String,
    pub when: &'static str,
    /// The command, with control characters escaped.
    pub text: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// True to turn generic receive offload off where Mininet does: at both ends of each link with
    /// options.
    pub mininet_compat: bool,
}

/// An IPv4 network: its address and the length of its prefix.
type Network = (Ipv4Addr, u8);

/// MiniEdit's network of a file that names none.
const IP_BASE: Network = (Ipv4Addr::new(10, 0, 0, 0), 8);

/// The prefix length of a host's address without a prefix, whatever the network's prefix is: that
/// of Mininet's `setIP`.
const PREFIX_LENGTH: u8 = 8;

const IGNORED: &str = "cpu cores privateDirectory vlanInterfaces sched sflow netflow switchIP";

/// The most entries of a list.
const MOST: usize = 1000;

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
        self.opts
            .get(key)
            .and_then(Value::as_array)
            .map_or(0, Vec::len)
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
        if list.len() > MOST {
            let count = list.len();
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
    commands: Vec<FileCommand>,
    ports: BTreeMap<String, usize>,
    /// Those of nodes without a device yet.
    addresses: BTreeMap<String, Address>,
}

/// Reads a file's text.
///
/// # Errors
/// A sentence that names the place: the text is not JSON, not a MiniEdit file of version 2, or not
/// a lab that can be built.
pub fn import(text: &str, options: Options) -> Result<Imported, Invalid> {
    read(text, options).map_err(Invalid)
}

fn read(text: &str, options: Options) -> Result<Imported, String> {
    let file = parse(text)?;
    let mut reader = Reader::default();
    let base = reader.head(&file)?;
    reader.hosts(file.hosts, base)?;
    reader.switches(file.switches, base)?;
    reader.links(file.links, options)?;
    reader.finish()
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
        for (index, controller) in file.controllers.iter().enumerate() {
            let name = controller.word("hostname").unwrap_or(format!("c{index}"));
            let kind = controller.word("controllerType").unwrap_or_default();
            if ["remote", "inband"].contains(&kind.as_str()) {
                self.warn(format!(
                    "{} {}: a {kind} controller decides what its switches forward; here they learn addresses automatically",
                    controller.at,
                    name.escape_debug()
                ));
            }
        }
        for (name, key) in [("sflow", "sflowTarget"), ("netflow", "nflowTarget")] {
            let section = file.application.get(name);
            if section.and_then(|of| word(of.get(key)?)).is_some() {
                self.warn(format!("application.{name}: ignored"));
            }
        }
        let Some(base) = file.application.get("ipBase").and_then(word) else {
            return Ok(IP_BASE);
        };
        parse_network(&base).ok_or_else(|| {
            format!(
                "application.ipBase: `{}` is not a network; allowed: such as \"10.0.0.0/8\"",
                base.escape_debug()
            )
        })
    }

    fn hosts(&mut self, hosts: Vec<Entry>, base: Network) -> Result<(), String> {
        for mut host in hosts {
            let name = self.name(&mut host, "h")?;
            let address = host_address(&host, base).map_err(|why| host.fault(why))?;
            self.addresses.insert(name.clone(), address);
            let mut routes = Vec::new();
            if let Some(via) = host.word("defaultRoute") {
                let via = via.trim_start_matches("via ").trim();
                let via: Ipv4Addr = via.parse().map_err(|_| {
                    let via = via.escape_debug();
                    host.fault(format!("defaultRoute: `{via}` is not an address"))
                })?;
                let (to, via) = (Address::new(Ipv4Addr::UNSPECIFIED, 0), via.into());
                match address.has(via) {
                    true => routes.push(Route { to, via }),
                    false => self.warn(format!(
                        "host {name}: its defaultRoute {via} is not in its network; left out"
                    )),
                }
            }
            self.node((name, NodeKind::Host, routes), &host);
        }
        Ok(())
    }

    fn switches(&mut self, switches: Vec<Entry>, base: Network) -> Result<(), String> {
        // Mininet counts every host that it adds, and counts routers as hosts.
        let mut hosts = self.topology.nodes.len() as u64;
        for mut switch in switches {
            let kind = switch.word("switchType").unwrap_or("default".to_owned());
            if kind != "legacyRouter" {
                let name = self.name(&mut switch, "s")?;
                self.note_switch(&switch, &kind);
                self.node((name, NodeKind::Switch, Vec::new()), &switch);
                continue;
            }
            let name = self.name(&mut switch, "r")?;
            hosts += 1;
            let ip = nth(base, hosts).ok_or_else(|| switch.fault("no address is left for it"))?;
            self.addresses
                .insert(name.clone(), Address::new(ip, base.1));
            self.warn(switch.fault(format!(
                "only its first device has an address ({ip}), as in Mininet; others come from its start command"
            )));
            self.node((name, NodeKind::Router, Vec::new()), &switch);
        }
        Ok(())
    }

    /// Adds warnings for properties of a switch that have an effect in Mininet and none here.
    fn note_switch(&mut self, switch: &Entry, kind: &str) {
        if !["default", "ovs", "legacySwitch"].contains(&kind) {
            let kind = kind.escape_debug();
            self.warn(switch.fault(format!("a {kind} datapath becomes the kernel's bridge")));
        }
        if kind != "legacySwitch" && switch.length("controllers") == 0 {
            self.warn(switch.fault("it has no controller, and would forward nothing in Mininet unless its start command changes that; here it learns addresses as a bridge does"));
        }
    }

    /// The name by which links call a node, which its place contains from here on.
    fn name(&self, entry: &mut Entry, letter: &str) -> Result<String, String> {
        let numbered = || Some(format!("{letter}{}", word(&entry.number)?));
        let name = entry.word("hostname").or_else(numbered);
        let name = name.ok_or_else(|| entry.fault("it has neither a hostname nor a number"))?;
        let shown = name.escape_debug();
        if self.topology.node(&name).is_some() {
            return Err(entry.fault(format!("the name `{shown}` is used twice")));
        }
        if !is_node_name(&name) {
            return Err(entry.fault(format!(
                "`{shown}` is not a name of a node; allowed: letters, digits, - _ and ."
            )));
        }
        entry.at += &format!(" {name}");
        Ok(name)
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
            self.commands.extend(command.map(|command| FileCommand {
                node: name.clone(),
                when,
                text: command.escape_debug().to_string(),
            }));
        }
        self.ports
            .insert(name.clone(), kind.first_port() + external);
        self.topology.nodes.push(Node { name, kind, routes });
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
        self.topology
            .check()
            .map_err(|Problem { at, message }| match at {
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

fn parse_network(text: &str) -> Option<Network> {
    let (ip, length) = text.split_once('/').unwrap_or((text, "8"));
    let (ip, length): Network = (ip.parse().ok()?, length.parse().ok()?);
    (length <= 32).then_some((ip, length))
}

/// A host's address: the one in the file, otherwise the one with its number in the network.
fn host_address(host: &Entry, base: Network) -> Result<Address, String> {
    if let Some(own) = host.word("ip") {
        let own = parse_network(&own)
            .ok_or_else(|| format!("ip: `{}` is not an address", own.escape_debug()))?;
        return Ok(Address::new(own.0, own.1));
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
    let number = u32::try_from(number)
        .ok()
        .filter(|number| *number <= most)?;
    Some(Ipv4Addr::from_bits(
        (base.to_bits() & !most).wrapping_add(number),
    ))
}
