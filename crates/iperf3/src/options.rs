//! Socket options that a client asks the server for: tried before the test, set on its sockets.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;
use std::time::Duration;

use bitcost_sys::socket::{
    self, IP_MTU_DISCOVER, IP_TOS, IPV6_MTU_DISCOVER, IPV6_TCLASS, SO_RCVBUF, SO_SNDBUF,
    TCP_NODELAY,
};
use rustix::net::{AddressFamily, SocketType, socket, sockopt};

use crate::params::Params;
use crate::protocol::{Refusal, code};

/// `IP_PMTUDISC_DO`: do not fragment (ip(7)).
const DO_NOT_FRAGMENT: i32 = 2;

/// Tries on a socket that is not used what can fail on this host.
pub fn try_out(params: &Params) -> Result<(), Refusal> {
    let kind = match params.is_udp {
        true => SocketType::DGRAM,
        false => SocketType::STREAM,
    };
    let trial = socket(AddressFamily::INET, kind, None)
        .map_err(|error| Refusal::of_host(code::STREAM, "a socket", &error.into()))?;
    set(&trial, Ipv4Addr::UNSPECIFIED.into(), params)
}

/// Sets what the client asked on a stream's socket.
pub fn set(socket: impl AsFd, peer: IpAddr, params: &Params) -> Result<(), Refusal> {
    let fd = socket.as_fd();
    set_buffers(fd, params)?;
    if let Some(name) = params.congestion.as_ref().filter(|_| !params.is_udp) {
        let asked = format!("congestion control `{name}`");
        sockopt::set_tcp_congestion(fd, name)
            .map_err(|error| Refusal::of_host(code::CONGESTION, &asked, &error.into()))?;
    }
    let (service, fragments) = match peer.is_ipv4() {
        true => (IP_TOS, IP_MTU_DISCOVER),
        false => (IPV6_TCLASS, IPV6_MTU_DISCOVER),
    };
    let is_without_delay = params.nodelay && !params.is_udp;
    let is_whole = params.dont_fragment && params.is_udp;
    let of_host =
        |what: &'static str| move |error: io::Error| Refusal::of_host(code::STREAM, what, &error);
    for (value, option, what) in [
        (params.tos.map(i32::from), service, "the type of service"),
        (is_without_delay.then_some(1), TCP_NODELAY, "TCP_NODELAY"),
        (
            is_whole.then_some(DO_NOT_FRAGMENT),
            fragments,
            "no fragmentation",
        ),
    ] {
        value
            .map_or(Ok(()), |value| socket::set_int(fd, option, value))
            .map_err(of_host(what))?;
    }
    if params.fq_bitrate > 0 {
        socket::set_max_pacing_rate(fd, params.fq_bitrate / 8)
            .map_err(of_host("SO_MAX_PACING_RATE"))?;
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

/// Calls block, and those that receive look after this time whether the test has ended.
pub fn set_blocking(socket: impl AsFd, time: Duration) -> io::Result<()> {
    let fd = socket.as_fd();
    rustix::io::ioctl_fionbio(fd, false)?;
    sockopt::set_socket_timeout(fd, sockopt::Timeout::Recv, Some(time))?;
    Ok(sockopt::set_socket_timeout(
        fd,
        sockopt::Timeout::Send,
        None,
    )?)
}
