//! Side effects: values that the kernel may change along with a setting of an interface: those of
//! the links on it, parameters, addresses, routes and queue maps. They are read before the first
//! setting and after the last one was restored, and restored if possible.
//!
//! Each fact has a name, `SOURCE DEVICE WHAT`, and a value, both as texts.

mod addresses;
mod facts;
mod links;
mod parameters;
mod queues;
mod routes;
mod watch;

use bitcost_sys::netlink::{Link, Rtnl};

use crate::HostError;
use crate::values::{Mismatch, Values, differences};

use facts::{Records, Snapshot, name};

pub(crate) use queues::sysfs_of;
pub use watch::Watch;

struct Source {
    /// The first word of its facts' names.
    word: &'static str,
    /// The facts of these links; the first one is the interface.
    list: fn(&[Link], &mut Snapshot) -> Result<(), HostError>,
    /// The present values of facts with these names, without those that are gone.
    now: fn(&[&str]) -> Values,
    /// Writes a value. Success is no proof that it is in effect.
    restore: fn(&str, &str, &Records) -> Result<(), HostError>,
}

/// Every source, in the order in which facts are restored: an MTU changes parameters, parameters
/// change addresses, addresses change routes.
const SOURCES: &[Source] = &[
    Source {
        word: links::WORD,
        list: links::list,
        now: |names| listed(links::list, names),
        restore: links::restore,
    },
    Source {
        word: parameters::WORD,
        list: parameters::list,
        now: parameters::now,
        restore: parameters::restore,
    },
    Source {
        word: addresses::WORD,
        list: addresses::list,
        now: |names| listed(addresses::list, names),
        restore: addresses::restore,
    },
    Source {
        word: routes::WORD,
        list: routes::list,
        now: |names| listed(routes::list, names),
        restore: routes::restore,
    },
    Source {
        word: queues::WORD,
        list: queues::list,
        now: queues::now,
        restore: queues::restore,
    },
];

/// How often values that are not as before are written: one value may change another, and links are
/// on top of links.
const ROUNDS: usize = 4;

/// Reads every fact about `device` in the caller's network namespace.
fn take(device: &str) -> Result<Snapshot, HostError> {
    let links = links::concerned(device)?;
    let mut snapshot = Snapshot::default();
    SOURCES
        .iter()
        .try_for_each(|source| (source.list)(&links, &mut snapshot))?;
    Ok(snapshot)
}

/// The values that the kernel changes along with an MTU of `device`: the MTU of links on top of it
/// and of its ports, their MTU for IPv6, and that of IPv6 routes.
///
/// # Errors
/// When one of these routes could not be restored, since the kernel would replace another one instead.
pub fn side_effects_of_mtu(device: &str) -> Result<Values, HostError> {
    let Snapshot { mut facts, records } = take(device)?;
    let own = name(links::WORD, device, links::MTU);
    let is_mtu = |name: &str| name.ends_with(links::MTU) || name.ends_with(".mtu");
    facts.retain(|name, _| {
        let route = records.routes.get(name);
        *name != own && (is_mtu(name) || route.is_some_and(routes::has_own_mtu))
    });
    routes::check_are_alone(&facts, &records)?;
    Ok(facts)
}

/// The values that the kernel changes along with a number of queues of `device`: their maps.
pub fn side_effects_of_channels(device: &str) -> Result<Values, HostError> {
    queues::of_device(device)
}

/// The present values of the facts that have a value in `facts`, without those that are gone.
pub fn now(facts: &Values) -> Values {
    let of_source = |source: &Source| {
        let names: Vec<&str> = facts
            .keys()
            .map(String::as_str)
            .filter(|name| is_of(source, name))
            .collect();
        if names.is_empty() {
            Values::new()
        } else {
            (source.now)(&names)
        }
    };
    SOURCES.iter().flat_map(of_source).collect()
}

/// Writes the values that are not in effect, and returns those that are not in effect afterwards. A
/// subject that is gone is not recreated.
pub fn restore(wanted: &Values) -> Vec<Mismatch> {
    let mut left = restore_with(wanted, &Records::default());
    left.retain(|mismatch| mismatch.actual.is_some());
    left
}

fn restore_with(wanted: &Values, records: &Records) -> Vec<Mismatch> {
    let mut left = differences(wanted, &now(wanted));
    for _ in 0..ROUNDS {
        if left.is_empty() {
            break;
        }
        for source in SOURCES {
            for mismatch in left.iter().filter(|mismatch| is_of(source, &mismatch.name)) {
                // The result is read afterwards.
                let _ = (source.restore)(
                    &mismatch.name,
                    mismatch.asked.as_deref().unwrap_or_default(),
                    records,
                );
            }
        }
        left = differences(wanted, &now(wanted));
    }
    left
}

/// The present values of facts that a source lists of all links.
fn listed(list: fn(&[Link], &mut Snapshot) -> Result<(), HostError>, names: &[&str]) -> Values {
    let mut snapshot = Snapshot::default();
    let links = Rtnl::open().and_then(|mut rtnl| rtnl.links());
    // What cannot be listed is gone.
    let _ = list(&links.unwrap_or_default(), &mut snapshot);
    let is_one = |name: &String| names.contains(&name.as_str());
    snapshot.facts.retain(|name, _| is_one(name));
    snapshot.facts
}

fn is_of(source: &Source, name: &str) -> bool {
    name.split(' ').next() == Some(source.word)
}
