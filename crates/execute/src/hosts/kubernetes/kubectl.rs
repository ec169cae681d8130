//! The user's kubectl, which knows the cluster, its certificates and the user: what it is asked, and what its errors
//! mean.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use bitcost_model::Unavailable;
use bitcost_model::event::Kubernetes;
use bitcost_model::harmless;

use crate::error::ExecuteError;

const REQUEST: &str = "--request-timeout=40s";

const REMEDIES: &[(&str, &str)] = &[
    (
        "localhost:8080",
        "no cluster is configured for kubectl: set KUBECONFIG, or write ~/.kube/config",
    ),
    (
        "no configuration has been provided",
        "no cluster is configured for kubectl: set KUBECONFIG, or write ~/.kube/config",
    ),
    (
        "orbidden",
        "docs/howto/fleet.md has a role with the rights that are needed; kubectl auth can-i --list shows yours",
    ),
    (
        "must be logged in",
        "the cluster does not accept this user: see kubectl config view",
    ),
    (
        "Unable to connect",
        "kubectl does not reach the cluster: see kubectl cluster-info",
    ),
];

#[derive(Clone, Debug)]
pub struct Kubectl {
    chosen: Vec<String>,
}

/// The context that kubectl uses now; absent where its configuration has none, as inside of a pod.
pub fn context() -> Result<Option<String>, ExecuteError> {
    let asked = Command::new("kubectl")
        .args(["config", "current-context"])
        .output();
    let output = asked.map_err(|error| no_kubectl(&error))?;
    let name = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Ok((output.status.success() && !name.is_empty()).then_some(name))
}

fn no_kubectl(error: &std::io::Error) -> Unavailable {
    Unavailable(format!(
        "cannot start kubectl: {error}; --kubernetes needs kubectl on the PATH"
    ))
}

impl Kubectl {
    pub fn of(spec: &Kubernetes) -> Kubectl {
        let context = spec.context.iter().map(|name| format!("--context={name}"));
        let namespace = spec.namespace.iter();
        let namespace = namespace.map(|name| format!("--namespace={name}"));
        Kubectl {
            chosen: context.chain(namespace).collect(),
        }
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("kubectl");
        command.args(&self.chosen).args(words);
        command
    }

    /// What it prints with this input.
    pub fn ask(&self, words: &[&str], input: &str) -> Result<String, Unavailable> {
        let mut command = self.command(&[]);
        // Ctrl-C is for bitcost, which removes what it made.
        command.arg(REQUEST).args(words).process_group(0);
        command.stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| no_kubectl(&error))?;
        if let Some(mut stdin) = child.stdin.take() {
            // Where it does not read all, its error says why.
            let _ = stdin.write_all(input.as_bytes());
        }
        let output = child
            .wait_with_output()
            .map_err(|error| Unavailable(error.to_string()))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => {
                let said = String::from_utf8_lossy(&output.stderr);
                Err(Unavailable(told(words[0], &said)))
            }
        }
    }
}

/// Whether a line is one that kubectl logs for its developers, such as `E1126 00:21:51.177 …`.
fn is_of_its_log(line: &str) -> bool {
    let (level, day) = line.split_at_checked(1).unwrap_or_default();
    let date = day.split(' ').next().unwrap_or_default();
    ["E", "I", "W"].contains(&level)
        && date.len() == 4
        && date.bytes().all(|byte| byte.is_ascii_digit())
}

fn told(verb: &str, said: &str) -> String {
    let lines: Vec<&str> = said.lines().filter(|line| !is_of_its_log(line)).collect();
    let said = harmless(lines.join("\n").trim());
    let remedy = REMEDIES.iter().find(|(what, _)| said.contains(what));
    let remedy = remedy.map_or(String::new(), |(_, remedy)| format!("; {remedy}"));
    format!("kubectl {verb}: {said}{remedy}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_with_what_to_do() {
        for (said, means) in [
            (
                "Error from server (Forbidden): jobs.batch is forbidden: User \"x\" cannot create",
                "a role with the rights",
            ),
            (
                "E1126 00:21:51.1 memcache.go:265] x\nThe connection to the server localhost:8080 was refused",
                "kubectl create: The connection to the server localhost:8080 was refused; no cluster is configured for kubectl: set KUBECONFIG",
            ),
            ("\u{1b}[31mboom", "boom"),
        ] {
            let told = told("create", said);
            assert!(told.contains(means) && !told.contains('\u{1b}'), "{told}");
        }
    }
}
