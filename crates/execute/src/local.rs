//! This machine: the CPUs of each endpoint, and changes of settings that an earlier run left.

use bitcost_host::journal;
use bitcost_host::recovery::obstacle;
use bitcost_model::conditions::Conditions;
use bitcost_model::record::Role;
use bitcost_sys::thread::allowed_cpus;

use crate::error::ExecuteError;

/// The note for endpoints that share the only CPU.
pub const ONE_CPU: &str = "only one CPU may be used: both endpoints share it, and their CPU time cannot be attributed to one of them";

/// Refuses a run on a host with settings that an interrupted run left changed.
///
/// # Errors
/// Environment; the message names the command that restores the host.
pub fn check_restored() -> Result<(), ExecuteError> {
    obstacle(&journal::folder()).map_or(Ok(()), |reason| Err(ExecuteError::Environment(reason)))
}

/// Checks that the CPUs that a run on this machine requests exist and may be used.
///
/// # Errors
/// Usage, with the CPUs that may be used.
pub fn check_cpus(conditions: &Conditions) -> Result<(), ExecuteError> {
    let allowed = allowed_cpus().unwrap_or_default();
    let roles = [Role::Sender, Role::Receiver];
    let all = [conditions].into_iter().chain(&conditions.background);
    for (role, part) in all.flat_map(|part| roles.map(|role| (role, part))) {
        let cpus = &part.places.end(role).cpus;
        if let Some(cpu) = cpus.iter().find(|cpu| !allowed.contains(cpu)) {
            let list: Vec<String> = allowed.iter().map(u32::to_string).collect();
            let (list, role) = (list.join(", "), role.name());
            return Err(ExecuteError::Usage(format!(
                "{role}_cpus: CPU {cpu} does not exist here or may not be used; allowed: {list}"
            )));
        }
    }
    Ok(())
}

/// One CPU of this machine for the sender and one for the receiver; absent if only one may be used.
pub fn separate_cpus() -> Option<(u32, u32)> {
    separate(&allowed_cpus().unwrap_or_default(), siblings)
}

/// Two CPUs on different cores if there are two cores, otherwise two threads of one core.
fn separate(allowed: &[u32], siblings: impl Fn(u32) -> Vec<u32>) -> Option<(u32, u32)> {
    let first = *allowed.first()?;
    let others = || allowed.iter().copied().filter(|cpu| *cpu != first);
    let own_core = siblings(first);
    let second = others()
        .find(|cpu| !own_core.contains(cpu))
        .or_else(|| others().next())?;
    Some((first, second))
}

/// The CPUs that share a core with this one (kernel doc: admin-guide/cputopology).
fn siblings(cpu: u32) -> Vec<u32> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    bitcost_model::cpu_list::parse_cpu_list(&text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::separate;

    #[test]
    fn endpoints_get_different_cores_where_possible() {
        let pairs = |cpu: u32| vec![cpu / 2 * 2, cpu / 2 * 2 + 1];
        assert_eq!(separate(&[0, 1, 2, 3], pairs), Some((0, 2)));
        assert_eq!(separate(&[0, 1], pairs), Some((0, 1)));
        assert_eq!(separate(&[4], pairs), None);
        assert_eq!(separate(&[], pairs), None);
    }
}
