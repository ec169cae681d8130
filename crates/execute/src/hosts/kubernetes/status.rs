//! What the cluster says of pods and events, as kubectl prints it in JSON. It is data from outside: what is not
//! understood is a reason, not a crash.

use std::net::IpAddr;

use bitcost_model::Unavailable;
use bitcost_model::harmless;
use serde_json::Value;

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

/// The objects of a list.
pub fn items(said: &str) -> Result<Vec<Value>, Unavailable> {
    let list: Value = serde_json::from_str(said)
        .map_err(|error| Unavailable(format!("kubectl's JSON cannot be read: {error}")))?;
    match &list["items"] {
        Value::Array(items) => Ok(items.clone()),
        _ => Err(Unavailable(
            "kubectl's JSON cannot be read: it has no list `items`".to_owned(),
        )),
    }
}

/// The elements of a list in an object; none where it is none.
pub fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// A text in an object; empty where it is none.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Its reason and its message in a sentence.
fn sentence(object: &Value) -> String {
    match (text(&object["reason"]), text(&object["message"])) {
        (reason, "") => harmless(reason),
        ("", message) => harmless(message),
        (reason, message) => harmless(&format!("{reason}: {message}")),
    }
}

/// The pods of jobs: the number of the target, the pod's name, and its state.
pub fn pods(said: &str) -> Result<Vec<(usize, String, State)>, Unavailable> {
    let of = |pod: Value| {
        let metadata = &pod["metadata"];
        let number = text(&metadata["labels"][TARGET_LABEL]).parse().ok()?;
        let name = text(&metadata["name"]).to_owned();
        Some((number, name, state(&pod["status"])))
    };
    Ok(items(said)?.into_iter().filter_map(of).collect())
}

fn state(pod: &Value) -> State {
    let is_ours = |container: &&Value| container["name"] == CONTAINER;
    let container = list(&pod["containerStatuses"]).find(is_ours);
    let phase = text(&pod["phase"]);
    if matches!(phase, "Failed" | "Succeeded") {
        let said = match sentence(pod) {
            said if said.is_empty() => ended(container.unwrap_or(&Value::Null)),
            said => said,
        };
        return State::Failed(format!("its pod has ended: {said}"));
    }
    let mut conditions = list(&pod["conditions"]);
    let scheduled = conditions.find(|condition| condition["type"] == "PodScheduled");
    let scheduled = scheduled.unwrap_or(&Value::Null);
    if scheduled["status"] == "False" && scheduled["reason"] == "Unschedulable" {
        let said = harmless(text(&scheduled["message"]));
        return State::Failed(format!("its pod is not scheduled: {said}"));
    }
    let Some(container) = container else {
        return State::Waiting(match scheduled["status"] == "True" {
            true => "the node does not answer".to_owned(),
            false => harmless(phase),
        });
    };
    if !container["state"]["terminated"].is_null() {
        return State::Failed(format!("its container ended: {}", ended(container)));
    }
    let addresses = list(&pod["podIPs"]).filter_map(|address| text(&address["ip"]).parse().ok());
    let addresses: Vec<IpAddr> = addresses.collect();
    if !container["state"]["running"].is_null() && !addresses.is_empty() {
        return State::Running(addresses);
    }
    let waiting = &container["state"]["waiting"];
    let said = sentence(waiting);
    if FINAL.contains(&text(&waiting["reason"])) {
        return State::Failed(format!("its container does not start: {said}"));
    }
    State::Waiting(match said.is_empty() {
        true => "no address".to_owned(),
        false => said,
    })
}

fn ended(container: &Value) -> String {
    match &container["state"]["terminated"] {
        Value::Null => "without a reason".to_owned(),
        told => {
            let code = told["exitCode"].as_i64().unwrap_or_default();
            format!("{} with exit status {code}", sentence(told))
        }
    }
}

pub fn last_message(said: &str) -> Option<String> {
    Some(harmless(text(&items(said).ok()?.last()?["message"])))
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
