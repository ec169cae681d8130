//! `nuttcp -v`: lines of each endpoint, `nuttcp-t: ` of the sender and `nuttcp-r: ` of the
//! receiver, in words or, with `-fparse`, as `name=value`.

use bitcost_model::record::Role;
use bitcost_model::study::Label;

use crate::Found;

/// A line of an endpoint, without its name.
pub(super) fn line(text: &str) -> Option<(Role, &str)> {
    let sender = text
        .strip_prefix("nuttcp-t: ")
        .map(|rest| (Role::Sender, rest));
    sender.or_else(|| Some((Role::Receiver, text.strip_prefix("nuttcp-r: ")?)))
}

/// The results of both endpoints up to now.
pub(super) struct Verbose {
    found: Found,
    /// The endpoints that started, in their order.
    ends: Vec<Role>,
}

impl Verbose {
    pub(super) fn new(file: &str, line: u64) -> Verbose {
        let mut found = Found::of("nuttcp", file);
        found.run.place = Some(format!("line {line}"));
        Verbose {
            found,
            ends: Vec::new(),
        }
    }

    /// True where this line starts another output: an endpoint that has started starts again.
    pub(super) fn is_another(&self, end: Role, rest: &str) -> bool {
        rest.ends_with(": socket") && self.ends.contains(&end)
    }

    pub(super) fn take(&mut self, end: Role, rest: &str) {
        if let Some(version) = rest.strip_suffix(": socket") {
            self.found.run.tool_version = Some(version.trim_start_matches('v').to_owned());
            self.ends.push(end);
            return;
        }
        let words = Words::of(rest);
        if rest.contains("real seconds = ") || words.number("real_seconds").is_some() {
            let metric = if end == Role::Sender {
                "send_throughput_mbps"
            } else {
                "throughput_mbps"
            };
            self.found.figure(
                metric,
                words.number("rate_Mbps").or_else(|| words.before("Mbps")),
            );
        }
        self.found.figure(
            "loss_pct",
            words.number("data_loss").or_else(|| words.before("data")),
        );
        if rest.starts_with("retrans") {
            self.found.figure("retransmits", words.number("retrans"));
        }
        self.settings(rest, &words);
    }

    fn settings(&mut self, rest: &str, words: &Words) {
        for (name, factor) in [
            ("buflen", "message_size_bytes"),
            ("nstream", "flows"),
            ("mss", "mss_bytes"),
        ] {
            if let Some(number) = words.number(name) {
                self.found.level(factor, Label::Number(number as i64));
            }
        }
        if let Some(rate) = rest
            .strip_prefix("rate limit = ")
            .and_then(|_| words.before("Mbps"))
        {
            self.found
                .level("rate_bps", Label::Number((rate * 1e6) as i64));
        }
        for protocol in ["tcp", "udp"] {
            if rest.starts_with("buflen") && words.has(protocol) {
                self.found
                    .level("protocol", Label::Text(protocol.to_owned()));
            }
        }
        if let Some(rtt) = words.number("rtt_ms").or_else(|| words.number("RTT")) {
            self.found.fact("rtt_at_begin_ms", rtt);
        }
    }

    /// True where both endpoints have reported their results.
    pub(super) fn is_complete(&self) -> bool {
        ["send_throughput_mbps", "throughput_mbps"]
            .iter()
            .all(|name| self.found.run.figures.contains_key(*name))
    }

    /// The run. The endpoint that requested it comes first.
    pub(super) fn finish(mut self) -> Found {
        if let Some(first) = self.ends.first() {
            let direction = if *first == Role::Sender {
                "forward"
            } else {
                "reverse"
            };
            self.found
                .level("direction", Label::Text(direction.to_owned()));
        }
        if self.found.run.figures.is_empty() {
            self.found.error =
                Some("neither end tells a result: the test was broken off".to_owned());
        }
        self.found
    }
}

/// The words of a line; `name = 5` is `name=5`.
struct Words(Vec<String>);

impl Words {
    fn of(rest: &str) -> Words {
        let joined = rest.replace(" = ", "=");
        Words(
            joined
                .split_whitespace()
                .map(|word| word.trim_end_matches(',').to_owned())
                .collect(),
        )
    }

    /// The number of `name=number`.
    fn number(&self, name: &str) -> Option<f64> {
        let value = |word: &String| word.strip_prefix(name)?.strip_prefix('=')?.parse().ok();
        self.0.iter().find_map(value)
    }

    /// The number before a word, which may end with `%` and follow a `=`.
    fn before(&self, word: &str) -> Option<f64> {
        let place = self.0.iter().rposition(|known| known == word)?;
        let number = self.0.get(place.checked_sub(1)?)?;
        number
            .rsplit('=')
            .next()?
            .trim_end_matches('%')
            .parse()
            .ok()
    }

    fn has(&self, word: &str) -> bool {
        self.0
            .iter()
            .any(|known| known == word || known.strip_prefix("mode=") == Some(word))
    }
}
