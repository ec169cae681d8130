//! The rate that the application asks for.

use bitcost_model::conditions::Conditions;

use crate::prove::perturbation::{Perturbation, Told, less, limiter};

/// The row.
pub static ROW: Perturbation = Perturbation {
    name: "message_rate",
    resource: "rate of the application",
    told: Told::Less,
    is_of: |limiter| limiter.name() == "application_pacing",
    finds: |_| limiter("application_pacing", ""),
    settings: |before| {
        let (setting, rate) = asked(before.conditions).ok_or("it sends as fast as it can")?;
        Ok(vec![(setting, less(rate))])
    },
    left: |before, after| Some(asked(after.conditions)?.1 / asked(before.conditions)?.1),
};

/// The setting that paces the run, and its value.
fn asked(conditions: &Conditions) -> Option<(&'static str, f64)> {
    let rates = [
        ("rate_bps", conditions.rate_bps),
        ("message_rate", conditions.message_rate),
        (
            "transaction_rate",
            conditions.transaction_rate.map(u64::from),
        ),
    ];
    let mut set = rates.into_iter();
    set.find_map(|(setting, rate)| Some((setting, rate? as f64)))
}
