//! Which nodes of a cluster are hosts.

use bitcost_model::Unavailable;
use bitcost_model::event::Kubernetes;
use serde_json::Value;

use super::kubectl::Kubectl;
use super::status::{items, list, text};
use super::target::Target;
use crate::error::ExecuteError;

/// The hosts of a mesh: the nodes with the labels of `selector`, or else all whose taints let pods in.
pub fn hosts(spec: &Kubernetes, selector: Option<&str>) -> Result<Vec<Target>, ExecuteError> {
    let selected = selector.map(|selector| format!("--selector={selector}"));
    let mut words = vec!["get", "nodes", "--output=json"];
    words.extend(selected.as_deref());
    let said = Kubectl::of(spec).ask(&words, "")?;
    let nodes = nodes(&said, selector.is_some())?;
    if nodes.is_empty() {
        return Err(ExecuteError::Environment(match selector {
            Some(selector) => format!(
                "no node of the cluster has the labels {selector}; kubectl get nodes --show-labels lists those that are there"
            ),
            None => "no node of the cluster lets pods in without a toleration; select nodes by their labels: --node-selector LABEL=VALUE".to_owned(),
        }));
    }
    let targets = nodes.iter().map(|node| Target::new(node));
    let targets: Result<_, _> = targets.collect();
    targets.map_err(|why| ExecuteError::Environment(why.0))
}

/// The names of the nodes, and where they are not selected, only of those that let pods in which tolerate nothing.
fn nodes(said: &str, are_selected: bool) -> Result<Vec<String>, Unavailable> {
    let lets_in = |node: &Value| {
        let mut taints = list(&node["spec"]["taints"]);
        are_selected || taints.all(|taint| taint["effect"] == "PreferNoSchedule")
    };
    let nodes = items(said)?.into_iter().filter(lets_in);
    let name = |node: Value| text(&node["metadata"]["name"]).to_owned();
    Ok(nodes.map(name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tainted_nodes_are_left_out_unless_they_are_selected() {
        let said = r#"{"items":[{"metadata":{"name":"n1"},"spec":{}},
            {"metadata":{"name":"n2"},"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}},
            {"metadata":{"name":"n3"},"spec":{"taints":[{"key":"a","effect":"PreferNoSchedule"}]}}]}"#;
        let names = |are_selected| nodes(said, are_selected).expect("nodes");
        assert_eq!(names(false), ["n1", "n3"]);
        assert_eq!(names(true), ["n1", "n2", "n3"]);
    }
}
