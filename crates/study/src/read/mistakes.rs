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
    use super::*;
    use crate::definition::Study;

    const STUDY: &str = include_str!("../../../../studies/not-all-mbits.toml");

    const METRICS: [&str; 3] = [
        "throughput_mbps",
        "send_service_demand_us_per_kib",
        "receive_service_demand_us_per_kib",
    ];

    /// Changes in the study, each with a part of the sentence that it must cause.
    const PLANTED: [[&str; 3]; 12] = [
        [
            "title = \"",
            "titel = \"",
            "unknown key `titel`; did you mean `title`?",
        ],
        [
            "\ntopology = \"wire\"",
            "\ntopology = \"wir\"",
            "unknown lab `wir`",
        ],
        [
            "\nmtu_bytes = 8896",
            "\nmtu_byte = 8896",
            "unknown key `mtu_byte` in [lab]",
        ],
        ["warmup_s = 0.25", "warmup_s = \"soon\"", "`warmup_s`"],
        [
            "duration_s = 2\n",
            "duraton_s = 2\n",
            "unknown setting `duraton_s`; did you mean `duration_s`",
        ],
        [
            "mss = \"message\", offloads = \"on\"",
            "mss = \"mesage\", offloads = \"on\"",
            "`mss`",
        ],
        ["blocks = 5\n", "blocks = 0\n", "`blocks` is 0"],
        [
            "rows = \"message_size_bytes\"",
            "rows = \"message_size\"",
            "unknown factor `message_size`",
        ],
        [
            "from = 1024, to = 8192",
            "from = 1024, to = 8193",
            "unknown level `8193`",
        ],
        [
            "between = [1, 8]",
            "betwen = [1, 8]",
            "unknown key `betwen`",
        ],
        ["\nat_least = 1.5", "\nat_least = \"much\"", "`at_least`"],
        [
            "throughput_mbps = 4805",
            "troughput_mbps = 4805",
            "unknown metric `troughput_mbps`",
        ],
    ];

    fn mistakes(text: &str) -> Vec<StudyError> {
        let read = Study::read("s.toml", text, None, Some(&METRICS));
        read.err().unwrap_or_default()
    }

    #[test]
    fn a_study_without_a_mistake_has_none() {
        let all = mistakes(STUDY);
        assert!(all.is_empty(), "{all:#?}");
    }

    #[test]
    fn each_planted_mistake_is_found_alone_and_all_are_found_together() {
        let mut all_planted = STUDY.to_owned();
        for [right, wrong, _] in PLANTED {
            assert!(all_planted.contains(right), "{right}");
            all_planted = all_planted.replacen(right, wrong, 1);
        }
        let together = mistakes(&all_planted);
        for [right, wrong, sentence] in PLANTED {
            let alone = mistakes(&STUDY.replacen(right, wrong, 1));
            let of_it = |found: &[StudyError]| {
                found
                    .iter()
                    .filter(|mistake| mistake.message.contains(sentence))
                    .count()
            };
            assert_eq!(of_it(&alone), 1, "{wrong}: {alone:#?}");
            assert_eq!(of_it(&together), 1, "{wrong}: {together:#?}");
        }
        // The title is missing as well, since its key is another word.
        assert!(together.len() <= PLANTED.len() + 3, "{together:#?}");
        assert!(together.is_sorted_by_key(|mistake| mistake.line));
    }
}
