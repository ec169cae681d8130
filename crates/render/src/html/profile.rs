//! Where the time goes: the tables by layer.

use bitcost_analysis::profile::Profiled;
use bitcost_model::units::counted;

use super::fold;
use super::table::table;
use super::writer::Html;
use crate::profile::{HEADING, profile_paragraphs, profile_tables};
use crate::tables::COLUMNS;

/// The section.
pub(crate) fn section(page: &mut Html, profiled: &Profiled) {
    let cells = counted(profiled.cells.len(), "cell");
    fold::open(page, HEADING, &format!("by layer of the kernel, {cells}"));
    for (title, lines) in profile_tables(profiled, COLUMNS) {
        page.element("h3", "", &title);
        table(page, "", &title, &lines);
    }
    for words in profile_paragraphs(profiled) {
        page.element("p", "fine", &words);
    }
    fold::close(page);
}
