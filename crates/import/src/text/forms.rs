//! The forms of the lines that iperf3, iperf 2, nuttcp, nttcp and netperf print, and the words of a
//! line by the names that its form gives them.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// What a line is, its program, a part that every such line has, and what it looks like.
pub(super) struct Form {
    pub is: &'static str,
    pub tool: &'static str,
    mark: &'static str,
    pattern: Regex,
}

static FORMS: LazyLock<Vec<Form>> = LazyLock::new(|| {
    let lines = include_str!("forms.txt").lines();
    let form = |line: &'static str| {
        let mut parts = line.splitn(4, " | ");
        let [is, tool, mark, pattern] = [(); 4].map(|()| parts.next().unwrap_or_default());
        Form {
            is,
            tool,
            mark,
            pattern: Regex::new(pattern).expect("a pattern"),
        }
    };
    let lines = lines.filter(|line| !line.starts_with('#'));
    lines.map(form).collect()
});

/// A line that has a form, and its words by the names that the form gives them.
pub(super) struct Line<'a> {
    pub form: &'static Form,
    words: Captures<'a>,
}

impl<'a> Line<'a> {
    pub(super) fn of(text: &'a str) -> Option<Line<'a>> {
        // No line of theirs is longer.
        if text.len() > 1000 || text.contains("(omitted)") {
            return None;
        }
        let mut forms = FORMS.iter().filter(|form| text.contains(form.mark));
        forms.find_map(|form| {
            let words = form.pattern.captures(text)?;
            Some(Line { form, words })
        })
    }

    pub(super) fn word(&self, name: &str) -> Option<&'a str> {
        Some(self.words.name(name)?.as_str())
    }

    pub(super) fn number(&self, name: &str) -> Option<f64> {
        self.word(name)?.parse().ok()
    }

    /// Every word that is there, by its name.
    pub(super) fn words(&self) -> impl Iterator<Item = (&'static str, &'a str)> {
        let names = self.form.pattern.capture_names().flatten();
        names.filter_map(|name| Some((name, self.word(name)?)))
    }
}
