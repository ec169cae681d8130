//! One request and its whole answer over a netlink socket.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

use crate::netlink::error::{Error, Why};
use crate::netlink::message::{Message, Reply, aligned, attribute, replies, text, u32_at};
use crate::socket::{self, IntOption};

const NLM_F_REQUEST: u16 = 0x01;
const NLM_F_ACK: u16 = 0x04;
const NLM_F_DUMP_INTR: u16 = 0x10;
const NLM_F_CAPPED: u16 = 0x100;
const NLM_F_ACK_TLVS: u16 = 0x200;
const NLM_F_DUMP: u16 = 0x300;
/// Makes a creating request append its object to others of its kind.
pub(crate) const NLM_F_APPEND: u16 = 0x800;
pub(crate) const NLM_F_EXCL: u16 = 0x200;
pub(crate) const NLM_F_REPLACE: u16 = 0x100;
pub(crate) const NLM_F_CREATE: u16 = 0x400;

const NLMSG_NOOP: u16 = 1;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLMSGERR_ATTR_MSG: u16 = 1;

const TIMEOUT: Duration = Duration::from_secs(5);
const BUFFER_BYTES: usize = 64 * 1024;
/// How often a dump is repeated when the kernel reports that the objects changed meanwhile.
const DUMP_ATTEMPTS: usize = 5;

/// It stays in the network namespace in which it was opened.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: OwnedFd,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Connection {
    /// Absent: NETLINK_ROUTE.
    pub(crate) fn open(protocol: Option<Protocol>) -> Result<Self, Error> {
        Ok(Self {
            socket: open(protocol).map_err(|error| Error {
                asked: "open a netlink socket".to_owned(),
                why: Why::Socket(error),
            })?,
            sequence: 0,
            buffer: vec![0; BUFFER_BYTES],
        })
    }

    /// Sends a request about one object; returns the messages before the acknowledgement.
    pub(crate) fn request(&mut self, asked: &str, message: Message) -> Result<Vec<Reply>, Error> {
        let (answer, _) = self.exchange(asked, message, NLM_F_ACK)?;
        Ok(answer)
    }

    /// Sends a request for all objects; asks again when they changed while being listed.
    pub(crate) fn dump(&mut self, asked: &str, message: Message) -> Result<Vec<Reply>, Error> {
        for _ in 0..DUMP_ATTEMPTS {
            let (answer, interrupted) = self.exchange(asked, message.clone(), NLM_F_DUMP)?;
            if !interrupted {
                return Ok(answer);
            }
        }
        let detail = "the list keeps changing while it is read";
        Err(Error::malformed(asked.to_owned(), detail))
    }

    fn exchange(
        &mut self,
        asked: &str,
        message: Message,
        flags: u16,
    ) -> Result<(Vec<Reply>, bool), Error> {
        self.sequence = self.sequence.wrapping_add(1);
        let failed = |error| Error {
            asked: asked.to_owned(),
            why: Why::Socket(error),
        };
        let bytes = message
            .finish(self.sequence, NLM_F_REQUEST | flags)
            .map_err(failed)?;
        send(&self.socket, &bytes, SendFlags::empty()).map_err(|error| failed(error.into()))?;
        let mut answer = Vec::new();
        let mut interrupted = false;
        loop {
            let length = receive(&self.socket, &mut self.buffer).map_err(failed)?;
            for reply in replies(&self.buffer[..length]) {
                if reply.sequence != self.sequence {
                    continue;
                }
                interrupted |= reply.flags & NLM_F_DUMP_INTR != 0;
                match reply.kind {
                    NLMSG_NOOP => {}
                    NLMSG_ERROR | NLMSG_DONE => {
                        return refusal(asked, &reply).map_or(Ok((answer, interrupted)), Err);
                    }
                    _ => answer.push(reply),
                }
            }
        }
    }
}

/// A socket with extended acknowledgements.
fn open(protocol: Option<Protocol>) -> io::Result<OwnedFd> {
    let (family, flags) = (AddressFamily::NETLINK, SocketFlags::CLOEXEC);
    let socket = socket_with(family, SocketType::RAW, flags, protocol)?;
    set_socket_timeout(&socket, Timeout::Recv, Some(TIMEOUT))?;
    for option in [libc::NETLINK_EXT_ACK, libc::NETLINK_CAP_ACK] {
        socket::set_int(&socket, IntOption(libc::SOL_NETLINK, option), 1)?;
    }
    Ok(socket)
}

fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
    let receive = || recv(socket, &mut *buffer, RecvFlags::TRUNC);
    let (kept, whole) = rustix::io::retry_on_intr(receive)?;
    match kept == whole {
        true => Ok(kept),
        false => Err(io::ErrorKind::FileTooLarge.into()),
    }
}

/// The error that an acknowledgement or the end of a dump carries, if any.
pub(crate) fn refusal(asked: &str, reply: &Reply) -> Option<Error> {
    let code = u32_at(&reply.payload, 0).unwrap_or(0).cast_signed();
    if code == 0 {
        return None;
    }
    let error = io::Error::from_raw_os_error(code.saturating_neg());
    Some(Error {
        asked: asked.to_owned(),
        why: Why::Refused(error, kernel_text(reply)),
    })
}

fn kernel_text(reply: &Reply) -> Option<String> {
    if reply.flags & NLM_F_ACK_TLVS == 0 {
        return None;
    }
    // An error repeats the request's header (16 bytes), and its body too unless it was capped.
    let mut start = 4;
    if reply.kind == NLMSG_ERROR {
        let request_bytes = u32_at(&reply.payload, 4)? as usize;
        let capped = reply.flags & NLM_F_CAPPED != 0;
        start += if capped { 16 } else { aligned(request_bytes) };
    }
    attribute(reply.payload.get(start..)?, NLMSGERR_ATTR_MSG).map(text)
}
