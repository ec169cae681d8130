//! The sections of a chapter: answer, tables, pictures, remarks, and where the figures come from.

use crate::notes::notes;
use crate::tables::{COLUMNS, tables as all_tables};
use crate::text::head;
use bitcost_analysis::findings::Findings;
use bitcost_analysis::summary::shown_metrics;
use bitcost_model::units::counted;

use crate::html::fold;
use crate::html::pictures::Picture;
use crate::html::spreads;
use crate::html::table::table;
use crate::html::writer::Html;
use crate::provenance::Source;

/// The most rows with which a table is unfolded.
const UNFOLDED: usize = 60;

/// The tables, after what the opening leaves of the answer.
pub(crate) fn tables(page: &mut Html, execution: &Findings, rest: &[String]) {
    let shown = shown_metrics(&execution.summary).len();
    let words = format!(
        "{} of {}",
        counted(shown, "metric"),
        counted(execution.summary.cells.len(), "cell")
    );
    fold::open(page, "Table", &words);
    page.element("p", "rest", &rest.join(" "));
    for line in head(&execution.summary).iter().skip(1) {
        page.element("p", "fine", line);
    }
    for tables in all_tables(&execution.summary, COLUMNS) {
        page.element("h3", "", &tables.title);
        for (place, lines) in &tables.tables {
            let caption = place.as_deref().unwrap_or("");
            let rows = lines.rows.len();
            if rows > UNFOLDED {
                page.raw(&format!("<details><summary>{rows} rows</summary>\n"));
            }
            table(
                page,
                caption,
                format!("{} {caption}", tables.title).trim(),
                lines,
            );
            if rows > UNFOLDED {
                page.raw("</details>\n");
            }
        }
    }
    spreads::section(page, &execution.summary);
    fold::close(page);
}

/// The pictures, a fold for each kind.
pub(crate) fn pictures(page: &mut Html, pictures: &[Picture]) {
    for of_kind in pictures.chunk_by(|one, next| one.heading == next.heading) {
        let count = counted(of_kind.len(), "picture");
        fold::open(page, of_kind[0].heading, &count);
        for picture in of_kind {
            figure(page, picture);
        }
        fold::close(page);
    }
}

/// A picture with its caption and its numbers.
pub(crate) fn figure(page: &mut Html, picture: &Picture) {
    let id = &picture.id;
    page.raw(&format!(
        "<figure aria-labelledby=\"{id}-title\">\n<figcaption id=\"{id}-title\"><strong>"
    ));
    page.text(&picture.title)
        .raw("</strong> ")
        .text(&picture.caption);
    if let Some(note) = &picture.sampled {
        page.raw(" <em>").text(note).raw("</em>");
    }
    page.raw("</figcaption>\n");
    picture.chart.write(page, id);
    page.download(&format!("{}.csv", picture.file), &picture.csv);
    page.raw("</figure>\n");
}

pub(crate) fn remarks(page: &mut Html, execution: &Findings) {
    let notes = notes(&execution.summary);
    let count = match notes.len() {
        0 => String::new(),
        count => count.to_string(),
    };
    fold::open(page, "Caveats", &count);
    if notes.is_empty() {
        let settings = if execution.summary.is_imported {
            ""
        } else {
            ", with all settings in effect"
        };
        page.element(
            "p",
            "",
            &format!("Every run has its place in the table{settings}."),
        );
    }
    page.raw("<ul>\n");
    for note in notes {
        let mark = note.mark.trim_start_matches("- ");
        page.raw("<li><b>")
            .text(mark)
            .raw("</b>")
            .text(&note.words)
            .raw("</li>\n");
    }
    page.raw("</ul>\n");
    fold::close(page);
}

pub(crate) fn source(page: &mut Html, execution: &Findings, source: &Source) {
    let summary = &execution.summary;
    fold::open(page, "Provenance", "study, seed, command, version, log");
    page.raw("<dl>\n");
    let seed = summary.seed.to_string();
    let log = format!("{} ({} bytes)", source.path, source.bytes);
    let rows: [(&str, &str); 7] = [
        ("Execution", &execution.name),
        ("Begun", &summary.began_at),
        ("Command", &summary.command_line.join(" ")),
        ("Version", &summary.bitcost_version),
        ("Seed of the order", &seed),
        ("Log", &log),
        ("SHA-256 of the log", &source.sha256),
    ];
    for (name, words) in rows {
        page.raw("<dt>")
            .text(name)
            .raw("</dt><dd><code>")
            .text(words)
            .raw("</code></dd>\n");
    }
    page.raw("</dl>\n<details><summary>The study</summary>\n<pre tabindex=\"0\">")
        .text(&summary.study.text);
    page.raw("</pre></details>\n");
    fold::close(page);
}
