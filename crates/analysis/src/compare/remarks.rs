//! What differs between two sides in addition to what is compared: hosts, labs, settings, the machine's speed, and runs
//! that are not in the figures.

use bitcost_model::event::EndpointDescription;
use bitcost_model::host_settings::STRESS;
use bitcost_model::units::counted;
use indexmap::IndexMap;
use serde_json::json;

use super::differences::differences;
use crate::cells::{RunRow, Status, machine_words};
use crate::findings::Findings;

/// The most differences of the lab, and of each endpoint, that are listed.
const LISTED: usize = 12;

/// The most cells that are named for a difference that not all cells have.
const NAMED: usize = 4;

/// The ratio of the sides' means from which the machine may be the cause of a change.
const RATIO_LEAST: f64 = 1.2;

/// What differs between the hosts, a sentence each: the labs first, then endpoint by endpoint, with what identifies a
/// machine.
pub(super) fn host_sentences(old: &Findings, new: &Findings) -> Vec<String> {
    let [was, is] = [old, new].map(|side| side.summary.lab.as_ref());
    let labs = match was.zip(is).map(|(was, is)| [&was.topology, &is.topology]) {
        Some([was, is]) if was != is => vec![format!("lab: was {was}, is {is}")],
        _ => differences("lab", &json!(was), &json!(is)),
    };
    let mut found = first(labs, "in the lab");
    let facts = |end: &EndpointDescription| json!({ "host name": end.host.host_name, "memory in KiB": end.host.memory_kib, "place": end.place });
    for was in &old.summary.ends {
        let mut ends = new.summary.ends.iter();
        let Some(is) = ends.find(|end| end.role == was.role) else {
            continue;
        };
        let mut of_end = differences("", &facts(was), &facts(is));
        of_end.extend(is.host.differences(&was.host));
        let of_end = first(of_end, "of this end").into_iter();
        found.extend(of_end.map(|words| format!("{}: {words}", was.role.name())));
    }
    found
}

/// The first differences, and how many more there are.
fn first(mut found: Vec<String>, place: &str) -> Vec<String> {
    let more = found.len().saturating_sub(LISTED);
    found.truncate(LISTED);
    found.extend((more > 0).then(|| format!("{more} more differences {place}")));
    found
}

/// Settings, apart from the levels, that differ between pairs of cells, given by their indices on both sides: a
/// sentence per difference, without cells' names where all pairs have it. Of files of other programs, only the levels
/// are known, and no settings.
pub(super) fn setting_differences(
    old: &Findings,
    new: &Findings,
    pairs: &[(usize, usize)],
) -> Vec<String> {
    if old.summary.is_imported || new.summary.is_imported {
        return Vec::new();
    }
    let mut found: IndexMap<String, Vec<String>> = IndexMap::new();
    for (was, is) in pairs {
        let planned = (old.summary.planned.get(*was), new.summary.planned.get(*is));
        let (Some(was), Some(is)) = planned else {
            continue;
        };
        for words in differences("", &json!(was.conditions), &json!(is.conditions)) {
            found.entry(words).or_default().push(was.name());
        }
    }
    let sentence = |(words, cells): (String, Vec<String>)| sentence(words, &cells, pairs.len());
    found.into_iter().map(sentence).collect()
}

fn sentence(words: String, cells: &[String], all: usize) -> String {
    if cells.len() == all {
        return words;
    }
    let mut named: Vec<String> = cells.iter().take(NAMED).cloned().collect();
    let more = cells.len().saturating_sub(NAMED);
    named.extend((more > 0).then(|| format!("{more} more")));
    format!("{words} ({})", named.join("; "))
}

/// `a: of 30 planned runs: 3 failed, 1 left out, 2 used but disturbed; it did not finish`; absent where every
/// run was made, used and undisturbed.
pub(super) fn run_remarks(execution: &Findings) -> Option<String> {
    let rows = &execution.summary.runs;
    let became = |row: &RunRow| match row.status {
        Status::Failed | Status::Lost | Status::Interrupted => "failed",
        Status::LeftOut => "left out",
        Status::Missing => "not made",
        Status::Used if row.is_disturbed => "used but disturbed",
        Status::Used => "",
    };
    let lost = ["failed", "left out", "not made", "used but disturbed"].map(|what| {
        let count = rows.iter().filter(|row| became(row) == what).count();
        (count > 0).then(|| format!("{count} {what}"))
    });
    let lost: Vec<String> = lost.into_iter().flatten().collect();
    let all = counted(rows.len(), "planned run");
    let lost = (!lost.is_empty()).then(|| format!("of {all}: {}", lost.join(", ")));
    let ended = (!execution.summary.is_ended).then(|| "it did not finish".to_owned());
    let parts: Vec<String> = lost.into_iter().chain(ended).collect();
    (!parts.is_empty()).then(|| format!("{}: {}", execution.name, parts.join("; ")))
}

/// Whether a cell of one side and a cell of the other had the same CPUs to use, under the same load and governor, as far as
/// their plans and hosts tell.
pub(super) fn same_cpus(sides: [&Findings; 2], (old, new): (usize, usize)) -> bool {
    let hosts = sides.map(|side| {
        let ends = side.summary.ends.iter();
        let of = |end: &EndpointDescription| {
            let host = &end.host;
            (
                end.role,
                host.host_name.clone(),
                host.cpu_model.clone(),
                host.governor.clone(),
            )
        };
        ends.map(of).collect::<Vec<_>>()
    });
    let [was, is] = [(sides[0], old), (sides[1], new)].map(|(side, cell)| {
        let conditions = &side.summary.planned.get(cell)?.conditions;
        let ends = [
            &conditions.places.sender.cpus,
            &conditions.places.receiver.cpus,
        ];
        let load = conditions
            .host_settings
            .iter()
            .filter(|of| of.setting.name() == STRESS.setting);
        Some((ends, load.collect::<Vec<_>>()))
    });
    hosts[0] == hosts[1] && was.is_some() && was == is
}

/// What differed of the machine from one side to the other; absent where nothing did, or it was not measured on both sides.
pub(super) fn machine_remark([old, new]: [&str; 2], sides: [&[Findings]; 2]) -> Option<String> {
    let differences = machine_words(|metric| {
        let [was, is] = sides.map(|side| mean(side, metric));
        let (was, is) = (was?, is?);
        (was.max(is) >= RATIO_LEAST * was.min(is)).then_some((was, is))
    })?;
    Some(format!(
        "the machine differed from {old} to {new}, which may be the cause of changes: {differences}"
    ))
}

/// The mean of a metric over the used runs of a side.
fn mean(side: &[Findings], metric: &str) -> Option<f64> {
    let rows = side.iter().flat_map(|one| &one.summary.runs);
    let used = rows.filter(|row| row.is_used());
    let times: Vec<f64> = used.filter_map(|row| row.figures.get(metric)).collect();
    Some(bitcost_stats::spread(&times)?.mean).filter(|mean| *mean > 0.0)
}

#[cfg(test)]
mod tests {
    use super::{first, sentence};

    #[test]
    fn long_lists_are_cut_short() {
        let many = first((0..20).map(|number| number.to_string()).collect(), "here");
        assert_eq!(
            (many.len(), many[12].as_str()),
            (13, "8 more differences here")
        );
        let cells: Vec<String> = (0..6).map(|cell| format!("c{cell}")).collect();
        let said = |all| sentence("x: was 1, is 2".to_owned(), &cells, all);
        assert_eq!(said(6), "x: was 1, is 2");
        assert_eq!(said(9), "x: was 1, is 2 (c0; c1; c2; c3; 2 more)");
    }
}
