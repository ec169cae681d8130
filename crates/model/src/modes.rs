//! Modes of the stream workloads: how an end hands over or takes its messages.
//!
//! `plain` is the honest one, and the default: one call per message. Every other one is a fast path of
//! the kernel, and every record names the modes in force.

use serde::{Deserialize, Serialize};

use crate::conditions::{Conditions, Workload};
use crate::record::Role;

/// One way to hand over or to take messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// One call per message.
    #[default]
    Plain,
    /// `UDP_SEGMENT`.
    Gso,
    /// `sendmmsg`.
    Sendmmsg,
    /// `writev`.
    Writev,
    /// `MSG_ZEROCOPY`.
    Zerocopy,
    /// `sendfile`.
    Sendfile,
    /// `tee` and `splice`, or `splice` alone.
    Splice,
    /// `UDP_GRO`.
    Gro,
    /// `recvmmsg`.
    Recvmmsg,
    /// `MSG_TRUNC`.
    Truncate,
    /// `TCP_ZEROCOPY_RECEIVE`.
    Mapped,
    /// `io_uring`: chains of sends, or a receive that repeats itself.
    #[serde(rename = "io_uring")]
    IoUring,
    /// `io_uring` with `IORING_OP_SEND_ZC`.
    #[serde(rename = "io_uring_zerocopy")]
    IoUringZerocopy,
}

/// A mode of one end.
pub struct Row {
    /// The mode.
    pub mode: Mode,
    /// The end that has it.
    pub end: Role,
    /// The workloads that have it; empty: each.
    pub workloads: &'static [Workload],
    /// Its word in studies and on the command line.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
}

impl Row {
    /// True where the workload has it.
    pub fn is_of(&self, workload: Workload) -> bool {
        self.workloads.is_empty() || self.workloads.contains(&workload)
    }
}

const fn row(mode: Mode, end: Role, workloads: &'static [Workload], name: &'static str, about: &'static str) -> Row {
    Row { mode, end, workloads, name, about }
}

const TCP: &[Workload] = &[Workload::TcpStream];
const UDP: &[Workload] = &[Workload::UdpStream];
const STREAMS: &[Workload] = &[Workload::TcpStream, Workload::UdpStream];

/// The modes of both ends. A new one is a row here and a row in the traffic engine's table.
pub const MODES: &[Row] = &[
    row(Mode::Plain, Role::Sender, &[], "plain", "one send call per message"),
    row(Mode::Plain, Role::Receiver, &[], "plain", "plain receive calls"),
    row(
        Mode::Gso,
        Role::Sender,
        UDP,
        "gso",
        "UDP_SEGMENT: one call hands over up to 128 messages, which the kernel or the card cuts apart",
    ),
    row(Mode::Sendmmsg, Role::Sender, UDP, "sendmmsg", "one call sends up to 64 messages"),
    row(Mode::Writev, Role::Sender, TCP, "writev", "one call sends up to 64 messages"),
    row(
        Mode::Zerocopy,
        Role::Sender,
        TCP,
        "zerocopy",
        "MSG_ZEROCOPY: the kernel sends from the program's own pages, where the path can",
    ),
    row(Mode::Sendfile, Role::Sender, TCP, "sendfile", "a message is sent from a file in memory"),
    row(
        Mode::Splice,
        Role::Sender,
        TCP,
        "splice",
        "tee and splice: a message's pages are passed from a pipe, never copied",
    ),
    row(
        Mode::IoUring,
        Role::Sender,
        STREAMS,
        "io_uring",
        "io_uring: one call submits up to 64 linked requests, one for each message, and waits for them",
    ),
    row(
        Mode::IoUringZerocopy,
        Role::Sender,
        TCP,
        "io_uring_zerocopy",
        "io_uring with IORING_OP_SEND_ZC: as io_uring, from the program's own pages, where the path can",
    ),
    row(
        Mode::Gro,
        Role::Receiver,
        UDP,
        "gro",
        "UDP_GRO: one call takes the messages that the kernel joined, as many as came together",
    ),
    row(Mode::Recvmmsg, Role::Receiver, UDP, "recvmmsg", "one call takes up to 64 messages"),
    row(Mode::Truncate, Role::Receiver, TCP, "truncate", "MSG_TRUNC: the kernel drops the data instead of copying it"),
    row(Mode::Splice, Role::Receiver, TCP, "splice", "data is passed through a pipe to /dev/null, never copied"),
    row(
        Mode::Mapped,
        Role::Receiver,
        TCP,
        "mapped",
        "TCP_ZEROCOPY_RECEIVE: whole pages are mapped, the rest is copied",
    ),
    row(
        Mode::IoUring,
        Role::Receiver,
        STREAMS,
        "io_uring",
        "io_uring: one multishot request fills buffers of a ring; a call takes all that were filled",
    ),
];

const fn count(end: Role) -> usize {
    let (mut index, mut found) = (0, 0);
    while index < MODES.len() {
        found += (MODES[index].end as u8 == end as u8) as usize;
        index += 1;
    }
    found
}

const fn words<const N: usize>(end: Role) -> [&'static str; N] {
    let mut words = [""; N];
    let (mut index, mut found) = (0, 0);
    while index < MODES.len() {
        if MODES[index].end as u8 == end as u8 {
            words[found] = MODES[index].name;
            found += 1;
        }
        index += 1;
    }
    words
}

/// The words of a sender's modes.
pub const SEND_WORDS: [&str; count(Role::Sender)] = words(Role::Sender);

/// The words of a receiver's modes.
pub const RECEIVE_WORDS: [&str; count(Role::Receiver)] = words(Role::Receiver);

impl Mode {
    /// The mode of an end by its word.
    pub fn named(end: Role, word: &str) -> Option<Mode> {
        MODES.iter().find(|row| row.end == end && row.name == word).map(|row| row.mode)
    }

    /// Its word.
    pub fn name(self) -> &'static str {
        MODES.iter().find(|row| row.mode == self).map_or("", |row| row.name)
    }
}

/// The setting that chooses an end's mode.
pub fn setting(end: Role) -> &'static str {
    match end {
        Role::Sender => "send_mode",
        Role::Receiver => "receive_mode",
    }
}

/// Checks that the workload has the modes, and that they can carry the message.
///
/// # Errors
/// A sentence that says what was found and what is allowed.
pub fn check(conditions: &Conditions, mtu_bytes: u32) -> Result<(), String> {
    for (end, mode) in [(Role::Sender, conditions.send_mode), (Role::Receiver, conditions.receive_mode)] {
        let fits = |row: &&Row| row.end == end && row.is_of(conditions.workload);
        if !MODES.iter().filter(fits).any(|row| row.mode == mode) {
            let allowed: Vec<&str> = MODES.iter().filter(fits).map(|row| row.name).collect();
            return Err(format!(
                "{} `{}` is none of {}; allowed: {}",
                setting(end),
                mode.name(),
                conditions.workload.name(),
                allowed.join(", ")
            ));
        }
    }
    let headers = conditions.header_bytes();
    let room = mtu_bytes.saturating_sub(headers).min(conditions.ip_version().udp_payload_max());
    if conditions.send_mode == Mode::Gso && conditions.message_size_bytes > room {
        return Err(format!(
            "send_mode `gso` makes one packet of each message, and {} bytes do not fit the MTU of {mtu_bytes}; allowed: 1 to {room} (MTU less {headers} bytes of headers), or another send_mode",
            conditions.message_size_bytes
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_has_the_same_word_in_studies_and_records() {
        for row in MODES {
            assert_eq!(Mode::named(row.end, row.name), Some(row.mode));
            assert_eq!(row.mode.name(), row.name);
            assert_eq!(serde_json::to_string(&row.mode).expect("JSON"), format!("\"{}\"", row.name));
        }
    }

    #[test]
    fn an_unknown_mode_in_a_study_is_named_with_what_resembles_it() {
        let mut conditions = Conditions::default();
        let unknown = crate::settings::set(&mut conditions, "send_mode", &"gzo".into()).expect_err("no such mode");
        assert!(unknown.contains("did you mean `gso`?"), "{unknown}");
        assert!(crate::settings::set(&mut conditions, "receive_mode", &"gso".into()).is_err());
        assert_eq!(crate::settings::set(&mut conditions, "receive_mode", &"gro".into()), Ok(()));
        assert_eq!(conditions.receive_mode, Mode::Gro);
    }

    #[test]
    fn what_a_mode_cannot_carry_is_refused_and_the_limit_named() {
        let udp = |send_mode, message_size_bytes| Conditions {
            workload: Workload::UdpStream,
            send_mode,
            message_size_bytes,
            ..Conditions::default()
        };
        assert_eq!(check(&udp(Mode::Gso, 1472), 1500), Ok(()));
        assert_eq!(check(&udp(Mode::Sendmmsg, 8192), 1500), Ok(()));
        let over = check(&udp(Mode::Gso, 1473), 1500).expect_err("over the MTU");
        assert!(over.contains("1 to 1472"), "{over}");
        let jumbo = check(&udp(Mode::Gso, 65_508), 65_535).expect_err("over UDP's limit");
        assert!(jumbo.contains("1 to 65507"), "{jumbo}");
        let other = check(&udp(Mode::Zerocopy, 64), 1500).expect_err("a mode of TCP");
        assert!(other.contains("plain, gso, sendmmsg"), "{other}");
    }
}
