//! The nodes and pods of a Kubernetes cluster as hosts of a mesh: a job starts a pod at each node, or an ephemeral
//! container joins a pod that is there, and `kubectl exec` carries the messages of an agent in it.
//!
//! Nothing is left in the cluster whatever happens here: the containers end a minute after their last agent, and the
//! cluster removes jobs that have ended, with their pods.
//!
//! | file | it is |
//! |---|---|
//! | kubectl | the user's kubectl: what it is asked, what it answers, what its errors mean |
//! | select | which nodes and pods are hosts |
//! | manifest | the jobs |
//! | status | what the cluster says of a pod |
//! | target | where an agent runs, as a place names it |
//! | hold | the process that keeps a container alive for agents |

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
use bitcost_model::event::Kubernetes;
use bitcost_model::place::IpVersion;

use self::kubectl::Kubectl;
use self::manifest::{CONTAINER, Job, MANAGED, RUN_LABEL, STATE_FOLDER};
use self::status::State;
use self::target::{Target, first};
use crate::error::ExecuteError;
use crate::progress::Progress;

pub use hold::hold;
pub use kubectl::context;
pub use select::hosts;

/// The program in the image.
const PROGRAM: &str = "bitcost";

/// How long pods may take to start.
const START: Duration = Duration::from_secs(180);

/// How long a job may have no pod before the cluster's events are read.
const NO_POD: Duration = Duration::from_secs(20);

/// How often the cluster is asked.
const PERIOD: Duration = Duration::from_millis(500);

/// A container in which agents are started.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Container {
    pod: String,
    name: String,
    addresses: Vec<IpAddr>,
}

/// The containers of a mesh, which end when this is dropped.
pub struct Cluster {
    kubectl: Kubectl,
    run: String,
    program: String,
    /// The container of each target, or why there is none.
    containers: Vec<Result<Container, String>>,
    /// The places of the targets.
    places: Vec<String>,
    /// Whether jobs may be there.
    has_jobs: bool,
}

impl Cluster {
    /// Starts a container for each target and waits until they run. One that does not start is a reason, not an error.
    ///
    /// # Errors
    /// Environment, when kubectl does not reach the cluster, or the cluster refuses all.
    pub fn open(
        spec: &Kubernetes,
        targets: &[Target],
        (program, deadline): (Option<&str>, Duration),
        stop: &AtomicBool,
        progress: &mut dyn Progress,
    ) -> Result<Cluster, ExecuteError> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let micros = since.unwrap_or_default().as_micros();
        let waiting = || Err("its container was not started".to_owned());
        let mut cluster = Cluster {
            kubectl: Kubectl::of(spec),
            run: format!("{:010x}", micros & 0xff_ffff_ffff),
            program: program.unwrap_or(PROGRAM).to_owned(),
            containers: targets.iter().map(|_| waiting()).collect(),
            places: targets.iter().map(Target::place).collect(),
            has_jobs: false,
        };
        cluster.remove_left(progress)?;
        let open = cluster.start(spec, targets, deadline, progress)?;
        cluster.wait(targets, open, stop)?;
        Ok(cluster)
    }

    /// Removes jobs that an earlier execution left and that have ended.
    fn remove_left(&self, progress: &mut dyn Progress) -> Result<(), ExecuteError> {
        let words = ["get", "jobs", "--output=json", "--selector", MANAGED];
        let left = status::ended_jobs(&self.kubectl.ask(&words)?);
        let left = left.map_err(ExecuteError::Environment)?;
        if left.is_empty() {
            return Ok(());
        }
        progress.message(&format!(
            "removes what an earlier execution left: {}",
            left.iter()
                .map(|name| format!("job/{name}"))
                .collect::<Vec<_>>()
                .join(", ")
        ));
        let mut words = vec!["delete", "jobs", "--ignore-not-found", "--wait=false"];
        words.extend(left.iter().map(String::as_str));
        self.kubectl.ask(&words).map(|_| ())
    }

    /// Creates the jobs and the ephemeral containers; returns the targets whose container may start.
    fn start(
        &mut self,
        spec: &Kubernetes,
        targets: &[Target],
        deadline: Duration,
        progress: &mut dyn Progress,
    ) -> Result<Vec<usize>, ExecuteError> {
        let count = targets.len();
        progress.message(&format!(
            "starting {count} containers of {} in the cluster",
            spec.image
        ));
        let command = [self.program.as_str(), "agent", "--hold"];
        let job = |(number, target): (usize, &Target)| {
            let (node, host_network) = match target {
                Target::Node(node) => (node, false),
                Target::NodeNetwork(node) => (node, true),
                Target::Pod(_) => return None,
            };
            let job = Job {
                run: &self.run,
                number,
                node,
                host_network,
                deadline,
                command: &command,
            };
            Some(job.manifest(spec))
        };
        let jobs: Vec<_> = targets.iter().enumerate().filter_map(job).collect();
        if !jobs.is_empty() {
            self.has_jobs = true;
            self.kubectl.create(&manifest::list(jobs))?;
        }
        let mut open = Vec::new();
        for (number, target) in targets.iter().enumerate() {
            if first(targets, number) != number {
                continue;
            }
            let joined = match target {
                Target::Pod(pod) => self.join(spec, pod, number),
                _ => Ok(()),
            };
            match joined {
                Ok(()) => open.push(number),
                Err(error) => self.containers[number] = Err(error.to_string()),
            }
        }
        Ok(open)
    }

    /// The name of the ephemeral container of a target.
    fn ephemeral(&self, number: usize) -> String {
        format!("{CONTAINER}-{}-{number}", self.run)
    }

    /// Adds an ephemeral container to a pod.
    fn join(&self, spec: &Kubernetes, pod: &str, number: usize) -> Result<(), ExecuteError> {
        let (image, policy) = (
            format!("--image={}", spec.image),
            format!("--image-pull-policy={}", spec.pull_policy),
        );
        let container = format!("--container={}", self.ephemeral(number));
        let state = format!("--env={STATE_FOLDER}");
        let words = [
            "debug",
            pod,
            "--attach=false",
            "--quiet",
            "--profile=baseline",
        ];
        let own = [&image, &policy, &container, &state].map(String::as_str);
        let command = ["--", &self.program, "agent", "--hold"];
        let words: Vec<&str> = words.into_iter().chain(own).chain(command).collect();
        self.kubectl.ask(&words).map(|_| ())
    }

    /// Waits until each container runs or cannot.
    fn wait(
        &mut self,
        targets: &[Target],
        mut open: Vec<usize>,
        stop: &AtomicBool,
    ) -> Result<(), ExecuteError> {
        let began = Instant::now();
        while !open.is_empty() && !stop.load(Ordering::Relaxed) {
            let states = self.states(targets, &open)?;
            let is_late = began.elapsed() >= START;
            open.retain(|number| {
                let (pod, state) = match states.iter().find(|(of, ..)| of == number) {
                    Some((_, pod, state)) => (pod.clone(), state.clone()),
                    None => (String::new(), State::Absent),
                };
                let name = match targets[*number] {
                    Target::Pod(_) => self.ephemeral(*number),
                    _ => CONTAINER.to_owned(),
                };
                let is_without = matches!(state, State::Absent) && began.elapsed() >= NO_POD;
                let found = match state {
                    State::Running(addresses) => Ok(Container {
                        pod,
                        name,
                        addresses,
                    }),
                    State::Failed(reason) => Err(reason),
                    State::Absent if is_without || is_late => Err(self.no_pod(*number)),
                    State::Waiting(reason) if is_late => Err(format!(
                        "its pod does not start within {} s: {reason}",
                        START.as_secs()
                    )),
                    State::Absent | State::Waiting(_) => return true,
                };
                self.containers[*number] = found;
                false
            });
            if !open.is_empty() {
                std::thread::sleep(PERIOD);
            }
        }
        for number in 0..targets.len() {
            self.containers[number] = self.containers[first(targets, number)].clone();
        }
        Ok(())
    }

    /// The states of the targets that are still awaited, with the names of their pods.
    fn states(
        &self,
        targets: &[Target],
        open: &[usize],
    ) -> Result<Vec<(usize, String, State)>, ExecuteError> {
        let mut found = Vec::new();
        if self.has_jobs {
            let of_run = format!("{RUN_LABEL}={}", self.run);
            let words = ["get", "pods", "--output=json", "--selector", &of_run];
            let pods = status::pods(&self.kubectl.ask(&words)?);
            found = pods.map_err(ExecuteError::Environment)?;
        }
        for number in open {
            if let Target::Pod(pod) = &targets[*number] {
                let said = self.kubectl.ask(&["get", "pod", pod, "--output=json"])?;
                let state = status::ephemeral(&said, &self.ephemeral(*number));
                let state = state.map_err(ExecuteError::Environment)?;
                found.push((*number, pod.clone(), state));
            }
        }
        Ok(found)
    }

    /// Why a job has no pod, as the cluster's events say.
    fn no_pod(&self, number: usize) -> String {
        let name = manifest::name(&self.run, number);
        let field = format!("--field-selector=involvedObject.name={name},type=Warning");
        let said = self
            .kubectl
            .ask(&["get", "events", "--output=json", &field]);
        let reason = said.ok().and_then(|said| status::last_message(&said));
        let reason = reason.unwrap_or_else(|| {
            format!(
                "the cluster made no pod for job/{name} within {} s",
                NO_POD.as_secs()
            )
        });
        format!("no pod was made: {reason}")
    }

    /// The address of a target for data.
    pub fn address(&self, target: usize, version: Option<IpVersion>) -> Option<IpAddr> {
        let fits = |address: &&IpAddr| IpVersion::fits(version, **address);
        let container = self.containers[target].as_ref().ok()?;
        container.addresses.iter().find(fits).copied()
    }

    /// How an agent is started in the container of a target.
    pub fn endpoint(&self, target: usize) -> Endpoint {
        let place = self.places[target].clone();
        let container = match &self.containers[target] {
            Ok(container) => container.clone(),
            Err(reason) => {
                let reason = reason.clone();
                return Endpoint::new(place, move |_| Err(reason.clone()));
            }
        };
        let host = place.clone();
        let explain: Explain = Arc::new(move |code, said| meaning(&host, code, said));
        let (kubectl, program) = (self.kubectl.clone(), self.program.clone());
        let command = move |_: Option<&str>| {
            let words = ["exec", "-i", &container.pod, "-c", &container.name, "--"];
            let mut command = kubectl.command(&words);
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
        if !self.has_jobs {
            return;
        }
        let of_run = format!("{RUN_LABEL}={}", self.run);
        let words = ["delete", "jobs", "--cascade=foreground", "--timeout=30s"];
        let own = ["--ignore-not-found", "--selector", &of_run];
        // Where this fails the containers end by themselves, and the cluster removes their jobs.
        let _ = self.kubectl.ask(&[&words[..], &own[..]].concat());
    }
}

/// What the exit status of `kubectl exec` means.
fn meaning(place: &str, code: Option<i32>, said: &str) -> String {
    let said = match said {
        "" => String::new(),
        said => format!(": {said}"),
    };
    match code {
        Some(126 | 127) => format!(
            "the image has no bitcost on its PATH{said}; name it there: --remote-program PATH"
        ),
        Some(code) => format!("kubectl exec at {place} ended with exit status {code}{said}"),
        None => format!("kubectl exec at {place} was ended by a signal{said}"),
    }
}
