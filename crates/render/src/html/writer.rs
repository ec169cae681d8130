//! A writer of HTML. Words are escaped unless they are given as HTML.

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
        let class = if class.is_empty() {
            String::new()
        } else {
            format!(" class=\"{class}\"")
        };
        self.raw(&format!("<{name}{class}>"))
            .text(words)
            .raw(&format!("</{name}>\n"))
    }

    /// Appends data for the page's script: it is never markup, whatever it contains.
    pub fn data(&mut self, id: &str, json: &serde_json::Value) -> &mut Html {
        let text = json
            .to_string()
            .replace('<', "\\u003c")
            .replace('\u{2028}', "\\u2028")
            .replace('\u{2029}', "\\u2029");
        self.raw(&format!(
            "<script type=\"application/json\" id=\"{id}\">{text}</script>\n"
        ))
    }

    /// Appends a button that saves a text as a file.
    pub fn download(&mut self, id: &str, file: &str, csv: &str) -> &mut Html {
        self.raw(&format!(
            "<button type=\"button\" class=\"save\" data-from=\"{id}\">Save "
        ))
        .text(file)
        .raw("</button>\n");
        self.data(id, &serde_json::json!({ "file": file, "text": csv }))
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
