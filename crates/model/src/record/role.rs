//! The role of an endpoint.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The role of an endpoint in a flow.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Makes the traffic.
    #[default]
    Sender,
    /// Takes it.
    Receiver,
}

impl Role {
    /// The word for people.
    pub fn name(self) -> &'static str {
        match self {
            Role::Sender => "sender",
            Role::Receiver => "receiver",
        }
    }

    /// The role of the other endpoint.
    #[must_use]
    pub fn other(self) -> Role {
        match self {
            Role::Sender => Role::Receiver,
            Role::Receiver => Role::Sender,
        }
    }
}
