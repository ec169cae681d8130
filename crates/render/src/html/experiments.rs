//! Experiments on a test: the ladder of what makes it faster, and what its throughput follows.

use bitcost_analysis::explain::{Proof, Tried};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::frame::{Table, Value};
use bitcost_analysis::improve::{Goal, Ladder, Rung};
use bitcost_analysis::prove::LIMITS_FROM;
use bitcost_analysis::statistics::Interval;

use super::fold;
use super::pictures::{Drawn, Picture, bars, figures, finish};
use super::section::figure;
use super::svg::{Column, ColumnCell, Mark, Marks, Trace};
use super::table::table;
use super::writer::Html;
use crate::explained::{proof_effect, proof_sentence};
use crate::improve::{
    change, ladder_lines, ladder_paragraphs, ladder_sentences, limited_by, rate, unit,
};
use crate::number;

/// The least and the greatest width of a column of words.
const WORDS: (f64, f64) = (120.0, 250.0);

/// The ladder: the answer, its steps, and the table; `drawn` counts the pictures of the page.
pub(crate) fn ladder(page: &mut Html, execution: &Findings, drawn: &mut usize) {
    let Some(ladder) = &execution.ladder else {
        return;
    };
    page.element("p", "answer long", &ladder_sentences(ladder).join(" "));
    figure(page, &steps(ladder, *drawn));
    *drawn += 1;
    fold::open(page, "Ladder", "each step, and what was tried");
    table(page, "", "ladder", &ladder_lines(ladder));
    for (mark, words) in ladder_paragraphs(ladder) {
        page.element("p", "fine", &format!("{mark}{words}"));
    }
    fold::close(page);
}

/// What the throughput of the test follows.
pub(crate) fn elasticities(page: &mut Html, execution: &Findings, drawn: &mut usize) {
    let cell = execution.explanation.cells.first();
    let Some(proof) = cell.and_then(|cell| cell.proof.as_ref()) else {
        return;
    };
    let words = proof_sentence(proof);
    fold::open(page, "Experiments on the verdict", "");
    page.element("p", "", &words);
    if let Some(picture) = followed(proof, *drawn) {
        figure(page, &picture);
        *drawn += 1;
    }
    fold::close(page);
}

fn bar(place: usize, of: Interval, title: String) -> Mark {
    Mark::at(of.value, place as f64, Some(&of), title)
}

/// A row of numbers: a name, and a value with its bounds.
fn row(name: &str, of: Interval) -> Vec<Value> {
    [&[Value::from(name)][..], &figures(Some(&of))].concat()
}

fn table_of(name: &str, value: &str) -> Table {
    Table::new([name, value, "low", "high"].map(str::to_owned))
}

/// A bar for each perturbation whose resource has a size; absent where none has.
fn followed(proof: &Proof, number: usize) -> Option<Picture> {
    let sized = |one: &Tried| Some((one.changed.clone(), one.elasticity?, proof_effect(one)));
    let tried: Vec<_> = proof.tried.iter().filter_map(sized).collect();
    if tried.is_empty() {
        return None;
    }
    let mut numbers = table_of("perturbation", "elasticity");
    let mut marks = Vec::new();
    for (place, (name, elasticity, effect)) in tried.iter().enumerate() {
        numbers.rows.push(row(name, *elasticity));
        let title = format!("{effect}: elasticity {}", number::interval(elasticity));
        marks.push(bar(place, *elasticity, title));
    }
    let title = "Elasticity of the throughput to each resource.".to_owned();
    let names = tried.into_iter().map(|(name, ..)| name).collect();
    let trace = Trace::new("elasticity", 0, Marks::Bars(marks));
    let mut chart = bars(&title, "elasticity", names, vec![trace]);
    chart.panels[0].rules = vec![LIMITS_FROM];
    let caption = format!(
        "1: the throughput changes as much as the resource; 0: not at all. A resource whose whole interval is above {LIMITS_FROM} limits."
    );
    Some(drawn(
        number,
        "elasticities",
        (title, caption),
        chart,
        numbers,
    ))
}

/// A bar for each step, labelled with what was changed, next to what limits it.
fn steps(ladder: &Ladder, number: usize) -> Picture {
    let (rate_unit, divisor) = unit(ladder);
    let (what, shown_unit) = match ladder.goal {
        Goal::Rate => ("Rate", rate_unit),
        Goal::Cost => ("CPU time of both endpoints", ladder.cost_unit),
    };
    let of = |rung: &Rung| match ladder.goal {
        Goal::Rate => rate(rung, divisor),
        Goal::Cost => rung.cost.map(Interval::alone),
    };
    let mut numbers = table_of("change", shown_unit);
    let (mut marks, mut names) = (Vec::new(), Vec::new());
    for (place, rung) in ladder.rungs.iter().enumerate() {
        let name = match rung.change {
            None => "unchanged".to_owned(),
            Some(_) => format!("+ {}", change(rung)),
        };
        if let Some(value) = of(rung) {
            numbers.rows.push(row(&name, value));
            let words = format!("{name}: {} {shown_unit}", number::interval(&value));
            marks.push(bar(place, value, words));
        }
        names.push(name);
    }
    let title = format!("{what} of each step.");
    let trace = Trace::new(what, 0, Marks::Bars(marks));
    let mut chart = bars(&title, shown_unit, names, vec![trace]);
    chart.width = 960.0;
    chart.panels[0].columns = vec![limits(ladder)];
    let caption = "Each step has the changes of those above it.".to_owned();
    drawn(number, "ladder", (title, caption), chart, numbers)
}

fn limits(ladder: &Ladder) -> Column {
    let cell = |rung: &Rung| ColumnCell {
        value: None,
        words: limited_by(rung),
        title: rung.remedy.clone().unwrap_or_default(),
    };
    Column::wide("limited by", WORDS, ladder.rungs.iter().map(cell).collect())
}

fn drawn(
    number: usize,
    file: &str,
    (title, caption): (String, String),
    chart: super::svg::Chart,
    numbers: Table,
) -> Picture {
    let drawn = Drawn {
        file: file.to_owned(),
        title,
        caption,
        chart,
        numbers,
        sampled: None,
    };
    finish(number, "Experiments", drawn)
}
