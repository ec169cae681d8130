//! A [`Topology`] as the text of a lab file, which reads back as the same topology.

use std::fmt::Write as _;

use super::lab::KINDS;
use super::shaping::ROWS;
use bitcost_model::shaping::{DelayBackend, Shaping, show_time};
use bitcost_model::topology::{End, Napi, Node, Topology};

/// The complete text of a lab file: names of devices are written only where they differ from the
/// default names.
pub fn to_toml(topology: &Topology) -> String {
    let mut text = String::new();
    for (key, kind) in KINDS {
        let of_kind = topology
            .nodes
            .iter()
            .filter(|node| node.kind == kind)
            .map(|node| quoted(&node.name));
        let names: Vec<String> = of_kind.collect();
        if !names.is_empty() {
            let _ = writeln!(text, "{key} = [{}]", names.join(", "));
        }
    }
    if topology.napi != Napi::default() {
        let _ = writeln!(text, "napi = \"{}\"", topology.napi.name());
    }
    if topology.delay_backend != DelayBackend::default() {
        let _ = writeln!(
            text,
            "delay_backend = \"{}\"",
            topology.delay_backend.name()
        );
    }
    if topology.moderation_us > 0 {
        let moderation = show_time(topology.moderation_us.into());
        let _ = writeln!(text, "moderation = \"{moderation}\"");
    }
    let gro_off: Vec<String> = topology
        .ends()
        .filter(|end| end.gro_off)
        .map(|end| quoted(&end.device))
        .collect();
    if !gro_off.is_empty() {
        let _ = writeln!(text, "gro_off = [{}]", gro_off.join(", "));
    }
    links(topology, &mut text);
    for end in topology.ends().filter(|end| !end.egress.is_nothing()) {
        let (device, shaping) = (key(&end.device), shaping(&end.egress));
        let _ = write!(text, "\n[egress.{device}]\n{shaping}");
    }
    addresses(topology, &mut text);
    for node in topology.nodes.iter().filter(|node| !node.kind.is_bridge()) {
        routes(node, &mut text);
    }
    text
}

fn links(topology: &Topology, text: &mut String) {
    let mut sofar = Topology {
        links: Vec::new(),
        ..topology.clone()
    };
    for link in &topology.links {
        let [near, far] = &link.ends;
        let by_order = |end: &End| sofar.node(&end.node).map(|node| sofar.next_device(node));
        let is_by_order = link
            .ends
            .iter()
            .all(|end| by_order(end).is_some_and(|name| name == end.device));
        let _ = write!(
            text,
            "\n[[link]]\nends = [{}, {}]\n",
            quoted(&near.node),
            quoted(&far.node)
        );
        if !is_by_order {
            let _ = writeln!(
                text,
                "devices = [{}, {}]",
                quoted(&near.device),
                quoted(&far.device)
            );
        }
        let _ = writeln!(text, "mtu_bytes = {}", link.mtu_bytes);
        sofar.links.push(link.clone());
    }
}

fn shaping(shaping: &Shaping) -> String {
    let rows = ROWS
        .iter()
        .filter_map(|row| Some((row.name, (row.show)(shaping)?)));
    rows.map(|(name, value)| format!("{name} = \"{value}\"\n"))
        .collect()
}

fn addresses(topology: &Topology, text: &mut String) {
    let is_bridge = |end: &End| {
        topology
            .node(&end.node)
            .is_none_or(|node| node.kind.is_bridge())
    };
    text.push_str("\n[addresses]\n");
    for end in topology.ends().filter(|end| !is_bridge(end)) {
        let list: Vec<String> = end
            .addresses
            .iter()
            .map(|address| format!("\"{address}\""))
            .collect();
        let _ = writeln!(text, "{} = [{}]", key(&end.device), list.join(", "));
    }
}

fn routes(node: &Node, text: &mut String) {
    let _ = write!(text, "\n[routes.{}]\n", key(&node.name));
    for route in &node.routes {
        let _ = writeln!(text, "\"{}\" = \"{}\"", route.to, route.via);
    }
}

fn quoted(name: &str) -> String {
    toml_edit::Value::from(name).to_string()
}

/// A name as a key: without quotes where TOML allows it.
fn key(name: &str) -> String {
    toml_edit::Key::new(name).to_string()
}
