//! Groups cells with the same verdict into one entry, and shortens long lists of cells.

use std::fmt::Write;

use bitcost_model::units::counted;

use super::names::list;
use super::words::{cell_line, cell_words, evidence_words, number, remedy_words, runner_up_words};
use crate::explain::cells::ExplainedCell;
use crate::explain::limiter::{Bound, Candidate, Confidence, Evidence, Limiter};

/// What must agree for cells to be grouped.
#[derive(PartialEq)]
struct Said {
    limiter: Limiter,
    detail: String,
    confidence: Confidence,
    evidence: Vec<(String, bool)>,
}

impl Said {
    /// The key of a cell; absent where the cell has more than one verdict.
    fn of(cell: &ExplainedCell) -> Option<Said> {
        let verdict = cell
            .verdict()
            .filter(|_| cell.shares().len() == 1 && cell.modality.is_none())?;
        let kind = |evidence: &Evidence| {
            (
                evidence.counter.clone(),
                matches!(evidence.bound, Bound::AtLeast(_)),
            )
        };
        Some(Said {
            limiter: verdict.limiter().clone(),
            detail: verdict.chosen.detail,
            confidence: verdict.confidence,
            evidence: verdict.chosen.evidence.iter().map(kind).collect(),
        })
    }
}

/// The cells in their order, each group of cells with the same verdict at the place of its first
/// cell.
pub fn alike(cells: &[ExplainedCell]) -> Vec<Vec<&ExplainedCell>> {
    let mut groups: Vec<(Option<Said>, Vec<&ExplainedCell>)> = Vec::new();
    for cell in cells {
        let said = Said::of(cell);
        match groups
            .iter_mut()
            .find(|(known, _)| said.is_some() && *known == said)
        {
            Some((_, group)) => group.push(cell),
            None => groups.push((said, vec![cell])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// One line: the cells of a group and what limited them.
pub fn group_line(group: &[&ExplainedCell]) -> String {
    let Some((first, others)) = group.split_first() else {
        return String::new();
    };
    let verdict = first.verdict().filter(|_| !others.is_empty());
    let Some(verdict) = verdict else {
        return cell_line(first);
    };
    let names: Vec<&str> = group.iter().map(|cell| cell.name.as_str()).collect();
    let count = group.iter().map(|cell| cell.runs.len()).sum();
    let sure = if verdict.limiter().is_unknown() {
        String::new()
    } else {
        format!(", {} confidence", verdict.confidence.name())
    };
    format!(
        "{}: {} (all {}{sure})",
        list(&names),
        verdict.limiter(),
        counted(count, "run")
    )
}

/// Several lines: the cells of a group and what limited them, with evidence, runner-up and remedy.
pub fn group_words(group: &[&ExplainedCell]) -> String {
    if let [cell] = group {
        return cell_words(cell);
    }
    let verdicts: Vec<_> = group.iter().filter_map(|cell| cell.verdict()).collect();
    let Some(first) = verdicts.first() else {
        return String::new();
    };
    let mut text = format!("{}\n", group_line(group));
    if !first.chosen.detail.is_empty() {
        let _ = writeln!(text, "  {}", first.chosen.detail);
    }
    for (index, kind) in first.chosen.evidence.iter().enumerate() {
        let all: Vec<&Evidence> = verdicts
            .iter()
            .filter_map(|verdict| verdict.chosen.evidence.get(index))
            .collect();
        let _ = writeln!(text, "  evidence: {}", ranges(kind, &all));
    }
    let next = verdicts
        .iter()
        .filter_map(|verdict| verdict.runner_up.as_ref());
    let next: Option<&Candidate> = next.max_by(|a, b| a.strength().total_cmp(&b.strength()));
    text + &runner_up_words(next) + &remedy_words(first)
}

/// One counter's values in all cells.
fn ranges(kind: &Evidence, all: &[&Evidence]) -> String {
    let range = |value: &dyn Fn(&Evidence) -> f64| {
        let (least, most) = all.iter().fold((f64::MAX, f64::MIN), |(a, b), e| {
            (a.min(value(e)), b.max(value(e)))
        });
        let (least, most) = (number(least), number(most));
        if least == most {
            least
        } else {
            format!("{least} to {most}")
        }
    };
    let side = |evidence: &Evidence| match evidence.bound {
        Bound::AtLeast(bound) | Bound::AtMost(bound) => bound,
    };
    if all.len() < 2 {
        return evidence_words(kind);
    }
    let unit = if kind.unit.is_empty() {
        String::new()
    } else {
        format!(" {}", kind.unit)
    };
    let word = if matches!(kind.bound, Bound::AtLeast(_)) {
        "at least"
    } else {
        "at most"
    };
    format!(
        "{} {}{unit} (threshold: {word} {}{unit})",
        kind.counter,
        range(&|e| e.value),
        range(&side)
    )
}

#[cfg(test)]
mod tests {
    use super::list;

    #[test]
    fn long_lists_are_cut_short() {
        assert_eq!(list(&["a", "b"]), "a; b");
        assert_eq!(
            list(&["1", "2", "3", "4", "5", "6", "7"]),
            "1; 2; 3; … 7 (7 cells)"
        );
    }
}
