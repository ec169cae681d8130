//! The engine's own cost at this end, measured once for each kind of loop and then known.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use model::conditions::{Conditions, Workload};
use model::modes::Mode;
use model::record::{Role, SelfCost};

/// How long the loop is measured.
const LENGTH: Duration = Duration::from_millis(20);

/// What decides which loop runs and what it does for a message.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Kind {
    workload: Workload,
    role: Role,
    mode: Mode,
    latency: bool,
    delay_variation: bool,
    has_header: bool,
}

/// What this process has measured. An agent is a process of its own, so this is the session's.
static KNOWN: Mutex<Vec<(Kind, Option<SelfCost>)>> = Mutex::new(Vec::new());

/// The cost of the loop of this end; measured now where it is not known. To be called while no traffic runs.
/// Nothing is known of the loop that serves several flows.
pub fn of(conditions: &Conditions, role: Role) -> Option<SelfCost> {
    if conditions.shares_threads() {
        return None;
    }
    let kind = Kind {
        workload: conditions.workload,
        role,
        mode: if role == Role::Sender { conditions.send_mode } else { conditions.receive_mode },
        latency: conditions.latency,
        delay_variation: conditions.delay_variation,
        has_header: conditions.message_size_bytes >= 8,
    };
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, cost)) = known.iter().find(|(measured, _)| *measured == kind) {
        return *cost;
    }
    let cost = traffic::self_cost(conditions, role, LENGTH);
    known.push((kind, cost));
    cost
}
