//! What is printed of an execution: the blocks of its text and its Markdown, in their order.

use bitcost_analysis::findings::Findings;
use bitcost_analysis::summary::Summary;

use crate::block::{Block, markdown, text};
use crate::comparison::comparison;
use crate::experiment::{improved, searches};
use crate::export::{Form, each};
use crate::layout::NARROW;
use crate::mesh::{mesh, mesh_sentence};
use crate::notes::{caveats, notes};
use crate::one_cell::one_cell;
use crate::profile::profile;
use crate::statements::statements;
use crate::tables::{COLUMNS, head, tables};

/// The least width of a column of figures, in characters.
const COLUMN: u16 = 9;

pub(crate) const TEXT: Form = Form {
    name: "text",
    help: "Tables for people",
    holds_caveats: true,
    export: |input| {
        Ok(each(input, |execution| {
            let width = match execution.single() {
                Some(_) => input.width.min(NARROW),
                None => input.width,
            };
            text(&report(execution, input.verbose, width), width)
        }))
    },
};

pub(crate) const MARKDOWN: Form = Form {
    name: "md",
    help: "Markdown, for pull requests",
    holds_caveats: true,
    export: |input| {
        Ok(each(input, |execution| {
            markdown(&report(execution, true, PAGE))
        }))
    },
};

/// The width for which Markdown is made.
const PAGE: u16 = COLUMN * COLUMNS as u16;

/// The answer of a single cell; of several, tables and the study's comparison. Of changes that make a test faster and
/// of many hosts their own answer, unless everything is requested.
pub fn report(execution: &Findings, is_verbose: bool, width: u16) -> Vec<Block> {
    let (summary, study) = (&execution.summary, &execution.summary.study);
    let ladder = execution.ladder.as_ref();
    let ladder = ladder.map(|of| improved(of, execution));
    if let Some(blocks) = ladder.as_ref().filter(|_| !is_verbose) {
        return blocks.iter().cloned().chain(caveats(summary)).collect();
    }
    if let Some(of) = execution.mesh.as_ref().filter(|_| !is_verbose) {
        let title = Block::Title(format!("{}: {}", study.name, study.title));
        return [title, Block::words(mesh_sentence(of))]
            .into_iter()
            .chain(mesh(of, width))
            .chain(caveats(summary))
            .collect();
    }
    let profiled = execution.profiled.as_ref();
    let profiled = profiled.map_or_else(Vec::new, |of| profile(of, usize::from(width / COLUMN)));
    let (mut blocks, others) = match execution.single() {
        Some(single) => {
            let cell = one_cell(execution, &single, is_verbose);
            (profiled, [cell, ladder.unwrap_or_default(), Vec::new()])
        }
        None => {
            let compared = execution.comparison.as_ref();
            let compared = compared.map(|compared| comparison(compared, true));
            let compared = compared.unwrap_or_default();
            (
                of_summary(summary, width),
                [profiled, searches(execution), compared],
            )
        }
    };
    others
        .into_iter()
        .for_each(|more| append(&mut blocks, more));
    blocks
}

/// The tables with what stands above and below them.
pub fn of_summary(summary: &Summary, width: u16) -> Vec<Block> {
    let study = &summary.study;
    let mut blocks = vec![Block::Title(format!("{}: {}", study.name, study.title))];
    blocks.push(Block::words(&*study.question));
    blocks.extend(head(summary));
    blocks.extend(tables(summary, usize::from(width / COLUMN)));
    append(&mut blocks, notes(summary));
    append(&mut blocks, statements(&summary.checks));
    blocks
}

fn append(blocks: &mut Vec<Block>, more: Vec<Block>) {
    if !more.is_empty() && !blocks.is_empty() {
        blocks.push(Block::Gap);
    }
    blocks.extend(more);
}
