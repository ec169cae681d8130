//! Which nodes and pods of a cluster are hosts.

use bitcost_model::Unavailable;
use bitcost_model::event::Kubernetes;
use bitcost_model::near::did_you_mean;
use serde::Deserialize;

use super::kubectl::Kubectl;
use super::status::{self, Metadata};
use super::target::{Kind, Target, plain};
use crate::error::ExecuteError;

/// The hosts of a mesh: the nodes with the labels of `selector`, or else all whose taints let pods in, and `pods`.
///
/// # Errors
/// Environment, when kubectl does not reach the cluster, no node is selected, or a pod is not there.
pub fn hosts(
    spec: &Kubernetes,
    selector: Option<&str>,
    pods: &[String],
) -> Result<Vec<Target>, ExecuteError> {
    let kubectl = Kubectl::of(spec);
    let nodes = nodes(&kubectl, selector)?;
    check_namespace(&kubectl, spec)?;
    let target = |kind: Kind, name: &str| plain(name).map(|name| Target { kind, name });
    let names = nodes.iter().map(|node| target(Kind::Node, node));
    let mut targets: Vec<Target> = names
        .collect::<Result<_, _>>()
        .map_err(|why| ExecuteError::Environment(why.0))?;
    for pod in pods {
        let pod = target(Kind::Pod, pod);
        targets.push(pod.map_err(|why| ExecuteError::Usage(format!("--in-pod: {why}")))?);
    }
    if !pods.is_empty() {
        check_pods(&kubectl, pods)?;
    }
    Ok(targets)
}

#[derive(Deserialize)]
struct Node {
    metadata: Metadata,
    #[serde(default)]
    spec: NodeSpec,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NodeSpec {
    taints: Vec<Taint>,
}

#[derive(Deserialize)]
struct Taint {
    effect: String,
}

fn nodes(kubectl: &Kubectl, selector: Option<&str>) -> Result<Vec<String>, ExecuteError> {
    let all = || kubectl.ask(&["get", "nodes", "--output=json"]);
    let Some(selector) = selector else {
        let open = open_nodes(&all()?)?;
        return match open.is_empty() {
            false => Ok(open),
            true => Err(ExecuteError::Environment(
                "no node of the cluster lets pods in without a toleration; select nodes by their labels: --node-selector LABEL=VALUE".to_owned(),
            )),
        };
    };
    let selected = format!("--selector={selector}");
    let said = kubectl.ask(&["get", "nodes", "--output=json", &selected])?;
    let found: Vec<Node> = status::items(&said)?;
    if found.is_empty() {
        let hint = near_labels(selector, &all()?)?;
        return Err(ExecuteError::Environment(format!(
            "no node of the cluster has the labels {selector}; kubectl get nodes --show-labels lists those that are there{hint}"
        )));
    }
    Ok(found.into_iter().map(|node| node.metadata.name).collect())
}

/// The nodes that let pods in which tolerate nothing.
fn open_nodes(said: &str) -> Result<Vec<String>, Unavailable> {
    let lets_in = |node: &Node| {
        let mut taints = node.spec.taints.iter();
        taints.all(|taint| taint.effect == "PreferNoSchedule")
    };
    let nodes = status::items::<Node>(said)?.into_iter().filter(lets_in);
    Ok(nodes.map(|node| node.metadata.name).collect())
}

/// The labels of nodes that resemble a selector.
fn near_labels(selector: &str, said: &str) -> Result<String, Unavailable> {
    let nodes: Vec<Node> = status::items(said)?;
    let label = |(key, value): (&String, &String)| match selector.contains('=') {
        true => format!("{key}={value}"),
        false => key.clone(),
    };
    let labels = nodes.iter().flat_map(|node| node.metadata.labels.iter());
    let mut known: Vec<String> = labels.map(label).collect();
    known.sort_unstable();
    known.dedup();
    Ok(did_you_mean(selector, known.iter().map(String::as_str)))
}

/// The names that kubectl prints with `--output=name`, without the kind.
fn names(said: &str) -> Vec<&str> {
    let name = |line: &'_ str| {
        line.split_once('/')
            .map_or(line.len(), |(kind, _)| kind.len() + 1)
    };
    said.lines().map(|line| &line[name(line)..]).collect()
}

/// Checks that the namespace is there, where the user may ask.
fn check_namespace(kubectl: &Kubectl, spec: &Kubernetes) -> Result<(), ExecuteError> {
    let Some(namespace) = &spec.namespace else {
        return Ok(());
    };
    let Ok(said) = kubectl.ask(&["get", "namespaces", "--output=name"]) else {
        return Ok(());
    };
    let known = names(&said);
    match known.contains(&namespace.as_str()) {
        true => Ok(()),
        false => Err(ExecuteError::Environment(format!(
            "the cluster has no namespace `{namespace}`{}",
            did_you_mean(namespace, known)
        ))),
    }
}

fn check_pods(kubectl: &Kubectl, pods: &[String]) -> Result<(), ExecuteError> {
    let said = kubectl.ask(&["get", "pods", "--output=name"])?;
    let known = names(&said);
    match pods.iter().find(|pod| !known.contains(&pod.as_str())) {
        None => Ok(()),
        Some(pod) => Err(ExecuteError::Environment(format!(
            "--in-pod: there is no pod `{pod}` in the namespace{}",
            did_you_mean(pod, known)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: &str = r#"{"items":[{"metadata":{"name":"n1","labels":{"rack":"r1"}},"spec":{}},
        {"metadata":{"name":"n2","labels":{"rack":"r2"}},"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}},
        {"metadata":{"name":"n3"},"spec":{"taints":[{"key":"a","effect":"PreferNoSchedule"}]}}]}"#;

    #[test]
    fn tainted_nodes_are_left_out() {
        assert_eq!(
            open_nodes(NODES),
            Ok(vec!["n1".to_owned(), "n3".to_owned()])
        );
    }

    #[test]
    fn labels_that_resemble_a_selector_are_named() {
        let hint = near_labels("rack=r11", NODES).expect("nodes");
        assert!(hint.contains("`rack=r1`"), "{hint}");
        let hint = near_labels("rak", NODES).expect("nodes");
        assert!(hint.contains("`rack`"), "{hint}");
    }

    #[test]
    fn names_are_without_their_kind() {
        assert_eq!(names("pod/web-0\npod/web-1\n"), ["web-0", "web-1"]);
    }
}
