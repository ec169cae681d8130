//! From executions to one self-contained HTML file: the answer, tables, pictures, and how it was
//! measured.

mod changes;
mod contents;
mod experiments;
mod explained;
mod fold;
mod hosts;
mod losses;
mod mesh;
mod opening;
mod pictures;
mod profile;
mod runs;
mod sampled;
mod section;
mod spreads;
mod statements;
mod svg;
mod table;
mod time_series;
mod writer;

use bitcost_analysis::compare::Comparison;
use bitcost_analysis::findings::Findings;
use bitcost_analysis::summary::Summary;
use bitcost_model::units::counted;

use crate::export::{ExportError, Form, Input};
use crate::json::json;
use crate::provenance::{Maker, Source};
use pictures::Picture;
use writer::Html;

/// `--format html`.
pub(crate) const FORM: Form = Form {
    holds_caveats: true,
    names_sources: true,
    ..Form::new(
        "html",
        "One HTML file with tables and pictures, as `bitcost report` writes it",
        export,
    )
};

fn export(input: &Input) -> Result<String, ExportError> {
    Ok(page(
        input.executions,
        input.sources,
        input.between,
        input.maker,
    ))
}

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Nothing may be loaded from any address, whatever the page holds.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:";

/// The page. Every execution has its own chapter, which says where its log came from; if there are
/// several, `between` has the first compared with each other one, before them.
pub fn page(
    executions: &[Findings],
    sources: &[Source],
    between: &[Comparison],
    maker: &Maker,
) -> String {
    let mut page = Html::default();
    let title = match executions {
        [one] => one.summary.study.title.clone(),
        several => format!("{} executions", several.len()),
    };
    head(&mut page, &title);
    let mut drawn = 0;
    changes::chapter(&mut page, between, executions.len(), &mut drawn);
    for (number, (execution, source)) in executions.iter().zip(sources).enumerate() {
        let mut body = Html::default();
        chapter(&mut body, execution, source, &mut drawn);
        let name = (executions.len() > 1).then_some(execution.name.as_str());
        contents::chapter(&mut page, body, number, name);
    }
    end(page, maker)
}

fn end(mut page: Html, maker: &Maker) -> String {
    foot(&mut page, maker);
    page.raw("</main>\n");
    page.raw("<script>")
        .raw(SCRIPT)
        .raw("</script>\n</body>\n</html>\n");
    page.finish()
}

fn head(page: &mut Html, title: &str) {
    page.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"")
        .raw(POLICY)
        .raw("\">\n");
    page.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    page.raw("<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n");
    page.raw("<title>")
        .text(title)
        .raw("</title>\n<style>")
        .raw(STYLE)
        .raw("</style>\n</head>\n<body>\n");
    page.raw("<main id=\"top\">\n");
}

/// The chapter of an execution; `drawn` counts the pictures of the page.
fn chapter(page: &mut Html, execution: &Findings, source: &Source, drawn: &mut usize) {
    let (summary, explanation) = (&execution.summary, &execution.explanation);
    header(page, summary);
    experiments::ladder(page, execution, drawn);
    mesh::section(page, execution);
    let hero = pictures::hero(execution, explanation, *drawn).filter(|_| execution.mesh.is_none());
    let rest = match execution.mesh {
        Some(_) => Vec::new(),
        None => opening::opening(page, execution, hero.as_ref()),
    };
    time_series::why(page, summary);
    let is_used = summary.cells.iter().any(|cell| cell.runs > 0);
    if is_used {
        section::tables(page, execution, &rest);
    } else {
        page.element("p", "rest", &rest.join(" "));
    }
    if let Some(comparison) = &execution.comparison {
        changes::folded(page, comparison, drawn);
    }
    let mut pictures = match execution.mesh {
        Some(_) => Vec::new(),
        None => pictures::all(execution, explanation, *drawn),
    };
    *drawn += pictures.len();
    if let Some(hero) = &hero {
        pictures.retain(|picture| picture.file != hero.file);
    }
    let is_of_document = |picture: &Picture| picture.heading == pictures::DOCUMENT;
    let (of_document, others): (Vec<_>, Vec<_>) = pictures.into_iter().partition(is_of_document);
    statements::section(page, execution);
    statements::figures(page, summary, &of_document);
    if is_used {
        explained::section(page, explanation);
        experiments::elasticities(page, execution, drawn);
    }
    section::pictures(page, &others);
    if let Some(profiled) = &execution.profiled {
        profile::section(page, profiled);
    }
    time_series::seconds(page, summary);
    losses::section(page, execution);
    section::remarks(page, execution);
    hosts::section(page, execution);
    runs::section(page, execution);
    section::source(page, execution, source);
    document(page, execution);
    page.raw("</article>\n");
}

/// The document of `show --json`, for programs that read the page. No `<` in it can end its element.
fn document(page: &mut Html, execution: &Findings) {
    let document = json(execution).to_string().replace('<', "\\u003c");
    page.raw("<script type=\"application/json\" class=\"result\">")
        .raw(&document)
        .raw("</script>\n");
}

/// What was measured, where and when, and the question.
fn header(page: &mut Html, summary: &Summary) {
    let study = &summary.study;
    let mut words = vec![study.name.clone()];
    let runs = counted(summary.runs.len(), "run");
    words.push(format!(
        "{runs} in {}",
        counted(summary.blocks as usize, "block")
    ));
    words.push(summary.began_at.chars().take(10).collect());
    if let Some(end) = summary.ends.first() {
        let host = &end.host;
        words.push(counted(host.cpus.len(), "CPU"));
        words.extend(host.cpu_model.clone());
        let release = host.kernel.split(' ').next();
        words.extend(release.map(|release| format!("Linux {release}")));
    }
    let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
    page.raw("<article>\n<header>\n")
        .element("p", "kicker", &words.join(" \u{b7} "));
    let (heading, title) = if study.question.is_empty() {
        (&study.title, "")
    } else {
        (&study.question, study.title.as_str())
    };
    page.element("h1", "", heading);
    if !title.is_empty() {
        page.element("p", "question", title);
    }
    page.raw("</header>\n");
}

fn foot(page: &mut Html, maker: &Maker) {
    let command = maker.command_line.join(" ");
    page.raw("<footer>\n").element(
        "p",
        "",
        &format!("Made by bitcost {} at {}.", maker.version, maker.at),
    );
    page.raw("<p>Command: <code>")
        .text(&command)
        .raw("</code></p>\n</footer>\n");
}
