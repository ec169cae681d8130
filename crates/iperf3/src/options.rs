//! Socket options that a client asks the server for: tried before the test, set on its sockets.

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

pub fn set_timeouts(socket: impl AsFd, time: Duration) -> std::io::Result<()> {
    let fd = socket.as_fd();
    rustix::io::ioctl_fionbio(fd, false)?;
    sockopt::set_socket_timeout(fd, sockopt::Timeout::Recv, Some(time))?;
    Ok(sockopt::set_socket_timeout(
        fd,
        sockopt::Timeout::Send,
        Some(time),
    )?)
}
