//! What limited an execution, in words.

use bitcost_analysis::explain::{ExplainedCell, Explanation, OTHERS_PCT, Verdict};
use bitcost_model::units::counted;

/// `receiver's CPU in 4 cells, unknown in 2 cells`, the most frequent first. Where cells differ, which
/// limiters are mixed in one is left to `explain`.
pub(crate) fn of_cells(explanation: &Explanation) -> String {
    let mut found: Vec<(String, usize)> = Vec::new();
    let verdicts = || explanation.cells.iter().filter_map(|cell| cell.verdict());
    let words = |cell: &ExplainedCell| Some((cell.limiter_words()?, cell.leading().len() > 1));
    let words: Vec<(String, bool)> = explanation.cells.iter().filter_map(words).collect();
    let are_alike = words.windows(2).all(|both| both[0] == both[1]);
    for (limiter, is_mixed) in words {
        let limiter = match is_mixed && !are_alike {
            true => "mixed".to_owned(),
            false => limiter,
        };
        match found.iter_mut().find(|(known, _)| *known == limiter) {
            Some((_, count)) => *count += 1,
            None => found.push((limiter, 1)),
        }
    }
    found.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let parts: Vec<String> = match &found[..] {
        [] => vec!["no run that can be explained".to_owned()],
        // What one cell lacks is what all lack: a window that is too short, probes that are off.
        [(limiter, _)] if verdicts().all(|verdict| verdict.limiter().is_unknown()) => {
            let why = verdicts().map(|verdict| verdict.chosen.detail);
            let why = why
                .filter(|why| !why.is_empty())
                .map(|why| format!(": {why}"));
            vec![format!("{limiter}{}", why.take(1).collect::<String>())]
        }
        [(limiter, _)] => vec![limiter.clone()],
        _ => found
            .iter()
            .map(|(limiter, count)| format!("{limiter} in {}", counted(*count, "cell")))
            .collect(),
    };
    let has_comma = found.iter().any(|(limiter, _)| limiter.contains(", "));
    let limiters = parts.join(if has_comma { "; " } else { ", " });
    let disturbed = verdicts().filter(|verdict| verdict.others.is_some());
    match (disturbed.clone().count(), explanation.cells.len()) {
        (0, _) => limiters,
        (1, 1) => disturbed.fold(limiters, |words, verdict| others_first(&verdict, words)),
        (count, all) => format!(
            "other programs took over {OTHERS_PCT} % of a CPU in {count} of {all} cells; {limiters}"
        ),
    }
}

/// `receiver's CPU (medium confidence): in the kernel, where its interface receives`.
pub(crate) fn of_cell(limiter: Option<&ExplainedCell>) -> String {
    let Some((cell, verdict)) = limiter.and_then(|cell| Some((cell, cell.verdict()?))) else {
        return "unknown: no run can be explained".to_owned();
    };
    let shares = cell.shares();
    if shares.len() > 1 {
        let said = shares
            .iter()
            .map(|(limiter, share)| format!("{limiter} {:.0} %", 100.0 * share));
        let said = said.collect::<Vec<_>>().join(", ");
        return others_first(&verdict, said);
    }
    let mut words = verdict.limiter().to_string();
    if !verdict.limiter().is_unknown() {
        words += &format!(" ({})", verdict.confidence.words());
    }
    if !verdict.chosen.detail.is_empty() {
        words += &format!(": {}", verdict.chosen.detail);
    }
    others_first(&verdict, words)
}

/// The words on a limiter, after the load of other programs where that is much.
fn others_first(verdict: &Verdict, words: String) -> String {
    match &verdict.others {
        Some(others) => format!("{others}; {words}"),
        None => words,
    }
}
