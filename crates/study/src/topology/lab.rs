//! From a lab file's text, or a study's `[lab]`, to a [`Topology`], with the line of each error.

use std::collections::{BTreeMap, BTreeSet};

use bitcost_model::Invalid;
use bitcost_model::near::did_you_mean;
use bitcost_model::shaping::Shaping;
use bitcost_model::topology::{
    At, End, Link, Napi, Node as LabNode, NodeKind, Problem, Route, Topology, check_count,
};

use super::fill::{Addressing, everything, fill};
use super::presets::Preset;
use super::shaping::Row;
use crate::error::StudyError;
use crate::forms::{Map, Router, address};
use crate::limits::LAB_BYTES;
use crate::tables::{LabTable, LinkTable};
use crate::toml::{Node, Source};

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

#[derive(Clone, Default)]
struct Draft {
    topology: Topology,
    addressing: Addressing,
    mtu_bytes: Option<u32>,
    sized: BTreeSet<usize>,
    /// Where each part is in the text, in bytes.
    places: BTreeMap<At, usize>,
    /// The text of the lab file that it changes.
    file_text: Option<String>,
}

/// Reads the lab file of this name, or says why it cannot.
pub type LabFile<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Reads a lab file. `file` is the name that errors use.
pub fn parse(file: &str, text: &str) -> Result<Topology, StudyError> {
    let read = Source::new(file, text, LAB_BYTES).read(|top| {
        let draft = Draft::of_file(top)?;
        draft.finish(top)
    });
    read.map_err(|mistakes| mistakes[0].clone())
}

/// Reads a study's `[lab]`, with the text of the lab file that it names. Where it names a preset or
/// a lab file as `topology`, its other keys change or complete that; `usual` is the preset where it
/// names none.
pub fn read(
    node: &Node,
    usual: Option<&str>,
    file: Option<LabFile>,
) -> Option<(Topology, Option<String>)> {
    let mut draft = Draft::of(node, usual, file)?;
    let text = draft.file_text.take();
    Some((draft.finish(node)?, text))
}

pub fn is_file(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml") || name.ends_with(".mn")
}

/// What a lab file describes, which is checked alone, so that its errors have their place there.
fn from_file(node: &Node, table: &LabTable, name: &str, read: Option<LabFile>) -> Option<Draft> {
    let unread = || {
        Err(format!(
            "`topology` names the file {name}, which is not read here"
        ))
    };
    let text = match read.map_or_else(unread, |read| read(name)) {
        Ok(text) => text,
        Err(why) => return node.at("topology").error(why),
    };
    let folder = node.source.file.rsplit_once('/');
    let file = match folder {
        Some((folder, _)) if !name.starts_with('/') => format!("{folder}/{name}"),
        _ => name.to_owned(),
    };
    let mut draft = other(node, &file, &text)?;
    draft.file_text = Some(text);
    // An MTU in the study is that of every link.
    if table.mtu_bytes.is_some() {
        draft.sized.clear();
    }
    Some(draft)
}

/// What another text describes, without its places. Its mistakes are kept.
fn other(node: &Node, file: &str, text: &str) -> Option<Draft> {
    let read = Source::new(file, text, LAB_BYTES).read(|own| {
        let draft = Draft::of_file(own)?;
        draft.clone().finish(own)?;
        Some(draft)
    });
    let places = BTreeMap::new();
    read.map(|draft| Draft { places, ..draft })
        .map_err(|mistakes| node.source.extend(mistakes))
        .ok()
}

/// The preset of this name with links of this MTU.
pub fn preset(name: &str, mtu_bytes: u32, napi: Napi) -> Result<Topology, Invalid> {
    let napi = napi.name();
    let text = format!("topology = \"{name}\"\nmtu_bytes = {mtu_bytes}\nnapi = \"{napi}\"\n");
    Ok(parse(name, &text)?)
}

fn from_preset(node: &Node, name: &str) -> Option<Draft> {
    let preset = match Preset::named(name) {
        Ok(preset) => preset,
        Err(Invalid(why)) => return node.at("topology").error(why + OR_FILE),
    };
    other(node, &format!("labs/{name}.toml"), preset.text)
}

impl Draft {
    fn of_file(node: &Node) -> Option<Draft> {
        for key in ["sender", "receiver"] {
            if let Some(end) = node.get(key) {
                end.error::<()>(format!("`{key}` is for the [lab] of a study"));
            }
        }
        Draft::of(node, None, None)
    }

    fn of(node: &Node, usual: Option<&str>, file: Option<LabFile>) -> Option<Draft> {
        let table: LabTable = node.read()?;
        let named = table.topology.as_ref().map(|name| name.0.as_str());
        let mut draft = match named.or(usual) {
            Some(name) if is_file(name) => from_file(node, &table, name, file)?,
            Some(name) => from_preset(node, name)?,
            None => Draft::default(),
        };
        draft.read(node, table)?;
        Some(draft)
    }

    fn read(&mut self, node: &Node, table: LabTable) -> Option<()> {
        let LabTable {
            hosts,
            switches,
            routers,
            wires,
            addresses,
            routes,
            gro_off,
            ..
        } = table;
        let names = [hosts, switches, routers, wires].map(Option::unwrap_or_default);
        let count = names.iter().map(Vec::len).sum();
        let links = node.each("link");
        if let Err(Invalid(why)) = check_count(count, links.len()) {
            return node.error(why);
        }
        for ((key, kind), names) in KINDS.into_iter().zip(names) {
            for (name, place) in names.into_iter().zip(node.at(key).elements()) {
                self.places.insert(At::Node(name.clone()), place.offset);
                self.topology.nodes.push(LabNode {
                    name,
                    kind,
                    routes: Vec::new(),
                });
            }
        }
        self.mtu_bytes = table.mtu_bytes.map(|mtu| mtu.0).or(self.mtu_bytes);
        self.addressing.ipv6 = table.ipv6.unwrap_or(self.addressing.ipv6);
        let Topology {
            napi,
            delay_backend,
            moderation_us,
            ..
        } = &mut self.topology;
        *napi = table.napi.unwrap_or(*napi);
        *delay_backend = table.delay_backend.unwrap_or(*delay_backend);
        *moderation_us = table.moderation.map_or(*moderation_us, |time| time.0);
        if let Some(subnet) = table.subnet {
            self.addressing.subnet = subnet.0;
        }
        links.iter().try_for_each(|link| self.link(link))?;
        for own in node.get("egress").iter().flat_map(Node::entries) {
            let known = Row::names();
            if let Some(other) = own.entries().iter().find(|key| !known.contains(&key.key)) {
                return other.unknown(&own, &known);
            }
            let end = self.end(&own, own.key)?;
            shape(&own, &mut end.egress)?;
        }
        for (device, own) in addresses.unwrap_or_default() {
            let place = node.at("addresses").at(&device);
            self.places.insert(At::Device(device.clone()), place.offset);
            self.end(&place, &device)?.addresses = own.into_iter().map(|one| one.0).collect();
            self.addressing.listed.insert(device);
        }
        for (name, own) in routes.unwrap_or_default() {
            self.routes(&node.at("routes").at(&name), name, own)?;
        }
        for device in gro_off.unwrap_or_default() {
            self.end(&node.at("gro_off"), &device)?.gro_off = true;
        }
        Some(())
    }

    fn link(&mut self, node: &Node) -> Option<()> {
        let keys = Row::names();
        let table: LinkTable = node.read_with(&keys)?;
        let [near, far] = table.ends;
        let mut egress = Shaping::default();
        shape(node, &mut egress)?;
        let index = self.topology.links.len();
        if table.mtu_bytes.is_some() {
            self.sized.insert(index);
        }
        let [near_device, far_device] = match table.devices {
            Some(devices) => devices,
            None => [&near, &far].map(|name| self.next_device(name)),
        };
        let end = |node: String, device: String| End {
            node,
            device,
            addresses: Vec::new(),
            egress: egress.clone(),
            gro_off: false,
        };
        let link = Link {
            ends: [end(near, near_device), end(far, far_device)],
            mtu_bytes: table.mtu_bytes.map_or(MTU_BYTES, |mtu| mtu.0),
        };
        let is_taken = |end: &&End| self.topology.end(&end.device).is_some();
        if let Some(taken) = link.ends.iter().find(is_taken) {
            let device = taken.device.escape_debug();
            let message = format!("the device name `{device}` is used twice");
            return node.at("devices").error(message);
        }
        self.places.insert(At::Link(index), node.offset);
        self.topology.links.push(link);
        Some(())
    }

    fn next_device(&self, node: &str) -> String {
        let node = self.topology.node(node);
        node.map_or(String::new(), |node| self.topology.next_device(node))
    }

    fn end(&mut self, place: &Node, device: &str) -> Option<&mut End> {
        if let Err(Invalid(why)) = self.topology.named_end(device) {
            place.source.keep(place.offset, why);
            return None;
        }
        self.topology.ends_mut().find(|end| end.device == device)
    }

    fn routes(&mut self, place: &Node, name: String, own: Map<Router>) -> Option<()> {
        let mut routes = Vec::new();
        for (to, Router(via)) in own {
            let network = match to.as_str() {
                "default" => Some(everything(via.is_ipv4())),
                to => address(to),
            };
            let network = network.filter(|network| network.ip.is_ipv4() == via.is_ipv4());
            let Some(network) = network else {
                return place.at(&to).error(format!(
                    "`{to}` is not a network; allowed: `default`, or a network of the router's IP version such as \"10.1.0.0/16\""
                ));
            };
            routes.push(Route {
                to: network.network(),
                via,
            });
        }
        let nodes = &mut self.topology.nodes;
        let Some(node) = nodes.iter().position(|node| node.name == name) else {
            let hint = did_you_mean(&name, nodes.iter().map(|node| node.name.as_str()));
            let shown = name.escape_debug();
            let message = format!("unknown node `{shown}`{hint}");
            place.source.keep(place.offset, message);
            return None;
        };
        nodes[node].routes = routes;
        self.addressing.routed.insert(name);
        Some(())
    }

    fn finish(mut self, node: &Node) -> Option<Topology> {
        for (index, link) in self.topology.links.iter_mut().enumerate() {
            if !self.sized.contains(&index) {
                link.mtu_bytes = self.mtu_bytes.unwrap_or(MTU_BYTES);
            }
        }
        fill(&mut self.topology, &self.addressing);
        let Problem { at, message } = match self.topology.check() {
            Ok(()) => return Some(self.topology),
            Err(problem) => problem,
        };
        match self.places.get(&at) {
            Some(offset) => {
                node.source.keep(*offset, message);
                None
            }
            None => node.error(message),
        }
    }
}

fn shape(node: &Node, shaping: &mut Shaping) -> Option<()> {
    for own in node.entries() {
        let Some(row) = Row::named(own.key) else {
            continue;
        };
        let shown = own.shown();
        let text = own.text().unwrap_or(&shown);
        if let Err(Invalid(why)) = row.read(shaping, text, &shown) {
            return own.error(format!("`{}` {why}", own.key));
        }
    }
    Some(())
}
