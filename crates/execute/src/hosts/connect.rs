//! How an agent is started on a host, and what the exit status of its command means.

use bitcost_model::Unavailable;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use bitcost_controller::{Endpoint, Explain};
use bitcost_service::link::{LINK_VARIABLE, Link};

use super::bootstrap::{self, COPY_FAILS, NO_FOLDER, NO_SUDO};
use super::iperf3;
use super::named::{Host, Named};
use super::slurm;
use crate::programs::Programs;

const CONNECT_S: u32 = 5;

/// Options that turn off parts of the user's configuration that an agent has no use for
/// (ssh_config(5)). The command line takes precedence over the configuration.
const NOTHING_ELSE: &[&str] = &[
    "ForwardAgent=no",
    "ForwardX11=no",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
];

/// How long bitcost tries to reach a lost host again.
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
        "nothing listens there: is sshd running, and is the port the right one?",
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

impl Named {
    pub(super) fn ssh(&self) -> Command {
        let mut ssh = Command::new("ssh");
        if let Some(file) = &self.spec.ssh_config {
            ssh.args(["-F", file]);
        }
        ssh
    }

    pub(super) fn endpoints(&self, programs: &Arc<Programs>) -> [Endpoint; 2] {
        [0, 1].map(|end| match &self.hosts[end] {
            Host::Local => self.here(programs.clone()),
            Host::Ssh(name) => self.there(name, programs.clone()),
            Host::Service(link) => service(link),
            Host::Slurm(node) => {
                slurm::endpoint(node, self.spec.remote_program.as_deref(), programs.clone())
            }
            Host::Kubernetes(target) => {
                let place = target.place();
                let reason = format!("{place} is a host of a mesh: bitcost run STUDY --kubernetes");
                Endpoint::new(place, move |_| Err(Unavailable(reason.clone())))
            }
            Host::Iperf3(..) => iperf3::endpoint(&self.hosts[end], programs.clone()),
        })
    }

    fn here(&self, programs: Arc<Programs>) -> Endpoint {
        let sudo = self.spec.sudo;
        let command = move |program: Option<&str>| {
            let mut command = match sudo {
                true => {
                    let mut command = Command::new("sudo");
                    command.arg("-n").arg(programs.path_for_sudo(program)?);
                    command
                }
                false => Command::new(programs.path(program, "self")?),
            };
            // Ctrl-C is for the controller, which ends the agents in an orderly way.
            command.arg("agent").process_group(0);
            Ok(command)
        };
        let explain = sudo.then(|| -> Explain {
            Arc::new(|code, said| meaning("local", "this program", code, said))
        });
        let place = Host::Local.place();
        Endpoint {
            explain,
            ..Endpoint::new(place, command)
        }
    }

    fn there(&self, name: &str, programs: Arc<Programs>) -> Endpoint {
        let sudo = self.spec.sudo;
        let there = match &self.spec.remote_program {
            Some(program) if sudo => format!("sudo -n {program} agent"),
            Some(program) => format!("{program} agent"),
            None => bootstrap::script(sudo),
        };
        let (timeout, host, ssh) = (
            format!("ConnectTimeout={CONNECT_S}"),
            name.to_owned(),
            self.spec.ssh_config.clone(),
        );
        // The dialogue with the script ([`bootstrap`]) chooses the program.
        let command = move |_: Option<&str>| {
            let mut command = Command::new("ssh");
            command.args(["-T", "-o", "BatchMode=yes", "-o", &timeout]);
            command.args(NOTHING_ELSE.iter().flat_map(|option| ["-o", option]));
            if let Some(file) = &ssh {
                command.args(["-F", file]);
            }
            command.args([&host, "--", &there]).process_group(0);
            Ok(command)
        };
        let (host, program) = (
            name.to_owned(),
            self.spec
                .remote_program
                .clone()
                .unwrap_or_else(|| "sh".to_owned()),
        );
        let explain: Explain = Arc::new(move |code, said| meaning(&host, &program, code, said));
        let host = name.to_owned();
        let bootstrap: Option<Arc<dyn bitcost_controller::Bootstrap>> =
            match self.spec.remote_program {
                Some(_) => None,
                None => Some(Arc::new(bootstrap::Bootstrap { programs, host })),
            };
        let way = Endpoint::new(Host::Ssh(name.to_owned()).place(), command);
        Endpoint {
            explain: Some(explain),
            bootstrap,
            patience: PATIENCE,
            ..way
        }
    }
}

/// The agent of a service: a process of this program carries its messages.
fn service(link: &Link) -> Endpoint {
    let (place, secret) = (link.at.to_string(), link.to_string());
    let command = move |program: Option<&str>| match program {
        Some(program) => Err(Unavailable(format!(
            "the service at {place} starts its own program alone; to compare it with {program} reach the host by ssh: ssh:NAME"
        ))),
        None => {
            let mut command = Command::new("/proc/self/exe");
            // Other users of this machine see its arguments, but not its environment.
            command
                .args(["agent", "--at-service"])
                .env(LINK_VARIABLE, &secret)
                .process_group(0);
            Ok(command)
        }
    };
    let place = link.at.to_string();
    let explain: Explain = Arc::new(move |code, _| match code {
        Some(0) => format!("the service at {place} gave its reason before"),
        _ => format!("the service at {place} ended the session, or the connection to it is lost"),
    });
    Endpoint {
        explain: Some(explain),
        tells_user: true,
        patience: PATIENCE,
        greeting: TURN,
        ..Endpoint::new(Host::Service(link.clone()).place(), command)
    }
}

/// The meaning of the exit status of a host's command. ssh's own failures are 255 (ssh(1)); a shell
/// ends with 126 or 127 if it cannot start a program (POSIX, Shell Command Language, 2.8.2).
fn meaning(name: &str, program: &str, code: Option<i32>, said: &str) -> String {
    let lacks_sudo = said.contains("sudo: not found") || said.contains("sudo: command not found");
    let said = if said.is_empty() {
        String::new()
    } else {
        format!(": {said}")
    };
    match code {
        Some(255) => {
            let remedy = REMEDIES.iter().find(|(what, _)| said.contains(what));
            let otherwise =
                format!("it must work without a prompt: ssh -o BatchMode=yes {name} true");
            let what_to_do = remedy.map_or(otherwise, |(_, remedy)| (*remedy).to_owned());
            format!("ssh has no connection to {name}{said}; {what_to_do}")
        }
        Some(NO_SUDO) => no_sudo(name, &said),
        Some(126 | 127) if lacks_sudo => no_sudo(name, &said),
        Some(1) if said.contains("sudo") => format!(
            "sudo at {name} does not start the agent{said}; it must do so without a password (NOPASSWD in sudoers), or leave out --sudo"
        ),
        Some(NO_FOLDER) => format!(
            "{name} has no folder for a copy of this program{said}; copy it there yourself and name it: --remote-program PATH"
        ),
        Some(COPY_FAILS) => format!(
            "the copy of this program does not start at {name}{said}; a static one needs no libraries there (docs/hosts.md); a folder of temporary files that forbids programs (noexec) needs --remote-program PATH"
        ),
        Some(126 | 127) => format!(
            "{name} cannot start {program}{said}; leave out --remote-program to have a copy of this program started, or name another"
        ),
        Some(code) => format!("the agent at {name} ended with exit status {code}{said}"),
        None => format!("the command that reaches {name} was ended by a signal{said}"),
    }
}

fn no_sudo(name: &str, said: &str) -> String {
    format!(
        "{name} has no sudo{said}; reach it as a user who may change its settings, and leave out --sudo"
    )
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
            let told = meaning("web", "bitcost", Some(code), said);
            assert!(told.contains(means) && told.contains(said), "{told}");
        }
    }
}
