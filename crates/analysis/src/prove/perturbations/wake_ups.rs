//! Wake-ups: receivers poll instead of being woken.

use bitcost_model::conditions::Waiting;

use crate::prove::perturbation::{Perturbation, Told, limiter};

/// The row.
pub static ROW: Perturbation = Perturbation {
    name: "wake_ups",
    resource: "wake-ups",
    told: Told::Without,
    is_of: |limiter| limiter.name() == "wake_ups",
    finds: |_| limiter("wake_ups", ""),
    settings: |before| match before.conditions.waiting {
        Waiting::Block => Ok(vec![("waiting", "spin".to_owned())]),
        Waiting::Spin => Err("receivers poll already".to_owned()),
    },
    left: |_, _| None,
};
