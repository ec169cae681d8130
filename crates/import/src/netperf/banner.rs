//! The line above a result of netperf.

use bitcost_model::study::Label;

use crate::Found;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Stream,
    Transactions,
    Unknown,
}

#[derive(Clone, Debug)]
pub(super) struct Banner {
    pub(super) test: String,
    is_nodelay: bool,
    burst: Option<i64>,
}

impl Banner {
    /// The banner in a line; absent for another line: `MIGRATED TCP STREAM TEST from … : nodelay :
    /// demo : first burst 4`.
    pub(super) fn of(line: &str) -> Option<Banner> {
        let line = line.trim_start_matches("MIGRATED ");
        let (name, rest) = line
            .split_once(" TEST from ")
            .or_else(|| line.split_once(" TEST to "))?;
        let is_letter = |c: char| c.is_ascii_alphanumeric() || "/_|".contains(c);
        if !name
            .split(' ')
            .all(|word| !word.is_empty() && word.chars().all(is_letter))
        {
            return None;
        }
        let test = name.replace(['/', ' '], "_").to_ascii_lowercase();
        let words = || rest.split(" : ").map(str::trim);
        Some(Banner {
            test: test
                .replace("request_response", "rr")
                .replace("send|recv", "rr")
                .replace('|', "_"),
            is_nodelay: words().any(|word| word == "nodelay"),
            burst: words().find_map(|word| word.strip_prefix("first burst ")?.parse().ok()),
        })
    }

    pub(super) fn kind(&self) -> Kind {
        if self.test.ends_with("rr") || self.test.contains("connect") {
            Kind::Transactions
        } else {
            Kind::Stream
        }
    }

    /// False where netperf's local endpoint receives.
    pub(super) fn is_sending(&self) -> bool {
        !self.test.contains("maerts") && !self.test.ends_with("receive")
    }

    pub(super) fn is_udp_stream(&self) -> bool {
        self.test.contains("udp_stream")
    }

    pub(super) fn levels(&self, found: &mut Found) {
        found.level("test", Label::Text(self.test.clone()));
        if self.is_nodelay {
            found.level("nodelay", Label::Text("on".to_owned()));
        }
        if let Some(burst) = self.burst.filter(|burst| *burst > 0) {
            found.level("burst_transactions", Label::Number(burst));
        }
    }
}
