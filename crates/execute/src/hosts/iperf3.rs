//! A stock iperf3 server as the endpoint at the receiver's host: a process on this machine plays its
//! agent (`bitcost agent --iperf3`), and the data flow between this machine and the server.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use bitcost_controller::{Endpoint, Session};
use bitcost_model::place::{IpVersion, Places};
use bitcost_model::record::Role;
use bitcost_service::address::HostPort;

use super::named::{Host, Named};
use super::resolve;
use crate::error::ExecuteError;
use crate::local::{ONE_CPU, check_restored, separate_cpus};
use crate::prepared::Prepared;

/// The address of a server, of this version of IP where one is requested.
pub(super) fn address(
    server: &HostPort,
    version: Option<IpVersion>,
) -> Result<SocketAddr, ExecuteError> {
    let HostPort { host, port } = server;
    let address = resolve::first(host, version)
        .map_err(|why| ExecuteError::Environment(format!("the host name {host} {why}")))?;
    Ok(SocketAddr::new(address, *port))
}

impl Named {
    /// Starts the agent of this machine, and the one that speaks with the iperf3 server.
    pub(super) fn prepare_iperf3<'a>(
        &self,
        server: &HostPort,
        places: &Places,
        stop: &'a AtomicBool,
    ) -> Result<Prepared<'a>, ExecuteError> {
        if !self.spec.sudo {
            check_restored()?;
        }
        let server = address(server, places.asked_version())?;
        let at_address = Host::Iperf3(HostPort {
            host: server.ip().to_string(),
            port: server.port(),
        });
        let sender = self.host(Role::Sender).endpoint(&self.spec);
        let receiver = Endpoint {
            place: self.host(Role::Receiver).place(),
            addresses: vec![server.ip()],
            ..at_address.endpoint(&self.spec)
        };
        let mut session = Session::open([sender, receiver], stop)?;
        let there = session.route(Role::Sender, server.ip())?;
        let own = session.endpoint(Role::Sender);
        own.device = self.spec.sender.device.clone().unwrap_or(there.device);
        own.addresses = vec![there.source];
        let ends = session.describe()?;
        let mut notes = vec![format!(
            "the other endpoint is the iperf3 server at {server}: of its host only what it reports is known"
        )];
        if there.is_local {
            match separate_cpus() {
                Some((sender, _)) => session.endpoint(Role::Sender).cpus = vec![sender],
                None => notes.push(ONE_CPU.to_owned()),
            }
        }
        Ok(Prepared {
            session,
            ends,
            notes,
            rtt: None,
            shared_cpus: there.is_local,
        })
    }
}
