//! What the cluster says of pods, jobs and events, as kubectl prints it in JSON. It is data from outside: what is not
//! understood is a reason, not a crash.

use std::collections::BTreeMap;
use std::net::IpAddr;

use bitcost_model::Unavailable;
use bitcost_model::harmless;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::manifest::{CONTAINER, TARGET_LABEL};

/// Reasons of a container that waits, after which it does not start.
const FINAL: &[&str] = &[
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImageNeverPull",
    "ImagePullBackOff",
    "InvalidImageName",
    "RunContainerError",
];

/// The state of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// There is no pod.
    Absent,
    /// It may still start; with what it waits for.
    Waiting(String),
    /// It runs in a pod with these addresses.
    Running(Vec<IpAddr>),
    /// It does not start, or has ended.
    Failed(String),
}

#[derive(Deserialize)]
struct List<T> {
    items: Vec<T>,
}

#[derive(Deserialize)]
struct Pod {
    metadata: Metadata,
    #[serde(default)]
    status: PodStatus,
}

#[derive(Deserialize)]
pub struct Metadata {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub uid: String,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PodStatus {
    phase: String,
    reason: String,
    message: String,
    #[serde(rename = "podIPs")]
    pod_ips: Vec<PodAddress>,
    conditions: Vec<Condition>,
    container_statuses: Vec<ContainerStatus>,
    ephemeral_container_statuses: Vec<ContainerStatus>,
}

#[derive(Deserialize)]
struct PodAddress {
    ip: IpAddr,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    reason: String,
    message: String,
}

#[derive(Deserialize)]
struct ContainerStatus {
    name: String,
    #[serde(default)]
    state: ContainerState,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ContainerState {
    waiting: Option<Told>,
    running: Option<serde_json::Value>,
    terminated: Option<Told>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Told {
    reason: String,
    message: String,
    exit_code: Option<i32>,
}

impl Told {
    fn words(&self) -> String {
        sentence(&self.reason, &self.message)
    }
}

fn sentence(reason: &str, message: &str) -> String {
    match (reason, message) {
        (reason, "") => harmless(reason),
        ("", message) => harmless(message),
        (reason, message) => harmless(&format!("{reason}: {message}")),
    }
}

/// What kubectl printed, as a type.
pub fn read<T: DeserializeOwned>(said: &str) -> Result<T, Unavailable> {
    serde_json::from_str(said).map_err(other_json)
}

/// The objects that kubectl printed one after the other.
pub fn several<T: DeserializeOwned>(said: &str) -> Result<Vec<T>, Unavailable> {
    let all = serde_json::Deserializer::from_str(said).into_iter();
    all.collect::<Result<_, _>>().map_err(other_json)
}

fn other_json(error: serde_json::Error) -> Unavailable {
    Unavailable(format!("kubectl's JSON cannot be read: {error}"))
}

/// The items of a list.
pub fn items<T: DeserializeOwned>(said: &str) -> Result<Vec<T>, Unavailable> {
    read::<List<T>>(said).map(|list| list.items)
}

/// The pods of jobs: the number of the target, the pod's name, and its state.
pub fn pods(said: &str) -> Result<Vec<(usize, String, State)>, Unavailable> {
    let of = |pod: Pod| {
        let number = pod.metadata.labels.get(TARGET_LABEL)?.parse().ok()?;
        let state = state(&pod.status, &pod.status.container_statuses, CONTAINER);
        Some((number, pod.metadata.name, state))
    };
    Ok(items(said)?.into_iter().filter_map(of).collect())
}

/// The state of an ephemeral container of a pod.
pub fn ephemeral(said: &str, name: &str) -> Result<State, Unavailable> {
    let pod: Pod = read(said)?;
    let containers = &pod.status.ephemeral_container_statuses;
    Ok(state(&pod.status, containers, name))
}

fn state(pod: &PodStatus, containers: &[ContainerStatus], name: &str) -> State {
    if matches!(pod.phase.as_str(), "Failed" | "Succeeded") {
        let said = match sentence(&pod.reason, &pod.message) {
            said if said.is_empty() => ended(containers, name),
            said => said,
        };
        return State::Failed(format!("its pod has ended: {said}"));
    }
    let unscheduled = |condition: &&Condition| {
        condition.kind == "PodScheduled"
            && condition.status == "False"
            && condition.reason == "Unschedulable"
    };
    if let Some(refused) = pod.conditions.iter().find(unscheduled) {
        let said = harmless(&refused.message);
        return State::Failed(format!("its pod is not scheduled: {said}"));
    }
    let Some(container) = containers.iter().find(|container| container.name == name) else {
        let is_scheduled =
            |condition: &Condition| condition.kind == "PodScheduled" && condition.status == "True";
        return State::Waiting(match pod.conditions.iter().any(is_scheduled) {
            true => "the node does not answer".to_owned(),
            false => harmless(&pod.phase),
        });
    };
    let ContainerState {
        waiting,
        running,
        terminated,
    } = &container.state;
    let addresses: Vec<IpAddr> = pod.pod_ips.iter().map(|address| address.ip).collect();
    match (waiting, running, terminated) {
        (_, _, Some(_)) => {
            State::Failed(format!("its container ended: {}", ended(containers, name)))
        }
        (_, Some(_), _) if !addresses.is_empty() => State::Running(addresses),
        (Some(told), ..) if FINAL.contains(&told.reason.as_str()) => {
            State::Failed(format!("its container does not start: {}", told.words()))
        }
        (Some(told), ..) => State::Waiting(told.words()),
        _ => State::Waiting("no address".to_owned()),
    }
}

fn ended(containers: &[ContainerStatus], name: &str) -> String {
    let container = containers.iter().find(|container| container.name == name);
    let told = container.and_then(|container| container.state.terminated.as_ref());
    told.map_or("without a reason".to_owned(), |told| {
        let code = told.exit_code.unwrap_or_default();
        format!("{} with exit status {code}", told.words())
    })
}

/// A pod as it was asked for.
#[derive(Deserialize)]
pub struct Asked {
    pub metadata: Metadata,
    #[serde(default)]
    spec: AskedSpec,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AskedSpec {
    containers: Vec<AskedContainer>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AskedContainer {
    resources: Resources,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Resources {
    limits: BTreeMap<String, String>,
}

impl Asked {
    /// The CPUs whose time all containers may use together; absent where one has no limit.
    pub fn cpus(&self) -> Option<f64> {
        let limit = |container: &AskedContainer| {
            let text = container.resources.limits.get("cpu")?;
            match text.strip_suffix('m') {
                Some(thousandths) => Some(thousandths.parse::<f64>().ok()? / 1000.0),
                None => text.parse().ok(),
            }
        };
        let limits: Option<Vec<f64>> = self.spec.containers.iter().map(limit).collect();
        limits
            .map(|limits| limits.iter().sum())
            .filter(|cpus| *cpus > 0.0)
    }
}

/// A Service that was created.
#[derive(Deserialize)]
pub struct Service {
    pub metadata: Metadata,
    pub spec: ServiceSpec,
}

#[derive(Deserialize)]
pub struct ServiceSpec {
    /// Its addresses: one of each version of IP that the cluster has.
    #[serde(rename = "clusterIPs")]
    pub addresses: Vec<IpAddr>,
}

/// An object of which only the name and the labels are of interest.
#[derive(Deserialize)]
pub struct Object {
    pub metadata: Metadata,
}

#[derive(Deserialize)]
struct AnyJob {
    metadata: Metadata,
    #[serde(default)]
    status: JobStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct JobStatus {
    conditions: Vec<Condition>,
}

/// The names of the jobs that have ended.
pub fn ended_jobs(said: &str) -> Result<Vec<String>, Unavailable> {
    let has_ended = |job: &AnyJob| {
        let ends = |condition: &Condition| {
            ["Complete", "Failed"].contains(&condition.kind.as_str()) && condition.status == "True"
        };
        job.status.conditions.iter().any(ends)
    };
    let jobs = items::<AnyJob>(said)?.into_iter().filter(has_ended);
    Ok(jobs.map(|job| job.metadata.name).collect())
}

#[derive(Deserialize)]
struct AnyEvent {
    #[serde(default)]
    message: String,
}

/// The message of the last event.
pub fn last_message(said: &str) -> Option<String> {
    let events: Vec<AnyEvent> = items(said).ok()?;
    events.last().map(|event| harmless(&event.message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(status: &str) -> State {
        let said = format!(
            r#"{{"items":[{{"metadata":{{"name":"p","labels":{{"bitcost/target":"2"}}}},"status":{status}}}]}}"#
        );
        let (number, name, state) = pods(&said).expect("a list").remove(0);
        assert_eq!((number, name.as_str()), (2, "p"));
        state
    }

    #[test]
    fn a_pod_runs_waits_or_fails() {
        let running = one(
            r#"{"phase":"Running","podIPs":[{"ip":"10.1.0.4"},{"ip":"fd00::4"}],"containerStatuses":[{"name":"bitcost","state":{"running":{"startedAt":"x"}}}]}"#,
        );
        let addresses = ["10.1.0.4", "fd00::4"].map(|text| text.parse().expect("an address"));
        assert_eq!(running, State::Running(addresses.to_vec()));
        assert_eq!(
            one(r#"{"phase":"Pending"}"#),
            State::Waiting("Pending".to_owned())
        );
        for (status, what) in [
            (
                r#"{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/4 nodes"}]}"#,
                "not scheduled: 0/4 nodes",
            ),
            (
                r#"{"phase":"Pending","containerStatuses":[{"name":"bitcost","state":{"waiting":{"reason":"ImagePullBackOff","message":"Back-off \u001b[31m"}}}]}"#,
                "does not start: ImagePullBackOff: Back-off",
            ),
            (
                r#"{"phase":"Failed","reason":"OutOfcpu","message":"no CPU"}"#,
                "has ended: OutOfcpu: no CPU",
            ),
            (
                r#"{"phase":"Succeeded","containerStatuses":[{"name":"bitcost","state":{"terminated":{"reason":"Completed","exitCode":0}}}]}"#,
                "has ended: Completed with exit status 0",
            ),
        ] {
            let state = one(status);
            assert!(
                matches!(&state, State::Failed(reason) if reason.contains(what) && !reason.contains('\u{1b}')),
                "{state:?}"
            );
        }
        let given =
            one(r#"{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"True"}]}"#);
        assert_eq!(given, State::Waiting("the node does not answer".to_owned()));
        let pulling = one(
            r#"{"phase":"Pending","containerStatuses":[{"name":"bitcost","state":{"waiting":{"reason":"ErrImagePull"}}}]}"#,
        );
        assert_eq!(pulling, State::Waiting("ErrImagePull".to_owned()));
    }

    #[test]
    fn an_ephemeral_container_is_one_of_its_pod() {
        let said = r#"{"metadata":{"name":"web"},"status":{"phase":"Running","podIPs":[{"ip":"10.1.0.4"}],
            "containerStatuses":[{"name":"web","state":{"running":{}}}],
            "ephemeralContainerStatuses":[{"name":"b-1","state":{"running":{}}},{"name":"b-0","state":{"terminated":{"exitCode":0}}}]}}"#;
        assert!(matches!(ephemeral(said, "b-1"), Ok(State::Running(_))));
        assert!(matches!(ephemeral(said, "b-0"), Ok(State::Failed(_))));
        assert!(matches!(ephemeral(said, "b-2"), Ok(State::Waiting(_))));
    }

    #[test]
    fn the_quota_of_a_pod_is_that_of_its_containers_together() {
        let cpus = |containers: &str| {
            let said = format!(r#"{{"metadata":{{}},"spec":{{"containers":[{containers}]}}}}"#);
            read::<Asked>(&said).expect("a pod").cpus()
        };
        let limited = r#"{"resources":{"limits":{"cpu":"500m"}}}"#;
        let more = r#"{"resources":{"limits":{"cpu":"2","memory":"1Gi"}}}"#;
        assert_eq!(cpus(&format!("{limited},{more}")), Some(2.5));
        assert_eq!((cpus(&format!("{limited},{{}}")), cpus("")), (None, None));
    }

    #[test]
    fn jobs_that_have_ended_are_told_from_those_that_run() {
        let said = r#"{"items":[{"metadata":{"name":"a"},"status":{"conditions":[{"type":"Complete","status":"True"}]}},
            {"metadata":{"name":"b"},"status":{"active":1}},{"metadata":{"name":"c"}}]}"#;
        assert_eq!(ended_jobs(said), Ok(vec!["a".to_owned()]));
        assert!(ended_jobs("nonsense").is_err_and(|why| why.0.contains("JSON cannot be read")));
        assert_eq!(
            last_message(r#"{"items":[{"message":"x"},{"message":"violates PodSecurity"}]}"#),
            Some("violates PodSecurity".to_owned())
        );
    }
}
