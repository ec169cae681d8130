//! Readings around the whole traffic of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Sample;

/// Counters of the sockets and of the path, from before the first message until the last one had
/// been received or given up. Unlike the readings of the window they enclose everything that was
/// sent, so that what was sent, received and dropped adds up. Times of CPUs and threads are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WholeRun {
    /// Before the first message, when every flow had its socket.
    pub before: Sample,
    /// After every flow had ended and the queues of the lab were empty.
    pub after: Sample,
}
