//! The nodes of a Kubernetes cluster as hosts of a mesh: a job starts a pod at each node, and `kubectl exec` carries the
//! messages of an agent in it.
//!
//! Nothing is left in the cluster whatever happens here: the containers end a minute after their last agent, and the
//! cluster removes jobs that have ended, with their pods.

mod hold;
mod kubectl;
mod manifest;
mod select;
mod status;
pub mod target;

use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bitcost_controller::{Endpoint, Explain};
use bitcost_model::Unavailable;
use bitcost_model::event::Kubernetes;
use bitcost_model::place::IpVersion;

use self::kubectl::Kubectl;
use self::manifest::{CONTAINER, RUN_LABEL};
use self::status::State;
use self::target::Target;
use super::foreign::Foreign;
use super::named::Host;
use crate::error::ExecuteError;
use crate::progress::Progress;

pub use hold::hold;
pub use kubectl::context;
pub use select::hosts;

const PROGRAM: &str = "bitcost";

const START: Duration = Duration::from_secs(180);

/// How long a job may have no pod before the cluster's events are read.
const NO_POD: Duration = Duration::from_secs(20);

const PERIOD: Duration = Duration::from_millis(500);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Pod {
    name: Foreign,
    addresses: Vec<IpAddr>,
}

/// The pods of a mesh, which are removed when this is dropped.
pub struct Cluster {
    kubectl: Kubectl,
    run: String,
    program: String,
    targets: Vec<Target>,
    pods: Vec<Result<Pod, String>>,
}

impl Cluster {
    /// Starts a pod for each target, of which the cluster ends those that were not ended after `deadline`, and waits until
    /// they run. One that does not start is a reason, not an error. `program` is the path of bitcost in the image, where it
    /// is not on the PATH.
    pub fn open(
        spec: &Kubernetes,
        targets: Vec<Target>,
        (program, deadline): (Option<&str>, Duration),
        stop: &AtomicBool,
        progress: &mut dyn Progress,
    ) -> Result<Cluster, ExecuteError> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let micros = since.unwrap_or_default().as_micros();
        let waiting = || Err("its pod was not started".to_owned());
        let mut cluster = Cluster {
            kubectl: Kubectl::of(spec),
            run: format!("{:010x}", micros & 0xff_ffff_ffff),
            program: program.unwrap_or(PROGRAM).to_owned(),
            pods: targets.iter().map(|_| waiting()).collect(),
            targets,
        };
        let count = cluster.targets.len();
        let image = &spec.image;
        progress.message(&format!("starting {count} pods of {image} in the cluster"));
        let command = [cluster.program.as_str(), "agent", "--hold"];
        let job = |(number, target): (usize, &Target)| {
            manifest::job(spec, (&cluster.run, number), target, deadline, &command)
        };
        let jobs = cluster.targets.iter().enumerate().map(job).collect();
        let create = ["create", "--filename=-"];
        cluster.kubectl.ask(&create, &manifest::list(jobs))?;
        cluster.wait(stop)?;
        Ok(cluster)
    }

    fn wait(&mut self, stop: &AtomicBool) -> Result<(), ExecuteError> {
        let began = Instant::now();
        let mut open: Vec<usize> = (0..self.targets.len()).collect();
        while !open.is_empty() && !stop.load(Ordering::Relaxed) {
            let of_run = format!("{RUN_LABEL}={}", self.run);
            let words = ["get", "pods", "--output=json", "--selector", &of_run];
            let states = status::pods(&self.kubectl.ask(&words, "")?)?;
            let is_late = began.elapsed() >= START;
            open.retain(|number| {
                let state = states.iter().find(|(of, ..)| of == number);
                let found = match state {
                    Some((_, name, State::Running(addresses))) => {
                        let (name, addresses) = (Foreign::of(name, "a pod"), addresses.clone());
                        let pod = name.map(|name| Pod { name, addresses });
                        pod.map_err(|why| why.0)
                    }
                    Some((.., State::Failed(reason))) => Err(reason.clone()),
                    Some((.., State::Waiting(reason))) if is_late => Err(format!(
                        "its pod does not start within {} s: {reason}",
                        START.as_secs()
                    )),
                    None if began.elapsed() >= NO_POD => Err(self.no_pod(*number)),
                    Some((.., State::Waiting(_))) | None => return true,
                };
                self.pods[*number] = found;
                false
            });
            if !open.is_empty() {
                std::thread::sleep(PERIOD);
            }
        }
        Ok(())
    }

    fn no_pod(&self, number: usize) -> String {
        let name = manifest::name(&self.run, number);
        let field = format!("--field-selector=involvedObject.name={name},type=Warning");
        let said = self
            .kubectl
            .ask(&["get", "events", "--output=json", &field], "");
        let reason = said.ok().and_then(|said| status::last_message(&said));
        let reason = reason.unwrap_or_else(|| {
            format!(
                "the cluster made no pod for job/{name} within {} s",
                NO_POD.as_secs()
            )
        });
        format!("no pod was made: {reason}")
    }

    pub fn address(&self, target: usize, version: Option<IpVersion>) -> Option<IpAddr> {
        let fits = |address: &&IpAddr| IpVersion::fits(version, **address);
        let pod = self.pods[target].as_ref().ok()?;
        pod.addresses.iter().find(fits).copied()
    }

    pub fn endpoint(&self, target: usize) -> Endpoint {
        let place = self.targets[target].place();
        let pod = match &self.pods[target] {
            Ok(pod) => pod.name.clone(),
            Err(reason) => {
                let reason = reason.clone();
                return Endpoint::new(place, move || Err(Unavailable(reason.clone())));
            }
        };
        let host = Host::Kubernetes(self.targets[target].clone());
        let explain: Explain = Arc::new(move |code, said| host.meaning(None, code, said));
        let (kubectl, program) = (self.kubectl.clone(), self.program.clone());
        let command = move || {
            let mut command = kubectl.command(&["exec", "-i", "-c", CONTAINER, pod.as_str(), "--"]);
            command.args([&program, "agent"]).process_group(0);
            Ok(command)
        };
        Endpoint {
            explain: Some(explain),
            ..Endpoint::new(place, command)
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let of_run = format!("{RUN_LABEL}={}", self.run);
        let words = ["delete", "jobs", "--cascade=foreground", "--timeout=30s"];
        let own = ["--ignore-not-found", "--selector", &of_run];
        // Where this fails the containers end by themselves, and the cluster removes their jobs.
        let _ = self.kubectl.ask(&[&words[..], &own[..]].concat(), "");
    }
}
