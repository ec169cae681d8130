//! Sets up the data connections of a run with the other endpoint: the flows of every part.

use std::net::SocketAddr;
use std::time::Duration;

use bitcost_model::conditions::{Conditions, Pacing};
use bitcost_model::place::{EndpointPlace, Places, Ports};
use bitcost_model::protocol::{Addresses, Part, Peer, Prepare};
use bitcost_model::record::{InEffect, Role};
use bitcost_traffic::{Flow, Pending, Ready};

use crate::connect::{self, refused};
use crate::refusal::Refusal;

const SETUP_TIMEOUT: Duration = Duration::from_secs(4);

pub type Flows = Vec<Box<dyn Flow>>;

pub struct Listening {
    conditions: Vec<Conditions>,
    role: Role,
    pacing: Option<InEffect>,
    /// A listening socket for each flow of a part that this endpoint receives.
    pending: Vec<Pending>,
}

impl Listening {
    /// Opens the sockets that the part needs before the other endpoint may connect.
    fn of(prepare: &Prepare, part: &Part) -> Result<Listening, Refusal> {
        let (conditions, pacing) = with_pacing(&prepare.device, part)?;
        let conditions = shares(&conditions);
        let only = prepare.confinement.as_ref().map(|to| to.peer);
        let listen = |address, (index, share)| {
            bitcost_traffic::listen(share, address, prepare.token)
                .map(|pending| pending.only_from(only))
                .map_err(|error| refused(index, conditions.len(), &error))
        };
        let pending = match part.listen_on {
            None => Vec::new(),
            Some(address) => conditions
                .iter()
                .enumerate()
                .map(|share| listen(address, share))
                .collect::<Result<_, _>>()?,
        };
        Ok(Listening {
            conditions,
            role: part.role,
            pacing,
            pending,
        })
    }

    /// Connects or accepts every flow of the part; returns them with the settings of the first.
    fn establish(
        self,
        prepare: &Prepare,
        peers: &[SocketAddr],
    ) -> Result<(Flows, Vec<InEffect>), Refusal> {
        let count = self.pending.len();
        let accept = |(index, pending): (usize, Pending)| {
            pending
                .accept(SETUP_TIMEOUT)
                .map_err(|error| refused(index, count, &error))
        };
        let ready: Vec<Ready> = if self.pending.is_empty() {
            match prepare.peer {
                Peer::Bitcost => {
                    connect::connect(&self.conditions, peers, prepare.token, SETUP_TIMEOUT)?
                }
                Peer::Iperf3 => connect::join_iperf3(
                    &self.conditions,
                    self.role,
                    peers,
                    prepare.token,
                    SETUP_TIMEOUT,
                )?,
            }
        } else {
            self.pending
                .into_iter()
                .enumerate()
                .map(accept)
                .collect::<Result<_, _>>()?
        };
        let mut in_effect = ready
            .first()
            .map(|ready| ready.in_effect.clone())
            .unwrap_or_default();
        in_effect.extend(self.pacing);
        Ok((
            ready.into_iter().map(|ready| ready.flow).collect(),
            in_effect,
        ))
    }
}

/// Opens the sockets that every part needs before the other endpoint may connect.
pub fn listen(prepare: &Prepare) -> Result<Vec<Listening>, Refusal> {
    prepare
        .parts
        .iter()
        .map(|part| Listening::of(prepare, part))
        .collect()
}

pub fn addresses(listening: &[Listening]) -> Addresses {
    listening
        .iter()
        .map(|part| {
            part.pending
                .iter()
                .map(|pending| pending.address())
                .collect()
        })
        .collect()
}

/// Connects the flows of all parts. Both endpoints take parts and flows in the same order, so that
/// neither waits for a flow that the other takes later.
pub fn establish(
    prepare: &Prepare,
    listening: Vec<Listening>,
    peers: &Addresses,
) -> Result<(Vec<Flows>, Vec<Vec<InEffect>>), Refusal> {
    let only = prepare.confinement.as_ref().map(|to| to.peer);
    let is_other = |to: &&SocketAddr| only.is_some_and(|only| only != to.ip().to_canonical());
    if let Some((to, only)) = peers.iter().flatten().find(is_other).zip(only) {
        return Err(Refusal::from(format!(
            "data is sent only to the address from which the client authenticated, {only}; requested {}",
            to.ip()
        )));
    }
    let established = listening
        .into_iter()
        .zip(peers)
        .map(|(part, peers)| part.establish(prepare, peers));
    established
        .collect::<Result<Vec<_>, _>>()
        .map(|established| established.into_iter().unzip())
}

/// The part's conditions with its pacer chosen. Only the qdisc `fq` paces datagrams, and a kernel
/// without it reports no error.
fn with_pacing(device: &str, part: &Part) -> Result<(Conditions, Option<InEffect>), Refusal> {
    let mut conditions = part.conditions.clone();
    if !conditions.is_paced() || part.role == Role::Receiver {
        return Ok((conditions, None));
    }
    let kinds = bitcost_host::describe(device)?.qdiscs;
    let (asked, is_datagram) = (conditions.pacing, conditions.workload.is_datagram());
    let has_fq = kinds.iter().any(|kind| kind == "fq");
    if asked == Pacing::Kernel && is_datagram && !has_fq {
        return Err(Refusal::from(format!(
            "pacing of UDP by the kernel needs the queueing discipline fq on {device}, which has {}; use --pacing sender",
            kinds.join(", ")
        )));
    }
    if asked == Pacing::Auto {
        conditions.pacing = match is_datagram && has_fq {
            true => Pacing::Kernel,
            false => Pacing::Sender,
        };
    }
    let requested = (asked != Pacing::Auto).then(|| asked.name());
    let pacing = InEffect::new("pacing", requested, Some(conditions.pacing.name()));
    Ok((conditions, Some(pacing)))
}

/// The addresses of one flow: each flow of a receiver listens on its own port.
fn places(places: &Places, index: u64) -> Places {
    let ports = places.receiver.ports.map(|ports| Ports {
        first: ports.first.saturating_add(index as u16),
        ..ports
    });
    Places {
        receiver: EndpointPlace {
            ports,
            ..places.receiver.clone()
        },
        ..places.clone()
    }
}

/// The conditions of each flow: the bounds of the part are divided among its flows.
fn shares(conditions: &Conditions) -> Vec<Conditions> {
    let flows = u64::from(conditions.flows);
    let part = |whole: Option<u64>, index: u64| {
        whole.map(|whole| whole / flows + u64::from(index < whole % flows))
    };
    let share = |index| Conditions {
        stop_bytes: part(conditions.stop_bytes, index),
        stop_messages: part(conditions.stop_messages, index),
        places: places(&conditions.places, index),
        ..conditions.clone()
    };
    (0..flows).map(share).collect()
}
