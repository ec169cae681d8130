//! A bill as text, Markdown and JSON: what a KiB or a transaction costs at each endpoint, and what of.

use bitcost_analysis::bill::{Bill, Cost, EndBill, Entry};
use bitcost_analysis::statistics::Interval;
use bitcost_model::record::Role;
use bitcost_model::units::{DIGITS, decimals};
use serde_json::{Map, Value, json};

use crate::layout::{TextOptions, heading, paragraph};
use crate::lines::Lines;
use crate::number;

/// How the parts were found, below the table.
const ORDER: &str = "Parts are subtracted in this order. Each is measured without the parts above it that a setting can remove; interactions between parts are in unexplained.";

/// The mark of what the run does not pay.
const ADDED: &str = "+ ";

/// What the mark means, below the table.
const ADDS: &str = "A + marks work that this run does not do, with the CPU time that it would add.";

/// The words for what an endpoint does.
pub(crate) fn does(bill: &Bill, end: Role) -> &'static str {
    match (bill.of, end) {
        ("transaction", Role::Sender) => "at the client",
        ("transaction", Role::Receiver) => "at the server",
        (_, Role::Sender) => "to send",
        (_, Role::Receiver) => "to receive",
    }
}

/// The answer: the cost at each endpoint, and the largest part of each.
pub fn bill_sentences(bill: &Bill) -> Vec<String> {
    let of = |end: &EndBill| {
        let whole = end.whole.as_ref().ok()?;
        Some((number::known(whole), does(bill, end.end)))
    };
    let costs: Vec<(String, &str)> = bill.ends.iter().filter_map(of).collect();
    let mut said = vec![match &costs[..] {
        [] => format!("The CPU time of a {} is not known.", bill.of),
        [(cost, does), others @ ..] => {
            let other = |(cost, does): &(String, &str)| format!(" and {cost} µs {does}");
            let others: String = others.iter().map(other).collect();
            format!("A {} takes {cost} µs of CPU time {does}{others}.", bill.of)
        }
    }];
    said.extend(bill.ends.iter().filter_map(|end| largest(bill, end)));
    said
}

/// `The largest part to receive: copies, 37 %.` Of a part whose interval reaches zero nothing is said.
fn largest(bill: &Bill, end: &EndBill) -> Option<String> {
    let whole = end.whole.as_ref().ok()?;
    let rest = end.unexplained.as_ref().map(|rest| ("unexplained", rest));
    let parts = end.paid().map(|(entry, cost)| (entry.title, cost));
    let mut parts: Vec<(&str, &Interval)> = parts.chain(rest).collect();
    parts.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
    let is_clear = |cost: &Interval| cost.low.is_some_and(|low| low > 0.0);
    let does = does(bill, end.end);
    let place = parts.iter().position(|(_, cost)| is_clear(cost));
    let Some(place) = place else {
        return Some(format!(
            "No part {does} is larger than its uncertainty: repeat it on a quiet machine, or with more --blocks."
        ));
    };
    let (title, cost) = parts[place];
    let share = 100.0 * cost.value / whole.value;
    let which = if place == 0 {
        ""
    } else {
        " of those that are clear"
    };
    Some(format!(
        "The largest part {does}{which}: {title}, {share:.0} %."
    ))
}

/// The table: the whole, its parts, the rest, and what the run does not pay.
pub(crate) fn bill_lines(bill: &Bill) -> Lines {
    let unit = format!("µs/{}", bill.of);
    let [send, receive] = bill.ends.each_ref().map(|end| does(bill, end.end));
    let mut rows = vec![row("whole".to_owned(), bill, "", |end| {
        end.whole.as_ref().ok()
    })];
    let entries = bill.ends[0].entries.iter().enumerate();
    let (paid, added): (Vec<_>, Vec<_>) = entries.partition(|(_, entry)| entry.is_paid);
    let of_entry = |(place, entry): &(usize, &Entry)| {
        let costs = bill.ends.iter().map(|end| end.entries[*place].known());
        costs.flatten().next()?;
        let title = match entry.is_paid {
            true => entry.title.to_owned(),
            false => format!("{ADDED}{}", entry.title),
        };
        Some(row(title, bill, &entry.by, |end| {
            end.entries[*place].known()
        }))
    };
    rows.extend(paid.iter().filter_map(of_entry));
    rows.push(row("unexplained".to_owned(), bill, "the rest", |end| {
        end.unexplained.as_ref()
    }));
    rows.extend(added.iter().filter_map(of_entry));
    Lines::new([&unit, send, receive, "by"], rows)
}

fn row<'a>(
    title: String,
    bill: &'a Bill,
    by: &str,
    of: impl Fn(&'a EndBill) -> Option<&'a Interval>,
) -> Vec<String> {
    let figure = |end: &'a EndBill| {
        let places = end
            .whole
            .as_ref()
            .map_or(DIGITS, |whole| decimals(whole.value, DIGITS));
        of(end).map_or_else(|| "-".to_owned(), |cost| cost.with_places(places))
    };
    let [send, receive] = bill.ends.each_ref().map(figure);
    vec![title, send, receive, by.to_owned()]
}

/// `not measured: copies: UDP has no mode without copies` for each part without a figure.
fn missing(bill: &Bill) -> Vec<String> {
    let [send, receive] = &bill.ends;
    let why = |end: &EndBill, place: usize| match &end.entries[place].cost {
        Cost::Missing(why) => Some(why.clone()),
        Cost::Known(_) | Cost::OfOtherEnd => None,
    };
    let wholes = bill.ends.iter().filter_map(|end| {
        let why = end.whole.as_ref().err()?;
        Some(format!("not measured: cost {}: {why}", does(bill, end.end)))
    });
    let mut said: Vec<String> = wholes.collect();
    for (place, entry) in send.entries.iter().enumerate() {
        match (why(send, place), why(receive, place)) {
            (Some(one), Some(other)) if one == other => {
                said.push(format!("not measured: {}: {one}", entry.title));
            }
            (one, other) => {
                let ends = [(one, send), (other, receive)];
                said.extend(ends.into_iter().filter_map(|(why, end)| {
                    let (title, does) = (entry.title, does(bill, end.end));
                    Some(format!("not measured: {title} {does}: {}", why?))
                }));
            }
        }
    }
    said
}

/// The bill as text. The answer comes last, where it stays on the screen.
pub fn bill_text(bill: &Bill, title: &str, options: TextOptions) -> String {
    let width = usize::from(options.width);
    let mut text = heading(title, options);
    text.push('\n');
    text += &bill_lines(bill).text(options.width);
    for line in bill_paragraphs(bill) {
        text += &paragraph("", &line, width);
    }
    text.push('\n');
    text + &paragraph("", &bill_sentences(bill).join(" "), width)
}

/// The lines below the table: what it means, and what was not measured.
pub(crate) fn bill_paragraphs(bill: &Bill) -> Vec<String> {
    let order = [ORDER, ADDS].map(str::to_owned);
    order.into_iter().chain(missing(bill)).collect()
}

/// The bill as JSON: `of`, and for each of `ends` (`sender`, `receiver`) `whole`, `parts` in the order
/// of subtraction, `unexplained` and `would_add`, in µs with bounds. A part that was not measured has
/// `not_measured` with the reason.
pub fn bill_json(bill: &Bill) -> Value {
    let mut ends = Map::new();
    for end in &bill.ends {
        let list = |is_paid: bool| {
            let entries = end.entries.iter().filter(|entry| entry.is_paid == is_paid);
            Value::Array(entries.filter_map(entry_json).collect())
        };
        let document = json!({
            "whole": figure_json(end.whole.as_ref().map_err(|why| &why.0)),
            "parts": list(true),
            "unexplained": end.unexplained.as_ref().map(|rest| figure_json(Ok(rest))),
            "would_add": list(false),
        });
        ends.insert(end.end.name().to_owned(), document);
    }
    json!({ "of": bill.of, "unit": "us", "ends": ends })
}

fn entry_json(entry: &Entry) -> Option<Value> {
    let mut document = match &entry.cost {
        Cost::Known(cost) => figure_json(Ok(cost)),
        Cost::Missing(why) => figure_json(Err(why)),
        Cost::OfOtherEnd => return None,
    };
    document["part"] = entry.name.into();
    if !entry.by.is_empty() {
        document["by"] = entry.by.clone().into();
    }
    Some(document)
}

fn figure_json(figure: Result<&Interval, &String>) -> Value {
    match figure {
        Ok(Interval { value, low, high }) => json!({ "us": value, "low": low, "high": high }),
        Err(why) => json!({ "not_measured": why }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(value: f64, low: f64, high: f64) -> Interval {
        Interval {
            value,
            low: Some(low),
            high: Some(high),
        }
    }

    /// A bill whose ends have these parts: copies, packets.
    fn bill(parts: [Interval; 2]) -> Bill {
        let titles = ["copies", "packets"];
        let entry = |(title, cost): (&'static str, Interval)| Entry {
            name: title,
            title,
            by: String::new(),
            is_paid: true,
            cost: Cost::Known(cost),
        };
        let end = |end| EndBill {
            end,
            whole: Ok(interval(1.0, 0.9, 1.1)),
            entries: titles.into_iter().zip(parts).map(entry).collect(),
            unexplained: Some(interval(0.1, -0.1, 0.3)),
        };
        Bill {
            of: "KiB",
            ends: [end(Role::Sender), end(Role::Receiver)],
        }
    }

    #[test]
    fn the_largest_part_is_one_whose_interval_does_not_reach_zero() {
        let said = |parts| bill_sentences(&bill(parts))[1].clone();
        let (clear, unclear) = (interval(0.3, 0.2, 0.4), interval(0.7, -0.5, 2.0));
        assert_eq!(
            said([clear, interval(0.5, 0.4, 0.6)]),
            "The largest part to send: packets, 50 %."
        );
        assert_eq!(
            said([clear, unclear]),
            "The largest part to send of those that are clear: copies, 30 %."
        );
        assert!(said([unclear, unclear]).starts_with("No part to send is larger"));
    }
}
