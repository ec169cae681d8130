//! The sending loops that the workloads share.

use std::time::Duration;

use bitcost_model::conditions::{Conditions, Waiting};
use rustix::io::Errno;
use rustix::net::RecvFlags;

use crate::control::{Control, Phase};
use crate::pacing::Pacer;

/// The time until the next call over a path that took none.
const PATH_DOWN: Duration = Duration::from_millis(1);

/// The messages of a sender: whole ones, and one last, shorter message where the run's bound
/// leaves bytes for it.
#[derive(Clone, Copy, Debug)]
pub struct Supply {
    /// Bytes of a whole message.
    size: usize,
    /// Bytes of the last message; 0 where there is none.
    last: usize,
    /// Messages of the present length.
    left: u64,
    length: usize,
    is_datagram: bool,
}

impl Supply {
    /// The messages that the run requests; without limit where it has no bound.
    pub fn of(conditions: &Conditions) -> Supply {
        let (left, last) = conditions.bound().unwrap_or((u64::MAX, 0));
        let size = conditions.message_size_bytes as usize;
        Supply {
            size,
            last: last as usize,
            left,
            length: size,
            is_datagram: conditions.workload.is_datagram(),
        }
    }

    #[inline]
    fn length(&mut self) -> Option<usize> {
        if self.left == 0 {
            if self.length != self.size || self.last == 0 {
                return None;
            }
            (self.left, self.length) = (1, self.last);
        }
        Some(self.length)
    }

    #[inline]
    pub fn took(&mut self, messages: u64) {
        self.left -= messages;
    }
}

/// Sends messages until all are sent or the window is over. `send` makes one call for a message of
/// a phase from an offset on, up to its length, and returns how many bytes the kernel took.
#[inline]
pub fn send_messages(
    control: &Control,
    mut supply: Supply,
    mut send: impl FnMut(Phase, usize, usize) -> Result<usize, Errno>,
) -> Result<(), Errno> {
    while let Some(length) = supply.length() {
        if !send_one_message(control, &supply, length, &mut send)? {
            break;
        }
        supply.took(1);
    }
    Ok(())
}

/// Sends one message of this length; false when the window is over before it.
#[inline]
fn send_one_message(
    control: &Control,
    supply: &Supply,
    length: usize,
    send: &mut impl FnMut(Phase, usize, usize) -> Result<usize, Errno>,
) -> Result<bool, Errno> {
    loop {
        let phase = control.phase();
        if phase as u8 >= Phase::Over as u8 {
            return Ok(false);
        }
        match send(phase, 0, length) {
            Ok(bytes) if bytes == length => control.count_message(phase, bytes),
            Ok(bytes) => complete(control, phase, length, bytes, send)?,
            Err(Errno::INTR) => continue,
            Err(error) if supply.is_datagram && is_transient(error) => {
                note_failed(control, phase, error);
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
    send: &mut impl FnMut(Phase, usize, usize) -> Result<usize, Errno>,
) -> Result<(), Errno> {
    control.count_call(phase, done);
    control.count_short(phase);
    while done < size {
        match send(phase, done, size) {
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handed {
    pub messages: u64,
    pub calls: u64,
    pub is_short: bool,
}

impl Handed {
    pub fn at_once(messages: u64) -> Handed {
        Handed {
            messages,
            calls: 1,
            is_short: false,
        }
    }
}

/// Sends messages, up to `most` in a call, until all are sent or the window is over. `send` is given
/// a number of messages and their length, and sends some of them.
#[inline]
pub fn send_batches(
    control: &Control,
    mut supply: Supply,
    most: u64,
    pacer: &mut Option<Pacer>,
    mut send: impl FnMut(Phase, u64, usize) -> Result<Handed, Errno>,
) -> Result<(), Errno> {
    while let Some(length) = supply.length() {
        let mut count = supply.left.min(most);
        if let Some(pacer) = pacer {
            count = pacer.wait_for(control, count);
        }
        let phase = control.phase();
        if phase as u8 >= Phase::Over as u8 {
            return Ok(());
        }
        let unsent = match send(phase, count, length) {
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
                supply.took(handed.messages);
                count - handed.messages
            }
            Err(Errno::INTR) => count,
            Err(error) if supply.is_datagram && is_transient(error) => {
                note_failed(control, phase, error);
                0
            }
            Err(error) => return Err(error),
        };
        if let Some(pacer) = pacer {
            pacer.give_back(unsent);
        }
    }
    Ok(())
}

pub fn receiver_delay(conditions: &Conditions) -> Duration {
    Duration::from_micros(conditions.receiver_delay_us.into())
}

pub fn receive_flags(conditions: &Conditions) -> RecvFlags {
    match conditions.waiting {
        Waiting::Block => RecvFlags::empty(),
        Waiting::Spin => RecvFlags::DONTWAIT,
    }
}

/// Transient errors of a datagram socket, which lose one message and do not end the flow: full
/// queues, a receiver that did not listen when an earlier datagram arrived, a path that is down, and one on which an
/// earlier datagram was too long: the kernel sends the next ones in fragments.
pub fn is_transient(error: Errno) -> bool {
    matches!(error, Errno::NOBUFS | Errno::CONNREFUSED) || is_of_path(error)
}

fn is_of_path(error: Errno) -> bool {
    matches!(
        error,
        Errno::NETUNREACH | Errno::HOSTUNREACH | Errno::NETDOWN | Errno::MSGSIZE
    )
}

/// Counts a call that failed with a transient error, and waits where no other one can succeed soon.
#[cold]
pub fn note_failed(control: &Control, phase: Phase, error: Errno) {
    control.count_failed(phase);
    if is_of_path(error) {
        control.sleep(PATH_DOWN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_a_call_left_are_due_at_once() {
        let conditions = Conditions {
            message_rate: Some(20_000),
            burst_messages: Some(10),
            stop_messages: Some(100),
            ..Conditions::default()
        };
        let (control, file) = (Control::default(), std::net::UdpSocket::bind("127.0.0.1:0"));
        let mut pacer = Pacer::of(&conditions, file.expect("a socket"));
        let (mut calls, supply) = (0, Supply::of(&conditions));
        send_batches(&control, supply, 64, &mut pacer, |_, count, _| {
            calls += 1;
            match calls % 3 {
                0 => Err(Errno::INTR),
                _ => Ok(Handed::at_once(count.div_ceil(2))),
            }
        })
        .expect("all are sent");
        assert_eq!(control.counts().total().messages, 100);
        assert_eq!(pacer.expect("paced").record().bursts, 10);
    }
}
