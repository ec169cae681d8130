//! Finds the cell of one execution that corresponds to a cell of the other: no level known on both
//! sides differs, and only one cell matches.

use std::collections::{BTreeMap, BTreeSet};

use bitcost_model::conditions::Conditions;
use bitcost_model::event::Event;
use bitcost_model::imported::NOT_SAID;
use bitcost_model::study::Label;

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
    let olds: Vec<&Known> = found.pairs.iter().map(|pair| &olds[pair.0]).collect();
    let news: Vec<&Known> = found.pairs.iter().map(|pair| &news[pair.1]).collect();
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

/// `recorded in a alone: direction forward, flows 1 or 4`.
fn known_alone(name: &str, here: &[&Known], there: &[&Known]) -> Option<String> {
    let is_there = |factor: &String| there.iter().any(|known| known.contains_key(factor));
    let mut levels: BTreeMap<&String, BTreeSet<&str>> = BTreeMap::new();
    let here = here.iter().flat_map(|known| known.iter());
    for (factor, level) in here.filter(|(factor, _)| !is_there(factor)) {
        levels.entry(factor).or_default().insert(level);
    }
    let words = levels.into_iter().map(|(factor, levels)| {
        let levels = Vec::from_iter(levels).join(" or ");
        format!("{factor} {levels}")
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| format!("recorded in {name} alone: {}", words.join(", ")))
}

/// The known levels of each cell; for a comparison with files of other programs also the settings
/// that such files report as levels.
fn known(execution: &Findings, with_settings: bool) -> Vec<Known> {
    let cells = execution.summary.cells.iter();
    let mut found: Vec<Known> = cells
        .map(|cell| strings(cell.levels.iter().map(|(name, label)| (name, label))))
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
        known.extend(strings(&imported.levels));
        known.insert("tool".to_owned(), imported.tool.clone());
    });
    found
        .iter_mut()
        .for_each(|known| known.retain(|_, level| level != NOT_SAID));
    found
}

fn strings<'a>(levels: impl IntoIterator<Item = (&'a String, &'a Label)>) -> Known {
    let levels = levels.into_iter();
    levels
        .map(|(name, label)| (name.clone(), label.to_string()))
        .collect()
}

/// Our own settings under the names and words that files of other programs use.
fn told_by_files(conditions: &Conditions) -> Known {
    let transport = match conditions.workload.is_datagram() {
        true => "udp",
        false => "tcp",
    };
    let size = |name: &'static str, bytes: u32| (name, bytes.to_string());
    let sizes = match conditions.workload.is_transactional() {
        true => vec![
            size("request_size_bytes", conditions.request_size_bytes),
            size("response_size_bytes", conditions.response_size_bytes),
        ],
        false => vec![size("message_size_bytes", conditions.message_size_bytes)],
    };
    let rate = conditions.rate_bps;
    let others = [
        ("protocol", transport.to_owned()),
        ("test", conditions.workload.name().to_owned()),
        ("direction", conditions.direction.name().to_owned()),
        ("flows", conditions.flows.to_string()),
    ];
    let all = others.into_iter().chain(sizes);
    all.chain(rate.map(|rate| ("rate_bps", rate.to_string())))
        .map(|(name, level)| (name.to_owned(), level))
        .collect()
}
