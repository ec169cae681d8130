//! Ends on hosts that were named: this machine, or one that the system's ssh reaches.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use drive::{Ends, Explain, Session, Way};
use model::place::{IpVersion, Places};
use model::record::Role;

use crate::failure::Failure;
use crate::place::{self, Prepared};
use crate::verbs::host;

/// The program that ssh starts where no other is named.
const PROGRAM: &str = "bitcost";

/// Seconds that ssh may take to connect.
const CONNECT_S: u32 = 5;

/// Which hosts play the ends.
#[derive(clap::Args)]
pub struct Hosts {
    /// The receiver's host: `local`, or one that ssh reaches: `user@host`, a name of ssh's configuration
    #[arg(long, value_name = "HOST", value_parser = Host::parse)]
    receiver: Option<Host>,
    /// The sender's host, as --receiver; where one is named, the other is `local`
    #[arg(long, value_name = "HOST", value_parser = Host::parse)]
    sender: Option<Host>,
    /// bitcost on the hosts that ssh reaches, where it is not found by its name
    #[arg(long, value_name = "PATH", value_parser = parse_program)]
    remote_program: Option<String>,
}

/// A host that plays an end.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    /// This machine.
    Local,
    /// What ssh is told.
    Ssh(String),
}

impl Host {
    fn parse(text: &str) -> Result<Host, String> {
        let name = text.strip_prefix("ssh:").filter(|name| !name.starts_with("//")).unwrap_or(text);
        match name {
            "local" => Ok(Host::Local),
            _ if name.is_empty()
                || name.starts_with('-')
                || name.contains(|c: char| c.is_whitespace() || c.is_control()) =>
            {
                Err("no host; allowed: `local`, `user@host`, or a name that ssh knows".to_owned())
            }
            _ => Ok(Host::Ssh(name.to_owned())),
        }
    }

    fn place(&self) -> String {
        match self {
            Host::Local => "local".to_owned(),
            Host::Ssh(name) => format!("ssh:{name}"),
        }
    }

    /// How an agent is started there.
    fn way(&self, program: &str) -> Way {
        let (host, program_there) = (self.clone(), program.to_owned());
        let command = move || {
            let mut command = match &host {
                Host::Local => Command::new("/proc/self/exe"),
                Host::Ssh(name) => {
                    let mut ssh = Command::new("ssh");
                    let timeout = format!("ConnectTimeout={CONNECT_S}");
                    ssh.args(["-T", "-o", "BatchMode=yes", "-o", &timeout, name, "--", &program_there]);
                    ssh
                }
            };
            // Ctrl-C is for the controller, which ends the agents in good order.
            command.arg("agent").process_group(0);
            Ok(command)
        };
        let explain = match self {
            Host::Local => None,
            Host::Ssh(name) => Some(explain(name.clone(), program.to_owned())),
        };
        let (device, addresses, cpus) = (String::new(), Vec::new(), Vec::new());
        Way { place: self.place(), command: Box::new(command), device, addresses, cpus, explain }
    }
}

/// The remote shell reads it: nothing that means something to a shell.
fn parse_program(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+/~".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) && !text.starts_with('-') {
        Ok(text.to_owned())
    } else {
        Err("allowed: letters, digits and . _ - + / ~, as the shell of the other host reads it".to_owned())
    }
}

/// What an end of ssh means. Its own failures are 255 (ssh(1)); 126 and 127 are a shell's for a program that it cannot
/// start (POSIX, Shell Command Language, 2.8.2).
fn explain(name: String, program: String) -> Explain {
    Rc::new(move |code, said| {
        let said = if said.is_empty() { String::new() } else { format!(": {said}") };
        match code {
            Some(255) => format!(
                "ssh has no connection to {name}{said}; it must work without a question: ssh -o BatchMode=yes {name} true"
            ),
            Some(126 | 127) => {
                let own = std::env::current_exe().map_or(PROGRAM.to_owned(), |path| path.display().to_string());
                format!(
                    "{name} cannot start {program}{said}; copy this program there, such as with `scp {own} {name}:bitcost`, and name it: --remote-program ./bitcost"
                )
            }
            Some(code) => format!("{program} at {name} ended with exit status {code}{said}"),
            None => format!("ssh to {name} was ended by a signal{said}"),
        }
    })
}

impl Hosts {
    /// Whether any host was named; else the ends are in the embedded lab.
    pub fn are_named(&self) -> bool {
        self.sender.is_some() || self.receiver.is_some()
    }

    fn host(&self, role: Role) -> &Host {
        let named = match role {
            Role::Sender => &self.sender,
            Role::Receiver => &self.receiver,
        };
        named.as_ref().unwrap_or(&Host::Local)
    }

    /// Starts the agents, and finds the interface of each end towards the other by their kernels' routes.
    ///
    /// # Errors
    /// When an agent cannot be started, or the hosts have no address by which they reach each other.
    pub fn prepare<'a>(&self, places: &Places, stop: &'a AtomicBool) -> Result<Prepared<'a>, Failure> {
        let roles = [Role::Sender, Role::Receiver];
        if roles.iter().any(|role| *self.host(*role) == Host::Local) {
            host::check_is_as_found()?;
        }
        let program = self.remote_program.as_deref().unwrap_or(PROGRAM);
        let [sender, receiver] = roles.map(|role| self.host(role).way(program));
        // Before any agent is started: it may fail, and asks nobody but ssh's configuration and the resolver.
        let known = self.known_address(places)?;
        let mut session = Session::open(Ends { sender, receiver }, stop)?;
        let to = match known {
            Known::Receiver(address) => address,
            Known::Sender(address) => session.route(Role::Receiver, address)?.source,
        };
        let there = session.route(Role::Sender, to)?;
        let back = session.route(Role::Receiver, there.source)?;
        if !session.route(Role::Receiver, to)?.is_local {
            return Err(Failure::Environment(format!(
                "the receiver at {} has no address {to}, its own on the way to the sender is {}; name the one for the data: --receiver-address ADDR",
                self.host(Role::Receiver).place(),
                back.source
            )));
        }
        for (role, device, address) in [(Role::Sender, there.device, there.source), (Role::Receiver, back.device, to)] {
            let way = session.way(role);
            way.device = places.end(role).device.clone().unwrap_or(device);
            way.addresses = vec![address];
        }
        let ends = session.describe()?;
        let shared_cpus = !ends[0].host.is_apart_from(&ends[1].host);
        let mut notes = Vec::new();
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
        let [sender, receiver] = roles.map(|role| of(role, session.way(role)));
        let cpus = if shared_cpus { "the CPUs of one machine" } else { "CPUs of their own" };
        notes.push(format!("{sender}; {receiver}; on {cpus}"));
        Ok(Prepared { session, ends, notes, shared_cpus })
    }

    /// The address to begin from.
    fn known_address(&self, places: &Places) -> Result<Known, Failure> {
        let version = places.asked_version();
        if let Some(address) = places.receiver.address {
            return Ok(Known::Receiver(address));
        }
        match (self.host(Role::Receiver), self.host(Role::Sender)) {
            (Host::Ssh(name), _) => resolve(name, version).map(Known::Receiver),
            (Host::Local, Host::Ssh(name)) => resolve(name, version).map(Known::Sender),
            (Host::Local, Host::Local) if version == Some(IpVersion::V6) => {
                Ok(Known::Receiver(Ipv6Addr::LOCALHOST.into()))
            }
            (Host::Local, Host::Local) => Ok(Known::Receiver(Ipv4Addr::LOCALHOST.into())),
        }
    }
}

/// Whose address is known before the hosts are asked.
enum Known {
    Receiver(IpAddr),
    Sender(IpAddr),
}

/// The address of a host that ssh knows: that of the host name in ssh's configuration.
fn resolve(name: &str, version: Option<IpVersion>) -> Result<IpAddr, Failure> {
    let failed =
        |what: String| Failure::Environment(format!("{what}; name the address for the data: --receiver-address ADDR"));
    let asked = Command::new("ssh").args(["-G", name]).stdin(Stdio::null()).output();
    let output = asked.map_err(|error| {
        Failure::Environment(format!("cannot start ssh: {error}; it is needed for hosts other than `local`"))
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Failure::Environment(format!("ssh -G {name} failed: {said}")));
    }
    let configuration = String::from_utf8_lossy(&output.stdout).into_owned();
    let host_name = configuration.lines().find_map(|line| line.strip_prefix("hostname ")).unwrap_or(name).trim();
    let found = (host_name, 0).to_socket_addrs();
    let addresses: Vec<IpAddr> = found
        .map_err(|error| failed(format!("the host name {host_name} of {name} has no address here: {error}")))?
        .map(|address| address.ip())
        .collect();
    let fits = |address: &&IpAddr| version.is_none_or(|version| version == IpVersion::of(**address));
    addresses.iter().find(fits).copied().ok_or_else(|| {
        let version = version.map_or("", IpVersion::name);
        failed(format!("the host name {host_name} of {name} has no address of IPv{version}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read() {
        let ssh = |name: &str| Ok(Host::Ssh(name.to_owned()));
        assert_eq!(Host::parse("local"), Ok(Host::Local));
        assert_eq!(Host::parse("ssh:me@web"), ssh("me@web"));
        assert_eq!(Host::parse("web"), ssh("web"));
        assert_eq!(Host::parse("ssh://me@web:2222"), ssh("ssh://me@web:2222"));
        for text in ["", "ssh:", "-oProxyCommand=x", "ssh:-l", "a b", "a\n"] {
            assert!(Host::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_remote_program_has_nothing_for_a_shell() {
        assert_eq!(parse_program("~/bin/bitcost-1.0").as_deref(), Ok("~/bin/bitcost-1.0"));
        for text in ["", "-c", "a b", "a;b", "$(x)", "a'b"] {
            assert!(parse_program(text).is_err(), "{text}");
        }
    }
}
