//! The sockets of a network namespace, of whatever program, as the kernel lists them (sock_diag(7)).
//!
//! Source: include/uapi/linux/inet_diag.h, linux/sock_diag.h.

use std::net::{IpAddr, SocketAddr};

use crate::netlink::connection::Connection;
use crate::netlink::error::Error;
use crate::netlink::message::{AF_INET, AF_INET6, Message, Reply, attribute, text, u32_at, u64_at};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_CONG: u16 = 4;
const INET_DIAG_SKMEMINFO: u16 = 7;

/// The extensions that a request asks for: a bit for each attribute.
const EXTENSIONS: u8 =
    1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_CONG - 1) | 1 << (INET_DIAG_SKMEMINFO - 1);

/// States of TCP (linux/tcp_states.h), as bits of a request: established, FIN_WAIT1, FIN_WAIT2 and CLOSE_WAIT; and LISTEN.
const OPEN: u32 = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 8;
const LISTEN: u32 = 1 << 10;

/// Offsets of `struct inet_diag_msg`.
const ID: usize = 4;
const COOKIE: usize = ID + 40;
const ID_BYTES: usize = 48;
const RECEIVE_QUEUE: usize = ID + ID_BYTES + 4;
const ATTRIBUTES: usize = RECEIVE_QUEUE + 16;

/// A socket at one time; what the kernel does not report is absent.
#[derive(Clone, Debug)]
pub struct SocketRecord {
    /// Address and port of this end.
    pub local: SocketAddr,
    /// The unspecified address where it is not connected.
    pub peer: SocketAddr,
    /// Its number, which no other socket has while the host runs.
    pub cookie: u64,
    /// Its number among files; 0: no program holds it any more.
    pub inode: u32,
    /// Bytes that the program has not read; connections that it has not accepted, of one that listens.
    pub receive_queue: u32,
    /// Bytes that are not acknowledged; the most connections that may wait, of one that listens.
    pub send_queue: u32,
    /// `TCP_INFO`, of a connection, as [`crate::socket::tcp_info`] reads it.
    pub tcp_info: Option<Vec<u8>>,
    /// `SO_MEMINFO`, as [`crate::socket::memory`] reads it.
    pub memory: Option<[u32; 9]>,
    /// Its name (`TCP_CONGESTION`).
    pub congestion_control: Option<String>,
    /// `struct inet_diag_sockid`, by which it is asked for.
    id: [u8; ID_BYTES],
    family: u8,
}

/// A list of sockets in the network namespace in which it was opened.
#[derive(Debug)]
pub struct SockDiag {
    connection: Connection,
}

impl SockDiag {
    /// Opens it.
    pub fn open() -> Result<SockDiag, Error> {
        let connection = Connection::open(Some(rustix::net::netlink::SOCK_DIAG))?;
        Ok(SockDiag { connection })
    }

    /// Every TCP connection that is open, or that one end has closed.
    pub fn connections(&mut self) -> Result<Vec<SocketRecord>, Error> {
        self.all(libc::IPPROTO_TCP, OPEN)
    }

    /// Every TCP socket that listens.
    pub fn listening(&mut self) -> Result<Vec<SocketRecord>, Error> {
        self.all(libc::IPPROTO_TCP, LISTEN)
    }

    /// Every UDP socket.
    pub fn datagrams(&mut self) -> Result<Vec<SocketRecord>, Error> {
        self.all(libc::IPPROTO_UDP, u32::MAX)
    }

    /// A connection as it is now; absent once it has ended.
    pub fn again(&mut self, known: &SocketRecord) -> Result<Option<SocketRecord>, Error> {
        let message = request(known.family, libc::IPPROTO_TCP, u32::MAX, &known.id);
        match self.connection.request("read a connection", message) {
            Ok(answer) => Ok(answer.iter().find_map(read)),
            Err(error) if error.errno() == Some(libc::ENOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn all(&mut self, protocol: i32, states: u32) -> Result<Vec<SocketRecord>, Error> {
        let mut found = Vec::new();
        for family in [AF_INET, AF_INET6] {
            let message = request(family, protocol, states, &[0; ID_BYTES]);
            let answer = self.connection.dump("list the sockets", message)?;
            found.extend(answer.iter().filter_map(read));
        }
        Ok(found)
    }
}

/// `struct inet_diag_req_v2`.
fn request(family: u8, protocol: i32, states: u32, id: &[u8; ID_BYTES]) -> Message {
    let mut fixed = vec![family, protocol as u8, EXTENSIONS, 0];
    fixed.extend_from_slice(&states.to_ne_bytes());
    fixed.extend_from_slice(id);
    Message::new(SOCK_DIAG_BY_FAMILY, 0, &fixed)
}

fn read(reply: &Reply) -> Option<SocketRecord> {
    let bytes = &reply.payload[..];
    let family = *bytes.first()?;
    let id: [u8; ID_BYTES] = bytes.get(ID..ID + ID_BYTES)?.try_into().ok()?;
    let port = |at: usize| u16::from_be_bytes([id[at], id[at + 1]]);
    let address = |at: usize| match family {
        AF_INET => IpAddr::from(<[u8; 4]>::try_from(&id[at..at + 4]).unwrap_or_default()),
        _ => IpAddr::from(<[u8; 16]>::try_from(&id[at..at + 16]).unwrap_or_default()),
    };
    let number = |place: usize| u32_at(bytes, RECEIVE_QUEUE + 4 * place);
    let rest = bytes.get(ATTRIBUTES..)?;
    let words = |value: &[u8]| {
        let words: Option<Vec<u32>> = (0..9).map(|place| u32_at(value, 4 * place)).collect();
        words?.try_into().ok()
    };
    Some(SocketRecord {
        local: SocketAddr::new(address(4).to_canonical(), port(0)),
        peer: SocketAddr::new(address(20).to_canonical(), port(2)),
        cookie: u64_at(bytes, COOKIE)?,
        receive_queue: number(0)?,
        send_queue: number(1)?,
        inode: number(3)?,
        tcp_info: attribute(rest, INET_DIAG_INFO).map(<[u8]>::to_vec),
        memory: attribute(rest, INET_DIAG_SKMEMINFO).and_then(words),
        congestion_control: attribute(rest, INET_DIAG_CONG).map(text),
        id,
        family,
    })
}
