//! How an agent is started on a host, and what the exit status of its command means.

use std::io::{BufRead, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use bitcost_controller::{Bootstrap, Endpoint, Explain};
use bitcost_model::Unavailable;
use bitcost_model::event::NamedHosts;
use bitcost_model::place::EndpointPlace;
use bitcost_model::protocol::Peer;
use bitcost_service::link::LINK_VARIABLE;
use bitcost_sys::process::OWN_PROGRAM;

use super::bootstrap::{self, COPY_FAILS, NO_FOLDER, NO_SUDO};
use super::named::Host;
use super::slurm;

const CONNECT: &str = "ConnectTimeout=5";

/// Options that turn off parts of the user's configuration that an agent has no use for
/// (ssh_config(5)). The command line takes precedence over the configuration.
const NOTHING_ELSE: &[&str] = &[
    "ForwardAgent=no",
    "ForwardX11=no",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    // A shared connection that is there is used; a new one could outlive the agent.
    "ControlMaster=no",
];

const PATIENCE: Duration = Duration::from_secs(60);

/// How long a test may wait for its turn at a service.
const TURN: Duration = Duration::from_secs(24 * 3600);

const REMEDIES: &[(&str, &str)] = &[
    (
        "Host key verification failed",
        "its host key differs from the one in known_hosts, or is not there yet: connect once with ssh, and check the key",
    ),
    (
        "Connection refused",
        "nothing listens there: is sshd running, and is the port the right one? `bitcost serve` there prints a link, which needs no ssh",
    ),
    (
        "Could not resolve hostname",
        "no such name: see HostName in ssh's configuration, and the resolver",
    ),
    (
        "Permission denied",
        "it accepts none of your keys: ssh-add -l lists the keys that ssh offers, ssh-copy-id installs one there",
    ),
    (
        "Connection timed out",
        "nothing answers there: is the host up, and does a firewall let ssh through?",
    ),
];

impl Host {
    /// How the agent of this host is started; `spec` says how hosts are reached.
    pub fn endpoint(&self, spec: &NamedHosts) -> Endpoint {
        let (host, program) = (self.clone(), spec.remote_program.clone());
        let explain: Explain =
            Arc::new(move |code, said| host.meaning(program.as_deref(), code, said));
        let (host, how, from) = (self.clone(), spec.clone(), EndpointPlace::default());
        let endpoint = Endpoint::new(self.place(), move || host.command(&how, &from));
        let bootstrap = |host: String| -> Option<Bootstrap> {
            let run =
                move |input: &mut dyn Write, output: &mut dyn BufRead, sign: &mut dyn FnMut()| {
                    bootstrap::run(&host, input, output, sign)
                };
            spec.remote_program.is_none().then(|| Arc::new(run) as _)
        };
        match self {
            Host::Local => Endpoint {
                explain: spec.sudo.then_some(explain),
                ..endpoint
            },
            Host::Ssh(name) => Endpoint {
                explain: Some(explain),
                bootstrap: bootstrap(name.clone()),
                patience: PATIENCE,
                ..endpoint
            },
            Host::Slurm(node) => Endpoint {
                explain: Some(explain),
                bootstrap: bootstrap(node.to_string()),
                ..endpoint
            },
            Host::Service(_) => Endpoint {
                explain: Some(explain),
                tells_user: true,
                patience: PATIENCE,
                greeting: TURN,
                ..endpoint
            },
            Host::Kubernetes(_) => endpoint,
            Host::Iperf3(_) => Endpoint {
                peer: Peer::Iperf3,
                ..endpoint
            },
        }
    }

    /// What starts the agent; what speaks with a service does so from this place.
    pub(super) fn command(
        &self,
        spec: &NamedHosts,
        from: &EndpointPlace,
    ) -> Result<Command, Unavailable> {
        let mut command = match self {
            Host::Local if spec.sudo => {
                let mut command = Command::new("sudo");
                command.arg("-n").arg(path_for_sudo()).arg("agent");
                command
            }
            Host::Local => own(&["agent"]),
            Host::Ssh(name) => {
                let mut command = ssh(spec);
                command.args(["-T", "-o", "BatchMode=yes", "-o", CONNECT]);
                command.args(NOTHING_ELSE.iter().flat_map(|option| ["-o", option]));
                command.args([name.as_str(), "--", &there(spec)]);
                command
            }
            Host::Slurm(node) => slurm::step(node, &there(spec)),
            Host::Service(link) => {
                let from = serde_json::to_string(from).unwrap_or_default();
                let mut command = own(&["agent", "--at-service", &from]);
                // Other users of this machine see its arguments, but not its environment.
                command.env(LINK_VARIABLE, link.to_string());
                command
            }
            Host::Kubernetes(target) => {
                return Err(Unavailable(format!(
                    "{} is a host of a mesh: bitcost run STUDY --kubernetes",
                    target.place()
                )));
            }
            // A process on this machine speaks with the server.
            Host::Iperf3(server) => own(&["agent", "--iperf3", &server.to_string()]),
        };
        // Ctrl-C is for the controller, which ends the agents in an orderly way.
        command.process_group(0);
        Ok(command)
    }

    /// The meaning of the exit status of this host's command. ssh's own failures are 255 (ssh(1)); a
    /// shell ends with 126 or 127 if it cannot start a program (POSIX, Shell Command Language, 2.8.2).
    pub(super) fn meaning(&self, program: Option<&str>, code: Option<i32>, said: &str) -> String {
        let (name, what) = match self {
            Host::Local => ("local".to_owned(), "the agent"),
            Host::Ssh(name) => (name.clone(), "the agent"),
            Host::Slurm(node) => (node.to_string(), "the step"),
            Host::Service(link) => {
                let at = &link.at;
                return match code {
                    Some(0) => format!("the service at {at} gave its reason before"),
                    _ => format!(
                        "the service at {at} ended the session, or the connection to it is lost"
                    ),
                };
            }
            Host::Kubernetes(_) => (self.place(), "kubectl exec"),
            Host::Iperf3(_) => (self.place(), "the agent"),
        };
        let is_ssh = matches!(self, Host::Ssh(_));
        let is_pod = matches!(self, Host::Kubernetes(_));
        let said = match self {
            Host::Slurm(_) => slurm::errors(said),
            _ => said.to_owned(),
        };
        let said = match said.as_str() {
            "" => String::new(),
            said => format!(": {said}"),
        };
        let lacks_sudo = ["sudo: not found", "sudo: command not found"];
        let lacks_sudo = code == Some(NO_SUDO) || lacks_sudo.iter().any(|text| said.contains(text));
        match code {
            Some(255) if is_ssh => {
                let remedy = REMEDIES.iter().find(|(what, _)| said.contains(what));
                let otherwise =
                    format!("it must work without a prompt: ssh -o BatchMode=yes {name} true");
                let what_to_do = remedy.map_or(otherwise, |(_, remedy)| (*remedy).to_owned());
                format!("ssh has no connection to {name}{said}; {what_to_do}")
            }
            Some(NO_SUDO | 126 | 127) if lacks_sudo => format!(
                "{name} has no sudo{said}; reach it as a user who may change its settings, and leave out --sudo"
            ),
            Some(1) if said.contains("sudo") => format!(
                "sudo at {name} does not start the agent{said}; it must do so without a password (NOPASSWD in sudoers), or leave out --sudo"
            ),
            Some(NO_FOLDER) => format!(
                "{name} has no folder for a copy of this program{said}; copy it there yourself and name it: --remote-program PATH"
            ),
            Some(COPY_FAILS) => format!(
                "the copy of this program does not start at {name}{said}; a static one needs no libraries there (docs/hosts.md); a folder of temporary files that forbids programs (noexec) needs --remote-program PATH"
            ),
            Some(126 | 127) if is_pod => format!(
                "the image has no bitcost on its PATH{said}; name it there: --remote-program PATH"
            ),
            Some(126 | 127) => {
                let program = program.unwrap_or("this program");
                format!(
                    "{name} cannot start {program}{said}; leave out --remote-program to have a copy of this program started, or name another"
                )
            }
            Some(code) => format!("{what} at {name} ended with exit status {code}{said}"),
            None => format!("{what} at {name} was ended by a signal{said}"),
        }
    }
}

fn own(words: &[&str]) -> Command {
    let mut command = Command::new(OWN_PROGRAM);
    command.args(words);
    command
}

pub(super) fn ssh(spec: &NamedHosts) -> Command {
    let mut ssh = Command::new("ssh");
    if let Some(file) = &spec.ssh_config {
        ssh.args(["-F", file]);
    }
    ssh
}

/// What the shell of another host reads to start an agent. Without a named program it is a script,
/// in whose dialogue ([`bootstrap`]) the program is chosen.
fn there(spec: &NamedHosts) -> String {
    match &spec.remote_program {
        Some(program) if spec.sudo => format!("exec sudo -n {program} agent"),
        Some(program) => format!("exec {program} agent"),
        None => bootstrap::script(spec.sudo),
    }
}

/// The path of this program for sudo: its own, which a rule of sudoers(5) can name, if that is still
/// the same file; otherwise the file that this process has open.
fn path_for_sudo() -> PathBuf {
    // In sudo, /proc/self would be sudo itself.
    let held = PathBuf::from(format!("/proc/{}/exe", std::process::id()));
    let named = std::fs::read_link(&held).unwrap_or_default();
    let file = |path: &PathBuf| {
        let facts = std::fs::metadata(path).ok()?;
        Some((facts.dev(), facts.ino()))
    };
    match named.is_absolute() && file(&named).is_some() && file(&named) == file(&held) {
        true => named,
        false => held,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_told_with_what_to_do() {
        for (code, said, means) in [
            (255, "Host key verification failed.", "check the key"),
            (255, "kex_exchange_identification", "BatchMode=yes web true"),
            (1, "sudo: a password is required", "NOPASSWD"),
            (1, "guest is not in the sudoers file", "NOPASSWD"),
            (127, "sh: 1: exec: sudo: not found", "web has no sudo"),
            (NO_SUDO, "", "web has no sudo"),
            (COPY_FAILS, "GLIBC_2.39 not found", "a static one"),
            (7, "boom", "exit status 7: boom"),
        ] {
            let told = Host::Ssh("web".to_owned()).meaning(None, Some(code), said);
            assert!(told.contains(means) && told.contains(said), "{told}");
        }
    }
}
