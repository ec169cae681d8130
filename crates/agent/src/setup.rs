//! Sets up the data connections of a run with the other endpoint: the flows of every part.

use std::time::{Duration, Instant};

use bitcost_model::Unavailable;
use bitcost_model::conditions::{Conditions, Pacing};
use bitcost_model::confinement::Confinement;
use bitcost_model::protocol::{Addresses, Part, Prepare};
use bitcost_model::record::{InEffect, Role};
use bitcost_traffic::{End, Flow, FlowId, Listening, Ready};

use crate::connect::{self, refused};
use crate::refusal::Refusal;

/// The time that the other endpoint may take to open the flows of a part, and that of each of many more.
const ARRIVAL: Duration = Duration::from_secs(4);
const ARRIVAL_FLOW: Duration = Duration::from_millis(10);

/// As [`ARRIVAL`], at the endpoint that opens, and a second more for 100 flows: the one that listens gives up earlier,
/// because it knows more of the reason.
const OPENING: Duration = Duration::from_secs(5);

/// Of datagrams from this size on a socket's default send buffer holds no more than the 100 that fq keeps of a flow: of
/// smaller ones it drops the rest, and nothing tells.
const FQ_LEAST_BYTES: u32 = 1000;

pub type Flows = Vec<Box<dyn Flow>>;

/// The parts of a run before their flows are there.
pub struct Parts {
    parts: Vec<Opening>,
    sockets: Vec<Listening>,
}

struct Opening {
    conditions: Vec<Conditions>,
    pacing: Option<InEffect>,
    /// Which of the sockets its flows come to; absent where this endpoint opens them.
    socket: Option<usize>,
}

/// Opens the sockets that every part needs before the other endpoint may connect. The service's parts share one for each
/// protocol, because it has one port.
pub fn listen(prepare: &Prepare, service: Option<&Confinement>) -> Result<Parts, Refusal> {
    let mut opened = Parts {
        parts: Vec::new(),
        sockets: Vec::new(),
    };
    for part in &prepare.parts {
        let (conditions, pacing) = with_pacing(&prepare.device, part)?;
        opened.parts.push(Opening {
            conditions: shares(&conditions),
            pacing,
            socket: None,
        });
    }
    for (index, part) in prepare.parts.iter().enumerate() {
        let Some(address) = part.listen_on else {
            if service.is_some() {
                return Err("a service opens no connections".into());
            }
            continue;
        };
        if opened.parts[index].socket.is_some() {
            continue;
        }
        let is_datagram = |part: &Part| part.conditions.workload.is_datagram();
        let together = |other: usize| {
            other == index
                || service.is_some() && is_datagram(&prepare.parts[other]) == is_datagram(part)
        };
        let together: Vec<usize> = (index..prepare.parts.len())
            .filter(|other| together(*other))
            .collect();
        let conditions: Vec<&Conditions> = together
            .iter()
            .filter_map(|part| opened.parts[*part].conditions.first())
            .collect();
        let socket = bitcost_traffic::listen(&conditions, address, prepare.token, service);
        let socket = socket.map_err(|error| refused(0, 1, &error))?;
        for part in together {
            opened.parts[part].socket = Some(opened.sockets.len());
        }
        opened.sockets.push(socket);
    }
    Ok(opened)
}

impl Parts {
    /// Where the other endpoint opens the flows of each part.
    pub fn addresses(&self) -> Addresses {
        let of_part = |part: &Opening| part.socket.map(|index| self.sockets[index].address());
        self.parts.iter().map(of_part).collect()
    }

    /// Opens or accepts the flows of all parts; returns them with the settings of the first of each part. Both endpoints take parts
    /// and flows in the same order, so that neither waits for a flow that the other takes later.
    pub fn establish(
        mut self,
        prepare: &Prepare,
        peers: &Addresses,
    ) -> Result<(Vec<Flows>, Vec<Vec<InEffect>>), Refusal> {
        let mut established = (Vec::new(), Vec::new());
        for (index, (part, of)) in self.parts.into_iter().zip(&prepare.parts).enumerate() {
            let ends: Vec<End> = part
                .conditions
                .iter()
                .enumerate()
                .map(|(flow, conditions)| End {
                    id: FlowId {
                        part: index as u8,
                        flow: flow as u16,
                    },
                    role: of.role,
                    conditions,
                })
                .collect();
            let peer = peers.get(index).copied().flatten();
            let ready = match part.socket {
                Some(socket) => accept(&mut self.sockets[socket], &ends)?,
                None => {
                    let peer = peer.ok_or("the other endpoint listens for none of the flows")?;
                    let patience = OPENING + Duration::from_secs(ends.len() as u64 / 100);
                    connect::connect(&ends, (prepare.peer, peer), prepare.token, patience)?
                }
            };
            let in_effect = ready.first().map(|ready| ready.in_effect.clone());
            let mut in_effect = in_effect.unwrap_or_default();
            in_effect.extend(part.pacing);
            established
                .0
                .push(ready.into_iter().map(|ready| ready.flow).collect());
            established.1.push(in_effect);
        }
        Ok(established)
    }
}

fn accept(socket: &mut Listening, ends: &[End]) -> Result<Vec<Ready>, Refusal> {
    let deadline = Instant::now() + ARRIVAL + ARRIVAL_FLOW * ends.len() as u32;
    let accept = |(index, end): (usize, &End)| {
        let ready = socket.accept(*end, deadline);
        ready.map_err(|error| refused(index, ends.len(), &error))
    };
    ends.iter().enumerate().map(accept).collect()
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
        return Err(Refusal::from(Unavailable(format!(
            "pacing of UDP by the kernel needs the queueing discipline fq on {device}, which has {}; use --pacing sender",
            kinds.join(", ")
        ))));
    }
    if asked == Pacing::Auto {
        let is_kept = is_datagram && conditions.message_size_bytes >= FQ_LEAST_BYTES;
        conditions.pacing = match is_kept && has_fq {
            true => Pacing::Kernel,
            false => Pacing::Sender,
        };
    }
    let requested = (asked != Pacing::Auto).then(|| asked.name());
    let pacing = InEffect::new("pacing", requested, Some(conditions.pacing.name()));
    Ok((conditions, Some(pacing)))
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
        ..conditions.clone()
    };
    (0..flows).map(share).collect()
}
