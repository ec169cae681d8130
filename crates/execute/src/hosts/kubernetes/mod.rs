//! The nodes and pods of a Kubernetes cluster as hosts of a mesh: a job starts a pod at each node, or an ephemeral
//! container joins a pod that is there, and `kubectl exec` carries the messages of an agent in it.
//!
//! Nothing is left in the cluster whatever happens here: the containers end a minute after their last agent, and the
//! cluster removes jobs that have ended, with their pods and Services.
//!
//! | file | it is |
//! |---|---|
//! | kubectl | the user's kubectl: what it is asked, what it answers, what its errors mean |
//! | select | which nodes and pods are hosts |
//! | manifest | the jobs and Services |
//! | status | what the cluster says of a pod |
//! | target | where an agent runs, as a place names it |
//! | hold | the process that keeps a container alive for agents |

mod hold;
mod kubectl;
mod manifest;
mod select;
mod status;
pub mod target;

use std::collections::{BTreeMap, BTreeSet};
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
use self::manifest::{CONTAINER, Job, MANAGED, RUN_LABEL, STATE_FOLDER};
use self::status::{Asked, Object, Service, State};
use self::target::{Kind, Target, first};
use crate::error::ExecuteError;
use crate::progress::Progress;

pub use hold::hold;
pub use kubectl::context;
pub use select::hosts;

const PROGRAM: &str = "bitcost";

/// How long pods may take to start.
const START: Duration = Duration::from_secs(180);

/// How long a job may have no pod before the cluster's events are read.
const NO_POD: Duration = Duration::from_secs(20);

/// How often the cluster is asked.
const PERIOD: Duration = Duration::from_millis(500);

/// How long nodes may take to know a Service.
const SETTLE: Duration = Duration::from_secs(20);

/// Most ports of a Service: as many as Kubernetes documents for a slice of endpoints.
const PORTS_MOST: usize = 100;

/// A container in which agents are started.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Container {
    pod: String,
    name: String,
    addresses: Vec<IpAddr>,
}

/// What the containers and Services of a mesh are made with.
pub struct Means<'a> {
    /// The path of bitcost in the image, where it is not on the PATH.
    pub program: Option<&'a str>,
    /// When the cluster ends containers that were not ended.
    pub deadline: Duration,
    /// The ports of Services, each with whether it is one of datagrams.
    pub ports: &'a BTreeSet<(bool, u16)>,
}

/// The containers of a mesh, which end when this is dropped.
pub struct Cluster {
    kubectl: Kubectl,
    run: String,
    program: String,
    targets: Vec<Target>,
    /// The container of each target, or why there is none.
    containers: Vec<Result<Container, String>>,
    /// The addresses of the Services of targets that have one, or why there is none.
    services: BTreeMap<usize, Result<Vec<IpAddr>, String>>,
    /// When the Services were made.
    since: Instant,
    /// The quotas of pods that are there, a sentence each.
    pub notes: Vec<String>,
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
        targets: Vec<Target>,
        means: &Means,
        stop: &AtomicBool,
        progress: &mut dyn Progress,
    ) -> Result<Cluster, ExecuteError> {
        if means.ports.len() > PORTS_MOST {
            return Err(ExecuteError::Usage(format!(
                "the flows of this study need {} ports of a Service; allowed: at most {PORTS_MOST}",
                means.ports.len()
            )));
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let micros = since.unwrap_or_default().as_micros();
        let waiting = || Err("its container was not started".to_owned());
        let mut cluster = Cluster {
            kubectl: Kubectl::of(spec),
            run: format!("{:010x}", micros & 0xff_ffff_ffff),
            program: means.program.unwrap_or(PROGRAM).to_owned(),
            containers: targets.iter().map(|_| waiting()).collect(),
            targets,
            services: BTreeMap::new(),
            since: Instant::now(),
            notes: Vec::new(),
            has_jobs: false,
        };
        cluster.remove_left(progress)?;
        let open = cluster.start(spec, means, progress)?;
        cluster.wait(open, stop)?;
        Ok(cluster)
    }

    /// Removes jobs that an earlier execution left and that have ended.
    fn remove_left(&self, progress: &mut dyn Progress) -> Result<(), ExecuteError> {
        let words = ["get", "jobs", "--output=json", "--selector", MANAGED];
        let left = status::ended_jobs(&self.kubectl.ask(&words)?)?;
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

    /// Creates the jobs, the Services and the ephemeral containers; returns the targets whose container may start.
    fn start(
        &mut self,
        spec: &Kubernetes,
        means: &Means,
        progress: &mut dyn Progress,
    ) -> Result<Vec<usize>, ExecuteError> {
        let all = 0..self.targets.len();
        let mut open: Vec<usize> = all
            .filter(|number| first(&self.targets, *number) == *number)
            .collect();
        progress.message(&format!(
            "starting {} containers of {} in the cluster",
            open.len(),
            spec.image
        ));
        let command = [self.program.as_str(), "agent", "--hold"];
        let own = open
            .iter()
            .filter(|number| !self.targets[**number].kind.is_pod());
        let jobs = own.map(|number| {
            let job = Job {
                run: &self.run,
                number: *number,
                node: &self.targets[*number].name,
                host_network: self.targets[*number].kind == Kind::NodeNetwork,
                deadline: means.deadline,
                command: &command,
            };
            job.manifest(spec)
        });
        let jobs: Vec<_> = jobs.collect();
        let mut owners = Vec::new();
        if !jobs.is_empty() {
            self.has_jobs = true;
            owners = self.kubectl.create::<Object>(&manifest::list(jobs))?;
        }
        self.serve(&owners, means.ports)?;
        open.retain(|number| {
            let joined = match &self.targets[*number] {
                target if target.kind.is_pod() => self.join(spec, &target.name, *number).map(Some),
                _ => Ok(None),
            };
            match joined {
                Ok(quota) => self.notes.extend(quota.flatten()),
                Err(error) => {
                    self.containers[*number] = Err(error.to_string());
                    return false;
                }
            }
            true
        });
        self.notes.iter().for_each(|note| progress.message(note));
        Ok(open)
    }

    /// Creates the Services of the targets that have one, each owned by the job of its target, or by another.
    fn serve(
        &mut self,
        jobs: &[Object],
        ports: &BTreeSet<(bool, u16)>,
    ) -> Result<(), ExecuteError> {
        let mut made = Vec::new();
        for (number, target) in self.targets.iter().enumerate() {
            if !target.kind.is_service() {
                continue;
            }
            let of = first(&self.targets, number);
            let selector = match target.kind.is_pod() {
                false => Ok(manifest::selector(&self.run, of)),
                true => self.labels_of(&target.name)?,
            };
            let name = manifest::name(&self.run, of);
            let owner = jobs.iter().find(|job| job.metadata.name == name);
            match (selector, owner.or(jobs.first())) {
                (Ok(selector), Some(owner)) => {
                    let own = (self.run.as_str(), number);
                    let owner = (owner.metadata.name.as_str(), owner.metadata.uid.as_str());
                    made.push(manifest::service(own, &selector, ports, owner));
                    self.services.insert(number, Ok(Vec::new()));
                }
                (Err(reason), _) => {
                    self.services.insert(number, Err(reason));
                }
                (_, None) => {
                    let why = "a Service is owned by a job of this mesh, which has none: add a node to its hosts";
                    self.services.insert(number, Err(why.to_owned()));
                }
            }
        }
        if made.is_empty() {
            return Ok(());
        }
        for service in self.kubectl.create::<Service>(&manifest::list(made))? {
            let name = service.metadata.name;
            let is_of = |number: usize| manifest::name(&self.run, number) == name;
            let mut own = self.services.iter_mut();
            if let Some((_, addresses)) = own.find(|(number, _)| is_of(**number)) {
                *addresses = Ok(service.spec.addresses);
            }
        }
        self.since = Instant::now();
        Ok(())
    }

    /// The labels of a pod, where no other pod has all of them.
    fn labels_of(
        &self,
        pod: &str,
    ) -> Result<Result<BTreeMap<String, String>, String>, ExecuteError> {
        let labels = self.pod(pod)?.metadata.labels;
        let pairs: Vec<String> = labels
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let selector = format!("--selector={}", pairs.join(","));
        let said = self
            .kubectl
            .ask(&["get", "pods", "--output=name", &selector])?;
        Ok(match said.lines().count() {
            1 if !labels.is_empty() => Ok(labels),
            _ => Err(
                "a Service cannot select it alone: it has no label that other pods do not have"
                    .to_owned(),
            ),
        })
    }

    /// The name of the ephemeral container of a target.
    fn ephemeral(&self, number: usize) -> String {
        format!("{CONTAINER}-{}-{number}", self.run)
    }

    /// Adds an ephemeral container to a pod; returns the quota that holds for it, in a sentence.
    fn join(
        &self,
        spec: &Kubernetes,
        pod: &str,
        number: usize,
    ) -> Result<Option<String>, ExecuteError> {
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
        self.kubectl.ask(&words)?;
        let cpus = self.pod(pod)?.cpus();
        Ok(cpus.map(|cpus| {
            format!("the containers of pod:{pod} together have a quota of {cpus} CPUs, whose use is not seen from inside")
        }))
    }

    fn pod(&self, name: &str) -> Result<Asked, ExecuteError> {
        let said = self.kubectl.ask(&["get", "pod", name, "--output=json"])?;
        Ok(status::read(&said)?)
    }

    /// Waits until each container runs or cannot.
    fn wait(&mut self, mut open: Vec<usize>, stop: &AtomicBool) -> Result<(), ExecuteError> {
        let began = Instant::now();
        while !open.is_empty() && !stop.load(Ordering::Relaxed) {
            let states = self.states(&open)?;
            let is_late = began.elapsed() >= START;
            open.retain(|number| {
                let (pod, state) = match states.iter().find(|(of, ..)| of == number) {
                    Some((_, pod, state)) => (pod.clone(), state.clone()),
                    None => (String::new(), State::Absent),
                };
                let name = match self.targets[*number].kind.is_pod() {
                    true => self.ephemeral(*number),
                    false => CONTAINER.to_owned(),
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
        for number in 0..self.targets.len() {
            self.containers[number] = self.containers[first(&self.targets, number)].clone();
        }
        Ok(())
    }

    /// The states of the targets that are still awaited, with the names of their pods.
    fn states(&self, open: &[usize]) -> Result<Vec<(usize, String, State)>, ExecuteError> {
        let mut found = Vec::new();
        if self.has_jobs {
            let of_run = format!("{RUN_LABEL}={}", self.run);
            let words = ["get", "pods", "--output=json", "--selector", &of_run];
            found = status::pods(&self.kubectl.ask(&words)?)?;
        }
        for number in open {
            let Target { kind, name: pod } = &self.targets[*number];
            if kind.is_pod() {
                let said = self.kubectl.ask(&["get", "pod", pod, "--output=json"])?;
                let state = status::ephemeral(&said, &self.ephemeral(*number))?;
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

    /// The address of the Service in front of a target, of the same version of IP as its own; absent for a target
    /// without a Service.
    ///
    /// # Errors
    /// Environment, where its Service has no such address.
    pub fn service(&self, target: usize, own: IpAddr) -> Result<Option<IpAddr>, ExecuteError> {
        let Some(Ok(addresses)) = self.services.get(&target) else {
            return Ok(None);
        };
        let version = IpVersion::of(own);
        let fits = |address: &&IpAddr| IpVersion::fits(Some(version), **address);
        let found = addresses.iter().find(fits).copied();
        found.map(Some).ok_or_else(|| {
            ExecuteError::Environment(format!(
                "the Service of {} has no IPv{} address",
                self.targets[target].place(),
                version.name()
            ))
        })
    }

    /// Whether a node may not know the Services yet.
    pub fn is_settling(&self) -> bool {
        self.since.elapsed() < SETTLE
    }

    /// How an agent is started in the container of a target.
    pub fn endpoint(&self, target: usize) -> Endpoint {
        let place = self.targets[target].place();
        let container = match (self.services.get(&target), &self.containers[target]) {
            (Some(Err(reason)), _) | (_, Err(reason)) => {
                let reason = reason.clone();
                return Endpoint::new(place, move |_| Err(Unavailable(reason.clone())));
            }
            (_, Ok(container)) => container.clone(),
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
