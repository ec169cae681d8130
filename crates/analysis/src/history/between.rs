//! What changed on the hosts between two executions.

use bitcost_model::machine::{BITCOST_VERSION, KERNEL};
use bitcost_model::record::Role;

use super::series::Places;
use super::speed::{Cells, time};
use crate::cells::RunRow;
use crate::compare::{
    HostDifference, constant_differences, host_differences, machine_differences,
    setting_differences,
};
use crate::findings::Findings;

/// What differs, a sentence each: the kernel, then other versions and settings of programs, hosts and labs, then what operations take.
pub(super) fn differences(
    executions: &[&Findings],
    places: &Places,
    [before, after]: [usize; 2],
) -> Vec<String> {
    let (old, new) = (executions[before], executions[after]);
    let pairs = places.iter().filter_map(|of| of[before].zip(of[after]));
    let pairs: Vec<(usize, usize)> = pairs.collect();
    let (was, is) = (&old.summary.bitcost_version, &new.summary.bitcost_version);
    let mut found = Vec::new();
    if was != is {
        found.push(format!("bitcost: was {was}, is {is}"));
    }
    let mut hosts = host_differences(old, new);
    hosts.sort_by_key(|(_, of, _)| *of != KERNEL);
    hosts.retain(|(_, of, _)| was == is || *of != BITCOST_VERSION);
    found.extend(once(&hosts));
    found.extend(setting_differences(old, new, &pairs));
    found.extend(constant_differences(old, new));
    found
}

/// The sentences, those that both endpoints have without the endpoint's name.
fn once(hosts: &[HostDifference]) -> Vec<String> {
    let of_end = |end: Role, words: &str| {
        let mut of_end = hosts.iter().filter(|(of, _, _)| *of == Some(end));
        of_end.any(|(_, _, own)| own == words)
    };
    let said = hosts.iter().filter_map(|(end, _, words)| match end {
        Some(Role::Receiver) if of_end(Role::Sender, words) => None,
        Some(Role::Sender) if of_end(Role::Receiver, words) => Some(words.clone()),
        Some(end) => Some(format!("{}: {words}", end.name())),
        None => Some(words.clone()),
    });
    said.collect()
}

/// What differs between the machines during the runs; absent where one of the logs does not have the speed of the CPUs.
pub(super) fn machine(
    executions: &[&Findings],
    cells: &[Cells],
    [before, after]: [usize; 2],
) -> Option<Vec<String>> {
    let has_speed = |execution: usize| {
        let mut runs = cells.iter().flat_map(|cell| &cell[execution]);
        runs.any(|run| time(run).is_some())
    };
    let both = |cell: &'_ Cells<'_>| !cell[before].is_empty() && !cell[after].is_empty();
    let cells = cells.iter().filter(|cell| both(cell));
    let runs = cells.map(|cell| [cell[before].clone(), cell[after].clone()]);
    let runs: Vec<[Vec<&RunRow>; 2]> = runs.collect();
    let both = [executions[before], executions[after]];
    let names = both.map(|execution| execution.name.as_str());
    (has_speed(before) && has_speed(after)).then(|| machine_differences(names, &both, &runs))
}

#[cfg(test)]
mod tests {
    use super::{Role, once};

    #[test]
    fn what_both_endpoints_have_is_said_once() {
        let (sender, receiver) = (Some(Role::Sender), Some(Role::Receiver));
        let hosts = [
            (sender, "kernel: was 1, is 2"),
            (sender, "MTU: was 1, is 2"),
            (receiver, "kernel: was 1, is 2"),
            (None, "lab: was 1, is 2"),
        ];
        assert_eq!(
            once(&hosts.map(|(end, words)| (end, "", words.to_owned()))),
            [
                "kernel: was 1, is 2",
                "sender: MTU: was 1, is 2",
                "lab: was 1, is 2"
            ]
        );
    }
}
