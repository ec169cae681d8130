//! Hosts that play the ends where any is named: this machine, or one that the system's ssh reaches.
//!
//! | file | it is |
//! |---|---|
//! | mod | the options, and the hosts that they name |
//! | way | how an agent is started there, and what an end of it means |
//! | opening | how this program comes to a host that lacks it |
//! | path | which addresses and interfaces the data takes |
//! | resolve | the addresses of a host name |

mod opening;
mod path;
mod resolve;
mod way;

use std::net::IpAddr;

use model::event::{NamedHost, NamedHosts};
use model::record::Role;

use crate::failure::Failure;

/// Which hosts play the ends.
#[derive(clap::Args)]
pub struct Hosts {
    /// The receiver's host: `local`, or one that ssh reaches: `user@host`, a name of ssh's configuration
    #[arg(long, value_name = "HOST", value_parser = Host::parse, help_heading = "Hosts")]
    receiver: Option<Host>,
    /// The sender's host, as --receiver; where one is named, the other is `local`
    #[arg(long, value_name = "HOST", value_parser = Host::parse, help_heading = "Hosts")]
    sender: Option<Host>,
    /// The sender's interface, whose settings are controlled (default: that of its route to the receiver)
    #[arg(long, value_name = "DEVICE", help_heading = "Hosts")]
    sender_dev: Option<String>,
    /// The same of the receiver; where its address is not named it is this interface's
    #[arg(long, value_name = "DEVICE", help_heading = "Hosts")]
    receiver_dev: Option<String>,
    /// bitcost on the hosts that ssh reaches (default: the same one where it is on the path there, else a copy of this
    /// one that leaves no file)
    #[arg(long, value_name = "PATH", value_parser = way::parse_program, help_heading = "Hosts")]
    remote_program: Option<String>,
    /// The configuration file that ssh is told to use, as its option -F
    #[arg(long, value_name = "FILE", help_heading = "Hosts")]
    ssh_config: Option<String>,
    /// Start the agents by `sudo -n`, so that they may change settings of their hosts
    #[arg(long, help_heading = "Hosts")]
    sudo: bool,
}

/// A host that plays an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
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
}

impl Hosts {
    /// The hosts, where any was named; else the ends are in the embedded lab.
    ///
    /// # Errors
    /// Usage, when something was said of hosts and none was named.
    pub fn named(&self, receiver_address: Option<IpAddr>) -> Result<Option<Named>, Failure> {
        if self.sender.is_none() && self.receiver.is_none() {
            let said = [
                (self.sender_dev.is_some(), "--sender-dev"),
                (self.receiver_dev.is_some(), "--receiver-dev"),
                (self.remote_program.is_some(), "--remote-program"),
                (self.ssh_config.is_some(), "--ssh-config"),
                (self.sudo, "--sudo"),
                (receiver_address.is_some(), "--receiver-address"),
            ];
            return match said.iter().find(|(is_said, _)| *is_said) {
                Some((_, option)) => Err(Failure::Usage(format!(
                    "{option} is of hosts that are named; name one with --receiver HOST or --sender HOST"
                ))),
                None => Ok(None),
            };
        }
        let [sender, receiver] = [&self.sender, &self.receiver].map(|host| host.clone().unwrap_or(Host::Local));
        let named = |host: &Host, device: &Option<String>| NamedHost { place: host.place(), device: device.clone() };
        let spec = NamedHosts {
            sender: named(&sender, &self.sender_dev),
            receiver: named(&receiver, &self.receiver_dev),
            receiver_address,
            remote_program: self.remote_program.clone(),
            ssh_config: self.ssh_config.as_deref().map(absolute).transpose()?,
            sudo: self.sudo,
        };
        Ok(Some(Named { spec, hosts: [sender, receiver] }))
    }

    /// Whether any host was named.
    pub fn are_named(&self) -> bool {
        self.sender.is_some() || self.receiver.is_some()
    }
}

/// So that it is the same one when the execution goes on from another folder.
fn absolute(file: &str) -> Result<String, Failure> {
    let failed = |error: std::io::Error| Failure::Usage(format!("--ssh-config {file}: {error}"));
    let path = std::fs::canonicalize(file).map_err(failed)?;
    Ok(path.to_string_lossy().into_owned())
}

/// Hosts that were named, and all that was said of them.
pub struct Named {
    /// As a log keeps it.
    pub spec: NamedHosts,
    /// The sender's and the receiver's.
    hosts: [Host; 2],
}

impl Named {
    /// The hosts of an execution that goes on.
    ///
    /// # Errors
    /// Usage, when the log names what is no host, or what the command line would refuse.
    pub fn from_log(spec: NamedHosts) -> Result<Named, Failure> {
        if let Some(program) = &spec.remote_program {
            way::parse_program(program)
                .map_err(|why| Failure::Usage(format!("the log names --remote-program {program:?}: {why}")))?;
        }
        if let Some(file) = spec.ssh_config.as_ref().filter(|file| !file.starts_with('/')) {
            return Err(Failure::Usage(format!("the log names --ssh-config {file:?}; allowed: a path from the root")));
        }
        let host = |named: &NamedHost| {
            Host::parse(&named.place).map_err(|why| Failure::Usage(format!("the log names {}: {why}", named.place)))
        };
        Ok(Named { hosts: [host(&spec.sender)?, host(&spec.receiver)?], spec })
    }

    /// Whether the sender (0) or the receiver (1) is this machine.
    pub fn is_local(&self, end: usize) -> bool {
        self.hosts[end] == Host::Local
    }

    /// What is started to play the ends there, a sentence.
    pub fn started(&self) -> String {
        let mut text = format!("agents at {}", self.phrase());
        if self.hosts.iter().any(|host| *host != Host::Local) {
            let program = self.spec.remote_program.as_deref().unwrap_or("bitcost, or a copy of this one");
            let config = self.spec.ssh_config.as_deref().unwrap_or("your own");
            text += &format!("; by ssh with the configuration {config}; as the program there {program}");
        }
        if self.spec.sudo { text + "; by sudo" } else { text }
    }

    fn host(&self, role: Role) -> &Host {
        match role {
            Role::Sender => &self.hosts[0],
            Role::Receiver => &self.hosts[1],
        }
    }

    /// `ssh:a (sender) and local (receiver)`.
    pub fn phrase(&self) -> String {
        let [sender, receiver] = &self.hosts;
        format!("{} (sender) and {} (receiver)", sender.place(), receiver.place())
    }

    fn device(&self, role: Role) -> Option<&String> {
        match role {
            Role::Sender => self.spec.sender.device.as_ref(),
            Role::Receiver => self.spec.receiver.device.as_ref(),
        }
    }
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
}
