//! Fast modes of the stream workloads: one file per family, one table of all.
//!
//! The record names the mode. No mode replaces another: a mode that the kernel refuses is an error.

mod fast;
mod stream_receiver;
mod tcp_sendfile;
mod tcp_splice;
mod tcp_truncate;
mod tcp_writev;
mod tcp_zerocopy;
mod udp_gso;

use std::io;
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use bitcost_model::conditions::Conditions;
use bitcost_model::modes::{MODES, Mode, setting};
use bitcost_model::record::{FlowRecord, InEffect, Role};
use rustix::io::Errno;

use crate::control::{Control, Phase};
use crate::flow::{Flow, Ready, Sent, TrafficError};
use crate::handshake::Token;
use crate::options::tcp_info;
use crate::pacing::Pacer;
use crate::sequence::Tag;
use crate::tcp::close_gracefully;
use fast::{FastMode, Moving, Place, Prepared};
use stream_receiver::StreamReceiver;

struct Row {
    mode: Mode,
    end: Role,
    asks: &'static str,
    /// Prepares the socket and the memory; datagrams start with the tag.
    prepare: Prepare,
}

type Prepare = fn(&Place) -> Prepared;

/// A row is: the mode, the endpoint, what it asks of the kernel, and what prepares it.
macro_rules! fast {
    ($($mode:ident $end:ident $asks:literal $prepare:path;)*) => {
        &[$(Row {
            mode: Mode::$mode,
            end: Role::$end,
            asks: $asks,
            prepare: $prepare,
        }),*]
    };
}

/// Every mode except `plain`. Their names and workloads are in [`MODES`].
const FAST: &[Row] = fast! {
    Gso Sender "UDP_SEGMENT" udp_gso::sender;
    Writev Sender "writev" tcp_writev::sender;
    Zerocopy Sender "SO_ZEROCOPY, MSG_ZEROCOPY" tcp_zerocopy::sender;
    Sendfile Sender "memfd_create, sendfile" tcp_sendfile::sender;
    Splice Sender "tee, splice" tcp_splice::sender;
    Gro Receiver "UDP_GRO" udp_gso::receiver;
    Truncate Receiver "MSG_TRUNC" tcp_truncate::receiver;
    Splice Receiver "splice, /dev/null" tcp_splice::receiver;
};

/// The endpoint in the requested mode; `plain` makes the workload's own flow.
pub fn ready<S: Into<Socket>>(
    end: Role,
    conditions: &Conditions,
    token: &Token,
    socket: S,
    mut in_effect: Vec<InEffect>,
    plain: impl FnOnce(S) -> Box<dyn Flow>,
) -> Result<Ready, TrafficError> {
    let mode = match end {
        Role::Sender => conditions.send_mode,
        Role::Receiver => conditions.receive_mode,
    };
    let flow = if mode == Mode::Plain {
        plain(socket)
    } else {
        fast(end, mode, conditions, Tag::of(token), socket.into())?
    };
    in_effect.push(InEffect::as_requested(setting(end), mode.name()));
    Ok(Ready { in_effect, flow })
}

fn fast(
    end: Role,
    mode: Mode,
    conditions: &Conditions,
    tag: Tag,
    socket: Socket,
) -> Result<Box<dyn Flow>, TrafficError> {
    let row = FAST
        .iter()
        .find(|row| (row.end, row.mode) == (end, mode))
        .ok_or_else(|| {
            TrafficError::Peer(format!(
                "no {} `{}` in this version; use the same bitcost on both hosts",
                setting(end),
                mode.name()
            ))
        })?;
    let refused = |error| row.refused(conditions, error);
    let place = Place {
        socket: socket.as_fd(),
        conditions,
        tag,
    };
    let fast = (row.prepare)(&place).map_err(refused)?;
    let pacer = if end == Role::Sender {
        Pacer::of(conditions, &socket)
    } else {
        None
    };
    Ok(Box::new(FastFlow {
        socket,
        row,
        conditions: conditions.clone(),
        pacer,
        fast,
    }))
}

impl Row {
    /// The error with the request, the kernel's answer, and the other modes.
    fn refused(&self, conditions: &Conditions, error: io::Error) -> TrafficError {
        let others = MODES
            .iter()
            .filter(|row| row.end == self.end && row.mode != self.mode)
            .filter(|row| row.is_of(conditions.workload));
        let names: Vec<&str> = others.map(|row| row.name).collect();
        let reason = match Errno::from_io_error(&error) {
            Some(Errno::NOPROTOOPT | Errno::OPNOTSUPP | Errno::NOSYS) => {
                "; this kernel does not have it"
            }
            Some(Errno::NOBUFS | Errno::NOMEM) => {
                "; the message is over the limit of locked memory (ulimit -l)"
            }
            Some(Errno::INVAL | Errno::MSGSIZE) => {
                "; this kernel or this path does not take messages of this size in this mode"
            }
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

pub enum Socket {
    Tcp(TcpStream),
    Udp(UdpSocket),
}

impl From<TcpStream> for Socket {
    fn from(stream: TcpStream) -> Socket {
        Socket::Tcp(stream)
    }
}

impl From<UdpSocket> for Socket {
    fn from(socket: UdpSocket) -> Socket {
        Socket::Udp(socket)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Tcp(stream) => stream.as_fd(),
            Socket::Udp(socket) => socket.as_fd(),
        }
    }
}

struct FastFlow {
    socket: Socket,
    row: &'static Row,
    conditions: Conditions,
    pacer: Option<Pacer>,
    fast: Box<dyn FastMode>,
}

impl Flow for FastFlow {
    fn handle(&self) -> io::Result<OwnedFd> {
        self.socket.as_fd().try_clone_to_owned()
    }

    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        let on = Moving {
            socket: self.socket.as_fd(),
            control,
            pacer: &mut self.pacer,
        };
        let moved = self.fast.run(on);
        moved.map_err(|error| self.row.refused(&self.conditions, error.into()))?;
        match (&mut self.socket, self.row.end) {
            (Socket::Udp(_), _) => return Ok(()),
            (Socket::Tcp(_), Role::Sender) if control.phase() == Phase::Abort => return Ok(()),
            (Socket::Tcp(stream), Role::Sender) => close_gracefully(stream),
            (Socket::Tcp(stream), Role::Receiver) => stream.shutdown(Shutdown::Write),
        }
        .map_err(TrafficError::system("end the connection"))?;
        self.fast.ended(self.socket.as_fd());
        Ok(())
    }

    fn outcome(&self, sent: Sent) -> FlowRecord {
        let tcp_info = match &self.socket {
            Socket::Tcp(stream) => tcp_info(stream),
            Socket::Udp(_) => None,
        };
        let sequence = self
            .fast
            .datagrams()
            .and_then(|datagrams| datagrams.sequence(sent));
        let counters = self.fast.counters().into_iter();
        let mode_counters = counters
            .map(|(name, count)| (name.to_owned(), count))
            .collect();
        let pacing = self.pacer.as_ref().map(Pacer::record);
        let low_water_bytes = self.fast.stream().and_then(StreamReceiver::low_water_bytes);
        FlowRecord {
            tcp_info,
            sequence,
            pacing,
            mode_counters,
            low_water_bytes,
            ..FlowRecord::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_has_one_row() {
        for row in MODES.iter().filter(|row| row.mode != Mode::Plain) {
            let here = FAST
                .iter()
                .filter(|fast| (fast.end, fast.mode) == (row.end, row.mode));
            assert_eq!(here.count(), 1, "{} of the {}", row.name, row.end.name());
        }
        assert_eq!(FAST.len() + 2, MODES.len());
    }
}
