//! The cost of a message: a fixed part, and a part that grows with its bytes.

use bitcost_analysis::explain::CostModel;

pub(super) fn cost_text(cost: &CostModel) -> String {
    let (spent, unit) = (cost.spent.title(), cost.unit.name());
    if !cost.tells() {
        let fit = fit_words(cost);
        return format!("cost: {spent} per {unit}: no line through these sizes: {fit}\n");
    }
    let (fixed, slope) = (
        cost.fit.intercept.with_places(0),
        cost.fit.slope.with_places(3),
    );
    format!(
        "cost: {spent}: {}\n      \
         95 % intervals over {} runs: {fixed} ns per {unit} and {slope} ns per byte\n      \
         {}\n      {}\n",
        formula(cost),
        cost.runs,
        parts_words(cost),
        fit_words(cost)
    )
}

/// `1447 ns per packet + 0.26 ns per byte`.
pub(super) fn formula(cost: &CostModel) -> String {
    let (fixed, slope) = (cost.fit.intercept.value, cost.fit.slope.value);
    let unit = cost.unit.name();
    format!("{fixed:.0} ns per {unit} + {slope:.2} ns per byte")
}

/// Which of the two parts differ from 0, and the size at which they are equal.
fn parts_words(cost: &CostModel) -> String {
    let unit = cost.unit.name();
    match (cost.fit.equal_at(), cost.parts_that_differ()) {
        (Some(equal), [true, true]) => format!(
            "both parts are equal at {equal:.0} B: below it the number of {unit}s decides, above it bytes"
        ),
        (_, [false, true]) => {
            format!("the part per {unit} does not differ from 0: bytes alone decide")
        }
        (_, [true, false]) => {
            format!("the part per byte does not differ from 0: each {unit} costs the same")
        }
        _ => format!("these sizes do not distinguish {unit}s from bytes"),
    }
}

fn fit_words(cost: &CostModel) -> String {
    let fit = &cost.fit;
    let (residual, place) = fit.largest_residual;
    let words = format!(
        "R² {:.4}, largest residual {:.1} % (at {place:.0} B)",
        fit.r_squared,
        100.0 * residual
    );
    match fit.lack_of_fit {
        None => format!("{words}; one run per size does not show whether a line fits"),
        Some(_) if cost.fits() => words,
        Some(lack) => format!(
            "{words}; a line does not fit (p {:.2e}): a rough guide",
            lack.p
        ),
    }
}
