//! The scenarios: the settings, and the limiter that follows from them by construction.

mod ends;
mod path;
mod scenario;
mod thin;

pub use scenario::{
    Between, PathSettings, SMALL_TCP, Scenario, Stripped, TINY_TCP, WHOLE_TCP, WHOLE_UDP,
};

/// Every scenario.
pub fn all() -> impl Iterator<Item = &'static Scenario> {
    [path::SCENARIOS, ends::SCENARIOS, thin::SCENARIOS]
        .into_iter()
        .flatten()
}

/// The scenario of this name.
pub fn named(name: &str) -> Option<&'static Scenario> {
    all().find(|scenario| scenario.name == name)
}
