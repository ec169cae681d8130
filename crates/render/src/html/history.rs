//! The page of a history: what changed, each metric's series as a picture and a table, and what limits them.

use bitcost_analysis::history::History;
use bitcost_model::units::counted;

use crate::history::{answer, lines, method, remarks};
use crate::html::contents;
use crate::html::fold;
use crate::html::pictures;
use crate::html::section;
use crate::html::table::table;
use crate::html::writer::Html;

/// The chapter of the page.
pub(crate) fn chapter(page: &mut Html, history: &History) {
    let mut body = Html::default();
    body.raw("<article>\n<header>\n")
        .element("h1", "", "What changed, and when")
        .raw("</header>\n<section>\n")
        .element("h2", "", "Change points");
    for said in answer(history) {
        body.element("p", "answer", &said.head);
        list(&mut body, &said.series);
    }
    body.element("p", "fine", &method(history));
    list(&mut body, &remarks(history));
    for point in &history.points {
        let [before, after] = point.between.map(|number| &history.executions[number].name);
        body.element("h3", "", &format!("Between {before} and {after}"));
        let machine = point.machine.iter().flatten();
        list(
            &mut body,
            &point
                .differences
                .iter()
                .chain(machine)
                .cloned()
                .collect::<Vec<_>>(),
        );
    }
    body.raw("</section>\n");
    for picture in pictures::of_history(history) {
        section::figure(&mut body, &picture);
    }
    let series = format!("{} series", history.series.len());
    fold::open(&mut body, "Every series", &series);
    for (metric, lines) in lines(history) {
        table(&mut body, "", metric.title, &lines);
    }
    fold::close(&mut body);
    executions(&mut body, history);
    body.raw("</article>\n");
    contents::chapter(page, body, 0, None);
}

fn executions(body: &mut Html, history: &History) {
    fold::open(
        body,
        "Executions",
        &counted(history.executions.len(), "execution"),
    );
    let said = history.executions.iter().enumerate();
    let said = said.map(|(number, one)| format!("{}: {}, {}", number + 1, one.began_at, one.name));
    list(body, &said.collect::<Vec<_>>());
    fold::close(body);
}

fn list(body: &mut Html, all: &[String]) {
    if all.is_empty() {
        return;
    }
    body.raw("<ul>\n");
    all.iter().for_each(|words| {
        body.element("li", "", words);
    });
    body.raw("</ul>\n");
}
