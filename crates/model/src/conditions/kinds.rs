//! The words and limits of conditions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Role;

words! {
    /// The direction of the messages or requests of a part. The two hosts are called sender and
    /// receiver.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Direction {
        /// From the host called sender.
        #[default]
        Forward = "forward",
        /// From the host called receiver.
        Reverse = "reverse",
        /// Both ways at once: the second part is the mirror of the first.
        Both = "both",
    }
}

impl Direction {
    /// The role that the host called `host` plays. The mapping is its own inverse, so it also gives
    /// the host that plays a role.
    pub fn role_of(self, host: Role) -> Role {
        match self {
            Direction::Forward | Direction::Both => host,
            Direction::Reverse => host.other(),
        }
    }

    /// An arrow for display: from the host called sender, or towards it.
    pub fn arrow(self) -> char {
        match self {
            Direction::Forward => '→',
            Direction::Reverse => '←',
            Direction::Both => '↔',
        }
    }
}

/// The user data of one TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mss {
    /// The size of a message, so that one segment carries one message.
    Message,
    /// This many bytes of user data.
    Bytes(u32),
}

words! {
    /// The way in which a receiver waits for data.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Waiting {
        /// It blocks in the receive call.
        #[default]
        Block = "block",
        /// It calls repeatedly without blocking (`MSG_DONTWAIT`).
        Spin = "spin",
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReceiveSize {
    /// TCP: [`AUTO_RECEIVE_BYTES`] or a message, whichever is larger, with a low-water mark that the
    /// receiver sets itself ([`chooses_low_water`](crate::conditions::Conditions::chooses_low_water)). UDP: a message.
    Auto,
    #[default]
    Message,
    Bytes(u32),
}

/// Buffer size of a TCP receive call, and the highest low-water mark, of a receiver that chooses
/// them itself.
pub const AUTO_RECEIVE_BYTES: u32 = 256 << 10;

words! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum RateOf {
        #[default]
        User = "user",
        /// User data with the headers of Ethernet, IP and transport, as queueing disciplines count.
        Wire = "wire",
    }
}

words! {
    /// The part of the system that delays messages to keep a rate.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Pacing {
        /// The kernel for UDP where the interface has `fq`, else the sender.
        #[default]
        Auto = "auto",
        /// The kernel (`SO_MAX_PACING_RATE`).
        Kernel = "kernel",
        /// The sender itself, by sleeping.
        Sender = "sender",
    }
}

/// Bytes at the front of a datagram that carry its number and the time at which it was sent.
pub const STAMPED_BYTES: u32 = 16;

/// Largest request and largest response over TCP, in bytes.
pub const TRANSACTION_MAX: u32 = 1 << 24;

/// Most transactions per second that an open loop may be asked for.
pub const TRANSACTION_RATE_MAX: u32 = 10_000_000;

/// The longest time without any data for which a run waits, in ms.
pub const OUTAGE_TIMEOUT_MAX_MS: u64 = 300_000;

/// The timestamp option as Linux pads it, in bytes (RFC 7323).
pub const TCP_TIMESTAMPS: u32 = 12;
