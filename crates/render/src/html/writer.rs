//! A writer of HTML with the parts of which all sections consist: folds, tables, lists and pictures. Words are escaped
//! unless they are given as HTML.

use bitcost_model::shown;

use super::pictures::Picture;
use crate::block::Block;
use crate::lines::Lines;
use crate::words::around;

#[derive(Default)]
pub(crate) struct Html {
    text: String,
    pictures: usize,
}

impl Html {
    pub fn raw(&mut self, html: &str) -> &mut Html {
        self.text.push_str(html);
        self
    }

    pub fn text(&mut self, words: &str) -> &mut Html {
        self.text.push_str(&escape(words));
        self
    }

    /// Appends an element with words, on its own line; `class` may be empty.
    pub fn element(&mut self, name: &str, class: &str, words: &str) -> &mut Html {
        let class = around(" class=\"", class, "\"");
        self.raw(&format!("<{name}{class}>"))
            .text(words)
            .raw(&format!("</{name}>\n"))
    }

    pub fn list(&mut self, all: impl IntoIterator<Item = impl AsRef<str>>) -> &mut Html {
        self.raw("<ul>\n");
        for words in all {
            self.element("li", "", words.as_ref());
        }
        self.raw("</ul>\n")
    }

    /// Appends blocks, those that are items of a list as one list.
    pub fn blocks(&mut self, blocks: &[Block]) -> &mut Html {
        for group in blocks.chunk_by(|one, next| one.is_item() && next.is_item()) {
            let (open, close) = match &group[0] {
                Block::Verdict { .. } => ("<ul class=\"statements\">\n", "</ul>\n"),
                one if one.is_item() => ("<ul>\n", "</ul>\n"),
                _ => ("", ""),
            };
            self.raw(open);
            group.iter().for_each(|block| self.block(block));
            self.raw(close);
        }
        self
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Title(words) | Block::Heading(words) => self.element("h3", "", words),
            Block::Note(mark, words) if mark.is_empty() => self.element("p", "fine", words),
            Block::Note(mark, words) => {
                let mark = mark.trim_start_matches("- ").trim_end();
                self.raw("<li>");
                if !mark.is_empty() {
                    self.raw("<b>").text(mark).raw("</b> ");
                }
                self.text(words).raw("</li>\n")
            }
            Block::Table(caption, lines) => self.table(caption, lines),
            Block::Verdict {
                verdict,
                statement,
                figures,
            } => {
                self.raw("<li>").verdict(verdict).text(statement);
                self.raw("\n<ul>\n");
                for (verdict, words) in figures {
                    self.raw("<li>").verdict(verdict).text(words);
                    self.raw("</li>\n");
                }
                self.raw("</ul></li>\n")
            }
            Block::Gap => self,
        };
    }

    fn verdict(&mut self, verdict: &str) -> &mut Html {
        if verdict.is_empty() {
            return self;
        }
        let class = verdict.replace(' ', "_");
        self.raw(&format!("<b class=\"verdict {class}\">"))
            .text(verdict)
            .raw("</b> ")
    }

    /// Appends a part that is folded on screens and open in print; `words` say in a few words what is in it.
    pub fn fold(&mut self, title: &str, words: &str, write: impl FnOnce(&mut Html)) {
        self.raw("<details class=\"fold\">\n<summary><h2>")
            .text(title)
            .raw("</h2> <span>")
            .text(words)
            .raw("</span></summary>\n");
        write(self);
        self.raw("</details>\n");
    }

    /// Appends a table that scrolls on its own if it is wider than the page.
    pub fn table(&mut self, caption: &str, lines: &Lines) -> &mut Html {
        self.raw("<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"Table: ")
            .text(caption)
            .raw("\">\n<table>\n");
        if !caption.is_empty() {
            self.element("caption", "", caption);
        }
        // A column that is mostly words begins at its left.
        let class = |place: usize| {
            let all = lines.rows.iter().filter_map(|(_, row)| row.get(place));
            let (words, others): (Vec<&str>, Vec<&str>) = all
                .map(|words| words.trim())
                .filter(|words| !["", "-"].contains(words))
                .partition(|words| words.starts_with(char::is_alphabetic));
            match words.len() > others.len() {
                true => " class=\"words\"",
                false => "",
            }
        };
        let classes: Vec<&str> = (0..lines.header.len()).map(class).collect();
        self.raw("<thead><tr>");
        for (words, class) in lines.header.iter().zip(&classes) {
            self.raw(&format!("<th scope=\"col\"{class}>"))
                .text(words)
                .raw("</th>");
        }
        self.raw("</tr></thead>\n<tbody>\n");
        for (is_document, row) in &lines.rows {
            let class = if *is_document {
                " class=\"document\""
            } else {
                ""
            };
            self.raw(&format!("<tr{class}>"));
            for (place, words) in row.iter().enumerate() {
                let (open, close) = match place {
                    0 => ("<th scope=\"row\">".to_owned(), "</th>"),
                    _ => (
                        format!("<td{}>", classes.get(place).unwrap_or(&"")),
                        "</td>",
                    ),
                };
                self.raw(&open).text(words.trim()).raw(close);
            }
            self.raw("</tr>\n");
        }
        self.raw("</tbody>\n</table>\n</div>\n")
    }

    /// Appends a picture with its caption.
    pub fn figure(&mut self, picture: &Picture) {
        let number = self.pictures;
        self.pictures += 1;
        self.raw(&format!(
            "<figure aria-labelledby=\"p{number}\">\n<figcaption id=\"p{number}\"><strong>"
        ))
        .text(&picture.title)
        .raw("</strong> ")
        .text(&picture.caption);
        if let Some(note) = &picture.note {
            self.raw(" <em>").text(note).raw("</em>");
        }
        self.raw("</figcaption>\n");
        picture.chart.write(self, &picture.title);
        self.raw("</figure>\n");
    }

    pub fn finish(self) -> String {
        self.text
    }
}

fn escape(words: &str) -> String {
    let mut text = String::with_capacity(words.len());
    for letter in words.chars() {
        match letter {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            '\'' => text.push_str("&#39;"),
            letter => text.extend(shown(letter)),
        }
    }
    text
}
