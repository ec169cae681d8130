//! The table of interventions: one row each, and one file for those of a kind.

mod buffers;
mod calls;
mod congestion;
mod interface;
mod placement;
mod queues;
mod receiving;

use super::intervention::Intervention;

pub use calls::FLOWS;

/// Every intervention. Within a stage changes are tried in this order.
pub static INTERVENTIONS: [&Intervention; 18] = [
    &buffers::RECEIVE,
    &buffers::SEND,
    &congestion::ROW,
    &queues::LIMIT,
    &interface::OFFLOADS,
    &buffers::SMALL,
    &calls::MESSAGES,
    &calls::GATHER,
    &calls::SEND_MODES,
    &calls::RECEIVE_MODES,
    &calls::RECEIVE_CALLS,
    &calls::FLOWS,
    &calls::WAITING,
    &placement::ROW,
    &queues::MODERATION,
    &receiving::ROW,
    &interface::SUPER_PACKETS,
    &interface::SEGMENTS,
];
