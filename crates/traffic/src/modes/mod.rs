//! The ends of the stream workloads, and their fast modes: one file per family, one table of all.
//!
//! The record names the mode. No mode replaces another: a mode that the kernel refuses is an error.

mod mover;
mod tcp_sendfile;
mod tcp_truncate;
mod tcp_writev;
mod udp_gso;

use std::io;
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, OwnedFd};

use bitcost_model::conditions::Conditions;
use bitcost_model::modes::{MODES, Mode, setting};
use bitcost_model::protocol::Peer;
use bitcost_model::record::{FlowRecord, InEffect, Role};
use rustix::io::Errno;

use crate::control::{Control, Phase};
use crate::flow::{Made, Traffic, TrafficError};
use crate::pacing::Pacer;
use crate::sequence::Tag;
use crate::tcp;
use crate::workload::Run;
pub use mover::{Mover, Moving, Place, Prepared, byte_receiver, datagram_receiver, sender};

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
    Sendfile Sender "memfd_create, sendfile" tcp_sendfile::sender;
    Gro Receiver "UDP_GRO" udp_gso::receiver;
    Truncate Receiver "MSG_TRUNC" tcp_truncate::receiver;
};

/// The endpoint in the requested mode; `plain` prepares the workload's own.
pub fn made(
    run: &Run,
    end: Role,
    socket: impl Into<OwnedFd>,
    mut in_effect: Vec<InEffect>,
    plain: Prepare,
) -> Result<Made, TrafficError> {
    let (conditions, socket) = (run.conditions, socket.into());
    let mode = match end {
        Role::Sender => conditions.send_mode,
        Role::Receiver => conditions.receive_mode,
    };
    in_effect.push(InEffect::as_requested(setting(end), mode.name()));
    let row = FAST.iter().find(|row| (row.end, row.mode) == (end, mode));
    if row.is_none() && mode != Mode::Plain {
        return Err(TrafficError::Peer(format!(
            "no {} `{}` in this version; use the same bitcost on both hosts",
            setting(end),
            mode.name()
        )));
    }
    let place = Place {
        socket: socket.as_fd(),
        conditions,
        tag: Tag::of_run(run),
    };
    let prepared = row.map_or(plain, |row| row.prepare)(&place);
    let asked = Asked {
        end,
        row,
        conditions: conditions.clone(),
    };
    let mover = prepared.map_err(|error| asked.refused(error))?;
    let pacer = match end {
        Role::Sender => Pacer::of(conditions, &socket),
        Role::Receiver => None,
    };
    let traffic = Box::new(StreamEnd {
        socket,
        asked,
        peer: run.peer,
        pacer,
        mover,
    });
    Ok(Made { in_effect, traffic })
}

/// What was asked of the kernel.
struct Asked {
    end: Role,
    /// The mode; absent where it is plain.
    row: Option<&'static Row>,
    conditions: Conditions,
}

impl Asked {
    fn refused(&self, error: io::Error) -> TrafficError {
        match (self.row, self.end) {
            (Some(row), _) => row.refused(&self.conditions, error),
            (None, Role::Sender) => {
                let bytes = self.conditions.message_size_bytes;
                TrafficError::system(format!("send messages of up to {bytes} bytes"))(error)
            }
            (None, Role::Receiver) => TrafficError::system("receive")(error),
        }
    }
}

impl Row {
    /// The error with the request, the kernel's answer, and the other modes.
    fn refused(&self, conditions: &Conditions, error: io::Error) -> TrafficError {
        let others = MODES
            .iter()
            .filter(|row| row.end == self.end && row.mode != self.mode)
            .filter(|row| row.is_of(conditions.workload));
        let names: Vec<&str> = others.map(|row| row.mode.name()).collect();
        let reason = match Errno::from_io_error(&error) {
            Some(Errno::NOPROTOOPT | Errno::OPNOTSUPP | Errno::NOSYS) => {
                "; this kernel does not have it"
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

struct StreamEnd {
    socket: OwnedFd,
    asked: Asked,
    peer: Peer,
    pacer: Option<Pacer>,
    mover: Box<dyn Mover>,
}

impl Traffic for StreamEnd {
    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        let on = Moving {
            socket: self.socket.as_fd(),
            control,
            pacer: &mut self.pacer,
        };
        let moved = self.mover.run(on);
        moved.map_err(|error| self.asked.refused(error.into()))?;
        if self.asked.conditions.workload.is_datagram() {
            return Ok(());
        }
        let stream = self.socket.try_clone().map(TcpStream::from);
        let ended = stream.and_then(|mut stream| match (self.asked.end, self.peer) {
            (Role::Sender, _) if control.phase() == Phase::Abort => Ok(()),
            (Role::Sender, Peer::Bitcost) => tcp::close_gracefully(&mut stream),
            (Role::Sender, Peer::Iperf3) => tcp::await_acknowledged(&stream),
            (Role::Receiver, Peer::Bitcost) => stream.shutdown(Shutdown::Write),
            // It closes a connection of whose acknowledgement it does not wait.
            (Role::Receiver, Peer::Iperf3) => Ok(()),
        });
        ended.map_err(TrafficError::system("end the connection"))
    }

    fn outcome(&self, sent: [u64; 2]) -> FlowRecord {
        let mut outcome = FlowRecord {
            pacing: self.pacer.as_ref().map(Pacer::record),
            ..FlowRecord::default()
        };
        self.mover.report(sent, &mut outcome);
        outcome
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
            assert_eq!(
                here.count(),
                1,
                "{} of the {}",
                row.mode.name(),
                row.end.name()
            );
        }
        assert_eq!(FAST.len() + 2, MODES.len());
    }
}
