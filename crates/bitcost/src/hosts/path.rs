//! Which addresses and interfaces the data takes between two named hosts: asked of their kernels.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use drive::{Ends, Session, Way};
use model::harmless;
use model::place::{IpVersion, Places};
use model::record::Role;
use wire::Route;

use super::{Host, Named, resolve};
use crate::failure::Failure;
use crate::place::{self, Prepared};
use crate::programs::Programs;
use crate::verbs::host;

const ROLES: [Role; 2] = [Role::Sender, Role::Receiver];

/// Whose address is known before the hosts are asked.
enum Known {
    Receiver(IpAddr),
    Sender(IpAddr),
    /// The receiver's is that of its named interface.
    OfReceiver(String),
}

/// The way of the data.
struct Path {
    /// At the sender.
    there: Route,
    /// At the receiver.
    back: Route,
    /// The receiver's address.
    to: IpAddr,
    /// More addresses of the receiver that lie on the same way.
    others: Vec<IpAddr>,
}

/// False for addresses of no host and of many.
fn is_of_one_host(address: IpAddr) -> bool {
    !address.is_unspecified() && !address.is_multicast() && address != IpAddr::V4(Ipv4Addr::BROADCAST)
}

impl Named {
    /// Starts the agents, and finds the interface of each end towards the other by their kernels' routes.
    ///
    /// # Errors
    /// When an agent cannot be started, or the hosts have no address by which they reach each other.
    pub fn prepare<'a>(
        &self,
        places: &Places,
        programs: &Arc<Programs>,
        stop: &'a AtomicBool,
    ) -> Result<Prepared<'a>, Failure> {
        let another = programs.others().next();
        if let (Some(program), Some(remote)) = (another, &self.spec.remote_program) {
            return Err(Failure::Usage(format!(
                "--remote-program {remote} is started for every run, and some are to be made by {program}; leave one of them out"
            )));
        }
        if self.hosts.contains(&Host::Local) && !self.spec.sudo {
            host::check_is_as_found()?;
        }
        // Before any agent is started: it may fail, and asks nobody but ssh's configuration and the resolver.
        let known = self.known(places)?;
        let [sender, receiver] = self.ways(programs);
        let mut session = Session::open(Ends { sender, receiver }, stop)?;
        let path = self.path(&mut session, known, places)?;
        let mut notes = Vec::new();
        let addresses = [vec![path.there.source], [&[path.to], &path.others[..]].concat()];
        for ((role, route), addresses) in ROLES.into_iter().zip([&path.there, &path.back]).zip(addresses) {
            let asked = places.end(role).device.clone().or(self.device(role).cloned());
            if let Some(asked) = asked.as_ref().filter(|asked| **asked != route.device) {
                let (role, found) = (role.name(), &route.device);
                notes.push(format!("the {role}'s route to the other end is by {found}; set and described is {asked}"));
            }
            let way = session.way(role);
            way.device = asked.unwrap_or(route.device.clone());
            way.addresses = addresses;
        }
        let ends = session.describe()?;
        let shared_cpus = !ends[0].host.is_apart_from(&ends[1].host);
        if shared_cpus && ends[0].host.boot_id == probe::host::boot_id() {
            match place::cpus_apart() {
                Some((sender, receiver)) => {
                    session.way(Role::Sender).cpus = vec![sender];
                    session.way(Role::Receiver).cpus = vec![receiver];
                }
                None => notes.push(place::ONE_CPU.to_owned()),
            }
        }
        let of =
            |role: Role, way: &Way| format!("{} at {}, {} {}", role.name(), way.place, way.device, way.addresses[0]);
        let [sender, receiver] = ROLES.map(|role| of(role, session.way(role)));
        let cpus = if shared_cpus { "the CPUs of one machine" } else { "CPUs of their own" };
        notes.push(format!("{sender}; {receiver}; on {cpus}"));
        Ok(Prepared { session, ends, notes, rtt: None, idle: None, shared_cpus, programs: Vec::new() })
    }

    /// The address to begin from.
    fn known(&self, places: &Places) -> Result<Known, Failure> {
        let version = places.asked_version();
        if let Some(address) = places.receiver.address.or(self.spec.receiver_address) {
            return Ok(Known::Receiver(address));
        }
        if let Some(device) = places.receiver.device.as_ref().or(self.device(Role::Receiver)) {
            return Ok(Known::OfReceiver(device.clone()));
        }
        match (self.host(Role::Receiver), self.host(Role::Sender)) {
            (Host::Ssh(name), _) => self.resolve(name, version).map(Known::Receiver),
            (Host::Local, Host::Ssh(name)) => self.resolve(name, version).map(Known::Sender),
            (Host::Local, Host::Local) if version == Some(IpVersion::V6) => {
                Ok(Known::Receiver(Ipv6Addr::LOCALHOST.into()))
            }
            (Host::Local, Host::Local) => Ok(Known::Receiver(Ipv4Addr::LOCALHOST.into())),
        }
    }

    fn path(&self, session: &mut Session, known: Known, places: &Places) -> Result<Path, Failure> {
        let version = places.asked_version();
        let fits = |address: &&IpAddr| version.is_none_or(|version| version == IpVersion::of(**address));
        let mut found = Vec::new();
        let to = match known {
            Known::Receiver(address) => address,
            Known::Sender(address) => session.route(Role::Receiver, address)?.source,
            Known::OfReceiver(device) => {
                found = session.addresses(Role::Receiver, &device)?;
                found.iter().find(fits).copied().ok_or_else(|| {
                    let (place, version) = (self.host(Role::Receiver).place(), version.map_or("", IpVersion::name));
                    Failure::Environment(format!(
                        "the receiver's interface {device} at {place} has no address of IPv{version}"
                    ))
                })?
            }
        };
        let there = session.route(Role::Sender, to).map_err(|error| self.no_way(error.into()))?;
        let back = session.route(Role::Receiver, there.source)?;
        if !is_of_one_host(to) || !is_of_one_host(there.source) || back.is_local != there.is_local {
            return Err(Failure::Environment(format!(
                "the hosts' addresses for the data, {} of the sender and {to} of the receiver, are not of two ends of one path; name the receiver's address: --receiver-address ADDR",
                there.source
            )));
        }
        if !session.route(Role::Receiver, to)?.is_local {
            return Err(Failure::Environment(format!(
                "the receiver at {} has no address {to}, its own on the way to the sender is {}; name the one for the data: --receiver-address ADDR",
                self.host(Role::Receiver).place(),
                back.source
            )));
        }
        if found.is_empty() {
            found = session.addresses(Role::Receiver, &back.device)?;
        }
        let mut others = Vec::new();
        for other in found.into_iter().filter(|other| *other != to && is_of_one_host(*other)) {
            // Cells that ask for the other version of IP go the same way, or not at all, and never to the sender itself by the
            // receiver's word.
            let is_same = |route: Route| route.device == there.device && route.is_local == there.is_local;
            if session.route(Role::Sender, other).is_ok_and(is_same) {
                others.push(other);
            }
        }
        Ok(Path { there, back, to, others })
    }

    /// What a sender without a route to the receiver needs.
    fn no_way(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Environment(what) => Failure::Environment(format!(
                "{what}; name the receiver's address on the way that the data is to take: --receiver-address ADDR, or its interface: --receiver-dev DEVICE"
            )),
            other => other,
        }
    }

    /// The address of a host that ssh knows: that of the host name in ssh's configuration.
    fn resolve(&self, name: &str, version: Option<IpVersion>) -> Result<IpAddr, Failure> {
        let failed = |what: String| {
            Failure::Environment(format!("{what}; name the address for the data: --receiver-address ADDR"))
        };
        let asked = self.ssh().args(["-G", name]).stdin(Stdio::null()).output();
        let output = asked.map_err(|error| {
            Failure::Environment(format!("cannot start ssh: {error}; it is needed for hosts other than `local`"))
        })?;
        if !output.status.success() {
            let said = harmless(String::from_utf8_lossy(&output.stderr).trim());
            return Err(Failure::Environment(format!("ssh -G {name} failed: {said}")));
        }
        let configuration = String::from_utf8_lossy(&output.stdout).into_owned();
        let host_name = wire::reach::ssh_host_name(&configuration).unwrap_or(name).trim();
        let addresses = resolve::addresses(host_name)
            .map_err(|error| failed(format!("the host name {host_name} of {name} has no address here: {error}")))?;
        let fits = |address: &&IpAddr| version.is_none_or(|version| version == IpVersion::of(**address));
        addresses.iter().find(fits).copied().ok_or_else(|| {
            let version = version.map_or("", IpVersion::name);
            failed(format!("the host name {host_name} of {name} has no address of IPv{version}"))
        })
    }
}
