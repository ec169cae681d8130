//! What the kernel may change along with a setting of an interface: the links on it, parameters, addresses, routes and
//! queue maps. Read before the first setting and after the last one was restored, and put back where that is possible.
//!
//! Each fact has a name, `SOURCE DEVICE WHAT`, and a value, both as texts.
//!
//! | file | it is |
//! |---|---|
//! | links | the interface, the links that stand on it and its ports: MTU and flags |
//! | parameters | `net.ipv4.conf` and `net.ipv6.conf` of these links, of `all` and of `default` |
//! | addresses | the addresses of these links |
//! | routes | the routes over these links, with their metrics |
//! | queues | the maps of the interface's queues (RPS, XPS) |
//! | watch | the snapshots of one run, and what is left changed after it |

mod addresses;
mod links;
mod parameters;
mod queues;
mod routes;
mod watch;

use std::collections::BTreeMap;

use netlink::{AddressRecord, Link, RouteRecord};

use crate::HostError;
use crate::knob::{Mismatch, Values, differences};

pub use parameters::allowed_congestion_controls;
pub use watch::Watch;

/// Where facts come from.
struct Source {
    /// The first word of its facts' names.
    word: &'static str,
    /// The facts of these links; the first one is the interface.
    list: fn(&[Link], &mut Snapshot) -> Result<(), HostError>,
    /// The present values of facts with these names; what is gone is left out.
    now: fn(&[&str]) -> Values,
    /// Asks for a value. Success is no proof that it is in force.
    put_back: fn(&str, &str, &Records) -> Result<(), HostError>,
}

/// Every source, in the order in which facts are put back: an MTU changes parameters, these addresses, these routes.
const SOURCES: &[Source] = &[
    Source { word: links::WORD, list: links::list, now: links::now, put_back: links::put_back },
    Source { word: parameters::WORD, list: parameters::list, now: parameters::now, put_back: parameters::put_back },
    Source { word: addresses::WORD, list: addresses::list, now: addresses::now, put_back: addresses::put_back },
    Source { word: routes::WORD, list: routes::list, now: routes::now, put_back: routes::put_back },
    Source { word: queues::WORD, list: queues::list, now: queues::now, put_back: queues::put_back },
];

/// How often what is not as before is asked for: one value may change another, and links stand on links.
const ROUNDS: usize = 4;

/// What is needed to make again what is gone, by the facts' names.
#[derive(Debug, Clone, Default)]
struct Records {
    addresses: BTreeMap<String, AddressRecord>,
    routes: BTreeMap<String, RouteRecord>,
}

/// Every fact about an interface at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    facts: Values,
    records: Records,
}

impl Snapshot {
    /// Reads every fact about `device` in the caller's network namespace.
    ///
    /// # Errors
    /// When there is no such device, or the kernel does not list what is on it.
    pub fn take(device: &str) -> Result<Snapshot, HostError> {
        let links = links::concerned(device)?;
        let mut snapshot = Snapshot::default();
        SOURCES.iter().try_for_each(|source| (source.list)(&links, &mut snapshot))?;
        Ok(snapshot)
    }

    fn add(&mut self, word: &str, device: &str, what: &str, value: impl Into<String>) {
        self.facts.insert(name(word, device, what), value.into());
    }
}

fn name(word: &str, device: &str, what: &str) -> String {
    format!("{word} {device} {what}")
}

/// Device and rest of a fact's name.
fn parts(name: &str) -> Option<(&str, &str)> {
    name.split_once(' ')?.1.split_once(' ')
}

/// What an MTU of `device` takes along: the MTU of links that stand on it and of its ports, the MTU for IPv6 of all of these,
/// and that of routes of IPv6.
pub fn along_with_mtu(device: &str) -> Result<Values, HostError> {
    let links = links::concerned(device)?;
    let mut snapshot = Snapshot::default();
    links::list(&links, &mut snapshot)?;
    let own = name(links::WORD, device, links::MTU);
    snapshot.facts.retain(|name, _| name.ends_with(links::MTU) && *name != own);
    for link in &links {
        snapshot.facts.extend(parameters::ipv6_mtu(&link.name));
    }
    snapshot.facts.extend(routes::with_own_mtu(&links)?);
    Ok(snapshot.facts)
}

/// What a number of queues of `device` takes along: their maps.
///
/// # Errors
/// When nothing here tells the maps.
pub fn along_with_channels(device: &str) -> Result<Values, HostError> {
    queues::of_device(device)
}

/// The present values of the facts that have a value in `facts`; what is gone is left out.
pub fn now(facts: &Values) -> Values {
    let of_source = |source: &Source| {
        let names: Vec<&str> = facts.keys().map(String::as_str).filter(|name| is_of(source, name)).collect();
        if names.is_empty() { Values::new() } else { (source.now)(&names) }
    };
    SOURCES.iter().flat_map(of_source).collect()
}

/// Asks for these values where others are in force, and tells which are not in force afterwards. What is gone stays so.
pub fn put_back(wanted: &Values) -> Vec<Mismatch> {
    let mut left = put_back_by(wanted, &Records::default());
    left.retain(|mismatch| mismatch.actual.is_some());
    left
}

fn put_back_by(wanted: &Values, records: &Records) -> Vec<Mismatch> {
    let mut left = differences(wanted, &now(wanted));
    for _ in 0..ROUNDS {
        if left.is_empty() {
            break;
        }
        for source in SOURCES {
            for mismatch in left.iter().filter(|mismatch| is_of(source, &mismatch.name)) {
                // Whether it is so is read afterwards.
                let _ = (source.put_back)(&mismatch.name, mismatch.asked.as_deref().unwrap_or_default(), records);
            }
        }
        left = differences(wanted, &now(wanted));
    }
    left
}

fn is_of(source: &Source, name: &str) -> bool {
    name.split(' ').next() == Some(source.word)
}

fn unknown(name: &str) -> HostError {
    HostError::cannot(
        format!("restore \"{name}\""),
        "it is no fact that this bitcost knows; use the one that changed it",
    )
}
