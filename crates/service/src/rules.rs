//! What a key may do: each rule has a default that allows what a test needs and changes nothing of
//! the host.

use std::time::Duration;

use bitcost_model::units::{counted, show_duration};
use bitcost_model::words;
use serde::{Deserialize, Serialize};

words! {
    /// What refuses, as monitoring names it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub(crate) enum Rule {
        Keys = "keys",
        Knobs = "knobs",
        Interfaces = "interfaces",
        Profile = "profile",
        MaxRate = "max-rate",
        MaxDuration = "max-duration",
        MaxFlows = "max-flows",
        MaxTests = "max-tests",
        NoCost = "no-cost",
        Waiting = "waiting",
        Link = "link",
        Version = "version",
        Message = "message",
        Request = "request",
        Data = "data",
        Routes = "routes",
        Ports = "ports",
        Other = "other",
    }
}

/// Why something is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{sentence}")]
pub struct Refused {
    pub(crate) rule: Rule,
    /// What is allowed, and what was requested.
    pub sentence: String,
}

impl Refused {
    /// The name of the rule, for monitoring.
    pub fn by(&self) -> &'static str {
        self.rule.name()
    }
}

impl Rule {
    /// A refusal by this rule.
    pub fn refuses(self, sentence: impl Into<String>) -> Refused {
        Refused {
            rule: self,
            sentence: sentence.into(),
        }
    }
}

/// The rules of one key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// Settings of the host that its tests may change; none by default.
    pub knobs: Vec<String>,
    /// Interfaces that it may name; empty: that of the route to the client alone.
    pub interfaces: Vec<String>,
    /// Whether its tests may sample what the CPUs of the host do, with `--profile`; not by default.
    pub profile: bool,
    /// Highest rate of a test over all of its flows and directions, in bit/s; tests must then name
    /// one. Absent: not limited.
    pub max_rate_bps: Option<u64>,
    /// Longest run with its warm-up, in seconds.
    pub max_duration_s: u32,
    /// Maximum number of flows in a run.
    pub max_flows: u32,
    /// Maximum number of concurrent tests, with those that wait.
    pub max_tests: u32,
    /// Longest time for which the key may have the host for itself, in seconds.
    pub max_session_s: u32,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            knobs: Vec::new(),
            interfaces: Vec::new(),
            profile: false,
            max_rate_bps: None,
            max_duration_s: 600,
            max_flows: 128,
            max_tests: 4,
            max_session_s: 3600,
        }
    }
}

impl Rules {
    /// The rules in one line, as `bitcost serve keys` lists them.
    pub fn phrase(&self) -> String {
        let names = |names: &[String], none: &str| match names {
            [] => none.to_owned(),
            names => names.join(", "),
        };
        let profile = match self.profile {
            true => "profiles",
            false => "no profiles",
        };
        let seconds = |seconds: u32| show_duration(Duration::from_secs(seconds.into()));
        let rate = match self.max_rate_bps {
            Some(rate) => format!("{rate} bit/s"),
            None => "any rate".to_owned(),
        };
        format!(
            "knobs: {}; interfaces: {}; {profile}; {rate}; runs of {}; {}; {}; sessions of {}",
            names(&self.knobs, "none"),
            names(&self.interfaces, "that of the route to the client"),
            seconds(self.max_duration_s),
            counted(self.max_flows as usize, "flow"),
            counted(self.max_tests as usize, "test"),
            seconds(self.max_session_s),
        )
    }
}
