//! The sending loops that the workloads share.

use std::time::Duration;

use bitcost_model::conditions::{Conditions, Waiting};
use rustix::io::Errno;
use rustix::net::RecvFlags;

use crate::control::{Control, Phase};
use crate::pacing::Pacer;

/// The amount that a sender sends in a bounded run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    /// Whole messages.
    pub messages: u64,
    /// Bytes of one last, shorter message; 0 where there is none.
    pub last: usize,
}

impl Amount {
    /// The bound of the run; unlimited where there is none.
    pub fn of(conditions: &Conditions) -> Amount {
        let (messages, last) = conditions.bound().unwrap_or((u64::MAX, 0));
        Amount {
            messages,
            last: last as usize,
        }
    }
}

/// The messages of a sender that sends them in several turns.
pub struct Supply {
    size: usize,
    last: usize,
    left: u64,
    length: usize,
}

impl Supply {
    /// The messages that the run requests.
    pub fn of(conditions: &Conditions) -> Supply {
        let Amount { messages, last } = Amount::of(conditions);
        let size = conditions.message_size_bytes as usize;
        Supply {
            size,
            last,
            left: messages,
            length: size,
        }
    }

    /// Bytes of a whole message.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The phase and the length of the next message; absent when all are sent or the window is
    /// over.
    #[inline]
    pub fn next(&mut self, control: &Control) -> Option<(Phase, usize)> {
        if self.left == 0 {
            if self.length != self.size || self.last == 0 {
                return None;
            }
            (self.left, self.length) = (1, self.last);
        }
        let phase = control.phase();
        ((phase as u8) < Phase::Over as u8).then_some((phase, self.length))
    }

    /// Records that the kernel has taken the whole message.
    #[inline]
    pub fn took(&mut self) {
        self.left -= 1;
    }
}

/// Sends messages of `size` bytes until the amount is sent or the window is over. `send` makes one
/// call for a whole message of the given length and returns how many bytes the kernel took; `rest`
/// does so for a message from an offset on.
///
/// # Errors
/// The first error that is not transient.
#[inline]
pub fn send_messages(
    control: &Control,
    size: usize,
    amount: Amount,
    mut send: impl FnMut(Phase, usize) -> Result<usize, Errno>,
    mut rest: impl FnMut(usize, usize) -> Result<usize, Errno>,
) -> Result<(), Errno> {
    let (mut left, mut length) = (amount.messages, size);
    loop {
        if left == 0 {
            if length != size || amount.last == 0 {
                return Ok(());
            }
            (left, length) = (1, amount.last);
        }
        if !send_one_message(control, length, &mut send, &mut rest)? {
            return Ok(());
        }
        left -= 1;
    }
}

/// Sends one message of this length; false when the window is over before it.
///
/// # Errors
/// The first error that is not transient.
#[inline]
pub fn send_one_message(
    control: &Control,
    length: usize,
    send: &mut impl FnMut(Phase, usize) -> Result<usize, Errno>,
    rest: &mut impl FnMut(usize, usize) -> Result<usize, Errno>,
) -> Result<bool, Errno> {
    loop {
        let phase = control.phase();
        if phase as u8 >= Phase::Over as u8 {
            return Ok(false);
        }
        match send(phase, length) {
            Ok(bytes) if bytes == length => control.count_message(phase, bytes),
            Ok(bytes) => complete(control, phase, length, bytes, rest)?,
            Err(Errno::INTR) => continue,
            Err(error) if is_transient(error) => {
                control.count_failed(phase);
                continue;
            }
            Err(error) => return Err(error),
        }
        return Ok(true);
    }
}

/// Sends the rest of a message that the kernel took in part.
#[cold]
fn complete(
    control: &Control,
    phase: Phase,
    size: usize,
    mut done: usize,
    rest: &mut impl FnMut(usize, usize) -> Result<usize, Errno>,
) -> Result<(), Errno> {
    control.count_call(phase, done);
    control.count_short(phase);
    while done < size {
        match rest(done, size) {
            Ok(bytes) => {
                control.count_call(phase, bytes);
                done += bytes;
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    control.count_whole(phase);
    Ok(())
}

/// The messages that the kernel took in one call and in those that completed its last message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handed {
    /// Whole messages.
    pub messages: u64,
    /// Calls that were needed for this.
    pub calls: u64,
    /// True where the first call took less than requested.
    pub is_short: bool,
}

impl Handed {
    /// Messages that were taken by one call.
    pub fn at_once(messages: u64) -> Handed {
        Handed {
            messages,
            calls: 1,
            is_short: false,
        }
    }
}

/// Sends messages of `size` bytes, up to `most` in a call, until the amount is sent or the window
/// is over. `send` is given a number of messages and their length, and sends some of them.
///
/// # Errors
/// The first error that is not transient.
#[inline]
pub fn send_batches(
    control: &Control,
    size: usize,
    most: u64,
    amount: Amount,
    pacer: &mut Option<Pacer>,
    mut send: impl FnMut(Phase, u64, usize) -> Result<Handed, Errno>,
) -> Result<(), Errno> {
    let (mut left, mut length) = (amount.messages, size);
    loop {
        if left == 0 {
            if length != size || amount.last == 0 {
                return Ok(());
            }
            (left, length) = (1, amount.last);
        }
        let mut count = left.min(most);
        if let Some(pacer) = pacer {
            count = pacer.wait_for(control, count);
        }
        let phase = control.phase();
        if phase as u8 >= Phase::Over as u8 {
            return Ok(());
        }
        match send(phase, count, length) {
            Ok(handed) => {
                control.count_batch(
                    phase,
                    handed.calls,
                    handed.messages,
                    handed.messages * length as u64,
                );
                if handed.is_short {
                    control.count_short(phase);
                }
                left -= handed.messages;
            }
            Err(Errno::INTR) => {}
            Err(error) if is_transient(error) => control.count_failed(phase),
            Err(error) => return Err(error),
        }
    }
}

/// The time that a receiver waits after each message.
pub fn receiver_delay(conditions: &Conditions) -> Duration {
    Duration::from_micros(conditions.receiver_delay_us.into())
}

/// The way in which a receive call waits.
pub fn receive_flags(conditions: &Conditions) -> RecvFlags {
    match conditions.waiting {
        Waiting::Block => RecvFlags::empty(),
        Waiting::Spin => RecvFlags::DONTWAIT,
    }
}

/// Transient errors of a datagram socket, which lose one message and do not end the flow: full
/// queues, and a receiver that did not listen when an earlier datagram arrived.
pub fn is_transient(error: Errno) -> bool {
    matches!(error, Errno::NOBUFS | Errno::CONNREFUSED)
}
