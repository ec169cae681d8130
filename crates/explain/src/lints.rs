//! What is doubtful about the result of a study: one sentence each, with the remedy.

use serde_json::{Value, json};

/// A doubt about a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lint {
    /// Which check found it.
    pub name: &'static str,
    /// The cell, or nothing where it is of all.
    pub cell: String,
    /// What was found, with its numbers.
    pub found: String,
    /// What to do.
    pub remedy: &'static str,
}

impl Lint {
    /// One line.
    pub fn line(&self) -> String {
        let cell = if self.cell.is_empty() { String::new() } else { format!("{}: ", self.cell) };
        format!("doubt: {cell}{}; {}\n", self.found, self.remedy)
    }

    /// For programs.
    pub fn json(&self) -> Value {
        json!({ "lint": self.name, "cell": self.cell, "found": self.found, "remedy": self.remedy })
    }
}
