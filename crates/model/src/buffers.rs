//! The program's own part in each message: whether it is written anew, and the CPU time that the
//! program works on it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a run asks of the messages of its plain send and receive calls, and the work that the
/// program does between these calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Buffers {
    /// True where the sender writes every byte of a message before it sends it.
    pub dirty: bool,
    /// CPU time that the sender works on each message, in nanoseconds.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub send_work_ns: u32,
    /// CPU time that the receiver works on each message or request after it has received it, in
    /// nanoseconds.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub receive_work_ns: u32,
}
