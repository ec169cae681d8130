//! This machine: the CPUs of each endpoint, and changes of settings that an earlier run left.

use bitcost_host::{journal, recovery};
use bitcost_model::conditions::Conditions;
use bitcost_model::record::Role;
use bitcost_model::{Invalid, Unavailable};
use bitcost_probe::cores;
use bitcost_sys::thread::allowed_cpus;

pub const ONE_CPU: &str = "only one CPU may be used: both endpoints share it, and their CPU time cannot be attributed to one of them";

/// Refuses a run on a host with settings that an interrupted run left changed.
pub fn check_restored() -> Result<(), Unavailable> {
    recovery::check_restored(&journal::folder())
}

/// Checks that the CPUs that a run on this machine requests exist and may be used.
pub fn check_cpus(conditions: &Conditions) -> Result<(), Invalid> {
    let sets = cores::of_this_host();
    let all = [conditions].into_iter().chain(&conditions.background);
    for (role, part) in all.flat_map(|part| Role::ALL.map(|role| (role, part))) {
        let checked = sets.check(&part.places.end(role).cpus);
        checked.map_err(|Invalid(why)| Invalid(format!("{}_cpus: {why}", role.name())))?;
    }
    Ok(())
}

/// One CPU of this machine for the sender and one for the receiver; absent if only one may be used.
pub fn separate_cpus() -> Option<(u32, u32)> {
    cores::separate(&allowed_cpus().unwrap_or_default())
}
