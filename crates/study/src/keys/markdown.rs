//! The reference page of all keys.

use super::key::Table;
use super::tables::{
    ANSWER, CHECK, CLAIM, COMPARE, EXPECT, FACTOR, IMPROVEMENT, LAB, LAB_FILE, LENGTHS, LINK, MESH,
    PICTURE, REPORT, RUN, SHAPING, STUDY, TABLE,
};

/// The tables of the page, in order. Those of a study's `[lab]` are those of a lab file.
pub(super) const PAGE: [&Table; 18] = [
    &STUDY,
    &MESH,
    &FACTOR,
    &RUN,
    &LENGTHS,
    &TABLE,
    &IMPROVEMENT,
    &COMPARE,
    &ANSWER,
    &REPORT,
    &PICTURE,
    &CHECK,
    &CLAIM,
    &EXPECT,
    &LAB,
    &LAB_FILE,
    &LINK,
    &SHAPING,
];

/// The page, as Markdown: a section for each table, a row for each key.
pub fn markdown() -> String {
    let mut text = String::from(
        "# Keys of study files and lab files\n\n\
         A study is a TOML file: `bitcost studies new` writes one with comments, `bitcost plan FILE` reports every mistake in it, and an editor completes it by `bitcost studies schema study`. \
         Keys in bold are required. The settings of `[workload]` and of levels \
         are in [settings](settings.md), the metrics in [metrics](metrics.md).\n",
    );
    for table in PAGE {
        text += &format!(
            "\n## {}\n\n{}\n\n| key | value | what it means |\n|---|---|---|\n",
            table.link(),
            table.about
        );
        for key in table.keys {
            let name = match key.is_required {
                true => format!("**`{}`**", key.name),
                false => format!("`{}`", key.name),
            };
            let cells =
                [key.form.allowed(), key.about.to_owned()].map(|cell| cell.replace('|', "\\|"));
            text += &format!("| {name} | {} | {} |\n", cells[0], cells[1]);
        }
    }
    text
}
