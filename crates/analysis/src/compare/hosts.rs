//! What differs between the hosts and labs of two executions, in words.

use bitcost_model::event::EndpointDescription;
use bitcost_model::harmless;
use bitcost_model::units::counted;
use serde_json::json;

use super::differences::differences;
use crate::findings::Findings;

/// The most differences of the lab, and of each endpoint, that are listed.
const TOLD: usize = 12;

/// What differs, a sentence each: the labs first, then endpoint by endpoint.
pub(super) fn host_sentences(old: &Findings, new: &Findings) -> Vec<String> {
    let labs = differences("lab", &json!(old.summary.lab), &json!(new.summary.lab));
    let mut found = first(labs, "in the lab");
    for [was, is] in both_ends(old, new) {
        let of_end = first(end_differences(was, is), "of this end").into_iter();
        found.extend(of_end.map(|words| format!("{}: {words}", was.role.name())));
    }
    found
}

/// The endpoints that both executions have, the old one's first.
fn both_ends<'a>(
    old: &'a Findings,
    new: &'a Findings,
) -> impl Iterator<Item = [&'a EndpointDescription; 2]> {
    old.summary.ends.iter().filter_map(|was| {
        let mut ends = new.summary.ends.iter();
        Some([was, ends.find(|end| end.role == was.role)?])
    })
}

/// What makes the hosts other machines, whose figures cannot be compared.
pub(super) fn other_machines(old: &Findings, new: &Findings) -> Vec<String> {
    let mut found = Vec::new();
    for [was, is] in both_ends(old, new) {
        let (was, is, role) = (&was.host, &is.host, was.role.name());
        if let (Some(before), Some(now)) = (&was.cpu_model, &is.cpu_model)
            && before != now
        {
            found.push(format!(
                "the {role}'s CPU was {}, is {}",
                harmless(before),
                harmless(now)
            ));
        }
        if was.cpus.len() != is.cpus.len() {
            let [before, now] = [was, is].map(|host| host.cpus.len());
            found.push(format!(
                "the {role} had {}, has {now}",
                counted(before, "CPU")
            ));
        }
    }
    found
}

/// The first differences, and how many more there are.
fn first(mut found: Vec<String>, place: &str) -> Vec<String> {
    let more = found.len().saturating_sub(TOLD);
    found.truncate(TOLD);
    found.extend((more > 0).then(|| format!("{more} more differences {place}")));
    found
}

/// What differs between two machines, including their identity: name, memory, and how the machine
/// was reached.
fn end_differences(was: &EndpointDescription, is: &EndpointDescription) -> Vec<String> {
    let facts = |end: &EndpointDescription| json!({ "host name": end.host.host_name, "memory in KiB": end.host.memory_kib, "place": end.place });
    let mut found = differences("", &facts(was), &facts(is));
    let others = is.host.differences(&was.host).into_iter();
    found.extend(others.map(|(_, words)| words));
    found
}

#[cfg(test)]
mod tests {
    use bitcost_model::machine::HostDescription;
    use bitcost_model::record::Role;

    use super::*;

    #[test]
    fn another_machine_of_the_same_kind_is_named() {
        let end = |name: &str| {
            let host = HostDescription {
                host_name: name.into(),
                ..HostDescription::default()
            };
            EndpointDescription {
                role: Role::Sender,
                place: "local".into(),
                host,
            }
        };
        assert_eq!(
            end_differences(&end("a"), &end("b")),
            ["host name: was a, is b"]
        );
        assert_eq!(end_differences(&end("a"), &end("a")), [""; 0]);
        let many = first(
            (0..20).map(|number| number.to_string()).collect(),
            "of this end",
        );
        assert_eq!(
            (many.len(), many[12].as_str()),
            (13, "8 more differences of this end")
        );
    }
}
