//! Fast modes of the stream workloads: one file per family, one table of them all.
//!
//! A mode is told by name in the record. It is never chosen in place of another: what the kernel
//! refuses is an error.

mod taking;
mod tcp_mapped;
mod tcp_sendfile;
mod tcp_splice;
mod tcp_truncate;
mod tcp_writev;
mod tcp_zerocopy;
mod udp_batch;
mod udp_gso;
mod uring_receive;
mod uring_send;

use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use model::conditions::{Conditions, ReceiveSize, Waiting};
use model::modes::{MODES, Mode, setting};
use model::record::{InForce, Role};
use rustix::io::Errno;
use sys::datagram::Wait;

use crate::control::{Control, Phase};
use crate::flow::{Flow, Outcome, Ready, Sent, TrafficError};
use crate::handshake::Token;
use crate::intake::Intake;
use crate::options::tcp_info;
use crate::pacing::Pacer;
use crate::sequence::Tag;
use crate::tcp_stream::end_in_good_order;
use taking::Taking;

/// A fast mode of one end, ready to move messages.
trait Fast: Send {
    /// Moves messages over `socket` until `control` says that it is over; a sender holds them back until
    /// their time.
    fn run(&mut self, socket: BorrowedFd<'_>, control: &Control, pacer: &mut Option<Pacer>) -> Result<(), Errno>;

    /// Takes what the kernel still has to say when the connection has ended.
    fn ended(&mut self, _socket: BorrowedFd<'_>) {}

    /// Counters that only this mode has.
    fn counters(&self) -> BTreeMap<&'static str, u64> {
        BTreeMap::new()
    }

    /// What a receiver of a connection keeps.
    fn taking(&self) -> Option<&Taking> {
        None
    }

    /// What a receiver of datagrams keeps.
    fn intake(&self) -> Option<&Intake> {
        None
    }
}

/// One fast mode.
struct Row {
    mode: Mode,
    end: Role,
    /// What it asks of the kernel, for errors.
    asks: &'static str,
    /// Makes the socket and the memory ready; datagrams begin with the tag.
    prepare: Prepare,
}

type Prepare = fn(BorrowedFd<'_>, &Conditions, Tag) -> io::Result<Box<dyn Fast>>;

/// Every mode but `plain`. What they are called and which workload has them stands in [`MODES`].
const FAST: &[Row] = &[
    Row { mode: Mode::Gso, end: Role::Sender, asks: "UDP_SEGMENT", prepare: udp_gso::sender },
    Row { mode: Mode::Sendmmsg, end: Role::Sender, asks: "sendmmsg", prepare: udp_batch::sender },
    Row { mode: Mode::Writev, end: Role::Sender, asks: "writev", prepare: tcp_writev::sender },
    Row { mode: Mode::Zerocopy, end: Role::Sender, asks: "SO_ZEROCOPY, MSG_ZEROCOPY", prepare: tcp_zerocopy::sender },
    Row { mode: Mode::Sendfile, end: Role::Sender, asks: "memfd_create, sendfile", prepare: tcp_sendfile::sender },
    Row { mode: Mode::Splice, end: Role::Sender, asks: "tee, splice", prepare: tcp_splice::sender },
    Row { mode: Mode::IoUring, end: Role::Sender, asks: "io_uring, IORING_OP_SEND", prepare: uring_send::copying },
    Row {
        mode: Mode::IoUringZerocopy,
        end: Role::Sender,
        asks: "io_uring, IORING_OP_SEND_ZC",
        prepare: uring_send::zerocopy,
    },
    Row { mode: Mode::Gro, end: Role::Receiver, asks: "UDP_GRO", prepare: udp_gso::receiver },
    Row { mode: Mode::Recvmmsg, end: Role::Receiver, asks: "recvmmsg", prepare: udp_batch::receiver },
    Row { mode: Mode::Truncate, end: Role::Receiver, asks: "MSG_TRUNC", prepare: tcp_truncate::receiver },
    Row { mode: Mode::Splice, end: Role::Receiver, asks: "splice, /dev/null", prepare: tcp_splice::receiver },
    Row { mode: Mode::Mapped, end: Role::Receiver, asks: "TCP_ZEROCOPY_RECEIVE", prepare: tcp_mapped::receiver },
    Row {
        mode: Mode::IoUring,
        end: Role::Receiver,
        asks: "io_uring, multishot IORING_OP_RECV",
        prepare: uring_receive::receiver,
    },
];

/// The end in the mode that the run asks for; `plain` makes the workload's own flow.
pub fn ready<S: Into<Wire>>(
    end: Role,
    conditions: &Conditions,
    token: &Token,
    socket: S,
    mut in_force: Vec<InForce>,
    plain: impl FnOnce(S) -> Box<dyn Flow>,
) -> Result<Ready, TrafficError> {
    let mode = match end {
        Role::Sender => conditions.send_mode,
        Role::Receiver => conditions.receive_mode,
    };
    let flow =
        if mode == Mode::Plain { plain(socket) } else { fast(end, mode, conditions, Tag::of(token), socket.into())? };
    in_force.push(InForce {
        name: setting(end).to_owned(),
        asked: Some(mode.name().to_owned()),
        actual: Some(mode.name().to_owned()),
    });
    Ok(Ready { in_force, flow })
}

fn fast(end: Role, mode: Mode, conditions: &Conditions, tag: Tag, wire: Wire) -> Result<Box<dyn Flow>, TrafficError> {
    let row = FAST.iter().find(|row| (row.end, row.mode) == (end, mode)).ok_or_else(|| {
        TrafficError::Peer(format!(
            "no {} `{}` in this version; use the same bitcost on both hosts",
            setting(end),
            mode.name()
        ))
    })?;
    let refused = |error| row.refused(conditions, error);
    let fast = (row.prepare)(wire.as_fd(), conditions, tag).map_err(refused)?;
    let pacer = if end == Role::Sender { Pacer::of(conditions) } else { None };
    Ok(Box::new(FastFlow { wire, row, conditions: conditions.clone(), pacer, fast }))
}

impl Row {
    /// What was asked, what the kernel answered, and what can be asked instead.
    fn refused(&self, conditions: &Conditions, error: io::Error) -> TrafficError {
        let others = MODES
            .iter()
            .filter(|row| row.end == self.end && row.mode != self.mode)
            .filter(|row| row.is_of(conditions.workload));
        let names: Vec<&str> = others.map(|row| row.name).collect();
        let reason = match Errno::from_io_error(&error) {
            Some(Errno::NOPROTOOPT | Errno::OPNOTSUPP | Errno::NOSYS) => "; this kernel does not have it",
            Some(Errno::NOBUFS | Errno::NOMEM) => "; the message is over the limit of locked memory (ulimit -l)",
            Some(Errno::PERM) => {
                "; this host forbids it: see the sysctl kernel.io_uring_disabled (0 allows everybody) and the container's seccomp filter"
            }
            Some(Errno::INVAL) if self.asks.starts_with("io_uring") => "; it needs Linux 6.1, zero-copy 6.2",
            Some(Errno::INVAL | Errno::MSGSIZE) => "; this kernel or this path does not take messages of this size so",
            _ => "",
        };
        let setting = setting(self.end);
        TrafficError::System {
            asked: format!(
                "{setting} `{}` ({}) with messages of {} bytes",
                self.mode.name(),
                self.asks,
                conditions.message_size_bytes
            ),
            error,
            hint: format!("{reason}; other choices of {setting}: {}", names.join(", ")),
        }
    }
}

/// The socket of a flow.
pub enum Wire {
    /// A connection.
    Tcp(TcpStream),
    /// A connected socket.
    Udp(UdpSocket),
}

impl From<TcpStream> for Wire {
    fn from(stream: TcpStream) -> Wire {
        Wire::Tcp(stream)
    }
}

impl From<UdpSocket> for Wire {
    fn from(socket: UdpSocket) -> Wire {
        Wire::Udp(socket)
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Wire::Tcp(stream) => stream.as_fd(),
            Wire::Udp(socket) => socket.as_fd(),
        }
    }
}

/// A flow whose messages a fast mode moves.
struct FastFlow {
    wire: Wire,
    row: &'static Row,
    conditions: Conditions,
    pacer: Option<Pacer>,
    fast: Box<dyn Fast>,
}

impl Flow for FastFlow {
    fn handle(&self) -> io::Result<OwnedFd> {
        self.wire.as_fd().try_clone_to_owned()
    }

    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        self.fast
            .run(self.wire.as_fd(), control, &mut self.pacer)
            .map_err(|error| self.row.refused(&self.conditions, error.into()))?;
        match (&mut self.wire, self.row.end) {
            (Wire::Udp(_), _) => return Ok(()),
            (Wire::Tcp(_), Role::Sender) if control.phase() == Phase::Abort => return Ok(()),
            (Wire::Tcp(stream), Role::Sender) => end_in_good_order(stream),
            (Wire::Tcp(stream), Role::Receiver) => stream.shutdown(Shutdown::Write),
        }
        .map_err(TrafficError::system("end the connection"))?;
        self.fast.ended(self.wire.as_fd());
        Ok(())
    }

    fn outcome(&self, sent: Sent) -> Outcome {
        let tcp_info = match &self.wire {
            Wire::Tcp(stream) => tcp_info(stream),
            Wire::Udp(_) => None,
        };
        let sequence = self.fast.intake().and_then(|intake| intake.sequence(sent));
        let counters = self.fast.counters().into_iter();
        let mode_counters = counters.map(|(name, count)| (name.to_owned(), count)).collect();
        let pacing = self.pacer.as_ref().map(Pacer::record);
        let low_water_bytes = self.fast.taking().and_then(Taking::low_water_bytes);
        Outcome { tcp_info, sequence, pacing, mode_counters, low_water_bytes, ..Outcome::default() }
    }
}

/// Bytes of one receive call of the modes that do not copy to the program, unless the run says how many.
const ROOM: u32 = 1 << 20;

/// The room of one receive call of a TCP mode.
fn receive_room(conditions: &Conditions) -> usize {
    match conditions.receive_size_bytes {
        ReceiveSize::Bytes(bytes) => bytes as usize,
        ReceiveSize::Auto | ReceiveSize::Message => ROOM as usize,
    }
}

/// How a receive call waits.
fn wait(conditions: &Conditions) -> Wait {
    match conditions.waiting {
        Waiting::Block => Wait::Sleep,
        Waiting::Spin => Wait::Never,
    }
}

/// The kernel's error of a wrapper in `sys`.
pub fn errno(error: io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

/// Holds one message back until its time, where the run is paced.
fn hold(pacer: &mut Option<Pacer>, control: &Control) {
    if let Some(pacer) = pacer {
        pacer.wait(control);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_of_the_model_is_here_once() {
        for row in MODES.iter().filter(|row| row.mode != Mode::Plain) {
            let here = FAST.iter().filter(|fast| (fast.end, fast.mode) == (row.end, row.mode));
            assert_eq!(here.count(), 1, "{} of the {}", row.name, row.end.name());
        }
        assert_eq!(FAST.len() + 2, MODES.len());
    }
}
