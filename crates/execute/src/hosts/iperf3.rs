//! A stock iperf3 server as the endpoint at the receiver's host: a process on this machine plays its
//! agent (`bitcost agent --iperf3`), and the data flow between this machine and the server.

use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bitcost_controller::{Endpoint, Endpoints, Session};
use bitcost_model::Unavailable;
use bitcost_model::place::{IpVersion, Places};
use bitcost_model::protocol::Peer;
use bitcost_model::record::Role;
use bitcost_service::address::HostPort;

use super::named::{Host, Named};
use super::resolve;
use crate::error::ExecuteError;
use crate::local::{ONE_CPU, check_restored, separate_cpus};
use crate::prepared::Prepared;
use crate::programs::Programs;

/// The endpoint of a server; the address is set when it is resolved.
pub fn endpoint(host: &Host, programs: Arc<Programs>) -> Endpoint {
    let place = host.place();
    let of_agent = host.clone();
    let command = move |program: Option<&str>| {
        let address = address(&of_agent, None);
        let address = address.map_err(|error| Unavailable(error.to_string()))?;
        let mut command = Command::new(programs.path(program, "self")?);
        command.args(["agent", "--iperf3", &address.to_string()]);
        // Ctrl-C is for the controller, which ends the agents in an orderly way.
        command.process_group(0);
        Ok(command)
    };
    Endpoint {
        peer: Peer::Iperf3,
        ..Endpoint::new(place, command)
    }
}

/// The address of a server, of this version of IP where one is requested.
fn address(host: &Host, version: Option<IpVersion>) -> Result<SocketAddr, ExecuteError> {
    let Host::Iperf3(HostPort { host: name, port }) = host else {
        return Err(ExecuteError::Usage(format!(
            "{} is not an iperf3 server",
            host.place()
        )));
    };
    let address = resolve::first(name, version)
        .map_err(|why| ExecuteError::Environment(format!("the host name {name} {why}")))?;
    Ok(SocketAddr::new(address, *port))
}

impl Named {
    /// The iperf3 server that plays the receiver's host; absent where an agent does.
    pub fn is_iperf3(&self) -> bool {
        matches!(self.host(Role::Receiver), Host::Iperf3(..))
    }

    /// Starts the agent of this machine, and the one that speaks with the server.
    pub(super) fn prepare_iperf3<'a>(
        &self,
        places: &Places,
        programs: &Arc<Programs>,
        stop: &'a AtomicBool,
    ) -> Result<Prepared<'a>, ExecuteError> {
        if !self.spec.sudo {
            check_restored()?;
        }
        let server = address(self.host(Role::Receiver), places.asked_version())?;
        let at_address = Host::Iperf3(HostPort {
            host: server.ip().to_string(),
            port: server.port(),
        });
        let [sender, _] = self.endpoints(programs);
        let receiver = Endpoint {
            place: self.host(Role::Receiver).place(),
            addresses: vec![server.ip()],
            ..endpoint(&at_address, programs.clone())
        };
        let mut session = Session::open(Endpoints { sender, receiver }, stop)?;
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
            idle: None,
            shared_cpus: there.is_local,
            programs: Vec::new(),
        })
    }
}
