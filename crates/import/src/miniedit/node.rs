//! Hosts, switches and routers of a MiniEdit file.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use serde_json::Value;

use super::{FileCommand, Object, Reader, list, options, parse_network, text, word};
use bitcost_model::topology::{Address, Node, NodeKind, is_node_name};

/// The prefix length of a host's address without a prefix, whatever the network's prefix is: that
/// of Mininet's `setIP`.
const PREFIX_LENGTH: u8 = 8;

/// Options of a host that have no counterpart here.
const IGNORED: [&str; 4] = ["cpu", "cores", "privateDirectory", "vlanInterfaces"];

impl Reader {
    pub(super) fn hosts(&mut self, root: &Object, base: (Ipv4Addr, u8)) -> Result<(), String> {
        let mut numbers = BTreeSet::new();
        for (index, entry) in list(root, "hosts")?.iter().enumerate() {
            let at = format!("hosts[{index}]");
            let opts = options(entry, &at)?;
            let name = self.name(entry, opts, "h", &at)?;
            let number = word(opts, "nodeNum").or_else(|| number(entry));
            self.note_number(&mut numbers, number.as_deref(), &at, &name);
            let address = host_address(opts, number.as_deref(), base)
                .map_err(|why| format!("{at} {name}: {why}"))?;
            self.addresses.insert(name.clone(), address);
            if let Some(via) = word(opts, "defaultRoute") {
                let via = via.trim_start_matches("via ").trim();
                let gateway = via.parse().map_err(|_| {
                    format!(
                        "{at} {name}: defaultRoute: `{}` is not an address",
                        via.escape_debug()
                    )
                })?;
                self.gateways.insert(name.clone(), gateway);
            }
            let is_set = |key: &&&str| opts.get(**key).is_some_and(is_something);
            for key in IGNORED.iter().filter(is_set) {
                self.warn(format!("{at} {name}: {key}: ignored"));
            }
            if word(opts, "sched").is_some_and(|sched| sched != "host") {
                self.warn(format!("{at} {name}: sched: ignored"));
            }
            self.node(name, NodeKind::Host, opts, &at);
        }
        Ok(())
    }

    pub(super) fn switches(&mut self, root: &Object, base: (Ipv4Addr, u8)) -> Result<(), String> {
        let mut numbers = BTreeSet::new();
        let hosts = u32::try_from(self.topology.nodes.len()).unwrap_or(u32::MAX);
        let mut routers = 0;
        for (index, entry) in list(root, "switches")?.iter().enumerate() {
            let at = format!("switches[{index}]");
            let opts = options(entry, &at)?;
            let kind = word(opts, "switchType").unwrap_or_else(|| "default".to_owned());
            let is_router = kind == "legacyRouter";
            let name = self.name(entry, opts, if is_router { "r" } else { "s" }, &at)?;
            self.note_number(&mut numbers, number(entry).as_deref(), &at, &name);
            if is_router {
                routers += 1;
                // Mininet counts every host that it adds, and counts routers as hosts.
                let ip = nth(base, hosts + routers)
                    .ok_or_else(|| format!("{at} {name}: no address is left for it"))?;
                self.addresses.insert(
                    name.clone(),
                    Address {
                        ip: ip.into(),
                        prefix_length: base.1,
                    },
                );
                self.warn(format!(
                    "{at} {name}: only its first device has an address ({ip}), as in Mininet; others come from its start command"
                ));
            } else {
                self.note_switch(opts, &kind, &at, &name);
            }
            self.node(
                name,
                if is_router {
                    NodeKind::Router
                } else {
                    NodeKind::Switch
                },
                opts,
                &at,
            );
        }
        Ok(())
    }

    /// Adds warnings for properties of a switch that have an effect in Mininet and none here.
    fn note_switch(&mut self, opts: &Object, kind: &str, at: &str, name: &str) {
        let controllers = opts
            .get("controllers")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        if ["user", "userns", "ivs"].contains(&kind) {
            self.warn(format!(
                "{at} {name}: a {kind} datapath becomes the kernel's bridge"
            ));
        } else if !["default", "ovs", "legacySwitch"].contains(&kind) {
            self.warn(format!(
                "{at} {name}: switchType `{}` is unknown; it becomes a bridge",
                kind.escape_debug()
            ));
        }
        if kind != "legacySwitch" && controllers.is_empty() {
            self.warn(format!(
                "{at} {name}: it has no controller, and would forward nothing in Mininet unless its start command changes that; here it learns addresses as a bridge does"
            ));
        }
        for unknown in controllers
            .iter()
            .filter_map(text)
            .filter(|name| !self.controllers.contains_key(name))
            .collect::<Vec<_>>()
        {
            self.warn(format!(
                "{at} {name}: its controller `{}` is not in the file",
                unknown.escape_debug()
            ));
        }
        for key in ["sflow", "netflow"]
            .into_iter()
            .filter(|key| word(opts, key).is_some_and(|value| value == "1"))
        {
            self.warn(format!("{at} {name}: {key}: ignored"));
        }
        if word(opts, "switchIP").is_some() {
            self.warn(format!("{at} {name}: switchIP: ignored"));
        }
    }

    /// The name by which links call a node.
    fn name(&self, entry: &Value, opts: &Object, letter: &str, at: &str) -> Result<String, String> {
        let numbered = || number(entry).map(|number| format!("{letter}{number}"));
        let name = word(opts, "hostname").or_else(numbered);
        let name = name.ok_or_else(|| format!("{at}: it has neither a hostname nor a number"))?;
        match self.topology.node(&name) {
            Some(_) => Err(format!(
                "{at}: the name `{}` is used twice",
                name.escape_debug()
            )),
            // Later sentences name the node by this name.
            None if !is_node_name(&name) => Err(format!(
                "{at}: `{}` is not a name of a node; allowed: letters, digits, - _ and .",
                name.escape_debug()
            )),
            None => Ok(name),
        }
    }

    fn note_number(
        &mut self,
        seen: &mut BTreeSet<String>,
        number: Option<&str>,
        at: &str,
        name: &str,
    ) {
        let Some(number) = number else { return };
        if !seen.insert(number.to_owned()) {
            let (number, name) = (number.escape_debug(), name.escape_debug());
            self.warn(format!(
                "{at} {name}: the number {number} is used twice; links refer to nodes by name"
            ));
        }
    }

    /// Adds a node, with the options that every kind of node can have.
    fn node(&mut self, name: String, kind: NodeKind, opts: &Object, at: &str) {
        let external = opts
            .get("externalInterfaces")
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        if external > 0 {
            self.warn(format!(
                "{at} {name}: externalInterfaces: not attached; they take {external} port numbers, as in Mininet"
            ));
        }
        for (key, when) in [("startCommand", "start"), ("stopCommand", "stop")] {
            if let Some(command) = word(opts, key) {
                let text = command.escape_debug().to_string();
                self.commands.push(FileCommand {
                    node: name.clone(),
                    when,
                    text,
                });
            }
        }
        self.ports
            .insert(name.clone(), kind.first_port() + external);
        self.topology.nodes.push(Node {
            name,
            kind,
            routes: Vec::new(),
        });
    }
}

fn number(entry: &Value) -> Option<String> {
    word(entry.as_object()?, "number")
}

fn is_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(entries) => !entries.is_empty(),
        other => text(other).is_some_and(|text| text != "0" && text != "0.0"),
    }
}

/// A host's address: the one in the file, otherwise the one with its number in the network.
fn host_address(
    opts: &Object,
    number: Option<&str>,
    base: (Ipv4Addr, u8),
) -> Result<Address, String> {
    if let Some(own) = word(opts, "ip") {
        let (ip, prefix_length) = parse_network(&own)
            .ok_or_else(|| format!("ip: `{}` is not an address", own.escape_debug()))?;
        return Ok(Address {
            ip: ip.into(),
            prefix_length,
        });
    }
    let number = number.and_then(|number| number.parse().ok());
    let number = number.ok_or("it has neither an ip nor a nodeNum")?;
    let ip = nth(base, number)
        .ok_or_else(|| format!("the network has no address for its nodeNum {number}"))?;
    Ok(Address {
        ip: ip.into(),
        prefix_length: PREFIX_LENGTH,
    })
}

/// The address with this number in a network; `None` where the network is smaller.
fn nth((base, prefix_length): (Ipv4Addr, u8), number: u32) -> Option<Ipv4Addr> {
    let most = u32::MAX.checked_shr(prefix_length.into()).unwrap_or(0);
    (number <= most).then(|| Ipv4Addr::from_bits((base.to_bits() & !most).wrapping_add(number)))
}
