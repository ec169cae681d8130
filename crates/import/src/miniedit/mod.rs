//! MiniEdit's files (`.mn`), read as the lab that Mininet would make of them, with a warning for
//! everything without counterpart.
//!
//! The rules are those of Mininet's MiniEdit and its `TCLink`: ports are numbered by the order of
//! links, addresses come from `nodeNum`, and a link with options shapes both of its ends in the
//! same way. Commands in a file are shown, never run.

mod link;
mod node;

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use serde_json::{Map, Value};

use bitcost_model::Invalid;
use bitcost_model::topology::{At, Problem, Topology};

/// The result of reading a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The lab.
    pub topology: Topology,
    /// Differences from Mininet, and faults of the file, one sentence each.
    pub warnings: Vec<String>,
    /// Commands that MiniEdit would run as root.
    pub commands: Vec<FileCommand>,
}

/// A command of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCommand {
    /// The node whose command it is.
    pub node: String,
    /// When MiniEdit would run it: "start" or "stop".
    pub when: &'static str,
    /// The command, with control characters escaped.
    pub text: String,
}

/// The options of the import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// True to turn generic receive offload off where Mininet does: at both ends of each link with
    /// options.
    pub mininet_compat: bool,
}

/// Most entries of a list.
const MOST: usize = 1000;
/// MiniEdit's network of a file that names none.
const IP_BASE: (Ipv4Addr, u8) = (Ipv4Addr::new(10, 0, 0, 0), 8);

/// The state while a file is read.
#[derive(Default)]
struct Reader {
    topology: Topology,
    warnings: Vec<String>,
    commands: Vec<FileCommand>,
    /// The number of each node's next port.
    ports: BTreeMap<String, usize>,
    /// The address that each node's first device gets.
    addresses: BTreeMap<String, bitcost_model::topology::Address>,
    /// The router of each host that names one.
    gateways: BTreeMap<String, Ipv4Addr>,
    /// The kind of each controller, by name.
    controllers: BTreeMap<String, String>,
}

type Object = Map<String, Value>;

/// Reads a file's text.
///
/// # Errors
/// A sentence that names the place: the text is not JSON, not a MiniEdit file of version 2, or not
/// a lab that can be built.
pub fn import(text: &str, options: Options) -> Result<Imported, Invalid> {
    read(text, options).map_err(Invalid)
}

fn read(text: &str, options: Options) -> Result<Imported, String> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| format!("not a whole JSON document: {error}"))?;
    let root = value
        .as_object()
        .ok_or("not a MiniEdit file: it is not a JSON object")?;
    let mut reader = Reader::default();
    reader.version(root)?;
    reader.controllers(root)?;
    let base = reader.application(root)?;
    reader.hosts(root, base)?;
    reader.switches(root, base)?;
    reader.links(root, options)?;
    reader.finish()
}

impl Reader {
    fn warn(&mut self, sentence: impl Into<String>) {
        self.warnings.push(sentence.into());
    }

    fn version(&mut self, root: &Object) -> Result<(), String> {
        match root.get("version").and_then(text).as_deref() {
            Some("2") => {}
            Some(other) => {
                let version = other.escape_debug();
                return Err(format!(
                    "version: `{version}`; allowed: \"2\"; open the file in a MiniEdit of Mininet 2.2 or later and save it again"
                ));
            }
            None => self.warn("version: missing; read as version 2"),
        }
        Ok(())
    }

    fn controllers(&mut self, root: &Object) -> Result<(), String> {
        for (index, controller) in list(root, "controllers")?.iter().enumerate() {
            let at = format!("controllers[{index}]");
            let opts = options(controller, &at)?;
            let name = word(opts, "hostname").unwrap_or_else(|| format!("c{index}"));
            let kind = word(opts, "controllerType").unwrap_or_else(|| "ref".to_owned());
            if ["remote", "inband"].contains(&kind.as_str()) {
                self.warn(format!(
                    "{at} {}: a {kind} controller decides what its switches forward; here they learn addresses automatically",
                    name.escape_debug()
                ));
            }
            self.controllers.insert(name, kind);
        }
        Ok(())
    }

    /// The network of the addresses.
    fn application(&mut self, root: &Object) -> Result<(Ipv4Addr, u8), String> {
        let Some(application) = root.get("application").and_then(Value::as_object) else {
            return Ok(IP_BASE);
        };
        for (name, key) in [("sflow", "sflowTarget"), ("netflow", "nflowTarget")] {
            let section = application.get(name).and_then(Value::as_object);
            if section.and_then(|section| word(section, key)).is_some() {
                self.warn(format!("application.{name}: ignored"));
            }
        }
        let Some(base) = word(application, "ipBase") else {
            return Ok(IP_BASE);
        };
        parse_network(&base).ok_or_else(|| {
            format!(
                "application.ipBase: `{}` is not a network; allowed: such as \"10.0.0.0/8\"",
                base.escape_debug()
            )
        })
    }

    /// Adds addresses and routes, and checks the whole lab.
    fn finish(mut self) -> Result<Imported, String> {
        let mut has_address = BTreeSet::new();
        for end in self
            .topology
            .links
            .iter_mut()
            .flat_map(|link| &mut link.ends)
        {
            if let Some(address) = self
                .addresses
                .get(&end.node)
                .filter(|_| has_address.insert(end.node.clone()))
            {
                end.addresses.push(*address);
            }
        }
        let lonely: Vec<String> = self
            .topology
            .hosts()
            .map(|host| host.name.clone())
            .filter(|name| !has_address.contains(name))
            .collect();
        for name in lonely {
            self.warn(format!(
                "host {}: it has no link, and is left out",
                name.escape_debug()
            ));
            self.topology.nodes.retain(|node| node.name != name);
        }
        self.routes();
        match self.topology.check() {
            Ok(()) => {}
            Err(Problem {
                at: At::Link(index),
                message,
            }) => return Err(format!("links[{index}]: {message}")),
            Err(Problem { message, .. }) => return Err(message),
        }
        Ok(Imported {
            topology: self.topology,
            warnings: self.warnings,
            commands: self.commands,
        })
    }

    fn routes(&mut self) {
        for (name, via) in std::mem::take(&mut self.gateways) {
            let to = bitcost_model::topology::Address {
                ip: Ipv4Addr::UNSPECIFIED.into(),
                prefix_length: 0,
            };
            let is_near = self
                .addresses
                .get(&name)
                .is_some_and(|own| own.has(via.into()));
            if !is_near {
                self.warn(format!(
                    "host {}: its defaultRoute {via} is not in its network; left out",
                    name.escape_debug()
                ));
            } else if let Some(node) = self
                .topology
                .nodes
                .iter_mut()
                .find(|node| node.name == name)
            {
                node.routes.push(bitcost_model::topology::Route {
                    to,
                    via: via.into(),
                });
            }
        }
    }
}

/// The entries of a list that may be missing.
fn list<'a>(root: &'a Object, key: &str) -> Result<&'a [Value], String> {
    match root.get(key) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(entries)) if entries.len() <= MOST => Ok(entries),
        Some(Value::Array(entries)) => Err(format!(
            "{key}: {} entries; allowed: at most {MOST}",
            entries.len()
        )),
        Some(Value::Object(_)) if key == "controllers" => {
            Err("controllers: an object, as in files of version 1; allowed: a list".to_owned())
        }
        Some(_) => Err(format!("{key}: not a list")),
    }
}

fn options<'a>(entry: &'a Value, at: &str) -> Result<&'a Object, String> {
    static NONE: std::sync::OnceLock<Object> = std::sync::OnceLock::new();
    match entry.as_object().map(|entry| entry.get("opts")) {
        Some(Some(Value::Object(opts))) => Ok(opts),
        Some(None | Some(Value::Null)) => Ok(NONE.get_or_init(Object::new)),
        Some(Some(_)) => Err(format!("{at}.opts: not an object")),
        None => Err(format!("{at}: not an object")),
    }
}

/// A word or a number as text; `None` for an empty value or another type.
fn text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

fn word(object: &Object, key: &str) -> Option<String> {
    object.get(key).and_then(text)
}

fn parse_network(text: &str) -> Option<(Ipv4Addr, u8)> {
    let (ip, length) = text.split_once('/').unwrap_or((text, "8"));
    let (ip, length): (Ipv4Addr, u8) = (ip.parse().ok()?, length.parse().ok()?);
    (length <= 32).then_some((ip, length))
}
