//! What the cluster says of pods and events, as kubectl prints it in JSON. It is data from outside: what is not
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    Waiting(String),
    Running(Vec<IpAddr>),
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
    labels: BTreeMap<String, String>,
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

pub fn items<T: DeserializeOwned>(said: &str) -> Result<Vec<T>, Unavailable> {
    let list = serde_json::from_str::<List<T>>(said);
    let list =
        list.map_err(|error| Unavailable(format!("kubectl's JSON cannot be read: {error}")))?;
    Ok(list.items)
}

/// The pods of jobs: the number of the target, the pod's name, and its state.
pub fn pods(said: &str) -> Result<Vec<(usize, String, State)>, Unavailable> {
    let of = |pod: Pod| {
        let number = pod.metadata.labels.get(TARGET_LABEL)?.parse().ok()?;
        let state = state(&pod.status);
        Some((number, pod.metadata.name, state))
    };
    Ok(items(said)?.into_iter().filter_map(of).collect())
}

fn state(pod: &PodStatus) -> State {
    let mut containers = pod.container_statuses.iter();
    let container = containers.find(|container| container.name == CONTAINER);
    if matches!(pod.phase.as_str(), "Failed" | "Succeeded") {
        let said = match sentence(&pod.reason, &pod.message) {
            said if said.is_empty() => ended(container),
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
    let Some(told) = container else {
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
    } = &told.state;
    let addresses: Vec<IpAddr> = pod.pod_ips.iter().map(|address| address.ip).collect();
    match (waiting, running, terminated) {
        (_, _, Some(_)) => State::Failed(format!("its container ended: {}", ended(container))),
        (_, Some(_), _) if !addresses.is_empty() => State::Running(addresses),
        (Some(told), ..) if FINAL.contains(&told.reason.as_str()) => {
            State::Failed(format!("its container does not start: {}", told.words()))
        }
        (Some(told), ..) => State::Waiting(told.words()),
        _ => State::Waiting("no address".to_owned()),
    }
}

fn ended(container: Option<&ContainerStatus>) -> String {
    let told = container.and_then(|container| container.state.terminated.as_ref());
    told.map_or("without a reason".to_owned(), |told| {
        let code = told.exit_code.unwrap_or_default();
        format!("{} with exit status {code}", told.words())
    })
}

#[derive(Deserialize)]
struct AnyEvent {
    #[serde(default)]
    message: String,
}

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
    fn the_last_event_is_told_and_what_is_no_list_is_refused() {
        assert!(pods("nonsense").is_err_and(|why| why.0.contains("JSON cannot be read")));
        assert_eq!(
            last_message(r#"{"items":[{"message":"x"},{"message":"violates PodSecurity"}]}"#),
            Some("violates PodSecurity".to_owned())
        );
    }
}
