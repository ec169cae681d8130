//! The addresses and interfaces that the data uses between two named hosts, as their kernels report
//! them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::AtomicBool;

use bitcost_controller::{Endpoint, Session};
use bitcost_model::event::NamedHosts;
use bitcost_model::harmless;
use bitcost_model::place::{IpVersion, Places, is_of_one_link};
use bitcost_model::protocol::Route;
use bitcost_model::record::Role;
use bitcost_service::address::HostPort;
use bitcost_service::link::Link;

use super::connect::ssh;
use super::named::{Host, Named};
use super::{resolve, slurm};
use crate::error::ExecuteError;
use crate::local::{ONE_CPU, check_restored, separate_cpus};
use crate::prepared::Prepared;

enum Known {
    Receiver(IpAddr),
    Sender(IpAddr),
    OfReceiver(String),
}

struct Path {
    there: Route,
    back: Route,
    to: IpAddr,
    others: Vec<IpAddr>,
}

fn described(role: Role, endpoint: &Endpoint) -> String {
    let (role, Endpoint { place, device, .. }) = (role.name(), endpoint);
    let address = endpoint.addresses[0];
    // An iperf3 server does not name its interface.
    let separator = if device.is_empty() { "" } else { " " };
    format!("{role} at {place}, {device}{separator}{address}")
}

/// Whether the address is that of one host: false for unspecified, multicast and broadcast
/// addresses.
fn is_of_one_host(address: IpAddr) -> bool {
    !address.is_unspecified()
        && !address.is_multicast()
        && address != IpAddr::V4(Ipv4Addr::BROADCAST)
}

impl Named {
    /// Starts the agents, and finds the interface of each endpoint towards the other by the
    /// kernels' routes.
    pub fn prepare<'a>(
        &self,
        places: &Places,
        stop: &'a AtomicBool,
    ) -> Result<Prepared<'a>, ExecuteError> {
        if self.hosts.contains(&Host::Local) && !self.spec.sudo {
            check_restored()?;
        }
        // This comes before any agent is started: it may fail, and it uses only ssh's configuration
        // and the resolver.
        let known = self.known(places)?;
        if let Known::Receiver(address) | Known::Sender(address) = known
            && is_of_one_link(address)
            && Role::ALL.map(|role| self.device(role, places)) == [None, None]
        {
            return Err(ExecuteError::Usage(format!(
                "{address} is an address of one link, which needs the interface of the host that connects: write `{address}%DEVICE`, such as `{address}%eth0`"
            )));
        }
        let mut endpoints = Role::ALL.map(|role| self.host(role).endpoint(&self.spec));
        for (role, endpoint) in Role::ALL.into_iter().zip(&mut endpoints) {
            self.reach(endpoint, role, places)?;
        }
        let mut session = Session::open(endpoints, stop)?;
        let path = self.path(&mut session, known, places)?;
        let mut notes = self.set_interfaces(&mut session, &path, places);
        let ends = session.describe()?;
        let is_with_iperf3 = matches!(self.host(Role::Receiver), Host::Iperf3(_));
        let shared_cpus = match is_with_iperf3 {
            true => path.there.is_local,
            false => !ends[0].host.is_apart_from(&ends[1].host),
        };
        if shared_cpus && ends[0].host.boot_id == bitcost_probe::host::boot_id() {
            match separate_cpus() {
                Some((sender, receiver)) => {
                    session.pair.endpoint(Role::Sender).cpus = vec![sender];
                    session.pair.endpoint(Role::Receiver).cpus = vec![receiver];
                }
                None => notes.push(ONE_CPU.to_owned()),
            }
        }
        let [sender, receiver] = Role::ALL.map(|role| described(role, session.pair.endpoint(role)));
        let cpus = match shared_cpus {
            true => "on the CPUs of one machine",
            // Its host may be another container of this machine.
            false if is_with_iperf3 => "whether they share CPUs is not known",
            false => "on separate CPUs",
        };
        notes.push(format!("{sender}; {receiver}; {cpus}"));
        if is_with_iperf3 {
            notes.push("of the iperf3 server's host only what it reports is known".to_owned());
        }
        Ok(Prepared {
            session,
            ends,
            notes,
            rtt: None,
            shared_cpus,
        })
    }

    /// Finds the path of the data between the hosts of a session, and gives both endpoints their interfaces
    /// and addresses.
    pub fn connect(&self, session: &mut Session, places: &Places) -> Result<(), ExecuteError> {
        let path = self.path(session, self.known(places)?, places)?;
        self.set_interfaces(session, &path, places);
        Ok(())
    }

    /// Gives both endpoints their interfaces and addresses; returns a note if an interface was
    /// named that the path does not use.
    fn set_interfaces(&self, session: &mut Session, path: &Path, places: &Places) -> Vec<String> {
        let mut notes = Vec::new();
        let addresses = [
            vec![path.there.source],
            [&[path.to], &path.others[..]].concat(),
        ];
        for ((role, route), addresses) in Role::ALL
            .into_iter()
            .zip([&path.there, &path.back])
            .zip(addresses)
        {
            let asked = self.device(role, places);
            if let Some(asked) = asked.as_ref().filter(|asked| **asked != route.device) {
                let (role, found) = (role.name(), &route.device);
                notes.push(format!("the {role}'s route to the other endpoint uses {found}; settings are controlled on {asked}"));
            }
            let endpoint = session.pair.endpoint(role);
            endpoint.device = asked.unwrap_or(route.device.clone());
            endpoint.addresses = addresses;
        }
        notes
    }

    fn known(&self, places: &Places) -> Result<Known, ExecuteError> {
        let version = places.asked_version();
        if let Some(address) = places.receiver.address.or(self.spec.receiver_address) {
            return Ok(Known::Receiver(address));
        }
        let of_run = places.receiver.device.as_ref();
        if let Some(device) = of_run.or(self.spec.receiver.device.as_ref()) {
            return Ok(Known::OfReceiver(device.clone()));
        }
        if let Host::Iperf3(_) = self.host(Role::Sender) {
            return Err(ExecuteError::Usage(
                "an iperf3 server can play the receiver's host only; -R makes it send".to_owned(),
            ));
        }
        if let Some(address) = self.host(Role::Receiver).address(&self.spec, version)? {
            return Ok(Known::Receiver(address));
        }
        if let Some(address) = self.host(Role::Sender).address(&self.spec, version)? {
            return Ok(Known::Sender(address));
        }
        Ok(Known::Receiver(match version {
            Some(IpVersion::V6) => Ipv6Addr::LOCALHOST.into(),
            _ => Ipv4Addr::LOCALHOST.into(),
        }))
    }

    fn path(
        &self,
        session: &mut Session,
        known: Known,
        places: &Places,
    ) -> Result<Path, ExecuteError> {
        let services = Role::ALL.map(|role| session.pair.endpoint(role).service);
        match services {
            [None, Some(at)] => return self.to_service(session, Role::Receiver, at.ip(), places),
            [Some(at), None] => return self.to_service(session, Role::Sender, at.ip(), places),
            _ => {}
        }
        let pair = &mut session.pair;
        let version = places.asked_version();
        let fits = |address: &&IpAddr| IpVersion::fits(version, **address);
        let mut found = Vec::new();
        let [mut near, far] = Role::ALL.map(|role| self.device(role, places).unwrap_or_default());
        let to = match known {
            Known::Receiver(address) => address,
            Known::Sender(address) => {
                near = pair.route(Role::Sender, address, &near)?.device;
                pair.route(Role::Receiver, address, &far)?.source
            }
            Known::OfReceiver(device) => {
                found = pair.addresses(Role::Receiver, &device)?;
                found.iter().find(fits).copied().ok_or_else(|| {
                    let (place, version) = (self.host(Role::Receiver).place(), version.map_or("4 or IPv6", IpVersion::name));
                    ExecuteError::Environment(format!(
                        "the receiver's interface {device} at {place} has no address of IPv{version}; name another interface (--receiver-dev DEVICE) or an address (--receiver-address ADDR)"
                    ))
                })?
            }
        };
        let there = pair.route(Role::Sender, to, &near);
        let there = there.map_err(|error| self.no_way(error.into()))?;
        let own = pair.route(Role::Receiver, to, &far)?;
        let back = pair.route(Role::Receiver, there.source, &own.device)?;
        if !is_of_one_host(to) || !is_of_one_host(there.source) || back.is_local != there.is_local {
            return Err(ExecuteError::Environment(format!(
                "the hosts' addresses for the data, {} of the sender and {to} of the receiver, are not of the two endpoints of one path; name the receiver's address: --receiver-address ADDR",
                there.source
            )));
        }
        if !own.is_local {
            return Err(ExecuteError::Environment(format!(
                "the receiver at {} has no address {to}, its address on the route to the sender is {}; name the one for the data: --receiver-address ADDR",
                self.host(Role::Receiver).place(),
                back.source
            )));
        }
        if found.is_empty() {
            found = pair.addresses(Role::Receiver, &back.device)?;
        }
        let mut others = Vec::new();
        for other in found
            .into_iter()
            .filter(|other| *other != to && is_of_one_host(*other))
        {
            // An address of the other version of IP is used only if the sender's route to it has
            // the same interface and is local in the same way, so that the receiver's report never
            // directs data to the sender itself.
            let is_same =
                |route: Route| route.device == there.device && route.is_local == there.is_local;
            if pair.route(Role::Sender, other, "").is_ok_and(is_same) {
                others.push(other);
            }
        }
        Ok(Path {
            there,
            back,
            to,
            others,
        })
    }

    /// The error for a sender without a route to the receiver, with the remedy.
    fn no_way(&self, failure: ExecuteError) -> ExecuteError {
        match failure {
            ExecuteError::Environment(what) => ExecuteError::Environment(format!(
                "{what}; name the receiver's address on the path that the data is to take: --receiver-address ADDR, or its interface: --receiver-dev DEVICE"
            )),
            other => other,
        }
    }

    /// The path between the service's host and the other one, which opens all flows. Addresses between them may be rewritten, so each
    /// knows the other's as it sees it.
    fn to_service(
        &self,
        session: &mut Session,
        service: Role,
        at: IpAddr,
        places: &Places,
    ) -> Result<Path, ExecuteError> {
        let near = self.device(service.other(), places).unwrap_or_default();
        let mut own = session.pair.route(service.other(), at, &near)?;
        own.source = places.end(service.other()).address.unwrap_or(own.source);
        let any = match at {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let theirs = Route {
            source: at,
            ..session.pair.route(service, any, "")?
        };
        let (there, back) = match service {
            Role::Receiver => (own, theirs),
            Role::Sender => (theirs, own),
        };
        Ok(Path {
            to: back.source,
            there,
            back,
            others: Vec::new(),
        })
    }

    /// Has the process that speaks with a service, or with an iperf3 server, and the endpoint that opens the flows go to one
    /// address of it, with a service from the place of the data.
    fn reach(
        &self,
        endpoint: &mut Endpoint,
        role: Role,
        places: &Places,
    ) -> Result<(), ExecuteError> {
        let named = self.host(role);
        let (Host::Service(Link { at, .. }) | Host::Iperf3(at)) = named else {
            return Ok(());
        };
        let Some(address) = named.address(&self.spec, places.asked_version())? else {
            return Ok(());
        };
        let (host, port) = (address.to_string(), at.port);
        let at = HostPort { host, port };
        let resolved = match named {
            Host::Service(link) => {
                endpoint.service = Some(SocketAddr::new(address, port));
                Host::Service(Link { at, ..link.clone() })
            }
            _ => Host::Iperf3(at),
        };
        let (spec, mut from) = (self.spec.clone(), places.end(role.other()).clone());
        if is_of_one_link(address) {
            from.device = self.device(role.other(), places);
        }
        endpoint.command = Box::new(move || resolved.command(&spec, &from));
        Ok(())
    }
}

impl Host {
    /// Its address, as what reaches it knows it; absent for this machine.
    pub fn address(
        &self,
        spec: &NamedHosts,
        version: Option<IpVersion>,
    ) -> Result<Option<IpAddr>, ExecuteError> {
        let address = match self {
            Host::Local => return Ok(None),
            Host::Ssh(name) => by_ssh(spec, name, version)?,
            Host::Service(Link { at, .. }) | Host::Iperf3(at) => {
                let host = &at.host;
                resolve::first(host, version).map_err(|why| {
                    ExecuteError::Environment(format!("the host name {host} {why}"))
                })?
            }
            Host::Slurm(node) => slurm::address(node, version)?,
            Host::Kubernetes(target) => {
                return Err(ExecuteError::Environment(format!(
                    "{} has no address of the requested version of IP; name the interface for the data: --network-device DEVICE",
                    target.place()
                )));
            }
        };
        Ok(Some(address))
    }
}

/// The address of a host that ssh knows: that of the host name in ssh's configuration.
fn by_ssh(
    spec: &NamedHosts,
    name: &str,
    version: Option<IpVersion>,
) -> Result<IpAddr, ExecuteError> {
    let asked = ssh(spec).args(["-G", name]).output();
    let output = asked.map_err(|error| {
        ExecuteError::Environment(format!(
            "cannot start ssh: {error}; it is needed for hosts other than `local`"
        ))
    })?;
    if !output.status.success() {
        let said = harmless(String::from_utf8_lossy(&output.stderr).trim());
        return Err(ExecuteError::Environment(format!(
            "ssh -G {name} failed: {said}"
        )));
    }
    let configuration = String::from_utf8_lossy(&output.stdout).into_owned();
    let host_name = bitcost_model::protocol::reach::ssh_host_name(&configuration)
        .unwrap_or(name)
        .trim();
    let shown = match host_name == name {
        true => format!("the host name {name}"),
        false => format!("the host name {host_name} of {name}"),
    };
    resolve::first(host_name, version).map_err(|why| {
            ExecuteError::Environment(format!(
                "{shown} {why}; correct the name, or name the address for the data: --receiver-address ADDR"
            ))
        })
}
