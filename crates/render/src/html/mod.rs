//! From executions to one self-contained HTML file: the answer, tables, pictures, and how it was measured.

mod chart;
mod pictures;
mod sections;
mod writer;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bitcost_analysis::compare::Comparison;
use bitcost_analysis::findings::Findings;
use bitcost_model::conditions::Direction;
use bitcost_model::search::Goal;
use bitcost_model::units::counted;
use sha2::{Digest, Sha256};

use crate::answer::{answer, beside_answer, limiter_of, not_made};
use crate::comparison::{comparison, comparison_headline, comparison_tally};
use crate::document::json;
use crate::experiment::{ladder_answer, ladder_blocks};
use crate::export::{Maker, Source};
use crate::mesh::{mesh, mesh_sentence};
use crate::one_cell::one_cell;
use pictures::Picture;
use writer::Html;

const STYLE: &str = include_str!("page.css");

/// A Content Security Policy by which the page's own style is applied and nothing else is: no script runs, and nothing is
/// loaded from or sent to any address, whatever the page holds (CSP3, 2.3.1: sources by hash).
fn policy() -> String {
    let style = STANDARD.encode(Sha256::digest(STYLE));
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; img-src data:; form-action 'none'; base-uri 'none'"
    )
}

/// The length in bytes up to which an answer is set in large letters.
const SHORT: usize = 180;

/// The page. Every execution has its own chapter, which says where its log came from; if there are several, `between`
/// has the first compared with each other one, before them.
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
    if executions.len() > 1 {
        page.raw("<nav class=\"contents\" aria-label=\"Contents\">\n<ul>\n");
        for (number, execution) in executions.iter().enumerate() {
            page.raw(&format!("<li><a href=\"#chapter{number}\">"))
                .text(&format!("{}. {}", number + 1, execution.name))
                .raw("</a></li>\n");
        }
        page.raw("</ul>\n</nav>\n");
    }
    changes(&mut page, between);
    for (number, (execution, source)) in executions.iter().zip(sources).enumerate() {
        page.raw(&format!("<article id=\"chapter{number}\">\n"));
        chapter(&mut page, execution, source);
        page.raw("</article>\n");
    }
    page.raw("<footer>\n")
        .element(
            "p",
            "",
            &format!("Made by bitcost {} at {}.", maker.version, maker.at),
        )
        .raw("<p>Command: <code>")
        .text(&maker.command_line.join(" "))
        .raw("</code></p>\n</footer>\n</main>\n</body>\n</html>\n");
    page.finish()
}

fn head(page: &mut Html, title: &str) {
    page.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
        .raw(&format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n", policy()))
        .raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
        .raw("<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n<title>")
        .text(title)
        .raw(&format!("</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main id=\"top\">\n"));
}

/// What changed from the first execution to each other one.
fn changes(page: &mut Html, between: &[Comparison]) {
    if between.is_empty() {
        return;
    }
    page.raw("<article>\n").element("h1", "", "What changed");
    for one in between {
        page.element("p", "answer", &comparison_headline(one))
            .blocks(&comparison(one, true)[1..]);
    }
    page.raw("</article>\n");
}

fn chapter(page: &mut Html, execution: &Findings, source: &Source) {
    let summary = &execution.summary;
    header(page, execution);
    if let Some(ladder) = &execution.ladder {
        page.element("p", "answer long", &ladder_answer(ladder));
        page.blocks(&ladder_blocks(ladder));
    }
    let mut pictures = Vec::new();
    if let Some(of) = &execution.mesh {
        page.element("p", "answer long", &mesh_sentence(of));
        page.blocks(&mesh(of, u16::MAX));
    } else {
        pictures = pictures::all(execution);
        if execution.ladder.is_none() {
            let first = pictures::first(execution);
            opening(page, execution, first.as_ref());
            let title = first.map(|first| first.title);
            let is_first = |(_, one): &(_, Picture)| title.as_ref() == Some(&one.title);
            if let Some(place) = pictures.iter().position(is_first) {
                pictures.remove(place);
            }
        }
    }
    if summary.has_used() && execution.single().is_none() {
        sections::tables(page, summary);
    }
    if let Some(of) = &execution.comparison {
        let title = format!("From {} to {}", of.old, of.new);
        page.fold(&title, &comparison_tally(of), |page| {
            page.blocks(&comparison(of, true));
        });
    }
    sections::statements(page, summary);
    if summary.has_used() {
        sections::explained(page, execution);
    }
    for of_kind in pictures.chunk_by(|one, next| one.0 == next.0) {
        let count = counted(of_kind.len(), "picture");
        page.fold(of_kind[0].0, &count, |page| {
            of_kind.iter().for_each(|(_, picture)| page.figure(picture));
        });
    }
    sections::losses(page, execution);
    sections::remarks(page, summary);
    sections::hosts(page, summary);
    sections::provenance(page, execution, source);
    // The document of `show --json`, for programs that read the page. No `<` in it can end its element.
    let document = json(execution).to_string().replace('<', "\\u003c");
    page.raw("<script type=\"application/json\" class=\"result\">")
        .raw(&document)
        .raw("</script>\n");
}

/// What was measured, where and when, and the question.
fn header(page: &mut Html, execution: &Findings) {
    let summary = &execution.summary;
    let study = &summary.study;
    let all = summary.runs.len();
    let runs = match not_made(summary) {
        0 => counted(all, "run"),
        missing => format!("{} of {}", all - missing, counted(all, "run")),
    };
    let mut words = vec![study.name.clone(), runs];
    words.push(summary.began_at.chars().take(10).collect());
    if let Some(end) = summary.ends.first() {
        let host = &end.host;
        words.push(counted(host.cpus.len(), "CPU"));
        words.extend(host.cpu_model.clone());
        let release = host.kernel.split(' ').next();
        words.extend(release.map(|release| format!("Linux {release}")));
    }
    words.retain(|word| !word.is_empty());
    page.raw("<header>\n")
        .element("p", "kicker", &words.join(" \u{b7} "));
    let question = match execution.ladder.as_ref().map(|ladder| ladder.goal) {
        Some(Goal::Rate) => "What makes this test faster?",
        Some(Goal::Cost) => "What makes this test cheaper?",
        None => &study.question,
    };
    let (first, second) = match question.is_empty() {
        true => (&*study.title, ""),
        false => (question, &*study.title),
    };
    page.element("h1", "", first)
        .element("p", "question", second);
    page.raw("</header>\n");
}

/// What a chapter opens with: the answer, what belongs to it, and a picture.
fn opening(page: &mut Html, execution: &Findings, first: Option<&Picture>) {
    let mut sentence = answer(execution);
    let single = execution.single();
    let blocks = match &single {
        Some(single) => {
            if single.first.conditions.direction == Direction::Both {
                sentence.truncate(sentence.trim_end_matches('.').len());
                sentence += " forward.";
            }
            sentence += &format!(" Bottleneck: {}.", limiter_of(single.limiter));
            one_cell(execution, single, false)
        }
        None => beside_answer(execution),
    };
    let class = match sentence.len() > SHORT {
        true => "answer long",
        false => "answer",
    };
    page.element("p", class, &sentence).blocks(&blocks);
    if let Some(first) = first {
        page.figure(first);
    }
}
