//! The program's own part in each message: its buffers, whether each message is written anew, and
//! the CPU time that it works on a message.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Invalid;

/// The most memory that the buffers of one endpoint may take, in bytes.
pub const MEMORY_MAX: u64 = 1 << 30;

/// The properties that a run asks of the buffers of its plain send and receive calls, and the work
/// that the program does between these calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Buffers {
    /// Each buffer starts at a multiple of this value plus the offset, in bytes, a power of two;
    /// absent: as the allocator returns the memory.
    pub alignment_bytes: Option<u32>,
    /// The distance between that multiple and the start of the buffer, in bytes.
    pub offset_bytes: u32,
    /// Buffers that a flow uses one after the other.
    pub ring: u32,
    /// True where the sender writes every byte of a message before it sends it.
    pub dirty: bool,
    /// CPU time that the sender works on each message, in nanoseconds.
    #[serde(skip_serializing_if = "is_none")]
    pub send_work_ns: u32,
    /// CPU time that the receiver works on each message or request after it has received it, in
    /// nanoseconds.
    #[serde(skip_serializing_if = "is_none")]
    pub receive_work_ns: u32,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_none(work_ns: &u32) -> bool {
    *work_ns == 0
}

impl Default for Buffers {
    fn default() -> Buffers {
        Buffers {
            alignment_bytes: None,
            offset_bytes: 0,
            ring: 1,
            dirty: false,
            send_work_ns: 0,
            receive_work_ns: 0,
        }
    }
}

impl Buffers {
    /// Checks that the buffers are possible for messages or calls of this size in bytes.
    ///
    /// # Errors
    /// A sentence that says what was found and what is allowed.
    pub fn check(&self, size_bytes: u32) -> Result<(), Invalid> {
        if let Some(alignment) = self
            .alignment_bytes
            .filter(|alignment| !alignment.is_power_of_two())
        {
            let near = alignment.next_power_of_two();
            return Err(Invalid(format!(
                "an alignment of {alignment} bytes is not a power of two; allowed: {}, {near}",
                near / 2
            )));
        }
        let memory = u64::from(self.ring) * (u64::from(size_bytes) + u64::from(self.offset_bytes));
        if memory > MEMORY_MAX {
            return Err(Invalid(format!(
                "{} buffers of {size_bytes} bytes take {memory} bytes of memory; allowed: at most {MEMORY_MAX}",
                self.ring
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_possible_is_refused_with_what_is() {
        let odd = Buffers {
            alignment_bytes: Some(100),
            ..Buffers::default()
        };
        assert!(
            odd.check(64)
                .is_err_and(|found| found.0.contains("allowed: 64, 128"))
        );
        let much = Buffers {
            ring: 4096,
            ..Buffers::default()
        };
        assert!(
            much.check(1 << 24)
                .is_err_and(|found| found.0.contains("at most 1073741824"))
        );
        assert_eq!(much.check(1 << 16), Ok(()));
    }
}
