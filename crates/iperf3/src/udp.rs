//! UDP streams: their sockets and their loops.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use bitcost_sys::clock;
use bitcost_sys::socket::is_passing;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with, sockopt};

use crate::datagram::{Arrivals, GREETING_BYTES, GREETINGS, Header};
use crate::flow::{Counted, Course, Pacer};

/// The time after the last datagram that the client asked for in which it ends its test, unless some
/// were lost.
const LOST: Duration = Duration::from_secs(1);

/// A datagram that came to the socket of another client.
pub type Misled = (SocketAddr, Vec<u8>);

/// A socket at this address; others of the same user may be bound to it, too. Calls do not block.
pub fn open(local: SocketAddr) -> io::Result<UdpSocket> {
    let family = match local {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::DGRAM, flags, None)?;
    sockopt::set_socket_reuseport(&socket, true)?;
    bind(&socket, &local)?;
    Ok(socket.into())
}

/// A socket for one stream, connected to the client, and the datagrams of others that came to it
/// before it was connected.
pub fn open_stream(local: SocketAddr, peer: SocketAddr) -> io::Result<(UdpSocket, Vec<Misled>)> {
    let socket = open(local)?;
    connect(&socket, &peer)?;
    let mut misled = Vec::new();
    let mut buffer = [0; 64];
    while let Ok((length, from)) = socket.recv_from(&mut buffer) {
        if from != peer {
            misled.push((from, buffer[..length].to_vec()));
        }
    }
    Ok((socket, misled))
}

pub fn receive(socket: &UdpSocket, course: &Course, counted: &mut Counted) {
    let mut buffer = vec![0; 1 << 16];
    let mut arrivals = Arrivals::default();
    while !course.is_over() {
        match socket.recv(&mut buffer) {
            Ok(length) => {
                let datagram = &buffer[..length];
                let header = Header::read(datagram, course.params.wide_counters);
                let now_ns = clock::monotonic_ns();
                let is_greeting = length == GREETING_BYTES
                    && GREETINGS.iter().any(|greeting| datagram == greeting);
                let is_ours = header.is_some_and(|header| arrivals.note(header, now_ns));
                if is_ours && !is_greeting {
                    counted.all.bytes += length as u64;
                }
            }
            // After the client has closed its socket.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
            Err(error) if !is_passing(&error) => break,
            Err(_) if !course.is_running() => break,
            Err(_) => {}
        }
        counted.all.packets = arrivals.highest;
        counted.note(|counts| counts.errors = arrivals.lost());
    }
    counted.all.errors = arrivals.lost();
    counted.all.jitter = arrivals.jitter_ns.map(|ns| ns / 1e9);
}

/// Sends until the client ends the test or has closed its socket.
pub fn send(socket: &UdpSocket, course: &Course, counted: &mut Counted) {
    let mut datagram = vec![b'b'; course.params.length];
    let mut pacer = Pacer::new(&course.params);
    let mut is_bounded = true;
    while course.is_running() {
        if is_bounded && !course.take_block() {
            // Where some were lost, the client waits for more.
            is_bounded = false;
            course.wait(LOST);
            continue;
        }
        if let Some(pacer) = &mut pacer {
            pacer.wait(course);
        }
        let number = counted.all.packets + 1;
        let sent_ns = clock::monotonic_ns();
        Header { sent_ns, number }.write(&mut datagram, course.params.wide_counters);
        match socket.send(&datagram) {
            Ok(sent) => {
                counted.all.bytes += sent as u64;
                counted.all.packets = number;
            }
            Err(error) if is_passing(&error) || is_full(&error) => {}
            Err(_) => break,
        }
        counted.note(|_| {});
    }
}

/// Whether the queue of the interface has no room (`ENOBUFS`).
fn is_full(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NOBUFS.raw_os_error())
}
