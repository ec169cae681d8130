//! The line above a result of netperf.

use crate::run::Run;

#[derive(Clone, Debug)]
pub(super) struct Banner {
    pub(super) test: String,
    is_nodelay: bool,
    burst: Option<f64>,
    remote: Option<String>,
    /// `+/-2.500% @ 99% conf.`: what was requested.
    pub(super) confidence: Option<String>,
}

impl Banner {
    /// The banner in a line; absent for another line: `MIGRATED TCP STREAM TEST from … : nodelay :
    /// demo : first burst 4`.
    pub(super) fn of(line: &str) -> Option<Banner> {
        let line = line.trim_start_matches("MIGRATED ");
        let mut ends = [" TEST from ", " TEST to "].iter();
        let (name, rest) = ends.find_map(|end| line.split_once(end))?;
        let is_letter = |c: char| c.is_ascii_alphanumeric() || "/_|".contains(c);
        let is_word = |word: &str| !word.is_empty() && word.chars().all(is_letter);
        if !name.split(' ').all(is_word) {
            return None;
        }
        let test = name.replace(['/', ' '], "_").to_ascii_lowercase();
        let test = test.replace("request_response", "rr");
        let words = || rest.split(" : ").map(str::trim);
        let (_, to) = line.rsplit_once(" to ").unwrap_or_default();
        let remote = to.split([' ', ':']).next();
        Some(Banner {
            test: test.replace("send|recv", "rr").replace('|', "_"),
            is_nodelay: words().any(|word| word == "nodelay"),
            burst: words().find_map(|word| word.strip_prefix("first burst ")?.parse().ok()),
            remote: remote.filter(|name| !name.is_empty()).map(str::to_owned),
            confidence: words().find_map(|word| Some(word.strip_suffix(" conf.")?.to_owned())),
        })
    }

    pub(super) fn is_transactions(&self) -> bool {
        self.test.ends_with("rr") || self.test.contains("connect")
    }

    /// False where netperf's local endpoint receives.
    pub(super) fn is_sending(&self) -> bool {
        !self.test.contains("maerts") && !self.test.ends_with("receive")
    }

    pub(super) fn levels(&self, run: &mut Run) {
        run.level("test", &self.test);
        if self.is_nodelay {
            run.level("nodelay", "on");
        }
        run.setting("burst_transactions", self.burst);
        if let Some(remote) = &self.remote {
            let end = ["sender", "receiver"][usize::from(self.is_sending())];
            run.level(end, remote);
        }
    }
}
