//! What changed on the hosts between two executions.

use super::series::Places;
use super::speed::{Cells, time};
use crate::cells::RunRow;
use crate::compare::{
    constant_differences, host_differences, machine_differences, setting_differences,
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
    hosts.sort_by_key(|words| !words.contains("kernel: was "));
    let is_new = |words: &String| was == is || !words.contains("bitcost version: ");
    found.extend(once(hosts.into_iter().filter(is_new).collect()));
    found.extend(setting_differences(old, new, &pairs));
    found.extend(constant_differences(old, new));
    found
}

/// The sentences, those that both endpoints have without the endpoint's name.
fn once(words: Vec<String>) -> Vec<String> {
    let of_receiver = |of_sender: &str| {
        words
            .iter()
            .any(|other| other.strip_prefix("receiver: ") == Some(of_sender))
    };
    let mut found: Vec<String> = Vec::new();
    for one in &words {
        match one.strip_prefix("sender: ") {
            Some(bare) if of_receiver(bare) => found.push(bare.to_owned()),
            _ => found.push(one.clone()),
        }
    }
    found.retain(|one| {
        let bare = one.strip_prefix("receiver: ");
        bare.is_none_or(|bare| !words.contains(&format!("sender: {bare}")))
    });
    found
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
    use super::once;

    #[test]
    fn what_both_endpoints_have_is_said_once() {
        let words = [
            "sender: kernel: was 1, is 2",
            "sender: MTU: was 1, is 2",
            "receiver: kernel: was 1, is 2",
            "lab: was 1, is 2",
        ];
        assert_eq!(
            once(words.map(str::to_owned).to_vec()),
            [
                "kernel: was 1, is 2",
                "sender: MTU: was 1, is 2",
                "lab: was 1, is 2"
            ]
        );
    }
}
