//! The sections of a chapter: tables, statements, bottlenecks, losses, caveats, hosts, and where the figures come from.

use bitcost_analysis::cells::RunRow;
use bitcost_analysis::checks::{ENOUGH_RUNS, Verdict};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::metrics::metric;
use bitcost_analysis::summary::{Summary, shown_metrics};
use bitcost_model::event::EndpointDescription;
use bitcost_model::units::counted;
use indexmap::IndexSet;

use super::writer::Html;
use crate::block::Block;
use crate::explained::{explanation_blocks, explanation_lines};
use crate::export::Source;
use crate::lines::Lines;
use crate::losses::losses as losses_of;
use crate::notes::notes;
use crate::statements::statements as statements_of;
use crate::tables::{COLUMNS, head, tables as all_tables};

/// The most runs whose losses have a table, and metrics that are above 0 where a run lost or retransmitted something.
const LOSSES: usize = 10;
const SIGNS: [&str; 3] = ["retransmits", "loss_pct", "requests_lost_pct"];

pub(crate) fn tables(page: &mut Html, summary: &Summary) {
    let metrics = counted(shown_metrics(summary).len(), "metric");
    let words = format!("{metrics} of {}", counted(summary.cells.len(), "cell"));
    page.fold("Table", &words, |page| {
        page.blocks(&head(summary))
            .blocks(&all_tables(summary, COLUMNS));
    });
}

/// Each statement with its verdict and figures; nothing if the study has none.
pub(crate) fn statements(page: &mut Html, summary: &Summary) {
    let checks = &summary.checks;
    if checks.is_empty() {
        return;
    }
    let counts = Verdict::ALL.iter().filter_map(|verdict| {
        let of = checks.iter().filter(|check| check.verdict == *verdict);
        Some((of.count(), verdict.name())).filter(|(count, _)| *count > 0)
    });
    let counts: Vec<String> = counts
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    page.fold("Statements of the document", &counts.join(", "), |page| {
        let words = format!(
            "In brackets the 95 % interval; one that reaches over a bound cannot tell, and neither can cells of fewer than {ENOUGH_RUNS} runs. One that fails is a finding about this machine, not an error."
        );
        page.blocks(&[Block::words(words)])
            .blocks(&statements_of(checks)[1..]);
    });
}

/// A line per cell, and the evidence with warnings.
pub(crate) fn explained(page: &mut Html, execution: &Findings) {
    let explanation = &execution.explanation;
    let words = "the evidence for each bottleneck";
    page.fold("What limited it", words, |page| {
        page.list(explanation_lines(explanation))
            .raw("<details><summary>The evidence</summary>\n")
            .blocks(&explanation_blocks(explanation, false))
            .raw("</details>\n");
    });
}

/// What became of lost and retransmitted packets, for the first runs that had some.
pub(crate) fn losses(page: &mut Html, execution: &Findings) {
    let is_marked = |row: &RunRow| {
        let mut signs = SIGNS.iter().filter_map(|name| row.value(metric(name)?));
        row.is_used() && signs.any(|value| value > 0.0)
    };
    // Of runs that were imported there are figures alone.
    let runs = execution.summary.runs.iter();
    let marked = runs.filter(|row| is_marked(row) && !execution.summary.is_imported);
    let marked: Vec<u32> = marked.map(|row| row.run).collect();
    if !marked.is_empty() {
        let first = &marked[..marked.len().min(LOSSES)];
        let mut words = counted(marked.len(), "run");
        if marked.len() > LOSSES {
            words += &format!(", of which the first {LOSSES} are shown");
        }
        page.fold("Losses", &words, |page| {
            execution.each_run(|row| first.contains(&row.run), &mut |row, _, view| {
                page.blocks(&[Block::Heading(format!("Run {}", row.run + 1))])
                    .blocks(&losses_of(view));
            });
        });
    }
}

pub(crate) fn remarks(page: &mut Html, summary: &Summary) {
    let notes = notes(summary);
    if !notes.is_empty() {
        page.fold("Caveats", &notes.len().to_string(), |page| {
            page.blocks(&notes);
        });
    }
}

/// The hosts with their settings, starting with those that differ between the endpoints.
pub(crate) fn hosts(page: &mut Html, summary: &Summary) {
    let ends = &summary.ends;
    if ends.is_empty() {
        return;
    }
    let place = |end: &EndpointDescription| format!("{} ({})", end.role.name(), end.place);
    let header = std::iter::once("host".to_owned()).chain(ends.iter().map(place));
    let facts: Vec<_> = ends.iter().map(|end| end.host.facts()).collect();
    let names = facts.iter().flatten().map(|(name, _)| name);
    let names = names.filter(|name| !DETAILS.iter().any(|detail| name.starts_with(detail)));
    let shown: IndexSet<&String> = names.collect();
    let value = |facts: &Vec<(String, String)>, name: &String| {
        let found = facts.iter().find(|(known, _)| known == name);
        found.map_or("not known".to_owned(), |(_, value)| value.clone())
    };
    let row = |name: &&String| {
        let values = facts.iter().map(|facts| value(facts, name));
        std::iter::once((*name).clone()).chain(values).collect()
    };
    let lines = Lines::new(header, shown.iter().map(row));
    let words = "kernel, processor and interface of both ends";
    page.fold("Hosts", words, |page| {
        if let [sender, receiver] = &ends[..] {
            let found = receiver.host.differences(&sender.host);
            let words = match found.is_empty() {
                true => "Both ends have the same kernel, processor, interface settings and sysctls.",
                false => "Differences between the ends (\u{201c}was\u{201d} is the sender, \u{201c}is\u{201d} the receiver):",
            };
            page.element("p", "", words);
            page.list(found);
        }
        page.table("Hosts", &lines);
    });
}

/// Facts that are shown only where they differ.
const DETAILS: [&str; 3] = ["feature ", "sysctl ", "mitigation "];

pub(crate) fn provenance(page: &mut Html, execution: &Findings, source: &Source) {
    let summary = &execution.summary;
    page.fold("Provenance", "study, seed, command, version, log", |page| {
        let rows: [(&str, String); 7] = [
            ("Execution", execution.name.clone()),
            ("Begun", summary.began_at.clone()),
            ("Command", summary.command_line.join(" ")),
            ("Version", summary.bitcost_version.clone()),
            ("Seed of the order", summary.seed.to_string()),
            ("Log", format!("{} ({} bytes)", source.path, source.bytes)),
            ("SHA-256 of the log", source.sha256.clone()),
        ];
        page.raw("<dl>\n");
        for (name, words) in rows {
            page.raw("<dt>")
                .text(name)
                .raw("</dt><dd><code>")
                .text(&words)
                .raw("</code></dd>\n");
        }
        page.raw("</dl>\n<details><summary>The study</summary>\n<pre tabindex=\"0\">")
            .text(&summary.study.text)
            .raw("</pre>\n</details>\n");
    });
}
