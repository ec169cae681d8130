//! Finds the cell of one execution that corresponds to a cell of the other: no level known on both
//! sides differs, and only one cell matches.

use std::collections::{BTreeMap, BTreeSet};

use bitcost_model::conditions::{Conditions, Direction};
use bitcost_model::event::Event;
use bitcost_model::imported::NOT_SAID;

use super::found::Unmatched;
use crate::findings::Findings;
use crate::summary::Summary;

/// The most cells that are named where a cell could match several.
const NAMED: usize = 3;

/// The known levels of a cell, by the names of factors.
type Known = BTreeMap<String, String>;

/// The cells of two executions, matched with each other.
pub(super) struct Matched {
    /// Indices of both cells, in the order of the old execution.
    pub pairs: Vec<(usize, usize)>,
    /// The cells without a partner, those of the old execution first.
    pub unmatched: Vec<Unmatched>,
    /// Levels that only one side has, in words.
    pub known_to_one: Vec<String>,
}

pub(super) fn matched(old: &Findings, new: &Findings) -> Matched {
    let with_settings = old.summary.is_imported || new.summary.is_imported;
    let (olds, news) = (known(old, with_settings), known(new, with_settings));
    let (of_old, of_new) = (agreeing(&olds, &news), agreeing(&news, &olds));
    let partner = |candidates: &[usize], back: &[Vec<usize>]| match candidates {
        [only] if back[*only].len() == 1 => Some(*only),
        _ => None,
    };
    let pair =
        |(cell, candidates): (usize, &Vec<usize>)| Some((cell, partner(candidates, &of_new)?));
    let mut found = Matched {
        pairs: of_old.iter().enumerate().filter_map(pair).collect(),
        unmatched: Vec::new(),
        known_to_one: Vec::new(),
    };
    for (is_old, side, other, of, back) in [
        (true, old, new, &of_old, &of_new),
        (false, new, old, &of_new, &of_old),
    ] {
        let lone = (0..of.len()).filter(|cell| partner(&of[*cell], back).is_none());
        found.unmatched.extend(lone.map(|cell| Unmatched {
            cell: side.summary.cells[cell].name(),
            is_old,
            why: candidates(other, &of[cell]),
        }));
    }
    let matched = |places: fn(&(usize, usize)) -> usize, all: &[Known]| -> Vec<Known> {
        found
            .pairs
            .iter()
            .map(|pair| all[places(pair)].clone())
            .collect()
    };
    let (olds, news) = (matched(|pair| pair.0, &olds), matched(|pair| pair.1, &news));
    found.known_to_one = [(&old.name, &olds, &news), (&new.name, &news, &olds)]
        .into_iter()
        .filter_map(|(name, here, there)| known_alone(name, here, there))
        .collect();
    found
}

/// The cells that one without a partner could be; absent where there is none.
fn candidates(other: &Findings, places: &[usize]) -> Option<String> {
    let name = |place: &usize| other.summary.cells[*place].name();
    match places {
        [] => None,
        [only] => Some(format!("could be {}, but so could other cells", name(only))),
        several => {
            let names: Vec<String> = several.iter().take(NAMED).map(name).collect();
            let more = if several.len() > NAMED {
                " or another"
            } else {
                ""
            };
            Some(format!("could be {}{more}", names.join(" or ")))
        }
    }
}

/// For each cell, the indices of the other side's cells with which no known level disagrees.
fn agreeing(cells: &[Known], others: &[Known]) -> Vec<Vec<usize>> {
    let agrees = |cell: &Known, other: &Known| {
        cell.iter()
            .all(|(name, here)| other.get(name).is_none_or(|there| here == there))
    };
    let places = |cell| {
        (0..others.len())
            .filter(|place| agrees(cell, &others[*place]))
            .collect()
    };
    cells.iter().map(places).collect()
}

/// `known of a alone: direction forward, flows 1 or 4`.
fn known_alone(name: &str, here: &[Known], there: &[Known]) -> Option<String> {
    let others: BTreeSet<&String> = there.iter().flat_map(Known::keys).collect();
    let mut levels: BTreeMap<&String, BTreeSet<&String>> = BTreeMap::new();
    for (factor, level) in here
        .iter()
        .flatten()
        .filter(|(factor, _)| !others.contains(factor))
    {
        levels.entry(factor).or_default().insert(level);
    }
    let words = levels.into_iter().map(|(factor, levels)| {
        format!(
            "{factor} {}",
            levels
                .into_iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(" or ")
        )
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| format!("recorded in {name} alone: {}", words.join(", ")))
}

/// The known levels of each cell; for a comparison with files of other programs also the settings
/// that such files report as levels.
fn known(execution: &Findings, with_settings: bool) -> Vec<Known> {
    let mut found: Vec<Known> = execution
        .summary
        .cells
        .iter()
        .map(|cell| strings(&cell.levels))
        .collect();
    if !with_settings {
        return found;
    }
    let Summary {
        planned,
        is_imported,
        ..
    } = &execution.summary;
    if !is_imported {
        for (known, cell) in found.iter_mut().zip(planned) {
            known.extend(told_by_files(&cell.conditions));
        }
        return found;
    }
    execution.events.each(&|_| true, &mut |_, event| {
        let Event::RunImported { run, imported } = event else {
            return;
        };
        let row = execution.row(*run);
        let Some(known) = row.and_then(|row| found.get_mut(row.cell)) else {
            return;
        };
        known.extend(
            imported
                .levels
                .iter()
                .map(|(name, label)| (name.clone(), label.to_string())),
        );
        known.insert("tool".to_owned(), imported.tool.clone());
    });
    found
        .iter_mut()
        .for_each(|known| known.retain(|_, level| level != NOT_SAID));
    found
}

fn strings(levels: &[(String, bitcost_model::study::Label)]) -> Known {
    levels
        .iter()
        .map(|(name, label)| (name.clone(), label.to_string()))
        .collect()
}

/// Our own settings under the names and words that files of other programs use.
fn told_by_files(conditions: &Conditions) -> Vec<(String, String)> {
    let transport = if conditions.workload.is_datagram() {
        "udp"
    } else {
        "tcp"
    };
    let direction = match conditions.direction {
        Direction::Forward => "forward",
        Direction::Reverse => "reverse",
        Direction::Both => "both",
    };
    let mut found = vec![
        ("protocol", transport.to_owned()),
        ("test", conditions.workload.name().to_owned()),
        ("direction", direction.to_owned()),
        ("flows", conditions.flows.to_string()),
    ];
    if conditions.workload.is_transactional() {
        found.push((
            "request_size_bytes",
            conditions.request_size_bytes.to_string(),
        ));
        found.push((
            "response_size_bytes",
            conditions.response_size_bytes.to_string(),
        ));
    } else {
        found.push((
            "message_size_bytes",
            conditions.message_size_bytes.to_string(),
        ));
    }
    found.extend(
        conditions
            .rate_bps
            .map(|rate| ("rate_bps", rate.to_string())),
    );
    found
        .into_iter()
        .map(|(name, level)| (name.to_owned(), level))
        .collect()
}
