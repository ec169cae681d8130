//! `tcp_stream`: one TCP connection, one send call per message.

use std::net::TcpStream;

use bitcost_model::record::Role;
use bitcost_sys::socket::{self, SO_RCVLOWAT};
use rustix::io::Errno;
use rustix::net::SendFlags;

use crate::flow::{Made, TrafficError};
use crate::loops::{Supply, receive_flags, send_messages};
use crate::message_buffer::MessageBuffer;
use crate::modes::{self, Place, Prepared, byte_receiver};
use crate::pacing;
use crate::syscalls::receive;
use crate::tcp;
use crate::workload::{Endpoints, Run};

pub const WORKLOAD: Endpoints = Endpoints::Tcp {
    client,
    server: |run, stream, _| receiver(run, stream),
};

fn client(run: &Run, stream: TcpStream) -> Result<Made, TrafficError> {
    let mut in_effect = tcp::in_effect(&stream, run.conditions, true);
    in_effect.extend(pacing::apply(&stream, run.conditions)?);
    modes::made(run, Role::Sender, stream, in_effect, plain_sender)
}

fn receiver(run: &Run, stream: TcpStream) -> Result<Made, TrafficError> {
    if let Some(bytes) = run.conditions.receive_low_water_bytes {
        let value = i32::try_from(bytes).unwrap_or(i32::MAX);
        socket::set_int(&stream, SO_RCVLOWAT, value).map_err(TrafficError::system(format!(
            "SO_RCVLOWAT of {bytes} bytes"
        )))?;
    }
    let in_effect = tcp::in_effect(&stream, run.conditions, false);
    modes::made(run, Role::Receiver, stream, in_effect, plain_receiver)
}

fn plain_sender(on: &Place) -> Prepared {
    let mut memory = MessageBuffer::of_sender(on.conditions);
    let supply = Supply::of(on.conditions);
    modes::sender(move |on| {
        let control = on.control;
        let mut hold = || {
            if let Some(pacer) = on.pacer {
                pacer.wait(control);
            }
        };
        let call = |bytes: &[u8]| rustix::net::send(on.socket, bytes, SendFlags::NOSIGNAL);
        send_messages(control, supply, |_, done, length| {
            if done > 0 {
                return call(&memory.present()[done..length]);
            }
            hold();
            call(&memory.next(length)[..length])
        })
    })
}

fn plain_receiver(on: &Place) -> Prepared {
    let (mut memory, flags) = (
        MessageBuffer::of_receiver(on.conditions),
        receive_flags(on.conditions),
    );
    let is_iperf3 = on.tag.is_iperf3();
    // From iperf3 it takes no more bytes than the run asks for, although the sender has more.
    let most = on.conditions.stop_bytes.filter(|_| is_iperf3);
    let (mut left, mut taken) = (most.unwrap_or(u64::MAX), 0);
    byte_receiver(on, move |socket| {
        memory.took(std::mem::take(&mut taken));
        if left == 0 {
            return Ok(0);
        }
        let received = memory.receive(flags, |buffer, flags| {
            let room = left.min(buffer.len() as u64) as usize;
            receive(socket, &mut buffer[..room], flags)
        });
        match received {
            Ok(length) => {
                taken = length;
                left -= length as u64;
                Ok(length)
            }
            Err(Errno::CONNRESET) if is_iperf3 => Ok(0),
            error => error,
        }
    })
}
