//! The reference page of all keys.

use super::key::{Key, Table};
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
    &LAB_FILE,
    &LAB,
    &LINK,
    &SHAPING,
];

/// The fewest keys that a table shares with one above it for their names to stand for their rows.
const FEWEST_SHARED: usize = 3;

/// The page, as Markdown: a section for each table, a row for each key.
pub fn markdown() -> String {
    let mut text = String::from(
        "# Keys of study files and lab files\n\n\
         A study is a TOML file: `bitcost studies new` writes one with comments, `bitcost plan FILE` reports every mistake in it, and an editor completes it by `bitcost studies schema study`. \
         Keys in bold are required. The settings of `[workload]` and of levels \
         are in [settings](settings.md), the metrics in [metrics](metrics.md).\n",
    );
    let all = PAGE;
    for (index, table) in all.iter().enumerate() {
        text += &format!("\n## {}\n\n{}\n", table.link(), table.about);
        let mut above = all[..index].iter();
        let other = above.find(|other| shared(table, other).len() >= FEWEST_SHARED);
        let there = other.map_or(Vec::new(), |other| shared(table, other));
        let own = table.keys.iter().filter(|key| !there.contains(&key.name));
        let rows: String = own.map(row).collect();
        text += &format!("\n| key | value | what it means |\n|---|---|---|\n{rows}");
        if let Some(other) = other {
            let names = there.join("`, `");
            text += &format!("| `{names}` | as in {} | |\n", other.link());
        }
    }
    text
}

/// The names of the keys that a table has with the same meaning as another one.
fn shared(table: &Table, other: &Table) -> Vec<&'static str> {
    let rows: Vec<String> = other.keys.iter().map(row).collect();
    let keys = table.keys.iter().filter(|key| rows.contains(&row(key)));
    keys.map(|key| key.name).collect()
}

fn row(key: &Key) -> String {
    let name = match key.is_required {
        true => format!("**`{}`**", key.name),
        false => format!("`{}`", key.name),
    };
    let [value, about] =
        [key.form.allowed(), key.about.to_owned()].map(|cell| cell.replace('|', "\\|"));
    format!("| {name} | {value} | {about} |\n")
}
