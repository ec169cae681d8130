//! How the flows of all parts of a run meet those of the other end.

use std::net::SocketAddr;
use std::time::Duration;

use model::conditions::{Conditions, Pacing};
use model::place::{EndPlace, Places, Ports};
use model::record::{InForce, Role};
use traffic::{Flow, Pending, Ready};
use wire::{Addresses, Part, Prepare};

use crate::crowd::{self, named};

/// How long the two ends of a flow try to meet.
const MEETING: Duration = Duration::from_secs(4);

/// The flows of a part, in order.
pub type Flows = Vec<Box<dyn Flow>>;

/// What this end does to meet the other in one part.
pub struct Expected {
    conditions: Vec<Conditions>,
    pacing: Option<InForce>,
    /// Of a part that this end receives: a listening socket for each flow.
    pending: Vec<Box<dyn Pending>>,
}

impl Expected {
    /// Opens what the part needs before the other end may come.
    fn of(prepare: &Prepare, part: &Part) -> Result<Expected, String> {
        let (conditions, pacing) = with_pacing(&prepare.device, part)?;
        let conditions = shares(&conditions);
        let listen = |address, (index, share)| {
            traffic::listen(share, address, prepare.token).map_err(|error| named(index, conditions.len(), error))
        };
        let pending = match part.listen_on {
            None => Vec::new(),
            Some(address) => {
                conditions.iter().enumerate().map(|share| listen(address, share)).collect::<Result<_, _>>()?
            }
        };
        Ok(Expected { conditions, pacing, pending })
    }

    /// Every flow of the part, and the settings of the first.
    fn meet(self, prepare: &Prepare, peers: &[SocketAddr]) -> Result<(Flows, Vec<InForce>), String> {
        let count = self.pending.len();
        let accept = |(index, pending): (usize, Box<dyn Pending>)| {
            pending.accept(MEETING).map_err(|error| named(index, count, error))
        };
        let ready: Vec<Ready> = if self.pending.is_empty() {
            crowd::connect(&self.conditions, peers, prepare.token, MEETING)?
        } else {
            self.pending.into_iter().enumerate().map(accept).collect::<Result<_, _>>()?
        };
        let mut in_force = ready.first().map(|ready| ready.in_force.clone()).unwrap_or_default();
        in_force.extend(self.pacing);
        Ok((ready.into_iter().map(|ready| ready.flow).collect(), in_force))
    }
}

/// Opens what every part needs before the other end may come.
pub fn expect(prepare: &Prepare) -> Result<Vec<Expected>, String> {
    prepare.parts.iter().map(|part| Expected::of(prepare, part)).collect()
}

/// Where this end listens.
pub fn addresses(expected: &[Expected]) -> Addresses {
    expected.iter().map(|part| part.pending.iter().map(|pending| pending.address()).collect()).collect()
}

/// Meets the other end part by part, flow by flow: in the same order at both ends, so that neither waits for
/// the other's later one.
pub fn meet(
    prepare: &Prepare,
    expected: Vec<Expected>,
    peers: &Addresses,
) -> Result<(Vec<Flows>, Vec<Vec<InForce>>), String> {
    let met = expected.into_iter().zip(peers).map(|(part, peers)| part.meet(prepare, peers));
    met.collect::<Result<Vec<_>, _>>().map(|met| met.into_iter().unzip())
}

/// The part's conditions with its pacer chosen: only `fq` paces datagrams, and a kernel without it says nothing.
fn with_pacing(device: &str, part: &Part) -> Result<(Conditions, Option<InForce>), String> {
    let mut conditions = part.conditions.clone();
    if conditions.asked_messages_per_second().is_none() || part.role == Role::Receiver {
        return Ok((conditions, None));
    }
    let facts = host::describe(device).map_err(|error| error.to_string())?;
    let kinds: Vec<&str> = facts.qdiscs.iter().map(|qdisc| qdisc.kind.as_str()).collect();
    let kernel_can = !conditions.workload.is_datagram() || kinds.contains(&"fq");
    let asked = match conditions.pacing {
        _ if !kernel_can && conditions.shares_threads() => {
            return Err(format!(
                "{} flows over {} threads are paced by the kernel, which needs the queueing discipline fq on {device} for UDP, and it has {}; use --threads {0}",
                conditions.flows,
                conditions.thread_count(),
                kinds.join(", ")
            ));
        }
        Pacing::Kernel if !kernel_can => {
            return Err(format!(
                "pacing of UDP by the kernel needs the queueing discipline fq on {device}, which has {}; use --pacing sender",
                kinds.join(", ")
            ));
        }
        Pacing::Kernel => Some("kernel"),
        Pacing::Sender => Some("sender"),
        Pacing::Auto => None,
    };
    if conditions.pacing == Pacing::Auto {
        // A thread that flows share does not sleep for one of them.
        let by_kernel = kernel_can && (conditions.workload.is_datagram() || conditions.shares_threads());
        conditions.pacing = if by_kernel { Pacing::Kernel } else { Pacing::Sender };
    }
    let actual = if conditions.pacing == Pacing::Kernel { "kernel" } else { "sender" };
    let pacing = InForce { name: "pacing".into(), asked: asked.map(str::to_owned), actual: Some(actual.to_owned()) };
    Ok((conditions, Some(pacing)))
}

/// The place of one flow: a receiver's flows listen each on a port of its own.
fn places(places: &Places, index: u64) -> Places {
    let ports = places.receiver.ports.map(|ports| Ports { first: ports.first.saturating_add(index as u16), ..ports });
    Places { receiver: EndPlace { ports, ..places.receiver.clone() }, ..places.clone() }
}

/// The conditions of each flow: bounds are of the whole part, and divided among the flows.
fn shares(conditions: &Conditions) -> Vec<Conditions> {
    let flows = u64::from(conditions.flows);
    let part = |whole: Option<u64>, index: u64| whole.map(|whole| whole / flows + u64::from(index < whole % flows));
    let share = |index| Conditions {
        stop_bytes: part(conditions.stop_bytes, index),
        stop_messages: part(conditions.stop_messages, index),
        stop_transactions: part(conditions.stop_transactions, index),
        places: places(&conditions.places, index),
        ..conditions.clone()
    };
    (0..flows).map(share).collect()
}
