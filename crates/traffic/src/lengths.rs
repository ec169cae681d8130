//! How long the messages of a stream are: one length, or a table of lengths that was drawn before the run.

use model::conditions::Conditions;
use rustix::io::Errno;

use crate::control::{Control, Phase};
use crate::handshake::Token;
use crate::loops::{Amount, send_messages, send_one_message};

/// The lengths of a sender's messages, and how many there are.
pub struct Lengths {
    size: usize,
    amount: Amount,
    /// Empty where all messages are of one length.
    table: Vec<u32>,
    most_messages: u64,
    most_bytes: u64,
}

impl Lengths {
    /// What the run asks for; the token gives the order of a distribution that is drawn.
    pub fn of(conditions: &Conditions, token: &Token) -> Lengths {
        let seed = token.iter().fold(0, |seed: u64, byte| seed.rotate_left(8) ^ u64::from(*byte));
        Lengths {
            size: conditions.message_size_bytes as usize,
            amount: Amount::of(conditions),
            table: conditions.message_sizes.as_ref().map(|sizes| sizes.table(seed)).unwrap_or_default(),
            most_messages: conditions.stop_messages.unwrap_or(u64::MAX),
            most_bytes: conditions.stop_bytes.unwrap_or(u64::MAX),
        }
    }

    /// The longest one, in bytes.
    pub fn longest(&self) -> usize {
        self.size
    }

    /// Sends messages until all are sent or the window is over, as [`send_messages`] says.
    ///
    /// # Errors
    /// The first error that is not a passing one.
    #[inline]
    pub fn send(
        &self,
        control: &Control,
        send: impl FnMut(Phase, usize) -> Result<usize, Errno>,
        rest: impl FnMut(usize, usize) -> Result<usize, Errno>,
    ) -> Result<(), Errno> {
        if self.table.is_empty() {
            send_messages(control, self.size, self.amount, send, rest)
        } else {
            self.send_table(control, send, rest)
        }
    }

    /// The last message of a run that is bounded by bytes is as short as what is left.
    #[inline]
    fn send_table(
        &self,
        control: &Control,
        mut send: impl FnMut(Phase, usize) -> Result<usize, Errno>,
        mut rest: impl FnMut(usize, usize) -> Result<usize, Errno>,
    ) -> Result<(), Errno> {
        let (mut messages, mut bytes) = (self.most_messages, self.most_bytes);
        for length in self.table.iter().cycle() {
            if messages == 0 || bytes == 0 {
                break;
            }
            let length = u64::from(*length).min(bytes);
            if !send_one_message(control, length as usize, &mut send, &mut rest)? {
                break;
            }
            messages -= 1;
            bytes -= length;
        }
        Ok(())
    }
}
