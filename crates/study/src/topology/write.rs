//! A [`Topology`] as a lab file, which reads back as the same topology.

use bitcost_model::shaping::{DelayBackend, show_time};
use bitcost_model::topology::{End, Link, Napi, Topology};
use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, value};

use super::lab::KINDS;
use super::shaping::ROWS;

/// The complete text of a lab file.
pub fn to_toml(topology: &Topology) -> String {
    DocumentMut::from(to_table(topology)).to_string()
}

/// The tables of a lab file: names of devices are there only where they differ from the default
/// names.
pub(crate) fn to_table(topology: &Topology) -> Table {
    let mut top = Table::new();
    for (key, kind) in KINDS {
        let nodes = topology.nodes.iter().filter(|node| node.kind == kind);
        list(&mut top, key, nodes.map(|node| &node.name).collect());
    }
    if topology.napi != Napi::default() {
        top["napi"] = value(topology.napi.name());
    }
    if topology.delay_backend != DelayBackend::default() {
        top["delay_backend"] = value(topology.delay_backend.name());
    }
    if topology.moderation_us > 0 {
        top["moderation"] = value(show_time(topology.moderation_us.into()));
    }
    let gro_off = topology.ends().filter(|end| end.gro_off);
    list(
        &mut top,
        "gro_off",
        gro_off.map(|end| &end.device).collect(),
    );
    let links = links(topology);
    if !links.is_empty() {
        top["link"] = Item::ArrayOfTables(links);
    }
    let (mut egress, mut routes) = (group(), group());
    for end in topology.ends().filter(|end| !end.egress.is_nothing()) {
        let rows = ROWS.iter();
        let rows = rows.filter_map(|row| Some((row.name, (row.show)(&end.egress)?)));
        egress[end.device.as_str()] = Item::Table(rows.collect());
    }
    let mut addresses = Table::new();
    for end in topology.ends() {
        let node = topology.node(&end.node);
        if node.is_some_and(|node| !node.kind.is_bridge()) {
            let own = end.addresses.iter().map(ToString::to_string);
            addresses[end.device.as_str()] = value(own.collect::<Array>());
        }
    }
    for node in topology.nodes.iter().filter(|node| !node.kind.is_bridge()) {
        let own = node.routes.iter();
        let own = own.map(|route| (route.to.to_string(), route.via.to_string()));
        routes[node.name.as_str()] = Item::Table(own.collect());
    }
    top["egress"] = Item::Table(egress);
    top["addresses"] = Item::Table(addresses);
    top["routes"] = Item::Table(routes);
    top
}

/// A table that only holds others.
fn group() -> Table {
    let mut table = Table::new();
    table.set_implicit(true);
    table
}

fn list(top: &mut Table, key: &str, names: Array) {
    if !names.is_empty() {
        top[key] = value(names);
    }
}

fn links(topology: &Topology) -> ArrayOfTables {
    let mut sofar = Topology {
        links: Vec::new(),
        ..topology.clone()
    };
    let link = |link: &Link| {
        let [near, far] = &link.ends;
        let mut table = Table::new();
        table["ends"] = value(Array::from_iter([&near.node, &far.node]));
        let by_order = |end: &End| sofar.node(&end.node).map(|node| sofar.next_device(node));
        let is_by_order = |end: &End| by_order(end).is_some_and(|name| name == end.device);
        if !link.ends.iter().all(is_by_order) {
            table["devices"] = value(Array::from_iter([&near.device, &far.device]));
        }
        table["mtu_bytes"] = value(i64::from(link.mtu_bytes));
        sofar.links.push(link.clone());
        table
    };
    topology.links.iter().map(link).collect()
}
