//! Modes of the stream workloads: how an endpoint hands over or takes its messages.
//!
//! `plain` is the default: one call per message. Every other mode is a fast path of the kernel, and
//! every record names the modes in effect.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Role;
use crate::workload::Workload;

words! {
    /// One way to hand over or to take messages.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum Mode {
        #[default]
        Plain = "plain",
        /// `UDP_SEGMENT`.
        Gso = "gso",
        Writev = "writev",
        Sendfile = "sendfile",
        /// `UDP_GRO`.
        Gro = "gro",
        /// `MSG_TRUNC`.
        Truncate = "truncate",
    }
}

pub struct Row {
    pub mode: Mode,
    pub end: Role,
    /// The workloads that have it; empty: all of them.
    pub workloads: &'static [Workload],
    pub about: &'static str,
}

impl Row {
    pub fn is_of(&self, workload: Workload) -> bool {
        self.workloads.is_empty() || self.workloads.contains(&workload)
    }
}

/// A row is: the mode, the endpoint, the workloads that have it, and what it does.
macro_rules! modes {
    ($($mode:ident $end:ident [$($workload:ident)*] $about:literal;)*) => {
        &[$(Row {
            mode: Mode::$mode,
            end: Role::$end,
            workloads: &[$(Workload::$workload),*],
            about: $about,
        }),*]
    };
}

/// The modes of both endpoints. A new one is a row here and a row in the traffic engine's table.
pub const MODES: &[Row] = modes! {
    Plain Sender [] "one send call per message";
    Plain Receiver [] "plain receive calls";
    Gso Sender [UdpStream] "UDP_SEGMENT: one call hands over up to 128 messages, which the kernel or the card cuts apart";
    Writev Sender [TcpStream] "one call sends up to 64 messages";
    Sendfile Sender [TcpStream] "a message is sent from a file in memory";
    Gro Receiver [UdpStream] "UDP_GRO: one call takes the messages that the kernel joined, as many as came together";
    Truncate Receiver [TcpStream] "MSG_TRUNC: the kernel drops the data instead of copying it";
};

/// The words of the modes of an endpoint.
pub fn words(end: Role) -> Vec<&'static str> {
    let own = MODES.iter().filter(|row| row.end == end);
    own.map(|row| row.mode.name()).collect()
}

impl Mode {
    pub fn of_end(end: Role, word: &str) -> Option<Mode> {
        let rows = MODES.iter().filter(|row| row.end == end);
        rows.map(|row| row.mode).find(|mode| mode.name() == word)
    }

    pub fn hands_over_several(self) -> bool {
        matches!(self, Mode::Gso | Mode::Writev)
    }
}

pub fn setting(end: Role) -> &'static str {
    match end {
        Role::Sender => "send_mode",
        Role::Receiver => "receive_mode",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_has_the_same_word_in_studies_and_records() {
        for row in MODES {
            let word = row.mode.name();
            assert_eq!(Mode::of_end(row.end, word), Some(row.mode));
            assert_eq!(Mode::named(word), Some(row.mode));
            assert_eq!(
                serde_json::to_string(&row.mode).expect("JSON"),
                format!("\"{word}\"")
            );
        }
    }
}
