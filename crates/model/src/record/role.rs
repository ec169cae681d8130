//! The role of an endpoint.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

words! {
    /// The role of an endpoint in a flow.
    #[derive(
        Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
    )]
    #[serde(rename_all = "snake_case")]
    pub enum Role {
        /// Makes the traffic.
        #[default]
        Sender = "sender",
        /// Takes it.
        Receiver = "receiver",
    }
}

impl Role {
    #[must_use]
    pub fn other(self) -> Role {
        match self {
            Role::Sender => Role::Receiver,
            Role::Receiver => Role::Sender,
        }
    }
}
