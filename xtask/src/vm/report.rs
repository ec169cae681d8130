//! The reports of the machine: a line of JSON each on its second serial port, to which nothing else
//! writes.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Line {
    /// The machine is up.
    Up {
        /// The output of `uname -r`.
        kernel: String,
    },
    Check {
        name: String,
        outcome: Outcome,
        said: String,
        /// How long it took by the machine's clock, in milliseconds.
        took_ms: u64,
    },
    /// The machine asks for something that only its host can do.
    Ask(Ask),
    End {
        /// How many checks there were.
        checks: usize,
    },
}

/// What one of two machines asks of their host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Cut the link between both.
    CutLink,
    JoinLink,
    /// Boot the other machine, which is off or goes off now.
    BootOther,
}

/// The outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Ok,
    Failed,
    /// It could not be made.
    Skipped,
}

/// The reports so far.
#[derive(Debug, Default)]
pub struct Tally {
    counts: [usize; 3],
    announced: Option<usize>,
}

impl Tally {
    /// Takes a line and returns the text to print for it; a line that is no report is printed
    /// unchanged.
    pub fn hear(&mut self, text: &str) -> String {
        match serde_json::from_str(text) {
            Ok(Line::Up { kernel }) => format!("Linux {kernel} is up"),
            Ok(Line::Check {
                name,
                outcome,
                said,
                took_ms,
            }) => {
                self.counts[outcome as usize] += 1;
                let word = ["ok", "FAILED", "skipped"][outcome as usize];
                format!(
                    "{word:<8} {name} ({:.1} s): {said}",
                    took_ms as f64 / 1000.0
                )
            }
            Ok(Line::Ask(_)) => String::new(),
            Ok(Line::End { checks }) => {
                self.announced = Some(checks);
                String::new()
            }
            Err(_) => format!("? {text}"),
        }
    }

    /// Prints what [`Tally::hear`] makes of a line.
    pub fn print(&mut self, line: &str) {
        let text = self.hear(line);
        if !text.is_empty() {
            println!("{text}");
        }
    }

    /// Whether the report is complete and nothing failed.
    pub fn is_good(&self) -> bool {
        self.counts[Outcome::Failed as usize] == 0 && self.is_whole()
    }

    /// Whether the machine finished and each check was reported.
    pub fn is_whole(&self) -> bool {
        self.announced == Some(self.counts.iter().sum())
    }

    /// The counts, as a sentence.
    pub fn text(&self) -> String {
        let [ok, failed, skipped] = self.counts;
        let whole = if self.is_whole() {
            ""
        } else {
            "; THE REPORT IS NOT WHOLE"
        };
        format!("{ok} ok, {failed} failed, {skipped} skipped{whole}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(outcome: Outcome) -> String {
        let line = Line::Check {
            name: "fq".into(),
            outcome,
            said: "paced".into(),
            took_ms: 1500,
        };
        serde_json::to_string(&line).expect("JSON")
    }

    fn end(checks: usize) -> String {
        serde_json::to_string(&Line::End { checks }).expect("JSON")
    }

    #[test]
    fn only_a_whole_report_without_a_failure_is_good() {
        let mut tally = Tally::default();
        assert_eq!(
            tally.hear(&check(Outcome::Ok)),
            "ok       fq (1.5 s): paced"
        );
        assert!(!tally.is_good(), "cut off");
        tally.hear(&check(Outcome::Skipped));
        tally.hear(&end(2));
        assert!(tally.is_good());
        assert_eq!(tally.text(), "1 ok, 0 failed, 1 skipped");
        tally.hear(&check(Outcome::Failed));
        assert!(!tally.is_good() && !tally.is_whole());
        assert_eq!(
            tally.hear("[ 1.2] a kernel's line"),
            "? [ 1.2] a kernel's line"
        );
    }
}
