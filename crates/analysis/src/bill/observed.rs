//! What the runs of a bill measured at one endpoint, by cell.

use bitcost_model::conditions::Conditions;
use bitcost_model::constants::{Constant, ConstantFigure, MachineConstants};
use bitcost_model::record::Role;

use super::plan::FACTOR;
use crate::cells::{RunRow, Status};
use crate::metrics::metric;
use crate::summary::Summary;

const KIB: f64 = 1024.0;

/// A quantity of a cell, for each KiB or transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// CPU time, in µs.
    Cost,
    /// Wake-ups of the traffic thread.
    WakeUps,
    /// Packets in the endpoint's stack, of datagrams in the sender's, a super-packet once; of
    /// transactions segments with and without data.
    Packets,
    /// Acknowledgements without data.
    Acknowledgements,
}

/// Every quantity.
pub const QUANTITIES: [Quantity; 4] = [
    Quantity::Cost,
    Quantity::WakeUps,
    Quantity::Packets,
    Quantity::Acknowledgements,
];

/// Block and value of each run.
pub type Values = Vec<(u32, f64)>;

/// A host constant in µs, with its 5th and 95th percentile, or why it is not known.
type ConstantUs = Result<[f64; 3], String>;

/// What one endpoint measured.
pub struct Observed {
    /// The endpoint.
    pub end: Role,
    /// Cell and quantity with their values; those without values are absent.
    pub values: Vec<(String, Quantity, Values)>,
    /// Time for waking a thread and switching to it, or why it is not known.
    pub wake_us: ConstantUs,
    /// Time of a system call that does nothing.
    pub call_us: ConstantUs,
}

impl Observed {
    /// The values of an endpoint.
    pub fn of(summary: &Summary, end: Role) -> Observed {
        let mut values = Vec::new();
        for (place, cell) in summary.planned.iter().enumerate() {
            let label = cell.levels.iter().find(|(factor, _)| factor == FACTOR);
            let Some((_, label)) = label else { continue };
            for quantity in QUANTITIES {
                let found = summary.runs.iter().filter_map(|row| {
                    let is_used = row.cell == place && row.status == Status::Used;
                    let value = is_used.then(|| quantity.of(row, &cell.conditions, end))??;
                    Some((row.block, value))
                });
                let found: Values = found.collect();
                if !found.is_empty() {
                    values.push((label.to_string(), quantity, found));
                }
            }
        }
        Observed {
            end,
            values,
            wake_us: constant_us(&summary.constants, end, Constant::RunSameIdle),
            call_us: constant_us(&summary.constants, end, Constant::SystemCall),
        }
    }

    /// Whether the cell has runs with this quantity.
    pub fn has(&self, label: &str, quantity: Quantity) -> bool {
        let mut values = self.values.iter();
        values.any(|(known, of, _)| known == label && *of == quantity)
    }
}

fn constant_us(machines: &[MachineConstants], end: Role, constant: Constant) -> ConstantUs {
    let machine = machines.iter().find(|machine| machine.roles.contains(&end));
    let absent = machine.and_then(|machine| machine.absent.clone());
    let host = machine.and_then(|machine| machine.host.as_ref());
    let figure = host.and_then(|host| host.figure(constant));
    let why = || absent.unwrap_or_else(|| "the host constant was not measured".to_owned());
    let us = |of: ConstantFigure| [of.median_ns, of.p5_ns, of.p95_ns].map(|ns| ns / 1e3);
    figure.map(us).ok_or_else(why)
}

impl Quantity {
    /// Its value in a run; absent where that was not measured.
    fn of(self, row: &RunRow, conditions: &Conditions, end: Role) -> Option<f64> {
        let value = |name: &str| row.value(metric(name)?);
        let of_end = |sender: &str, receiver: &str| match end {
            Role::Sender => value(sender),
            Role::Receiver => value(receiver),
        };
        if conditions.workload.is_transactional() {
            let segments = || value("segments_per_message");
            let acks = || Some(segments()? * value("acks_per_segment")?);
            return match self {
                Quantity::Cost => of_end(
                    "send_service_demand_us_per_transaction",
                    "receive_service_demand_us_per_transaction",
                ),
                Quantity::WakeUps => {
                    of_end("sender_wakeups_per_message", "receiver_wakeups_per_message")
                }
                Quantity::Packets => Some(segments()? + acks()?),
                Quantity::Acknowledgements => None,
            };
        }
        match self {
            Quantity::Cost => of_end(
                "send_service_demand_us_per_kib",
                "receive_service_demand_us_per_kib",
            ),
            Quantity::WakeUps => {
                let wakeups = of_end("sender_wakeups_per_message", "receiver_wakeups_per_message");
                Some(wakeups? * KIB / f64::from(conditions.message_size_bytes))
            }
            Quantity::Packets => {
                let at_receiver = match conditions.workload.is_datagram() {
                    // How many a receiver merges depends on when it looks.
                    true => "sender_bytes_per_packet",
                    false => "receiver_bytes_per_packet",
                };
                Some(KIB / of_end("sender_bytes_per_packet", at_receiver)?)
            }
            Quantity::Acknowledgements => {
                Some(KIB / value("segment_size_bytes")? * value("acks_per_segment")?)
            }
        }
    }
}
