//! The bill of an execution: its table, and a stacked bar for each endpoint.

use bitcost_analysis::bill::{Bill, EndBill};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::frame::{Table, Value};
use bitcost_analysis::statistics::Interval;

use super::fold;
use super::pictures::{Drawn, Picture, bars, figures, finish};
use super::section::figure;
use super::svg::{Legend, Mark, Marks, Trace};
use super::table::table;
use super::writer::Html;
use crate::bill::{bill_lines, bill_paragraphs, bill_sentences, does};
use crate::number;

/// The section; `drawn` counts the pictures of the page.
pub(crate) fn section(page: &mut Html, execution: &Findings, drawn: &mut usize) {
    let Some(bill) = &execution.bill else { return };
    page.element("p", "answer long", &bill_sentences(bill).join(" "));
    figure(page, &picture(bill, *drawn));
    *drawn += 1;
    let words = format!("CPU time of a {}", bill.of);
    fold::open(page, "Bill", &words);
    table(page, "", "bill", &bill_lines(bill));
    for words in bill_paragraphs(bill) {
        page.element("p", "fine", &words);
    }
    fold::close(page);
}

/// The parts of an endpoint with a cost above 0, which have a place in its bar, and the rest.
fn stacked(end: &EndBill) -> Vec<(&'static str, &Interval)> {
    let parts = end.paid().map(|(entry, cost)| (entry.title, cost));
    let rest = end.unexplained.iter().map(|rest| ("unexplained", rest));
    parts.chain(rest).collect()
}

fn picture(bill: &Bill, number: usize) -> Picture {
    let unit = format!("µs/{}", bill.of);
    let ends = bill.ends.iter();
    let names: Vec<String> = ends.map(|end| does(bill, end.end).to_owned()).collect();
    let mut numbers = Table::new(["endpoint", "part", "us", "low", "high"].map(str::to_owned));
    let mut traces: Vec<Trace> = Vec::new();
    for (place, end) in bill.ends.iter().enumerate() {
        let mut from = 0.0;
        for (title, cost) in stacked(end) {
            let name = [names[place].as_str(), title].map(Value::from);
            numbers
                .rows
                .push([&name[..], &figures(Some(cost))].concat());
            // What costs less than nothing has no place in a bar; the table has it.
            if cost.value <= 0.0 {
                continue;
            }
            let words = format!(
                "{title} {}: {} {unit}",
                names[place],
                number::interval(cost)
            );
            let mark = Mark {
                from,
                ..Mark::at(from + cost.value, place as f64, None, words)
            };
            from += cost.value;
            match traces.iter_mut().find(|trace| trace.name == title) {
                Some(Trace {
                    marks: Marks::Bars(marks),
                    ..
                }) => marks.push(mark),
                _ => traces.push(Trace::new(title, traces.len(), Marks::Bars(vec![mark]))),
            }
        }
    }
    let title = format!("CPU time of a {} by part.", bill.of);
    let mut chart = bars(&title, &unit, names, traces);
    chart.legend = Legend::Traces;
    let caption = "Parts with a negative cost are not drawn.".to_owned();
    finish(
        number,
        "Bill",
        Drawn {
            file: "bill".to_owned(),
            title,
            caption,
            chart,
            numbers,
            sampled: None,
        },
    )
}
