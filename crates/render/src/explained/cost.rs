//! The cost of a message: a fixed part, and a part that grows with its bytes.

use bitcost_analysis::evenly::evenly;
use bitcost_analysis::explain::{CostModel, Unit};

/// The most sizes whose share of per-byte cost is given.
const SHARES: usize = 8;

/// A cost model, several lines.
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
         {}\n      {}\n      {}\n",
        formula(cost),
        cost.runs,
        parts_words(cost),
        share_words(cost),
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
    let [fixed, slope] = cost.parts_that_differ();
    match (cost.fit.equal_at(), fixed, slope) {
        (Some(equal), true, true) => {
            let bound = match cost.unit {
                Unit::Message => "the fixed cost of sending a message",
                Unit::Packet | Unit::Segment => "packet rate",
            };
            let below = if equal < 1e3 {
                format!("{equal:.0} B")
            } else {
                format!("{:.1} KB", equal / 1e3)
            };
            format!(
                "both parts are equal at {equal:.0} B: bound by {bound} below about {below}, by bytes above it"
            )
        }
        (_, false, true) => {
            format!("the part per {unit} does not differ from 0: bytes alone decide")
        }
        (_, true, false) => {
            format!("the part per byte does not differ from 0: each {unit} costs the same")
        }
        _ => format!(
            "neither part differs from 0: within these sizes, {unit}s and bytes cannot be distinguished"
        ),
    }
}

/// The share that grows with bytes, at each size, or at some of many.
fn share_words(cost: &CostModel) -> String {
    let places = &cost.fit.places;
    let share = |place: usize| {
        let size = places[place].0;
        format!("{size:.0} B {:.1} %", 100.0 * cost.per_byte_share(size))
    };
    let shares: Vec<String> = evenly(places.len(), SHARES).map(share).collect();
    format!("share of the cost per byte: {}", shares.join(", "))
}

fn fit_words(cost: &CostModel) -> String {
    let fit = &cost.fit;
    let (residual, place) = fit.largest_residual;
    let words = format!(
        "R² {:.4}, largest residual {:.1} % (at {place:.0} B), root mean square {:.1} %",
        fit.r_squared,
        100.0 * residual,
        100.0 * fit.relative_rms
    );
    match fit.lack_of_fit {
        None => format!("{words}; with one run per size, whether a line fits cannot be tested"),
        Some(lack) if !cost.fits() => format!(
            "{words}; a line does not fit (F {:.1}, p {:.2e}): read it as a rough guide",
            lack.f, lack.p
        ),
        Some(lack) => format!(
            "{words}; there is no evidence against a line (F {:.1}, p {:.2})",
            lack.f, lack.p
        ),
    }
}
