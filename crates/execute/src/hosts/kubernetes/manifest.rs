//! The jobs that start pods, one for each node, which the cluster removes when it has ended.

use std::time::Duration;

use bitcost_model::event::Kubernetes;
use serde_json::{Value, json};

use super::target::Target;

pub const CONTAINER: &str = "bitcost";

/// The folder of the journal in a container: every container has it, for every user.
const STATE_FOLDER: &str = "/dev/shm/bitcost";

pub const RUN_LABEL: &str = "bitcost/run";

pub const TARGET_LABEL: &str = "bitcost/target";

/// Seconds after which the cluster removes a job that has ended, with its pod.
const KEPT_S: u32 = 15;

const NOBODY: u32 = 65_534;

pub fn name(run: &str, number: usize) -> String {
    format!("bitcost-{run}-{number}")
}

pub fn list(items: Vec<Value>) -> String {
    json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string()
}

/// The object: a pod with the least rights, at the node whatever taints it has, that is never started twice.
pub fn job(
    spec: &Kubernetes,
    (run, number): (&str, usize),
    target: &Target,
    deadline: Duration,
    command: &[&str],
) -> Value {
    let labels = json!({
        "app.kubernetes.io/managed-by": "bitcost",
        RUN_LABEL: run, TARGET_LABEL: number.to_string(),
    });
    let node =
        json!({ "key": "metadata.name", "operator": "In", "values": [target.node.as_str()] });
    let affinity = json!({ "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{ "matchFields": [node] }],
    } } });
    let container = json!({
        "name": CONTAINER, "image": spec.image, "imagePullPolicy": spec.pull_policy,
        "command": command, "env": [{ "name": "BITCOST_STATE_DIR", "value": STATE_FOLDER }],
        "securityContext": {
            "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] },
        },
    });
    let pod = json!({
        "restartPolicy": "Never", "terminationGracePeriodSeconds": 2,
        "automountServiceAccountToken": false, "enableServiceLinks": false,
        "hostNetwork": target.host_network, "dnsPolicy": "Default",
        "tolerations": [{ "operator": "Exists" }], "affinity": affinity,
        "securityContext": {
            "runAsNonRoot": true, "runAsUser": NOBODY, "runAsGroup": NOBODY,
            "seccompProfile": { "type": "RuntimeDefault" },
        },
        "containers": [container],
    });
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": { "name": name(run, number), "labels": labels },
        "spec": {
            "backoffLimit": 0, "ttlSecondsAfterFinished": KEPT_S,
            "activeDeadlineSeconds": deadline.as_secs().max(1),
            "template": { "metadata": { "labels": labels }, "spec": pod },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_bound_to_its_node_and_ends_alone() {
        let spec = Kubernetes {
            image: "registry/bitcost:1".to_owned(),
            pull_policy: "Never".to_owned(),
            ..Kubernetes::default()
        };
        let target = Target {
            host_network: true,
            ..Target::new("n1").expect("a name")
        };
        let command = ["bitcost", "agent", "--hold"];
        let deadline = Duration::from_secs(900);
        let made = job(&spec, ("0a", 3), &target, deadline, &command);
        assert_eq!(made["metadata"]["name"], "bitcost-0a-3");
        assert_eq!(made["spec"]["activeDeadlineSeconds"], 900);
        assert_eq!(made["spec"]["ttlSecondsAfterFinished"], KEPT_S);
        let template = &made["spec"]["template"];
        assert_eq!(template["metadata"]["labels"]["bitcost/target"], "3");
        let pod = &template["spec"];
        assert_eq!(pod["hostNetwork"], true);
        assert_eq!(pod["restartPolicy"], "Never");
        let terms =
            &pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
        let field = &terms["nodeSelectorTerms"][0]["matchFields"][0];
        assert_eq!(field["values"], json!(["n1"]));
        let container = &pod["containers"][0];
        assert_eq!(container["image"], "registry/bitcost:1");
        assert_eq!(container["imagePullPolicy"], "Never");
        assert_eq!(container["command"], json!(["bitcost", "agent", "--hold"]));
        assert_eq!(
            container["securityContext"]["capabilities"]["drop"],
            json!(["ALL"])
        );
    }
}
