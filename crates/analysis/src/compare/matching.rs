//! Finds the cell of one execution that corresponds to a cell of the other: no level known on both
//! sides differs, and only one cell matches.

use std::collections::BTreeMap;

use bitcost_model::conditions::Conditions;
use bitcost_model::event::Event;
use bitcost_model::imported::NOT_SAID;
use bitcost_model::study::Label;

use super::found::Unmatched;
use crate::findings::Findings;

/// The known levels of a cell, by the names of factors.
type Known = BTreeMap<String, String>;

/// The cells of two executions, matched with each other.
pub(super) struct Matched {
    /// Indices of both cells, in the order of the old execution.
    pub pairs: Vec<(usize, usize)>,
    /// The cells without a partner, those of the old execution first.
    pub unmatched: Vec<Unmatched>,
}

pub(super) fn matched(old: &Findings, new: &Findings) -> Matched {
    let with_settings = old.summary.is_imported || new.summary.is_imported;
    let (olds, news) = (known(old, with_settings), known(new, with_settings));
    let (of_old, of_new) = (agreeing(&olds, &news), agreeing(&news, &olds));
    let partner = |candidates: &[usize], back: &[Vec<usize>]| match candidates {
        [only] if back[*only].len() == 1 => Some(*only),
        _ => None,
    };
    let all = of_old.iter().enumerate();
    let pairs = all.filter_map(|(cell, of)| Some((cell, partner(of, &of_new)?)));
    let pairs: Vec<(usize, usize)> = pairs.collect();
    let mut unmatched = Vec::new();
    for (is_old, side, of, back) in [
        (true, old, &of_old, &of_new),
        (false, new, &of_new, &of_old),
    ] {
        let lone = (0..of.len()).filter(|cell| partner(&of[*cell], back).is_none());
        unmatched.extend(lone.map(|cell| Unmatched {
            cell: side.summary.cells[cell].name(),
            is_old,
        }));
    }
    Matched { pairs, unmatched }
}

/// For each cell, the indices of the other side's cells with which no known level disagrees.
fn agreeing(cells: &[Known], others: &[Known]) -> Vec<Vec<usize>> {
    let agrees = |cell: &Known, other: &Known| {
        cell.iter()
            .all(|(name, here)| other.get(name).is_none_or(|there| here == there))
    };
    let all = || others.iter().enumerate();
    let places = |cell| {
        all()
            .filter(|(_, other)| agrees(cell, other))
            .map(|(place, _)| place)
            .collect()
    };
    cells.iter().map(places).collect()
}

/// The known levels of each cell; for a comparison with files of other programs also the settings
/// that such files report as levels.
fn known(execution: &Findings, with_settings: bool) -> Vec<Known> {
    let summary = &execution.summary;
    let levels = summary.cells.iter().map(|cell| cell.levels.iter());
    let levels = levels.map(|levels| strings(levels.map(|(name, label)| (name, label))));
    let mut found: Vec<Known> = levels.collect();
    if !with_settings {
        return found;
    }
    if !summary.is_imported {
        for (known, cell) in found.iter_mut().zip(&summary.planned) {
            known.extend(told_by_files(&cell.conditions));
        }
        return found;
    }
    execution.events.each(&|_| true, &mut |_, event| {
        let Event::RunImported { run, imported } = event else {
            return;
        };
        let row = execution.row(*run);
        if let Some(known) = row.and_then(|row| found.get_mut(row.cell)) {
            known.extend(strings(&imported.levels));
            known.insert("tool".to_owned(), imported.tool.clone());
        }
    });
    for known in &mut found {
        known.retain(|_, level| level != NOT_SAID);
    }
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
    let mut all = vec![
        ("protocol", transport.to_owned()),
        ("test", conditions.workload.name().to_owned()),
        ("direction", conditions.direction.name().to_owned()),
        ("flows", conditions.flows.to_string()),
    ];
    let size = |name: &'static str, bytes: u32| (name, bytes.to_string());
    match conditions.workload.is_transactional() {
        true => all.extend([
            size("request_size_bytes", conditions.request_size_bytes),
            size("response_size_bytes", conditions.response_size_bytes),
        ]),
        false => all.push(size("message_size_bytes", conditions.message_size_bytes)),
    }
    all.extend(
        conditions
            .rate_bps
            .map(|rate| ("rate_bps", rate.to_string())),
    );
    all.into_iter()
        .map(|(name, level)| (name.to_owned(), level))
        .collect()
}
