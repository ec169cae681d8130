//! What is printed: blocks, built once, and printed as text and in Markdown. Pages print the same blocks.

use crate::layout::{LABEL, paragraph};
use crate::lines::Lines;
use crate::markdown_table::escape;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Block {
    Title(String),
    Heading(String),
    /// Words after a mark, such as `note: `, to which their further lines are indented; it may be empty.
    Note(String, String),
    /// A table with the words above it, which may be empty.
    Table(String, Lines),
    /// A statement with its verdict, and each of its figures with its own.
    Verdict {
        verdict: &'static str,
        statement: String,
        figures: Vec<(&'static str, String)>,
    },
    Gap,
}

impl Block {
    pub fn words(words: impl Into<String>) -> Block {
        Block::Note(String::new(), words.into())
    }

    /// `throughput   10.5 Gbit/s`.
    pub fn labelled(label: &str, words: impl Into<String>) -> Block {
        Block::Note(format!("{label:<LABEL$}"), words.into())
    }

    /// Whether it is an item of a list in Markdown and on pages.
    pub(crate) fn is_item(&self) -> bool {
        match self {
            Block::Note(mark, _) => !mark.is_empty(),
            Block::Verdict { .. } => true,
            _ => false,
        }
    }

    /// Whether an empty line stands between it and the next block of a text.
    fn is_apart(&self, next: &Block) -> bool {
        let is_wide = |block: &Block| matches!(block, Block::Table(..));
        match (self, next) {
            (Block::Gap, _) => false,
            (_, Block::Heading(_) | Block::Title(_) | Block::Gap) => true,
            (Block::Heading(_) | Block::Title(_), _) => false,
            _ => is_wide(self) || is_wide(next),
        }
    }

    fn text(&self, columns: u16) -> String {
        let width = usize::from(columns);
        match self {
            Block::Title(words) | Block::Heading(words) => paragraph("", words, width),
            Block::Note(mark, words) => paragraph(mark, &one_line(words), width),
            Block::Table(caption, lines) => {
                let caption = match caption.is_empty() {
                    true => String::new(),
                    false => paragraph("", caption, width),
                };
                caption + &lines.text(columns)
            }
            Block::Verdict {
                verdict,
                statement,
                figures,
            } => {
                let indent = " ".repeat(VERDICT + 4);
                let figures = figures.iter().map(|(verdict, words)| {
                    paragraph(&indent, &format!("{}{words}", marked(verdict)), width)
                });
                let verdict = format!("{verdict:<VERDICT$}  ");
                paragraph(&verdict, statement, width) + &figures.collect::<String>()
            }
            Block::Gap => String::new(),
        }
    }

    fn markdown(&self) -> String {
        let item = |mark: &str, words: &str| {
            let words = format!("{}{words}", mark.trim_start_matches("- "));
            format!("- {}\n", escape(words.trim()))
        };
        match self {
            Block::Title(words) => format!("## {}\n", escape(words)),
            Block::Heading(words) => format!("### {}\n", escape(words)),
            Block::Note(mark, words) if mark.is_empty() => format!("{}\n", escape(words)),
            Block::Note(mark, words) => item(&format!("{} ", mark.trim_end()), words),
            Block::Table(caption, lines) => {
                let caption = match caption.is_empty() {
                    true => String::new(),
                    false => format!("{}\n\n", escape(caption)),
                };
                caption + &lines.markdown()
            }
            Block::Verdict {
                verdict,
                statement,
                figures,
            } => {
                let figures = figures.iter();
                let figures = figures.map(|(verdict, words)| item(&marked(verdict), words));
                item(&format!("{verdict}: "), statement) + &figures.collect::<String>()
            }
            Block::Gap => String::new(),
        }
    }
}

/// The width of a verdict, in columns.
const VERDICT: usize = "cannot tell".len();

/// A verdict before the words that it is about; nothing where it is that of the statement.
fn marked(verdict: &str) -> String {
    match verdict.is_empty() {
        true => String::new(),
        false => format!("{verdict}: "),
    }
}

/// Words from other people's logs on one line.
fn one_line(words: &str) -> String {
    words.replace(char::is_control, "\u{fffd}")
}

/// The blocks as text of lines of at most this many columns, where words allow.
pub fn text(blocks: &[Block], columns: u16) -> String {
    let mut text = String::new();
    for (place, block) in blocks.iter().enumerate() {
        if place > 0 && blocks[place - 1].is_apart(block) {
            text.push('\n');
        }
        text += &block.text(columns);
    }
    text
}

/// The blocks in Markdown. Words from a study or a host are escaped.
pub fn markdown(blocks: &[Block]) -> String {
    let mut text = String::new();
    let blocks: Vec<&Block> = blocks.iter().filter(|of| **of != Block::Gap).collect();
    for (place, block) in blocks.iter().enumerate() {
        let is_in_list = place > 0 && blocks[place - 1].is_item() && block.is_item();
        if place > 0 && !is_in_list {
            text.push('\n');
        }
        text += &block.markdown();
    }
    text
}
