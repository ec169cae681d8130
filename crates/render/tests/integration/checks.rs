//! A document's statements on made-up runs: which pass, which fail, and which cannot be decided.

use crate::common::*;

const RATIO: &str = "metric = \"throughput_mbps\"\nratio = [{ message_size_bytes = 8192 }, { message_size_bytes = 1024 }]\n";
const VALUE: &str = "metric = \"throughput_mbps\"\nvalue = { message_size_bytes = 1024, transport = \"UDP\" }\nat_least = 1050";
const UNKNOWN: &str = "metric = \"rtt_us\"\nvalue = {}\nat_most = 1";

/// What is printed at the end of a statement with these claims on this number of blocks, in which the
/// runs of the cells that have any are twice as fast at 8192 bytes.
fn stated(claims: &[&str], blocks: u32, has_runs: impl Fn(&Cell) -> bool) -> String {
    let claims: String = claims
        .iter()
        .map(|lines| format!("[[check.claim]]\n{lines}\n"))
        .collect();
    let study = format!("{STUDY}[[check]]\nstatement = \"A statement\"\n{claims}");
    let printed = text(&log(&study, blocks, |cell, run| match has_runs(cell) {
        true => ended(cell, &plain(cell, run)),
        false => Made::Missing,
    }));
    let begin = "Statements of the document, tested on these runs\n";
    let (_, statements) = printed.split_once(begin).expect("statements");
    format!("{blocks} blocks:\n{claims}\n{statements}\n")
}

#[test]
fn statements_stand_at_the_end_with_verdicts_and_figures() {
    let all = |_: &Cell| true;
    let some =
        |cell: &Cell| !(is(cell, "message_size_bytes", "8192") && is(cell, "transport", "TCP"));
    let ratio = |bounds: &str| format!("{RATIO}{bounds}");
    let bounds = [
        "between = [1.5, 2.5]",
        "at_least = 2",
        "at_most = 1.9",
        "between = [2.1, 3]",
    ];
    let mut found = bounds
        .map(|bounds| stated(&[&ratio(bounds)], 5, all))
        .concat();
    let (good, bad) = (ratio("at_least = 1"), ratio("at_least = 3"));
    let several: [&[&str]; 4] = [
        &[VALUE],
        &[&good, &bad],
        &[&good, UNKNOWN],
        &[&bad, UNKNOWN],
    ];
    for claims in several {
        found += &stated(claims, 5, all);
    }
    for blocks in [1, 2] {
        found += &stated(&[&good], blocks, all);
    }
    found += &stated(&[&good], 3, some);
    insta::assert_snapshot!(found);
}
