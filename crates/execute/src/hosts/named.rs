//! The two hosts that play the endpoints if any is named: this machine, or one that the system's
//! ssh reaches.

use std::net::{Ipv4Addr, Ipv6Addr};

use bitcost_model::Invalid;
use bitcost_model::event::{NamedHost, NamedHosts};
use bitcost_model::place::{Places, is_of_one_link, scoped};
use bitcost_model::record::Role;
use bitcost_service::address::HostPort;
use bitcost_service::link::{Link, SCHEME};

use super::foreign::Foreign;
use super::kubernetes::target::Target;
use crate::error::ExecuteError;

const IPERF3_PORT: u16 = 5201;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    Local,
    /// The destination that is passed to ssh.
    Ssh(String),
    Service(Link),
    /// A node of the Slurm allocation that this program is in.
    Slurm(Foreign),
    Kubernetes(Target),
    Iperf3(HostPort),
}

const SERVICE: &str = "service:";

/// What the place of a node of a Slurm allocation begins with.
const SLURM: &str = "slurm:";

impl Host {
    /// Reads a host as it is written on the command line, with or without the prefix `ssh:`.
    pub fn parse(text: &str) -> Result<Host, Invalid> {
        if text.starts_with(SCHEME) {
            return Link::parse(text).map(Host::Service);
        }
        if text.starts_with(SERVICE) {
            return Err(Invalid(format!(
                "the link of {text} is not kept: name it with --receiver or --sender"
            )));
        }
        if let Some(server) = text.strip_prefix("iperf3:") {
            return Host::parse_iperf3(server);
        }
        if let Some(node) = text.strip_prefix(SLURM) {
            return Foreign::of(node, "a Slurm node").map(Host::Slurm);
        }
        if let Some(target) = Target::parse(text) {
            return target.map(Host::Kubernetes);
        }
        let name = text
            .strip_prefix("ssh:")
            .filter(|name| !name.starts_with("//"))
            .unwrap_or(text);
        match name {
            "local" => Ok(Host::Local),
            _ if name.is_empty()
                || name.starts_with('-')
                || name.contains(|c: char| c.is_whitespace() || c.is_control()) =>
            {
                let why =
                    "not a host name; allowed: `local`, `user@host`, or a name that ssh knows";
                Err(Invalid(why.to_owned()))
            }
            _ => match with_port(name) {
                Some((host, port)) => Err(Invalid(format!(
                    "ssh takes no port after a colon here; write `ssh://{host}:{port}`, or set Port for this host in ssh's configuration"
                ))),
                None => Host::by_ssh(name),
            },
        }
    }

    /// A destination of ssh, which takes an IPv6 address without brackets.
    fn by_ssh(name: &str) -> Result<Host, Invalid> {
        let at = name.rfind('@').map_or(0, |at| at + 1);
        let (user, host) = name.split_at(at);
        if let Some((address, device)) = host.split_once('%')
            && address.parse::<Ipv4Addr>().is_ok()
        {
            let why = format!(
                "an IPv4 address has no interface; write `{user}{address}`, with --sender-device {device}"
            );
            return Err(Invalid(why));
        }
        let bare = host.strip_prefix('[');
        let bare = bare.and_then(|host| host.strip_suffix(']'));
        // What else was in them could be an option of ssh.
        let is_address = |of: &&str| {
            of.split('%')
                .next()
                .is_some_and(|of| of.parse::<Ipv6Addr>().is_ok())
        };
        let host = bare.filter(is_address).unwrap_or(host);
        Ok(Host::Ssh(format!("{user}{host}")))
    }

    /// Reads the place of an iperf3 server: a host name or an address, with or without a port.
    pub fn parse_iperf3(text: &str) -> Result<Host, Invalid> {
        let server = HostPort::parse(text, IPERF3_PORT)?;
        match server.host.split('%').next().map(str::parse) {
            Some(Ok(address)) if is_of_one_link(address) => Err(Invalid(format!(
                "an iperf3 server is not reached at {address}, which is of one link; write another address of that host"
            ))),
            _ => Ok(Host::Iperf3(server)),
        }
    }

    /// `local`, or `ssh:` and the destination that is passed to ssh, or `service:` or `iperf3:`, host
    /// and port. The secret of a link is not in it.
    pub fn place(&self) -> String {
        match self {
            Host::Local => "local".to_owned(),
            Host::Ssh(name) => format!("ssh:{name}"),
            Host::Service(link) => format!("{SERVICE}{}", link.at),
            Host::Slurm(node) => format!("{SLURM}{node}"),
            Host::Kubernetes(target) => target.place(),
            Host::Iperf3(server) => format!("iperf3:{server}"),
        }
    }

    /// The host as a name of a node in a running lab; absent for this machine.
    pub fn node(&self) -> Option<String> {
        match self {
            Host::Local => None,
            Host::Ssh(name) => Some(name.clone()),
            other => Some(other.place()),
        }
    }
}

/// The host and the port of `host:port`; an IPv6 address has more than one colon.
fn with_port(name: &str) -> Option<(&str, u16)> {
    let (host, port) = name.split_once(':')?;
    Some((host, port.parse().ok()?))
}

pub struct Named {
    pub spec: NamedHosts,
    pub(super) hosts: [Host; 2],
}

impl Named {
    /// The places in `spec` become those of the hosts.
    pub fn new(mut spec: NamedHosts, sender: Host, receiver: Host) -> Named {
        (spec.sender.place, spec.receiver.place) = (sender.place(), receiver.place());
        Named {
            spec,
            hosts: [sender, receiver],
        }
    }

    /// The hosts of an execution that is resumed.
    pub fn from_log(spec: NamedHosts) -> Result<Named, ExecuteError> {
        if let Some(program) = &spec.remote_program {
            parse_program(program).map_err(|why| {
                ExecuteError::Usage(format!("the log names --remote-program {program:?}: {why}"))
            })?;
        }
        if let Some(file) = spec
            .ssh_config
            .as_ref()
            .filter(|file| !file.starts_with('/'))
        {
            return Err(ExecuteError::Usage(format!(
                "the log names --ssh-config {file:?}; allowed: an absolute path"
            )));
        }
        let host = |named: &NamedHost| {
            Host::parse(&named.place)
                .map_err(|why| ExecuteError::Usage(format!("the log names {}: {why}", named.place)))
        };
        Ok(Named {
            hosts: [host(&spec.sender)?, host(&spec.receiver)?],
            spec,
        })
    }

    /// A host of a mesh.
    pub fn of_mesh(name: &str) -> Result<Host, ExecuteError> {
        match Host::parse(name) {
            Ok(Host::Service(_) | Host::Iperf3(_)) => Err(ExecuteError::Usage(format!(
                "{name} cannot be a host of a mesh; allowed: `local`, or a name that ssh knows"
            ))),
            Ok(host) => Ok(host),
            Err(why) => Err(ExecuteError::Usage(format!("host {name}: {why}"))),
        }
    }

    pub fn is_local(&self, end: usize) -> bool {
        self.hosts[end] == Host::Local
    }

    /// A sentence that names the commands that are started on both hosts.
    pub fn started(&self) -> String {
        let mut text = format!("agents at {}", self.phrase());
        if self.hosts.iter().any(|host| matches!(host, Host::Ssh(_))) {
            let program = self
                .spec
                .remote_program
                .as_deref()
                .unwrap_or("bitcost, or a copy of this one");
            let config = self.spec.ssh_config.as_deref().unwrap_or("your own");
            text += &format!(
                "; by ssh with the configuration {config}; as the program there {program}"
            );
        }
        if let Some(of) = &self.spec.kubernetes {
            let image = &of.image;
            text += &format!("; by kubectl in containers of the image {image}");
        }
        if self.spec.sudo {
            text + "; by sudo"
        } else {
            text
        }
    }

    pub(super) fn host(&self, role: Role) -> &Host {
        &self.hosts[role as usize]
    }

    /// `ssh:a (sender) and local (receiver)`.
    pub fn phrase(&self) -> String {
        let [sender, receiver] = &self.hosts;
        format!(
            "{} (sender) and {} (receiver)",
            sender.place(),
            receiver.place()
        )
    }

    /// The interface that is named for a host: by the run, by an option, or with the other's address of one link.
    pub(super) fn device(&self, role: Role, places: &Places) -> Option<String> {
        let option = [&self.spec.sender, &self.spec.receiver][role as usize];
        let named = places.end(role).device.as_ref().or(option.device.as_ref());
        named.cloned().or_else(|| {
            let other = self.host(role.other()).node()?;
            let (_, device) = other.split(['@', '[', ']']).find_map(scoped)?;
            Some(device.to_owned())
        })
    }
}

/// Reads the path of a program at the other host. The shell there reads the path, so no character
/// in it may have a meaning for a shell.
pub fn parse_program(text: &str) -> Result<String, Invalid> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+/~".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) && !text.starts_with('-') {
        Ok(text.to_owned())
    } else {
        Err(Invalid(format!(
            "`{text}` is not possible here; allowed: letters, digits and . _ - + / ~, as the shell of the other host reads it"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read() {
        let ssh = |name: &str| Ok(Host::Ssh(name.to_owned()));
        let iperf3 = |host: &str, port| {
            let host = host.to_owned();
            Ok(Host::Iperf3(HostPort { host, port }))
        };
        assert_eq!(Host::parse("iperf3:web"), iperf3("web", 5201));
        assert_eq!(Host::parse("iperf3:[fd00::2]:99"), iperf3("fd00::2", 99));
        assert_eq!(Host::parse_iperf3("fd00::2"), iperf3("fd00::2", 5201));
        for text in ["", ":5201", "web:", "web:0", "web:x", "-x", "a b", "a:b:c"] {
            assert!(Host::parse_iperf3(text).is_err(), "{text:?}");
        }
        assert_eq!(Host::parse("local"), Ok(Host::Local));
        assert_eq!(Host::parse("ssh:me@web"), ssh("me@web"));
        assert_eq!(Host::parse("web"), ssh("web"));
        assert_eq!(Host::parse("me@[fd00::2]"), ssh("me@fd00::2"));
        assert_eq!(Host::parse("[-oProxyCommand=x]"), ssh("[-oProxyCommand=x]"));
        assert_eq!(Host::parse("ssh://me@web:2222"), ssh("ssh://me@web:2222"));
        let link =
            "bitcost://web/#cBAvVwAcjP5ogXoQBxMpQGAjhCW4hZbWMxB7x-tTfGU.AAAAAAAAAAAAAAAAAAAAAA";
        let service = Host::parse(link).expect("a service");
        assert_eq!(service.place(), "service:web:7351");
        assert!(!format!("{service:?}").contains("AAAA"));
        for text in [
            "",
            "ssh:",
            "-oProxyCommand=x",
            "ssh:-l",
            "a b",
            "a\n",
            "me@web:2222",
            "service:web:7351",
            "bitcost://web",
            "slurm:-n",
            "slurm:n[1-4]",
        ] {
            assert!(Host::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_remote_program_has_nothing_for_a_shell() {
        assert_eq!(
            parse_program("~/bin/bitcost-1.0"),
            Ok("~/bin/bitcost-1.0".to_owned())
        );
        for text in ["", "-c", "a b", "a;b", "$(x)", "a'b"] {
            assert!(parse_program(text).is_err(), "{text}");
        }
    }
}
