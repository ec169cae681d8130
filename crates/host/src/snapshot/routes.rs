//! The routes over the links, with their metrics.

use bitcost_sys::netlink::{Link, RouteRecord, Rtnl};

use super::facts::{Records, Snapshot, name, unknown};
use crate::HostError;
use crate::values::Values;

pub const WORD: &str = "route";
/// The type of an ordinary route (`RTN_UNICAST`).
const ORDINARY: u8 = 1;

pub fn list(links: &[Link], snapshot: &mut Snapshot) -> Result<(), HostError> {
    for (fact, record) in over(links)? {
        snapshot.facts.insert(fact.clone(), value(&record));
        snapshot.records.routes.insert(fact, record);
    }
    Ok(())
}

/// Whether the kernel may change the MTU of this route with that of a link.
pub fn has_own_mtu(record: &RouteRecord) -> bool {
    record.is_ipv6 && record.mtu_bytes.is_some() && !record.is_mtu_locked
}

/// Checks that the kernel would replace the routes among these facts and no others.
pub fn check_are_alone(facts: &Values, records: &Records) -> Result<(), HostError> {
    let every = Rtnl::open()?.route_records()?;
    let mut routes = records.routes.iter();
    routes.try_for_each(|(fact, record)| match facts.contains_key(fact) {
        true => check_is_alone(fact, record, &every),
        false => Ok(()),
    })
}

/// Checks that the kernel would replace this route and not another one.
fn check_is_alone(
    fact: &str,
    record: &RouteRecord,
    every: &[RouteRecord],
) -> Result<(), HostError> {
    let alike = every
        .iter()
        .filter(|other| place(other) == place(record))
        .count();
    if record.expires_s.is_some() || alike <= 1 {
        return Ok(());
    }
    let why = "another route leads to the same destination with the same metric, and the kernel would change that one instead; give it another metric";
    Err(HostError::cannot(
        format!("restore the MTU of \"{fact}\", which a setting of its interface changes"),
        why,
    ))
}

/// The fields by which the kernel identifies a route that is to be replaced.
fn place(record: &RouteRecord) -> (bool, Option<std::net::IpAddr>, u8, u32, u32) {
    (
        record.is_ipv6,
        record.destination,
        record.prefix_length,
        record.table,
        record.priority,
    )
}

/// The routes over these links with the names of their facts.
fn over(links: &[Link]) -> Result<Vec<(String, RouteRecord)>, HostError> {
    let mut rtnl = Rtnl::open()?;
    let (all, records) = (rtnl.links()?, rtnl.route_records()?);
    let is_over =
        |record: &RouteRecord| links.iter().any(|link| record.links.contains(&link.index));
    let named = |record: RouteRecord| {
        let first = all
            .iter()
            .find(|link| Some(&link.index) == record.links.first())?;
        Some((fact_name(&first.name, &record), record))
    };
    Ok(records
        .into_iter()
        .filter(is_over)
        .filter_map(named)
        .collect())
}

fn fact_name(device: &str, record: &RouteRecord) -> String {
    let family = if record.is_ipv6 { "IPv6" } else { "IPv4" };
    let to = record.destination.map_or("default".to_owned(), |to| {
        format!("{to}/{}", record.prefix_length)
    });
    let mut what = format!(
        "{family} {to} table {} metric {}",
        record.table, record.priority
    );
    if let Some(gateway) = record.gateway {
        what += &format!(" via {gateway}");
    }
    if record.links.len() > 1 {
        what += &format!(" and by {} more ways", record.links.len() - 1);
    }
    if record.kind != ORDINARY {
        what += &format!(" type {}", record.kind);
    }
    name(WORD, device, &what)
}

fn value(record: &RouteRecord) -> String {
    let mtu = record
        .mtu_bytes
        .map_or("none".to_owned(), |mtu| mtu.to_string());
    let lock = if record.is_mtu_locked { " locked" } else { "" };
    let source = record
        .source
        .map_or(String::new(), |source| format!(" source {source}"));
    let life = if record.expires_s.is_some() {
        " for a while"
    } else {
        ""
    };
    format!("mtu {mtu}{lock} protocol {}{source}{life}", record.protocol)
}

/// Gives a route the MTU of its value, or adds it again if it is gone.
pub fn restore(name: &str, value: &str, records: &Records) -> Result<(), HostError> {
    let mtu = value
        .strip_prefix("mtu ")
        .and_then(|rest| rest.split(' ').next())
        .ok_or_else(|| unknown(name))?;
    let mut rtnl = Rtnl::open()?;
    let all = rtnl.links()?;
    let Some((_, present)) = over(&all)?.into_iter().find(|(fact, _)| fact == name) else {
        let former = records.routes.get(name).ok_or_else(|| unknown(name))?;
        return Ok(rtnl.add_route_again(former)?);
    };
    check_is_alone(name, &present, &rtnl.route_records()?)?;
    Ok(rtnl.replace_route(&present, mtu.parse().ok())?)
}
