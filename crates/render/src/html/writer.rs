//! A writer of HTML. Words are escaped unless they are given as HTML.

use crate::words::around;
use bitcost_model::shown;

/// The text of a page.
#[derive(Default)]
pub(crate) struct Html(String);

impl Html {
    /// Appends HTML.
    pub fn raw(&mut self, html: &str) -> &mut Html {
        self.0.push_str(html);
        self
    }

    /// Appends words, escaped.
    pub fn text(&mut self, words: &str) -> &mut Html {
        self.0.push_str(&escape(words));
        self
    }

    /// Appends an element with words, on its own line; `class` may be empty.
    pub fn element(&mut self, name: &str, class: &str, words: &str) -> &mut Html {
        let class = around(" class=\"", class, "\"");
        self.raw(&format!("<{name}{class}>"))
            .text(words)
            .raw(&format!("</{name}>\n"))
    }

    /// Appends a list of words.
    pub fn list(&mut self, all: impl IntoIterator<Item = impl AsRef<str>>) -> &mut Html {
        self.raw("<ul>\n");
        for words in all {
            self.element("li", "", words.as_ref());
        }
        self.raw("</ul>\n")
    }

    /// Appends a link that saves a text as a file.
    pub fn download(&mut self, file: &str, csv: &str) -> &mut Html {
        self.raw("<a class=\"save\" download=\"")
            .text(file)
            .raw("\" href=\"data:text/csv;charset=utf-8,")
            .raw(&percent_encoded(csv))
            .raw("\">Save ")
            .text(file)
            .raw("</a>\n")
    }

    pub fn finish(self) -> String {
        self.0
    }
}

/// Words escaped for HTML, for text and for attributes.
pub(crate) fn escape(words: &str) -> String {
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

/// A text as data of a link: what a link or an attribute would read as something else is in
/// hexadecimal.
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() + text.len() / 16);
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b',' | b'=' => {
                encoded.push(char::from(byte));
            }
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}
