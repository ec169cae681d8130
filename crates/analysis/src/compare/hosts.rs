//! What differs between the hosts and labs of two executions, in words.

use bitcost_model::event::EndpointDescription;
use bitcost_model::harmless;
use bitcost_model::record::Role;
use bitcost_model::units::counted;
use serde_json::json;

use super::differences::differences;
use crate::findings::Findings;

/// The most differences of the lab, and of each endpoint, that are listed.
const TOLD: usize = 12;

/// A difference: its endpoint, absent for the lab; what differs; and a sentence.
pub(super) type HostDifference = (Option<Role>, &'static str, String);

/// What differs, a sentence each.
pub(super) fn host_sentences(old: &Findings, new: &Findings) -> Vec<String> {
    let found = host_differences(old, new).into_iter();
    let sentence = |(end, _, words): HostDifference| match end {
        Some(end) => format!("{}: {words}", end.name()),
        None => words,
    };
    found.map(sentence).collect()
}

/// What differs: the labs first, then endpoint by endpoint.
pub(super) fn host_differences(old: &Findings, new: &Findings) -> Vec<HostDifference> {
    let labs = differences("lab", &json!(old.summary.lab), &json!(new.summary.lab));
    let labs = labs.into_iter().map(|words| (None, "lab", words));
    let mut found = first(labs.collect(), "in the lab");
    for was in &old.summary.ends {
        let Some(is) = new.summary.ends.iter().find(|end| end.role == was.role) else {
            continue;
        };
        found.extend(first(end_differences(was, is), "of this end"));
    }
    found
}

/// What makes the hosts other machines, whose figures cannot be compared.
pub(super) fn other_machines(old: &Findings, new: &Findings) -> Vec<String> {
    let mut found = Vec::new();
    for was in &old.summary.ends {
        let same_end = |end: &&EndpointDescription| end.role == was.role;
        let Some(is) = new.summary.ends.iter().find(same_end) else {
            continue;
        };
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
fn first(mut found: Vec<HostDifference>, place: &str) -> Vec<HostDifference> {
    let more = found.len().saturating_sub(TOLD);
    found.truncate(TOLD);
    let end = found.first().and_then(|(end, _, _)| *end);
    found.extend((more > 0).then(|| (end, "", format!("{more} more differences {place}"))));
    found
}

/// What differs between two machines, including their identity: name, memory, and how the machine
/// was reached.
fn end_differences(was: &EndpointDescription, is: &EndpointDescription) -> Vec<HostDifference> {
    let facts = |end: &EndpointDescription| json!({ "host name": end.host.host_name, "memory in KiB": end.host.memory_kib, "place": end.place });
    let facts = differences("", &facts(was), &facts(is)).into_iter();
    let facts = facts.map(|words| ("host", words));
    let all = facts.chain(is.host.differences(&was.host));
    all.map(|(of, words)| (Some(was.role), of, words)).collect()
}

#[cfg(test)]
mod tests {
    use bitcost_model::machine::HostDescription;

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
            [(
                Some(Role::Sender),
                "host",
                "host name: was a, is b".to_owned()
            )]
        );
        assert_eq!(end_differences(&end("a"), &end("a")), []);
        let many = first(
            (0..20)
                .map(|number| (None, "", number.to_string()))
                .collect(),
            "of this end",
        );
        assert_eq!(
            (many.len(), many[12].2.as_str()),
            (13, "8 more differences of this end")
        );
    }
}
