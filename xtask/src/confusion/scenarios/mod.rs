//! The scenarios: the settings, and the limiter that follows from them by construction.

mod ends;
mod path;
mod scenario;
mod thin;

pub use scenario::{Between, PathSettings, Scenario, Stripped};

/// Every scenario.
pub fn all() -> impl Iterator<Item = &'static Scenario> {
    [path::SCENARIOS, ends::SCENARIOS, thin::SCENARIOS]
        .into_iter()
        .flatten()
}
