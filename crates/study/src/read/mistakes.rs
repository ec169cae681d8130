//! All mistakes of a study file at once: each part is read alone, so that a mistake in one hides none in another.

use crate::error::StudyError;

/// The mistakes that were found so far.
#[derive(Default)]
pub struct Mistakes(Vec<StudyError>);

impl Mistakes {
    /// The value that was read; a mistake is kept.
    pub fn take<T>(&mut self, read: Result<T, StudyError>) -> Option<T> {
        read.map_err(|mistake| self.0.push(mistake)).ok()
    }

    /// Keeps more of them.
    pub fn extend(&mut self, more: impl IntoIterator<Item = StudyError>) {
        self.0.extend(more);
    }

    /// Whether there is none so far.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them in the order of their lines.
    pub fn all(mut self) -> Vec<StudyError> {
        let place = |one: &StudyError| (one.line, one.column, one.message.clone());
        self.0.sort_by_cached_key(place);
        self.0.dedup();
        self.0
    }
}

#[cfg(test)]
mod tests {
    use crate::definition::Study;

    const STUDY: &str = include_str!("../../../../studies/not-all-mbits.toml");

    const METRICS: [&str; 3] = [
        "throughput_mbps",
        "send_service_demand_us_per_kib",
        "receive_service_demand_us_per_kib",
    ];

    /// Changes in the study, each of which is a mistake.
    const PLANTED: [[&str; 2]; 12] = [
        ["title = \"", "titel = \""],
        ["\ntopology = \"wire\"", "\ntopology = \"wir\""],
        ["\nmtu_bytes = 8896", "\nmtu_byte = 8896"],
        ["warmup_s = 0.25", "warmup_s = \"soon\""],
        ["duration_s = 2\n", "duraton_s = 2\n"],
        [
            "mss = \"message\", offloads = \"on\"",
            "mss = \"mesage\", offloads = \"on\"",
        ],
        ["blocks = 5\n", "blocks = 0\n"],
        ["rows = \"message_size_bytes\"", "rows = \"message_size\""],
        ["from = 1024, to = 8192", "from = 1024, to = 8193"],
        ["between = [1, 8]", "betwen = [1, 8]"],
        ["\nat_least = 1.5", "\nat_least = \"much\""],
        ["throughput_mbps = 4805", "troughput_mbps = 4805"],
    ];

    fn mistakes(text: &str) -> Vec<String> {
        let read = Study::read("s.toml", text, None, Some(&METRICS));
        let all = read.err().unwrap_or_default();
        all.iter().map(ToString::to_string).collect()
    }

    /// In the order of their lines; the title is missing as well, since its key is another word.
    #[test]
    fn all_mistakes_are_found_together() {
        assert!(mistakes(STUDY).is_empty(), "{:?}", mistakes(STUDY));
        let mut planted = STUDY.to_owned();
        for [right, wrong] in PLANTED {
            assert!(planted.contains(right), "{right}");
            planted = planted.replacen(right, wrong, 1);
        }
        insta::assert_snapshot!(mistakes(&planted).join("\n"));
    }
}
