//! The engine's own cost at this endpoint, measured once for each kind of loop.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bitcost_model::conditions::{Conditions, Workload};
use bitcost_model::modes::Mode;
use bitcost_model::record::{Role, SelfCost};

/// The time for which a loop is measured.
const LENGTH: Duration = Duration::from_millis(20);

/// The properties that determine which loop runs and its work for a message.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Kind {
    workload: Workload,
    role: Role,
    mode: Mode,
    latency: bool,
    delay_variation: bool,
    has_header: bool,
}

/// The costs that this process has measured. Each session has its own agent process.
static KNOWN: Mutex<Vec<(Kind, Option<SelfCost>)>> = Mutex::new(Vec::new());

/// The cost of this endpoint's loop; measured now where it is not known yet. To be called while no
/// traffic runs.
pub fn cost(conditions: &Conditions, role: Role) -> Option<SelfCost> {
    let kind = Kind {
        workload: conditions.workload,
        role,
        mode: if role == Role::Sender {
            conditions.send_mode
        } else {
            conditions.receive_mode
        },
        latency: conditions.latency,
        delay_variation: conditions.delay_variation,
        has_header: conditions.message_size_bytes >= 8,
    };
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, cost)) = known.iter().find(|(measured, _)| *measured == kind) {
        return *cost;
    }
    let cost = bitcost_traffic::self_cost(conditions, role, LENGTH);
    known.push((kind, cost));
    cost
}
