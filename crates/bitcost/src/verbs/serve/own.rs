//! `bitcost serve`: the agent as a service.

use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use bitcost_host::KNOBS;
use bitcost_model::confinement::{Confinement, Rules};
use bitcost_model::host_settings::STRESS;
use bitcost_service::address::{HostPort, PORT};
use bitcost_service::confine::{NOBODY, give_up_rights};
use bitcost_service::link::Link;
use bitcost_service::{FRONT_VERB, OwnKey, Service, confined, front_of};
use bitcost_sys::netlink::Rtnl;
use bitcost_sys::process::{OWN_PROGRAM, effective_uid};

use super::listening::At;
use super::log::Log;
use crate::failure::Failure;

/// Where the service listens, and what it keeps and allows.
#[derive(clap::Args)]
pub struct Place {
    /// Serve bitcost clients at ADDR: an address, a port, or both, such as `10.0.0.1`, `:7000` or
    /// `[::]:7351` [default: port 7351 of every address of this host]
    #[arg(value_name = "ADDR", value_parser = address)]
    address: Option<At>,
    /// Make a new key and a new link; the link before is no longer served
    #[arg(long)]
    new_link: bool,
    /// Folder with the key of the service [default: /var/lib/bitcost-service for root, else
    /// bitcost/service in the user's state folder]
    #[arg(long, value_name = "FOLDER")]
    state: Option<PathBuf>,
    /// Interfaces that tests may use [default: the one that routes to the client]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    interface: Vec<String>,
    /// Settings of this host that tests may change, such as offloads,mtu_bytes; agents then keep
    /// the rights with which the service was started [default: none]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = setting)]
    allow_settings: Vec<String>,
}

impl Place {
    /// The folder: the one that is named, else the one that systemd gives (`STATE_DIRECTORY`,
    /// systemd.exec(5)), else the default.
    fn folder(&self) -> PathBuf {
        let of_systemd = || of_systemd(&std::env::var_os("STATE_DIRECTORY")?);
        let named = self.state.clone().or_else(of_systemd);
        named.unwrap_or_else(|| {
            let state = bitcost_host::journal::folder();
            match state == Path::new("/var/lib/bitcost") {
                true => PathBuf::from("/var/lib/bitcost-service"),
                false => state.join("service"),
            }
        })
    }
}

/// The folder of the key among those that systemd gives, with colons between them: a unit whose
/// tests may change settings also has the folder of journals.
fn of_systemd(folders: &OsStr) -> Option<PathBuf> {
    let folders: Vec<PathBuf> = std::env::split_paths(folders).collect();
    let is_named = |folder: &&PathBuf| folder.ends_with("bitcost-service");
    folders.iter().find(is_named).or(folders.first()).cloned()
}

/// Reads `ADDR`; a port alone is that of every address.
fn address(text: &str) -> Result<At, String> {
    At::parse(text, PORT)
}

/// A name of a setting of the host.
fn setting(text: &str) -> Result<String, String> {
    let knobs = KNOBS.iter().map(|knob| knob.name());
    let names: Vec<&str> = knobs.chain([STRESS.setting]).collect();
    match names.contains(&text) {
        true => Ok(text.to_owned()),
        false => Err(format!("no such setting; allowed: {}", names.join(", "))),
    }
}

pub fn run(place: &Place, rules: Rules, stop: &AtomicBool) -> Result<(), Failure> {
    let rules = Rules {
        settings: place.allow_settings.clone(),
        interfaces: place.interface.clone(),
        ..rules
    };
    let any = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
    let at = place.address.unwrap_or(At {
        host: None,
        port: PORT,
    });
    let service = at.open(any, Service::open)?;
    // The link before ends only where this service can be reached.
    let own = OwnKey::of_folder(&place.folder(), place.new_link)?;
    if place.allow_settings.is_empty() {
        if effective_uid() == 0 {
            // In a user namespace without that user the process stays root, and its sockets too.
            let _ = service.give_to(NOBODY);
        }
        give_up_rights()?;
        service.check_port().map_err(lacks_port)?;
    }
    let front = front_of(|| of_this_program(&[FRONT_VERB]));
    let confined = confined(&*front)?;
    let mut log = Log::start()?;
    announce(&service, &own, &log)?;
    log.message(&format!(
        "the process that reads what clients send: {confined}"
    ));
    let agent = |to: &Confinement| {
        let to = serde_json::to_string(to).unwrap_or_default();
        of_this_program(&["agent", "--of-service", &to])
    };
    let mut tell = |peer, event| log.tell(peer, event);
    service.serve((own, rules), &agent, &*front, stop, &mut tell);
    log.finish();
    Ok(())
}

/// A process of this program in a separate process group: Ctrl-C is for the service, which ends it in an orderly way.
fn of_this_program(words: &[&str]) -> Command {
    let mut command = Command::new(OWN_PROGRAM);
    command.args(words).process_group(0);
    command
}

/// A process without privileges cannot bind to the port, and agents would not either.
pub fn lacks_port(error: std::io::Error) -> Failure {
    Failure::Environment(format!(
        "cannot serve at this port without privileges, which a service gives up: {error}; choose another port, or allow it: `sysctl net.ipv4.ip_unprivileged_port_start=PORT`"
    ))
}

/// The first of this host's addresses that others may reach, or its name: no resolver is asked, which may take long.
fn own_host() -> String {
    let records = Rtnl::open().and_then(|mut rtnl| rtnl.address_records());
    let is_reached = |address: &IpAddr| match address {
        IpAddr::V4(address) => !address.is_loopback() && !address.is_link_local(),
        IpAddr::V6(address) => !address.is_loopback() && !address.is_unicast_link_local(),
    };
    let all = records.unwrap_or_default().into_iter();
    let mut own = all.map(|record| record.address).filter(is_reached);
    let name = || {
        rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned()
    };
    own.next().map_or_else(name, |address| address.to_string())
}

/// Says where it listens, and prints the link.
fn announce(service: &Service, own: &OwnKey, log: &Log) -> Result<(), Failure> {
    let addresses: Vec<SocketAddr> = service.addresses().collect();
    let address = *addresses
        .first()
        .ok_or_else(|| Failure::Environment("listens nowhere".to_owned()))?;
    let ip = address.ip();
    let host = match ip.is_unspecified() {
        true => own_host(),
        false => ip.to_string(),
    };
    let link = Link {
        at: HostPort {
            host,
            port: address.port(),
        },
        service: own.fingerprint,
        token: own.token,
    };
    let hosts: Vec<String> = addresses.iter().map(|at| at.ip().to_string()).collect();
    log.result(&format!(
        "serving bitcost at {} port {}, TCP and UDP; Ctrl-C ends. Whoever has this link may test, behind NAT or in a container with the outer address and port in it:\n  bitcost test tcp '{link}'",
        hosts.join(" and "),
        address.port(),
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_the_key_is_found_among_those_of_systemd() {
        for (folders, found) in [
            ("/var/lib/bitcost-service", "/var/lib/bitcost-service"),
            (
                "/var/lib/bitcost:/var/lib/bitcost-service",
                "/var/lib/bitcost-service",
            ),
            ("/var/lib/other", "/var/lib/other"),
        ] {
            let of_systemd = of_systemd(OsStr::new(folders));
            assert_eq!(of_systemd.as_deref(), Some(Path::new(found)));
        }
    }
}
