//! Socket options that both endpoints of every workload share, set and read back.

use std::os::fd::AsFd;

use bitcost_model::conditions::Conditions;
use bitcost_model::record::{InEffect, SocketSizes, TcpInfo};
use bitcost_sys::socket::{self, IntOption};
use rustix::net::{AddressFamily, sockopt};

use crate::flow::TrafficError;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Any,
    Tcp,
    Ipv4,
    Ipv6,
}

struct Row {
    name: &'static str,
    option_name: &'static str,
    option: IntOption,
    of: Of,
    /// The requested value, in the kernel's terms.
    asked: fn(&Conditions) -> Option<u32>,
    /// Conversions from the kernel's terms to the setting's: of the requested value, and of the
    /// value read.
    shown: [fn(u32) -> u32; 2],
}

const SAME: [fn(u32) -> u32; 2] = [|value| value, |value| value];

/// The kernel reports twice the granted size (socket(7)).
const DOUBLED: [fn(u32) -> u32; 2] = [|value| value, |value| value / 2];

/// A code point is in the upper six bits of the type of service.
const CODE_POINT: [fn(u32) -> u32; 2] = [|value| value >> 2, |value| value >> 2];

/// A row is: the setting, the option, the sockets that have it, the requested value, and the conversions.
macro_rules! options {
    ($($name:literal $option:ident $of:ident $asked:expr, $shown:ident;)*) => {
        &[$(Row {
            name: $name,
            option_name: stringify!($option),
            option: socket::$option,
            of: Of::$of,
            asked: $asked,
            shown: $shown,
        }),*]
    };
}

/// The options that both endpoints of every workload share; a new one is a row here and a setting.
const OPTIONS: &[Row] = options! {
    "send_buffer_bytes" SO_SNDBUF Any |c| c.send_buffer_bytes, DOUBLED;
    "receive_buffer_bytes" SO_RCVBUF Any |c| c.receive_buffer_bytes, DOUBLED;
    "notsent_low_water_bytes" TCP_NOTSENT_LOWAT Tcp |c| c.notsent_low_water_bytes, SAME;
    "nodelay" TCP_NODELAY Tcp |c| c.nodelay.then_some(1), SAME;
    "cork" TCP_CORK Tcp |c| c.cork.then_some(1), SAME;
    "dscp" IP_TOS Ipv4 |c| c.dscp.map(|code_point| code_point << 2), CODE_POINT;
    "dscp" IPV6_TCLASS Ipv6 |c| c.dscp.map(|code_point| code_point << 2), CODE_POINT;
    "busy_poll_us" SO_BUSY_POLL Any |c| c.busy_poll_us, SAME;
};

impl Row {
    fn is_of(&self, socket: impl AsFd, is_tcp: bool) -> bool {
        let is_of_family =
            |family| sockopt::socket_domain(socket).is_ok_and(|domain| domain == family);
        match self.of {
            Of::Any => true,
            Of::Tcp => is_tcp,
            Of::Ipv4 => is_of_family(AddressFamily::INET),
            Of::Ipv6 => is_of_family(AddressFamily::INET6),
        }
    }
}

/// Sets the requested options. The kernel may grant less without an error: see [`in_effect`].
pub fn set(socket: impl AsFd, conditions: &Conditions, is_tcp: bool) -> Result<(), TrafficError> {
    for row in OPTIONS {
        let Some(value) = (row.asked)(conditions).filter(|_| row.is_of(&socket, is_tcp)) else {
            continue;
        };
        let number = i32::try_from(value).unwrap_or(i32::MAX);
        socket::set_int(socket.as_fd(), row.option, number).map_err(|error| {
            TrafficError::system(format!("{} of {value}", row.option_name))(error)
        })?;
    }
    Ok(())
}

/// Every option as requested and as the kernel reports it, in the setting's terms.
pub fn in_effect(socket: impl AsFd, conditions: &Conditions, is_tcp: bool) -> Vec<InEffect> {
    let read = |row: &Row| {
        let actual = socket::get_int(socket.as_fd(), row.option)
            .ok()
            .and_then(|value| u32::try_from(value).ok());
        let [asked_shown, actual_shown] = row.shown;
        let asked = (row.asked)(conditions).map(asked_shown);
        InEffect::new(row.name, asked, actual.map(actual_shown))
    };
    OPTIONS
        .iter()
        .filter(|row| row.is_of(&socket, is_tcp))
        .map(read)
        .collect()
}

pub fn sizes(socket: impl AsFd) -> SocketSizes {
    let half = |option| {
        socket::get_int(&socket, option)
            .ok()
            .and_then(|bytes| u32::try_from(bytes / 2).ok())
    };
    SocketSizes {
        send_buffer_bytes: half(socket::SO_SNDBUF),
        receive_buffer_bytes: half(socket::SO_RCVBUF),
        mss_bytes: tcp_info(&socket).and_then(|info| info.snd_mss_bytes),
    }
}

pub fn tcp_info(socket: impl AsFd) -> Option<TcpInfo> {
    let bytes = socket::tcp_info(socket).ok()?;
    Some(TcpInfo::of_bytes(&bytes))
}
