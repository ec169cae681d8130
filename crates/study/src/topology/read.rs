//! From a lab file's text, or a study's `[lab]`, to a [`Topology`], with the line of each error.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use toml_edit::{Document, Item, Value};

use super::fill::{Addressing, everything, fill};
use super::presets::Preset;
use super::quantity;
use crate::error::StudyError;
use crate::keys::{LAB_FILE, LINK, SHAPING};
use crate::section::{Section, Source, begin, shown};
use bitcost_model::Invalid;
use bitcost_model::near::did_you_mean;
use bitcost_model::shaping::{DelayBackend, Shaper, Shaping};
use bitcost_model::topology::{
    Address, At, End, Link, Napi, Node, NodeKind, Problem, Route, Topology, check_count,
};

/// What else than a preset may be named, as the end of an error.
pub const OR_FILE: &str = ", or the path of a lab file (.toml) or of a MiniEdit file (.mn)";

/// The keys with the names of nodes, one for each kind of node.
pub(super) const KINDS: [(&str, NodeKind); 4] = [
    ("hosts", NodeKind::Host),
    ("switches", NodeKind::Switch),
    ("routers", NodeKind::Router),
    ("wires", NodeKind::Wire),
];

/// The MTU of links that give none, in bytes.
const MTU_BYTES: u32 = 1500;

/// A description that is being read.
#[derive(Default)]
struct Draft {
    topology: Topology,
    addressing: Addressing,
    /// The MTU of links that give none.
    mtu_bytes: Option<u32>,
    /// Links that give their MTU.
    sized: BTreeSet<usize>,
    /// Where each part is in the text, in bytes.
    places: BTreeMap<At, usize>,
}

/// Reads a lab file. `file` is the name that errors use.
///
/// # Errors
/// The first error, with its line.
pub fn parse(file: &str, text: &str) -> Result<Topology, StudyError> {
    let source = Source { file, text };
    with_document(source, |section| {
        section.only(&LAB_FILE.names())?;
        read(section, None)
    })
}

/// Reads a table with the keys of a lab file. Where it names a preset as `topology`, its other keys
/// change or complete that preset; `preset_name` is used where it names none.
///
/// # Errors
/// The first error, with its line.
pub fn read(section: &Section, preset_name: Option<&str>) -> Result<Topology, StudyError> {
    read_from(section, preset_name, None)
}

/// As [`read`], where `topology` may also name a lab file of this text.
///
/// # Errors
/// As [`read`]; an error in the lab file has its place there.
pub fn read_from(
    section: &Section,
    preset_name: Option<&str>,
    lab_text: Option<&str>,
) -> Result<Topology, StudyError> {
    let named = section
        .text("topology")?
        .or_else(|| preset_name.map(str::to_owned));
    let mut draft = match named {
        Some(name) if is_file(&name) => from_file(section, &name, lab_text)?,
        Some(name) => from_preset(section, &name)?,
        None => Draft::default(),
    };
    draft.read(section)?;
    draft.finish(section)
}

/// Whether `topology` names a file instead of a preset.
pub fn is_file(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml") || name.ends_with(".mn")
}

/// What a lab file describes, which is checked alone, so that its errors have their place there.
fn from_file(section: &Section, name: &str, text: Option<&str>) -> Result<Draft, StudyError> {
    let Some(text) = text else {
        let message = format!("`topology` names the file {name}, which is not read here");
        return Err(section.error_at("topology", message));
    };
    if section.table.contains_key("size") {
        return Err(section.error_at("size", "`size` is only for presets that have several sizes"));
    }
    let folder = section.source.file.rsplit_once('/');
    let file = match folder {
        Some((folder, _)) if !name.starts_with('/') => format!("{folder}/{name}"),
        _ => name.to_owned(),
    };
    parse(&file, text)?;
    let source = Source { file: &file, text };
    with_document(source, |own| {
        let mut draft = match own.text("topology")? {
            Some(preset) => from_preset(own, &preset)?,
            None => Draft::default(),
        };
        draft.read(own)?;
        draft.places.clear();
        // An MTU in the study is that of every link.
        if section.table.contains_key("mtu_bytes") {
            draft.sized.clear();
        }
        Ok(draft)
    })
}

fn with_document<T>(
    source: Source,
    read: impl FnOnce(&Section) -> Result<T, StudyError>,
) -> Result<T, StudyError> {
    let document = Document::parse(source.text)
        .map_err(|e| source.error(e.span(), format!("not TOML: {}", e.message().trim())))?;
    read(&Section::top(source, &document))
}

/// The preset of this name with links of this MTU.
///
/// # Errors
/// A sentence where there is no such preset, or the MTU is not possible.
pub fn preset(name: &str, mtu_bytes: u32, napi: Napi) -> Result<Topology, Invalid> {
    let napi = match napi {
        Napi::Inline => "inline",
        Napi::Threaded => "threaded",
    };
    let text = format!("topology = \"{name}\"\nmtu_bytes = {mtu_bytes}\nnapi = \"{napi}\"\n");
    Ok(parse(name, &text)?)
}

/// The preset "wire" with links of this MTU; without a node where the MTU is not possible.
pub fn wire(mtu_bytes: u32, napi: Napi) -> Topology {
    preset("wire", mtu_bytes, napi).unwrap_or_default()
}

fn from_preset(section: &Section, name: &str) -> Result<Draft, StudyError> {
    let preset =
        Preset::named(name).map_err(|Invalid(why)| section.error_at("topology", why + OR_FILE))?;
    let size = LAB_FILE.whole(section, "size")?;
    let text = preset
        .text(size)
        .map_err(|message| section.error_at("size", message))?;
    let file = format!("labs/{name}.toml");
    let source = Source {
        file: &file,
        text: &text,
    };
    with_document(source, |own| {
        let mut draft = Draft::default();
        draft.read(own)?;
        // Places refer to the file that names the preset.
        draft.places.clear();
        Ok(draft)
    })
}

impl Draft {
    fn read(&mut self, section: &Section) -> Result<(), StudyError> {
        check_size(section)?;
        for (key, kind) in KINDS {
            for (name, offset) in names(section, key)? {
                self.places.insert(At::Node(name.clone()), offset);
                self.topology.nodes.push(Node {
                    name,
                    kind,
                    routes: Vec::new(),
                });
            }
        }
        self.options(section)?;
        for link in section.sections("link")? {
            self.link(&link)?;
        }
        if let Some(egress) = section.section("egress")? {
            for (device, _) in egress.table.iter() {
                let Some(own) = egress.section(device)? else {
                    continue;
                };
                own.only(&SHAPING.names())?;
                let end = self.end(&egress, device)?;
                shape(&own, &mut end.egress)?;
            }
        }
        self.addresses(section)?;
        self.routes(section)?;
        for (device, _) in names(section, "gro_off")? {
            self.end(section, &device)?.gro_off = true;
        }
        Ok(())
    }

    fn options(&mut self, section: &Section) -> Result<(), StudyError> {
        if let Some(mtu) = LAB_FILE.whole(section, "mtu_bytes")? {
            self.mtu_bytes = Some(mtu);
        }
        let napi = |name: &str| match name {
            "threaded" => Some(Napi::Threaded),
            "inline" => Some(Napi::Inline),
            _ => None,
        };
        if let Some(napi) = LAB_FILE.word(section, "napi", napi)? {
            self.topology.napi = napi;
        }
        let backend = LAB_FILE.word(section, "delay_backend", DelayBackend::named)?;
        self.topology.delay_backend = backend.unwrap_or(self.topology.delay_backend);
        if let Some(value) = section.value("moderation")? {
            self.topology.moderation_us = quantity::moderation(value)
                .map_err(|why| section.error_at("moderation", format!("`moderation` {why}")))?;
        }
        if let Some(ipv6) = section.switch("ipv6")? {
            self.addressing.ipv6 = ipv6;
        }
        let subnet = |value: &Value| address(value.as_str()?).filter(|subnet| subnet.ip.is_ipv4());
        if let Some(subnet) = section.typed("subnet", &LAB_FILE.form("subnet").allowed(), subnet)? {
            self.addressing.subnet = subnet;
        }
        Ok(())
    }

    fn link(&mut self, section: &Section) -> Result<(), StudyError> {
        section.only(&LINK.names())?;
        let pair = |key: &str, what: &str| {
            let two = |value: &Value| {
                let words = value
                    .as_array()?
                    .iter()
                    .map(|v| v.as_str().map(str::to_owned));
                <[String; 2]>::try_from(words.collect::<Option<Vec<String>>>()?).ok()
            };
            section.typed(key, what, two)
        };
        let ends = pair("ends", "two nodes, such as [\"h1\", \"s1\"]")?
            .ok_or_else(|| section.error("`ends` is missing in [[link]]"))?;
        let devices = pair("devices", "two names of devices")?;
        let mut shaping = Shaping::default();
        shape(section, &mut shaping)?;
        let index = self.topology.links.len();
        let mtu = LINK.whole(section, "mtu_bytes")?;
        if mtu.is_some() {
            self.sized.insert(index);
        }
        let named = |side: usize| match &devices {
            Some(devices) => devices[side].clone(),
            None => self.next_device(&ends[side]),
        };
        let end = |side: usize| End {
            node: ends[side].clone(),
            device: named(side),
            addresses: Vec::new(),
            egress: shaping.clone(),
            gro_off: false,
        };
        let link = Link {
            ends: [end(0), end(1)],
            mtu_bytes: mtu.unwrap_or(MTU_BYTES),
        };
        if let Some(taken) = link
            .ends
            .iter()
            .find(|end| self.topology.end(&end.device).is_some())
        {
            return Err(section.error_at(
                "devices",
                format!(
                    "the device name `{}` is used twice",
                    taken.device.escape_debug()
                ),
            ));
        }
        let offset = section.span.as_ref().map_or(0, |span| span.start);
        self.places.insert(At::Link(index), offset);
        self.topology.links.push(link);
        Ok(())
    }

    fn next_device(&self, node: &str) -> String {
        self.topology
            .node(node)
            .map(|node| self.topology.next_device(node))
            .unwrap_or_default()
    }

    /// The end with this device, named as a key or in a list.
    fn end(&mut self, section: &Section, device: &str) -> Result<&mut End, StudyError> {
        let known = self.topology.named_end(device).map(|_| ());
        known.map_err(|why| section.error_at(device, why))?;
        let mut ends = self.topology.ends_mut();
        let end = ends.find(|end| end.device == device);
        end.ok_or_else(|| section.error_at(device, "unknown device"))
    }

    fn addresses(&mut self, section: &Section) -> Result<(), StudyError> {
        let Some(section) = section.section("addresses")? else {
            return Ok(());
        };
        for (device, _) in section.table.iter() {
            let list = |value: &Value| {
                let words = value.as_array()?.iter();
                words
                    .map(|word| word.as_str().and_then(address))
                    .collect::<Option<Vec<Address>>>()
            };
            let allowed =
                "a list of addresses with their prefix, such as [\"10.0.0.1/24\", \"fd00::1/64\"]";
            let addresses = section.typed(device, allowed, list)?.unwrap_or_default();
            let offset = section.offset(device).unwrap_or_default();
            self.places.insert(At::Device(device.to_owned()), offset);
            self.end(&section, device)?.addresses = addresses;
            self.addressing.listed.insert(device.to_owned());
        }
        Ok(())
    }

    fn routes(&mut self, section: &Section) -> Result<(), StudyError> {
        let Some(section) = section.section("routes")? else {
            return Ok(());
        };
        for (name, _) in section.table.iter() {
            let Some(own) = section.section(name)? else {
                continue;
            };
            let mut routes = Vec::new();
            for (to, _) in own.table.iter() {
                let via = |value: &Value| value.as_str()?.parse::<IpAddr>().ok();
                let Some(via) = own.typed(to, "the address of a router", via)? else {
                    continue;
                };
                let network = if to == "default" {
                    Some(everything(via.is_ipv4()))
                } else {
                    address(to)
                };
                let network = network.filter(|network| network.ip.is_ipv4() == via.is_ipv4());
                let allowed =
                    "`default`, or a network of the router's IP version such as \"10.1.0.0/16\"";
                let to = network.ok_or_else(|| {
                    own.error_at(to, format!("`{to}` is not a network; allowed: {allowed}"))
                })?;
                routes.push(Route {
                    to: to.network(),
                    via,
                });
            }
            let nodes = &mut self.topology.nodes;
            let Some(place) = nodes.iter().position(|node| node.name == name) else {
                let hint = did_you_mean(name, nodes.iter().map(|node| node.name.as_str()));
                let shown = name.escape_debug();
                return Err(section.error_at(name, format!("unknown node `{shown}`{hint}")));
            };
            nodes[place].routes = routes;
            self.addressing.routed.insert(name.to_owned());
        }
        Ok(())
    }

    /// Completes and checks what was read.
    fn finish(mut self, section: &Section) -> Result<Topology, StudyError> {
        for (index, link) in self.topology.links.iter_mut().enumerate() {
            if !self.sized.contains(&index) {
                link.mtu_bytes = self.mtu_bytes.unwrap_or(MTU_BYTES);
            }
        }
        fill(&mut self.topology, &self.addressing);
        let Problem { at, message } = match self.topology.check() {
            Ok(()) => return Ok(self.topology),
            Err(problem) => problem,
        };
        match self.places.get(&at) {
            Some(offset) => Err(section.source.error_at(*offset, message)),
            None => Err(section.error(message)),
        }
    }
}

/// Refuses a description of too many nodes or links before any of them is read.
fn check_size(section: &Section) -> Result<(), StudyError> {
    let length = |key: &str| match section.table.get(key) {
        Some(Item::Value(Value::Array(list))) => list.len(),
        Some(Item::ArrayOfTables(tables)) => tables.len(),
        _ => 0,
    };
    let nodes = KINDS.iter().map(|(key, _)| length(key)).sum();
    check_count(nodes, length("link")).map_err(|message| section.error(message))
}

/// The names of a list, each with its place in bytes.
fn names(section: &Section, key: &str) -> Result<Vec<(String, usize)>, StudyError> {
    let list = |value: &Value| {
        let words = value.as_array()?.iter();
        let named = words.map(|word| Some((word.as_str()?.to_owned(), begin(word))));
        named.collect::<Option<Vec<(String, usize)>>>()
    };
    Ok(section
        .typed(key, "a list of names", list)?
        .unwrap_or_default())
}

pub(super) fn address(text: &str) -> Option<Address> {
    let (ip, length) = text.split_once('/')?;
    let (ip, prefix_length): (IpAddr, u8) = (ip.trim().parse().ok()?, length.trim().parse().ok()?);
    (prefix_length <= if ip.is_ipv4() { 32 } else { 128 })
        .then_some(Address::new(ip, prefix_length))
}

/// Changes a shaping by the keys of a table.
fn shape(section: &Section, shaping: &mut Shaping) -> Result<(), StudyError> {
    for (key, _) in section
        .table
        .iter()
        .filter(|(key, _)| SHAPING.keys.iter().any(|known| known.name == *key))
    {
        let Some(value) = section.value(key)? else {
            continue;
        };
        set(shaping, key, value).map_err(|why| section.error_at(key, format!("`{key}` {why}")))?;
    }
    Ok(())
}

/// Sets the value of one of the keys of [`SHAPING`].
pub(super) fn set(shaping: &mut Shaping, key: &str, value: &Value) -> Result<(), Invalid> {
    match key {
        "rate" => shaping.rate_bps = Some(quantity::rate(value)?),
        "burst" => shaping.burst_bytes = Some(quantity::bytes(value)?),
        "delay" => shaping.delay_us = quantity::time(value)?,
        "jitter" => shaping.jitter_us = quantity::time(value)?,
        "loss" => shaping.loss_ppm = quantity::share(value)?,
        "reorder" => shaping.reorder_ppm = quantity::share(value)?,
        "duplicate" => shaping.duplicate_ppm = quantity::share(value)?,
        "queue_limit" => shaping.queue_limit = Some(quantity::limit(value)?),
        _ => {
            shaping.shaper = match value.as_str() {
                Some("tbf") => Shaper::Tbf,
                Some("htb") => Shaper::Htb,
                _ => {
                    return Err(Invalid(format!(
                        "is {}; allowed: \"tbf\", \"htb\"",
                        shown(value)
                    )));
                }
            };
        }
    }
    Ok(())
}
