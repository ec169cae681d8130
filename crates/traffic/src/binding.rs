//! The local side of a socket: IP version, address, interface and port.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};

use bitcost_model::conditions::Conditions;
use bitcost_model::place::{EndpointPlace, IpVersion, Ports};
use bitcost_model::record::{InEffect, Role};
use bitcost_sys::netlink::devices;
use bitcost_sys::socket::{self, IP_BIND_ADDRESS_NO_PORT};
use rustix::io::Errno;
use rustix::net::{
    SocketAddrAny, SocketFlags, SocketType, bind, getsockname, socket_with, sockopt,
};

use crate::flow::TrafficError;
use crate::{congestion, options};

/// A socket with the options that must be set before it is bound.
fn open(address: SocketAddr, conditions: &Conditions) -> Result<OwnedFd, TrafficError> {
    let family = SocketAddrAny::from(address).address_family();
    let is_tcp = !conditions.workload.is_datagram();
    let kind = match is_tcp {
        true => SocketType::STREAM,
        false => SocketType::DGRAM,
    };
    let socket = socket_with(family, kind, SocketFlags::CLOEXEC, None)
        .map_err(TrafficError::errno("open a socket"))?;
    options::set(&socket, conditions, is_tcp)?;
    if is_tcp {
        congestion::ask(&socket, conditions)?;
    }
    Ok(socket)
}

/// A socket to listen with, bound to this address and no other program's; port 0 is one that the kernel chooses. Returns its
/// address.
pub fn listener(
    address: SocketAddr,
    conditions: &Conditions,
    place: Option<&EndpointPlace>,
) -> Result<(OwnedFd, SocketAddr), TrafficError> {
    let socket = open(address, conditions)?;
    place.map_or(Ok(()), |place| to_device(&socket, place))?;
    if address.port() != 0 && !conditions.workload.is_datagram() {
        // Allows a port that connections of an earlier run still hold (socket(7)).
        sockopt::set_socket_reuseaddr(&socket, true)
            .map_err(TrafficError::errno("SO_REUSEADDR"))?;
    }
    bound(socket, address)
}

/// A TCP socket at the address at which this user's service listens.
pub fn beside(
    address: SocketAddr,
    conditions: &Conditions,
) -> Result<(OwnedFd, SocketAddr), TrafficError> {
    let socket = open(address, conditions)?;
    if address.is_ipv6() {
        // As the service's own: the kernel puts sockets together that agree in it.
        sockopt::set_ipv6_v6only(&socket, true).map_err(TrafficError::errno("IPV6_V6ONLY"))?;
    }
    sockopt::set_socket_reuseport(&socket, true).map_err(TrafficError::errno("SO_REUSEPORT"))?;
    bound(socket, address)
}

/// One more UDP socket at an address that has a listening one, for one flow.
pub fn again(
    address: SocketAddr,
    conditions: &Conditions,
    role: Role,
) -> Result<OwnedFd, TrafficError> {
    let socket = open(address, conditions)?;
    to_device(&socket, conditions.places.end(role))?;
    sockopt::set_socket_reuseport(&socket, true).map_err(TrafficError::errno("SO_REUSEPORT"))?;
    bound(socket, address).map(|(socket, _)| socket)
}

fn bound(socket: OwnedFd, address: SocketAddr) -> Result<(OwnedFd, SocketAddr), TrafficError> {
    let protocol = match sockopt::socket_type(&socket) {
        Ok(SocketType::DGRAM) => "UDP",
        _ => "TCP",
    };
    bind(&socket, &address).map_err(|error| bind_error(&format!("{protocol} {address}"), error))?;
    let own = getsockname(&socket).and_then(SocketAddr::try_from);
    let own = own.map_err(TrafficError::errno("the socket's own address"))?;
    Ok((socket, own))
}

/// A sender's socket, bound as the run requests.
pub fn sender(peer: SocketAddr, conditions: &Conditions) -> Result<OwnedFd, TrafficError> {
    let socket = open(peer, conditions)?;
    bind_sender(&socket, peer, conditions)?;
    Ok(socket)
}

fn bind_sender(
    socket: impl AsFd,
    peer: SocketAddr,
    conditions: &Conditions,
) -> Result<(), TrafficError> {
    let place = &conditions.places.sender;
    to_device(&socket, place)?;
    let any: IpAddr = match peer {
        SocketAddr::V4(_) => [0; 4].into(),
        SocketAddr::V6(_) => [0; 16].into(),
    };
    let is_tcp = !conditions.workload.is_datagram();
    match (place.ports, place.address) {
        (Some(ports), address) => to_free_port(socket, address.unwrap_or(any), ports, is_tcp),
        (None, Some(address)) => to_address(socket, address),
        (None, None) => Ok(()),
    }
}

pub fn to_device(socket: impl AsFd, place: &EndpointPlace) -> Result<(), TrafficError> {
    let Some(device) = &place.device else {
        return Ok(());
    };
    socket::bind_to_device(&socket, device).map_err(|error| TrafficError::System {
        asked: format!("bind to the interface `{device}`"),
        error,
        hint: format!("; this host has: {}", devices().join(", ")),
    })
}

fn to_address(socket: impl AsFd, address: IpAddr) -> Result<(), TrafficError> {
    // A kernel that cannot postpone the choice of the port takes one that no other connection uses.
    let _ = socket::set_int(&socket, IP_BIND_ADDRESS_NO_PORT, 1);
    bind(&socket, &SocketAddr::new(address, 0))
        .map_err(|error| bind_error(&address.to_string(), error))
}

/// Binds to the first free port; for TCP also to one that only ended connections hold.
fn to_free_port(
    socket: impl AsFd,
    address: IpAddr,
    ports: Ports,
    is_tcp: bool,
) -> Result<(), TrafficError> {
    for with_ended in [false, true].into_iter().take(1 + usize::from(is_tcp)) {
        sockopt::set_socket_reuseaddr(&socket, with_ended)
            .map_err(TrafficError::errno("SO_REUSEADDR"))?;
        for port in ports.first..=ports.last {
            match bind(&socket, &SocketAddr::new(address, port)) {
                Err(Errno::ADDRINUSE) => {}
                result => {
                    return result
                        .map_err(|error| bind_error(&format!("{address} port {port}"), error));
                }
            }
        }
    }
    Err(bind_error(
        &format!("{address}, a port of {ports}"),
        Errno::ADDRINUSE,
    ))
}

fn bind_error(asked: &str, error: Errno) -> TrafficError {
    let hint = match error {
        Errno::ADDRINUSE => "; another program has it: choose another port",
        Errno::ADDRNOTAVAIL => "; this host has no such address",
        Errno::ACCESS => "; ports below net.ipv4.ip_unprivileged_port_start need privilege",
        _ => "",
    };
    TrafficError::System {
        asked: format!("bind a socket to {asked}"),
        error: error.into(),
        hint: hint.to_owned(),
    }
}

/// The local side of an endpoint's socket, as requested and as the kernel reports it.
pub fn in_effect(socket: impl AsFd, conditions: &Conditions, role: Role) -> Vec<InEffect> {
    let Ok(Some(own)) = getsockname(&socket).map(|address| SocketAddr::try_from(address).ok())
    else {
        return Vec::new();
    };
    let (places, place) = (&conditions.places, conditions.places.end(role));
    let of_endpoint = |what: &str| format!("{}_{what}", role.name());
    let version = IpVersion::of(own.ip());
    let ports = place.ports;
    let port = match ports.filter(|ports| ports.has(own.port())) {
        Some(ports) => ports.to_string(),
        None => own.port().to_string(),
    };
    let mut rows = vec![
        InEffect::new(
            "ip_version",
            places.ip_version.map(IpVersion::name),
            Some(version.name()),
        ),
        InEffect::new(of_endpoint("address"), place.address, Some(own.ip())),
        InEffect::new(of_endpoint("ports"), ports, Some(port)),
    ];
    let device = socket::bound_device(&socket).ok().flatten();
    if place.device.is_some() || device.is_some() {
        rows.push(InEffect::new(
            of_endpoint("device"),
            place.device.as_ref(),
            device,
        ));
    }
    rows
}
