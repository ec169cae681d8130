//! Groups of cells with the same verdict.

use crate::explain::cells::ExplainedCell;
use crate::explain::limiter::{Bound, Confidence, Evidence, Limiter};

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
        let verdict = cell.verdict().filter(|_| cell.shares().len() == 1)?;
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
