//! `bitcost run --kubernetes`, with a fake kubectl that comes first in the path and starts real agents.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::bench::{Bench, Done, PATIENCE, program, split};
use bitcost_testkit::assert_says;

bitcost_testkit::trials! {
    PrivateNetwork: pods_of_three_networks_and_an_existing_pod_are_measured_and_removed,
        a_service_that_does_not_answer_is_named_and_other_networks_are_measured,
        a_node_whose_image_is_not_there_has_a_line_and_is_measured_later,
        errors_of_a_cluster_name_cause_and_remedy;
}

/// A cluster of three nodes and a pod. The file `jobs` has what was created, `services` the Services, which all have the
/// address in `address`, `told` each command, `broken` the number of a target whose image is not there, `forbidden` says
/// that the user may create nothing.
const KUBECTL: &str = r#"#!/bin/sh
cd "$CLUSTER" || exit 99
while case "$1" in --context=test|--namespace=*|--request-timeout=*) true;; *) false;; esac; do shift; done
echo "$*" >>told
case "$*" in
"config current-context") echo test;;
"get nodes --output=json --selector=rack=r11") echo '{"items":[]}';;
"get nodes --output=json"*) echo '{"items":[{"metadata":{"name":"n1","labels":{"rack":"r1"}}},{"metadata":{"name":"n2"}},{"metadata":{"name":"n3"}},
  {"metadata":{"name":"n4"},"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}}]}';;
"get namespaces"*) echo namespace/bench;;
"get jobs"*) echo '{"items":[{"metadata":{"name":"bitcost-old-0"},"status":{"conditions":[{"type":"Complete","status":"True"}]}}]}';;
"create"*) [ ! -e forbidden ] || { echo 'Error from server (Forbidden): jobs.batch is forbidden' >&2; exit 1; }
  cat >created; grep -o '"name":"bitcost-[0-9a-f]*-[0-9]*"' created | sort -u | cut -d'"' -f4 >list
  if grep -q '"kind":"Service"' created; then mv created services; else mv created jobs; cp list names; fi
  while read -r name; do
    printf '{"metadata":{"name":"%s","uid":"u"},"spec":{"clusterIPs":["%s"]}}\n' "$name" "$(cat address)"
  done <list;;
"get pods --output=json"*)
  first=; printf '{"items":['
  while read -r name; do
    state='"phase":"Running","podIPs":[{"ip":"127.0.0.1"}],"containerStatuses":[{"name":"bitcost","state":{"running":{}}}]'
    [ "${name##*-}" != "$(cat broken)" ] || state='"phase":"Pending","containerStatuses":[{"name":"bitcost","state":{"waiting":{"reason":"ImagePullBackOff"}}}]'
    printf '%s{"metadata":{"name":"%s-x","labels":{"bitcost/target":"%s"}},"status":{%s}}' "$first" "$name" "${name##*-}" "$state"; first=,
  done <names; echo ']}';;
"get pods --output=name"*) echo pod/web-0;;
"debug web-0"*) for word; do case "$word" in --container=*) echo "${word#*=}" >ephemeral;; esac; done;;
"get pod web-0"*) echo '{"metadata":{"name":"web-0","labels":{"app":"web"}},"status":{"phase":"Running","podIPs":[{"ip":"127.0.0.1"}],
  "ephemeralContainerStatuses":[{"name":"'"$(cat ephemeral)"'","state":{"running":{}}}]}}';;
"exec -i "*" -- bitcost agent") exec "$PROGRAM" agent;;
"delete jobs --ignore-not-found --wait=false bitcost-old-0") ;;
"delete jobs --cascade=foreground"*) rm jobs;;
*) echo "unknown: $*" >&2; exit 98;;
esac
"#;

/// A folder with the fake kubectl and a study.
struct Cluster(Bench);

impl Cluster {
    fn new(mesh: &str) -> Cluster {
        let bench = Bench::new();
        bench.write("kubectl", KUBECTL);
        bench.write("broken", "");
        bench.write("address", "127.0.0.1");
        fs::set_permissions(
            bench.path().join("kubectl"),
            fs::Permissions::from_mode(0o755),
        )
        .unwrap();
        let text = format!(
            "title = \"A mesh\"\nquestion = \"Which node is slow?\"\n[mesh]\n{mesh}\n[workload]\nduration_s = 0.2\nwarmup_s = 0.1\n"
        );
        bench.write("mesh.toml", &text);
        Cluster(bench)
    }

    fn bitcost(&self, words: &[&str]) -> Done {
        let folder = self.0.path().to_str().unwrap();
        let path = format!(
            "PATH={folder}:{}",
            std::env::var("PATH").unwrap_or_default()
        );
        let state = format!("BITCOST_STATE_DIR={folder}/state");
        let (cluster, own) = (format!("CLUSTER={folder}"), program());
        let own = own.to_str().unwrap();
        let program = format!("PROGRAM={own}");
        let before = [path.as_str(), &state, &cluster, &program, own];
        let words = [&before[..], words].concat();
        self.0
            .start_program(Path::new("/usr/bin/env"), &words)
            .finish(PATIENCE)
    }

    /// A run of the study with these options.
    fn run(&self, words: &[&str]) -> Done {
        let own = split("run mesh.toml --kubernetes --image i:1 --out runs");
        self.bitcost(&[&own[..], words].concat())
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.path().join(name)).unwrap_or_default()
    }

    fn has_jobs(&self) -> bool {
        self.0.path().join("jobs").exists()
    }
}

fn pods_of_three_networks_and_an_existing_pod_are_measured_and_removed() {
    let cluster = Cluster::new("pattern = \"ring\"\nnetwork = [\"pod\", \"host\", \"service\"]");
    let done = cluster.run(&["--namespace", "bench", "--in-pod", "web-0", "--json"]);
    done.assert_code(0);
    let document = done.json();
    assert_eq!(document["runs"], 24, "{}", done.stderr);
    let networks = document["mesh"]["networks"].as_array().unwrap();
    assert_eq!(
        (networks.len(), &networks[1]["network"]),
        (2, &"service".into())
    );
    assert!(!cluster.has_jobs());
    let services = cluster.read("services");
    assert_eq!(services.matches("\"kind\":\"Service\"").count(), 4);
    assert_eq!(services.matches("\"uid\":\"u\"").count(), 4, "{services}");
    assert_says(&services, &["\"selector\":{\"app\":\"web\"}"]);
    let told = cluster.read("told");
    assert_eq!(told.matches("debug web-0").count(), 1, "{told}");
    assert!(told.contains("delete jobs --ignore-not-found --wait=false bitcost-old-0"));
    let said = &done.stderr;
    assert_says(said, &["an earlier execution left: job/bitcost-old-0"]);
}

fn a_service_that_does_not_answer_is_named_and_other_networks_are_measured() {
    let cluster = Cluster::new("pairs = [\"n1 n2\"]\nnetwork = [\"pod\", \"service\"]");
    cluster.0.write("address", "127.0.0.9");
    let done = cluster.run(&["--json"]);
    done.assert_code(1);
    let document = done.json();
    assert_eq!(document["runs"], 1, "{}", done.stderr);
    let line = "from kubernetes-service:n1 to kubernetes-service:n2: ";
    let excluded = document["excluded"].to_string();
    assert_says(&excluded, &[line, "127.0.0.9:20000"]);
}

fn a_node_whose_image_is_not_there_has_a_line_and_is_measured_later() {
    let cluster = Cluster::new("pattern = \"ring\"");
    cluster.0.write("broken", "2");
    let done = cluster.run(&[]);
    done.assert_code(1);
    let line = "kubernetes:n3 has no agent: its container does not start: ImagePullBackOff; its runs have no result";
    done.assert_says(line);
    assert!(!cluster.has_jobs());
    cluster.0.write("broken", "");
    let runs = fs::read_dir(cluster.0.path().join("runs")).unwrap();
    let folder = runs.flatten().next().expect("a log").path();
    let done = cluster.bitcost(&["run", "--resume", folder.to_str().unwrap(), "--json"]);
    done.assert_code(0);
    assert_eq!(done.json()["runs"], 6, "{}", done.stderr);
    assert!(!cluster.has_jobs());
}

fn errors_of_a_cluster_name_cause_and_remedy() {
    let cluster = Cluster::new("pattern = \"ring\"");
    for (words, code, means) in [
        (
            &["--node-selector", "rack=r11"][..],
            3,
            "did you mean `rack=r1`?",
        ),
        (&["--namespace", "bensh"], 3, "did you mean `bench`?"),
        (&["--in-pod", "web-1"], 3, "did you mean `web-0`?"),
        (&["--in-pod", "a b"], 2, "not a name of a node or a pod"),
        (&["--slurm"], 2, "cannot be used with"),
    ] {
        let done = cluster.run(words);
        done.assert_code(code);
        assert!(done.stderr.contains(means), "{words:?}: {}", done.stderr);
    }
    cluster.0.write("forbidden", "");
    let done = cluster.run(&[]);
    done.assert_code(3);
    done.assert_says("a role with the rights");
    fs::remove_file(cluster.0.path().join("kubectl")).unwrap();
    let own = program();
    let words = [
        "PATH=/nowhere",
        own.to_str().unwrap(),
        "run",
        "mesh.toml",
        "--kubernetes",
        "--image",
        "i:1",
    ];
    let done = cluster
        .0
        .start_program(Path::new("/usr/bin/env"), &words)
        .finish(PATIENCE);
    done.assert_code(3);
    done.assert_says("needs kubectl on the PATH");
}
