//! The ladder of what makes a test faster.

use bitcost_analysis::experiment::{Ladder, Rung};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::statistics::Interval;
use bitcost_model::search::Goal;

use super::pictures::{Bars, Picture, Series};
use super::writer::Html;
use crate::improve::{
    change, ladder_lines, ladder_paragraphs, ladder_sentences, limited_by, rate, unit,
};

/// The ladder: the answer, its steps, and the table.
pub(crate) fn ladder(page: &mut Html, execution: &Findings) {
    let Some(ladder) = &execution.ladder else {
        return;
    };
    page.element("p", "answer long", &ladder_sentences(ladder).join(" "));
    page.figure(&steps(ladder));
    page.fold("Ladder", "each step, and what was tried", |page| {
        page.table("Ladder", &ladder_lines(ladder));
        for (mark, words) in ladder_paragraphs(ladder) {
            page.element("p", "fine", &format!("{mark}{words}"));
        }
    });
}

/// A bar for each step, labelled with what was changed, next to what limits it.
fn steps(ladder: &Ladder) -> Picture {
    let (rate_unit, divisor) = unit(ladder);
    let (what, shown_unit) = match ladder.goal {
        Goal::Rate => ("Rate", rate_unit),
        Goal::Cost => ("CPU time of both endpoints", ladder.cost_unit()),
    };
    let value = |rung: &Rung| match ladder.goal {
        Goal::Rate => rate(rung, divisor),
        Goal::Cost => rung.cost.map(Interval::alone),
    };
    let name = |rung: &Rung| match rung.change {
        None => "unchanged".to_owned(),
        Some(_) => format!("+ {}", change(rung)),
    };
    let rungs = &ladder.rungs;
    let bars = Bars {
        file: "ladder".to_owned(),
        title: format!("{what} of each step."),
        caption: "Each step has the changes of those above it.".to_owned(),
        unit: shown_unit.to_owned(),
        names: rungs.iter().map(name).collect(),
        series: vec![Series::new(what, rungs.iter().map(value).collect())],
        columns: vec![(
            "limited by".to_owned(),
            rungs.iter().map(limited_by).collect(),
        )],
        ..Bars::default()
    };
    bars.draw()
}
