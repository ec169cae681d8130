//! Which factors of two plans differ.

use std::collections::BTreeSet;

use crate::findings::Findings;

/// `message_size_bytes is 64 or 8192 in OLD alone, 4096 in NEW alone`: the factors that both have and their levels that
/// only one of them has, then the factors of one alone; empty where none differ.
pub(super) fn factors_that_differ(old: &Findings, new: &Findings) -> Vec<String> {
    let levels = |execution: &Findings, factor: &str| -> Option<BTreeSet<String>> {
        let found = execution.summary.study.factor(factor)?;
        Some(
            found
                .levels
                .iter()
                .map(|level| level.label.to_string())
                .collect(),
        )
    };
    let mut names: Vec<&String> = Vec::new();
    for factor in old
        .summary
        .study
        .factors
        .iter()
        .chain(&new.summary.study.factors)
    {
        if !names.contains(&&factor.name) {
            names.push(&factor.name);
        }
    }
    let alone = |here: &BTreeSet<String>, there: &BTreeSet<String>, execution: &Findings| {
        let alone: Vec<&str> = here.difference(there).map(String::as_str).collect();
        (!alone.is_empty()).then(|| format!("{} in {} alone", alone.join(" or "), execution.name))
    };
    let differs = |name: &String| match (levels(old, name), levels(new, name)) {
        (Some(was), Some(is)) => {
            let both = [alone(&was, &is, old), alone(&is, &was, new)];
            let both: Vec<String> = both.into_iter().flatten().collect();
            (!both.is_empty()).then(|| format!("{name} is {}", both.join(", ")))
        }
        (Some(_), None) => Some(format!("{} alone has the factor {name}", old.name)),
        _ => Some(format!("{} alone has the factor {name}", new.name)),
    };
    names.into_iter().filter_map(differs).collect()
}
