//! `bitcost lab show`: a running lab as it now is.

use bitcost_lab::registry::Description;
use bitcost_lab::state::Change;
use bitcost_model::shaping::show_shaping;
use bitcost_render::layout::folded_text;

use crate::failure::Failure;
use crate::output::{self, columns};

/// Indent of further lines of a link, after the drawing's own.
const HANGING: usize = 4;

#[derive(clap::Args)]
pub struct Arguments {
    /// Name of the lab [default: the only one that is running]
    name: Option<String>,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let lab = super::running::named(arguments.name.as_deref(), "name one: bitcost lab show")?;
    output::print(&text(&lab))
}

/// The drawing of a lab, and its changes; as wide as the terminal, if it is for one.
pub fn text(lab: &Description) -> String {
    let mut text = bitcost_lab::draw(&lab.state.topology);
    if !lab.state.changes.is_empty() {
        text += "\nchanged since it was built\n";
    }
    for change in &lab.state.changes {
        let Change {
            at,
            device,
            from,
            to,
        } = change;
        let [from, to] = [from, to].map(show_shaping);
        text += &format!("{at}  {device}: {from} → {to}\n");
    }
    match columns() {
        Some(width) => text.lines().map(|line| branch(line, width)).collect(),
        None => text,
    }
}

/// A line of the drawing, broken between words at the width; further lines continue its branches.
fn branch(line: &str, width: u16) -> String {
    let words = line.trim_start_matches([' ', '│', '├', '└', '─']);
    let mark = &line[..line.len() - words.len()];
    let stem = mark.replace('├', "│").replace(['└', '─'], " ");
    let left = width.saturating_sub(mark.chars().count() as u16);
    let folded = folded_text(words, left, HANGING);
    let mut lines = folded.lines();
    let first = lines.next().unwrap_or_default();
    let rest = lines.map(|line| format!("{stem}{line}\n"));
    format!("{mark}{first}\n{}", rest.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_broken_between_words_and_its_branch_continues() {
        let line = "│  ├─ s1-eth2 ── s2-eth2   → 100 Mbit/s, delay 20 ms";
        assert_eq!(
            branch(line, 40),
            "│  ├─ s1-eth2 ── s2-eth2 → 100 Mbit/s,\n│  │      delay 20 ms\n"
        );
        assert_eq!(branch("h1  10.0.0.1/24", 40), "h1  10.0.0.1/24\n");
    }
}
