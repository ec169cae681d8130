//! One run as the file of another program reports it.

use std::collections::BTreeMap;

use bitcost_model::harmless;
use bitcost_model::imported::ImportedRun;
use bitcost_model::study::Label;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    pub levels: BTreeMap<String, Label>,
    pub run: ImportedRun,
    /// The error that the program reports; the run then counts as failed.
    pub error: Option<String>,
}

impl Found {
    pub(crate) fn of(tool: &str, file: &str) -> Found {
        Found {
            run: ImportedRun {
                tool: tool.to_owned(),
                file: file.to_owned(),
                ..ImportedRun::default()
            },
            ..Found::default()
        }
    }

    pub(crate) fn level(&mut self, factor: &str, label: Label) {
        let label = match label {
            Label::Text(words) => Label::Text(harmless(&words)),
            number => number,
        };
        self.levels.insert(harmless(factor), label);
    }

    /// Drops figures such as `1e999`, which have no meaning and which JSON cannot represent.
    pub(crate) fn drop_infinite(&mut self) {
        self.run.figures.retain(|_, value| value.is_finite());
        self.run
            .intervals
            .retain(|interval| interval.begin_s.is_finite() && interval.end_s.is_finite());
        for interval in &mut self.run.intervals {
            interval.figures.retain(|_, value| value.is_finite());
        }
    }

    pub(crate) fn figure(&mut self, metric: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.run.figures.insert(metric.to_owned(), value);
        }
    }

    pub(crate) fn fact(&mut self, name: &str, words: impl ToString) {
        self.run
            .facts
            .insert(harmless(name), harmless(&words.to_string()));
    }
}
