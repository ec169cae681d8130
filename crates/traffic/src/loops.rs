//! The two loops that every workload shares: sending until told, receiving until told.

use rustix::io::Errno;

use model::conditions::{Conditions, Waiting};
use rustix::net::RecvFlags;

use crate::control::{Control, Phase};

/// Sends messages until the window is over. `send` makes one call for the whole message and says how
/// many bytes it took; `rest` sends what a call left over, and says how many bytes that took.
///
/// # Errors
/// The first error that is not a passing one.
#[inline]
pub fn send_messages(
    control: &Control,
    size: usize,
    mut send: impl FnMut(Phase) -> Result<usize, Errno>,
    mut rest: impl FnMut(usize) -> Result<usize, Errno>,
) -> Result<(), Errno> {
    loop {
        let phase = control.phase();
        if phase as u8 >= Phase::Over as u8 {
            return Ok(());
        }
        match send(phase) {
            Ok(bytes) if bytes == size => control.count_message(phase, bytes),
            Ok(bytes) => complete(control, phase, size, bytes, &mut rest)?,
            Err(Errno::INTR) => {}
            Err(error) if is_passing(error) => control.count_failed(phase),
            Err(error) => return Err(error),
        }
    }
}

/// A message is handed over whole, in as many calls as it takes.
#[cold]
fn complete(
    control: &Control,
    phase: Phase,
    size: usize,
    mut done: usize,
    rest: &mut impl FnMut(usize) -> Result<usize, Errno>,
) -> Result<(), Errno> {
    control.count_call(phase, done);
    control.count_short(phase);
    while done < size {
        match rest(done) {
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

/// How a receive call waits.
pub fn receive_flags(conditions: &Conditions) -> RecvFlags {
    match conditions.waiting {
        Waiting::Block => RecvFlags::empty(),
        Waiting::Spin => RecvFlags::DONTWAIT,
    }
}

/// Errors of a datagram socket that lose one message and do not end the flow: full queues, and a
/// receiver that was not there for an earlier datagram.
fn is_passing(error: Errno) -> bool {
    matches!(error, Errno::NOBUFS | Errno::CONNREFUSED)
}
