//! Lengths of a stream's messages: one length, or a table of lengths that is drawn before the run.

use bitcost_model::conditions::Conditions;
use rustix::io::Errno;

use crate::control::{Control, Phase};
use crate::handshake::Token;
use crate::loops::{Supply, send_messages, send_one_message};

/// The lengths of a sender's messages, and their number.
pub struct Lengths {
    supply: Supply,
    /// Empty where all messages are of one length.
    table: Vec<u32>,
    most_messages: u64,
    most_bytes: u64,
}

impl Lengths {
    /// The lengths that the run requests; a distribution is drawn with the token as the seed.
    pub fn of(conditions: &Conditions, token: &Token) -> Lengths {
        let seed = token
            .iter()
            .fold(0, |seed: u64, byte| seed.rotate_left(8) ^ u64::from(*byte));
        Lengths {
            supply: Supply::of(conditions),
            table: conditions
                .message_sizes
                .as_ref()
                .map(|sizes| sizes.table(seed))
                .unwrap_or_default(),
            most_messages: conditions.stop_messages.unwrap_or(u64::MAX),
            most_bytes: conditions.stop_bytes.unwrap_or(u64::MAX),
        }
    }

    /// The longest length, in bytes.
    pub fn longest(&self) -> usize {
        self.supply.size()
    }

    /// Sends messages until all are sent or the window is over, as [`send_messages`] does.
    ///
    /// # Errors
    /// The first error that is not transient.
    #[inline]
    pub fn send(
        &self,
        control: &Control,
        send: impl FnMut(Phase, usize, usize) -> Result<usize, Errno>,
    ) -> Result<(), Errno> {
        if self.table.is_empty() {
            send_messages(control, self.supply, send)
        } else {
            self.send_table(control, send)
        }
    }

    /// Sends messages by the table. In a run that is bounded by bytes, the last message has the
    /// remaining length.
    #[inline]
    fn send_table(
        &self,
        control: &Control,
        mut send: impl FnMut(Phase, usize, usize) -> Result<usize, Errno>,
    ) -> Result<(), Errno> {
        let (mut messages, mut bytes) = (self.most_messages, self.most_bytes);
        for length in self.table.iter().cycle() {
            if messages == 0 || bytes == 0 {
                break;
            }
            let length = u64::from(*length).min(bytes);
            if !send_one_message(control, length as usize, &mut send)? {
                break;
            }
            messages -= 1;
            bytes -= length;
        }
        Ok(())
    }
}
