//! Socket options that a client asks the server for: tried before the test, set on its sockets.

use std::net::{IpAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;

use bitcost_sys::socket::{
    self, IP_MTU_DISCOVER, IP_TOS, IPV6_MTU_DISCOVER, IPV6_TCLASS, SO_RCVBUF, SO_SNDBUF,
    TCP_NODELAY,
};
use rustix::net::{AddressFamily, SocketType, socket};

use crate::params::Params;
use crate::protocol::code;
use crate::refusal::Refusal;

/// `IP_PMTUDISC_DO`: do not fragment (ip(7)).
const DO_NOT_FRAGMENT: i32 = 2;

/// Tries on a socket that is not used what can fail on this host.
///
/// # Errors
/// The option that cannot be set, with iperf3's code.
pub fn try_out(params: &Params) -> Result<(), Refusal> {
    let kind = match params.is_udp {
        true => SocketType::DGRAM,
        false => SocketType::STREAM,
    };
    let trial = socket(AddressFamily::INET, kind, None)
        .map_err(|error| Refusal::of_host(code::STREAM, "a socket", &error.into()))?;
    set_buffers(&trial, params)?;
    set_congestion(&trial, params)
}

/// Sets what the client asked on a stream's socket.
///
/// # Errors
/// As [`try_out`].
pub fn set(socket: impl AsFd, peer: IpAddr, params: &Params) -> Result<(), Refusal> {
    let fd = socket.as_fd();
    set_buffers(fd, params)?;
    set_congestion(fd, params)?;
    let is_v4 = peer.is_ipv4();
    let set = |option, value, what: &str| {
        socket::set_int(fd, option, value)
            .map_err(|error| Refusal::of_host(code::STREAM, what, &error))
    };
    if let Some(tos) = params.tos {
        let option = if is_v4 { IP_TOS } else { IPV6_TCLASS };
        set(option, tos.into(), "the type of service")?;
    }
    if params.nodelay && !params.is_udp {
        set(TCP_NODELAY, 1, "TCP_NODELAY")?;
    }
    if params.dont_fragment && params.is_udp {
        let option = if is_v4 {
            IP_MTU_DISCOVER
        } else {
            IPV6_MTU_DISCOVER
        };
        set(option, DO_NOT_FRAGMENT, "no fragmentation")?;
    }
    if params.fq_bitrate > 0 {
        socket::set_max_pacing_rate(fd, params.fq_bitrate / 8)
            .map_err(|error| Refusal::of_host(code::STREAM, "SO_MAX_PACING_RATE", &error))?;
    }
    Ok(())
}

fn set_buffers(socket: impl AsFd, params: &Params) -> Result<(), Refusal> {
    let Some(window) = params.window else {
        return Ok(());
    };
    let asked = format!("socket buffers of {window} bytes");
    let value = i32::try_from(window).map_err(|_| {
        Refusal::new(
            code::SET_BUFFER,
            format!("{asked}; the maximum is 2147483647"),
        )
    })?;
    for option in [SO_SNDBUF, SO_RCVBUF] {
        let granted = socket::set_int(&socket, option, value)
            .and_then(|()| socket::get_int(&socket, option))
            .map_err(|error| Refusal::of_host(code::SET_BUFFER, &asked, &error))?;
        if granted < value {
            let rule = format!("{asked}; net.core.wmem_max and rmem_max allow {granted}");
            return Err(Refusal::new(code::BUFFER_SIZE, rule));
        }
    }
    Ok(())
}

fn set_congestion(socket: impl AsFd, params: &Params) -> Result<(), Refusal> {
    match &params.congestion {
        Some(name) if !params.is_udp => {
            let asked = format!("congestion control `{name}`");
            socket::set_congestion_control(socket, name)
                .map_err(|error| Refusal::of_host(code::CONGESTION, &asked, &error))
        }
        _ => Ok(()),
    }
}

/// The congestion control in effect.
pub fn congestion(stream: &TcpStream) -> Option<String> {
    socket::congestion_control(stream).ok()
}

/// Limits how long calls on a stream's socket block.
pub fn set_timeouts(
    socket: &super::registry::Socket,
    time: std::time::Duration,
) -> std::io::Result<()> {
    match socket {
        super::registry::Socket::Tcp(stream) => set_tcp_timeouts(stream, time),
        super::registry::Socket::Udp(socket) => set_udp_timeouts(socket, time),
    }
}

fn set_tcp_timeouts(stream: &TcpStream, time: std::time::Duration) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(time))?;
    stream.set_write_timeout(Some(time))
}

fn set_udp_timeouts(socket: &UdpSocket, time: std::time::Duration) -> std::io::Result<()> {
    socket.set_nonblocking(false)?;
    socket.set_read_timeout(Some(time))?;
    socket.set_write_timeout(Some(time))
}
