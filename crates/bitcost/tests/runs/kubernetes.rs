//! `bitcost run --kubernetes`, with a fake kubectl that comes first in the path and starts real agents.

use crate::bench::*;

bitcost_testkit::trials! {
    PrivateNetwork: pods_in_the_network_of_nodes_are_measured_and_removed,
        a_node_whose_image_is_not_there_has_a_line_and_is_measured_later,
        errors_of_a_cluster_name_cause_and_remedy;
}

/// A cluster of three nodes. The file `jobs` has what was created, `broken` the number of a target whose image is not there,
/// `forbidden` says that the user may create nothing.
const KUBECTL: &str = r#"#!/bin/sh
cd "$CLUSTER" || exit 99
while case "$1" in --context=test|--namespace=*|--request-timeout=*) true;; *) false;; esac; do shift; done
case "$*" in
"config current-context") echo test;;
"get nodes --output=json --selector=rack=r11") echo '{"items":[]}';;
"get nodes --output=json"*) echo '{"items":[{"metadata":{"name":"n1","labels":{"rack":"r1"}}},{"metadata":{"name":"n2"}},{"metadata":{"name":"n3"}},
  {"metadata":{"name":"n4"},"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}}]}';;
"create"*) [ ! -e forbidden ] || { echo 'Error from server (Forbidden): jobs.batch is forbidden' >&2; exit 1; }
  cat >jobs; grep -o '"name":"bitcost-[0-9a-f]*-[0-9]*"' jobs | sort -u | cut -d'"' -f4 >names;;
"get pods --output=json"*)
  first=; printf '{"items":['
  while read -r name; do
    state='"phase":"Running","podIPs":[{"ip":"127.0.0.1"}],"containerStatuses":[{"name":"bitcost","state":{"running":{}}}]'
    [ "${name##*-}" != "$(cat broken)" ] || state='"phase":"Pending","containerStatuses":[{"name":"bitcost","state":{"waiting":{"reason":"ImagePullBackOff"}}}]'
    printf '%s{"metadata":{"name":"%s-x","labels":{"bitcost/target":"%s"}},"status":{%s}}' "$first" "$name" "${name##*-}" "$state"; first=,
  done <names; echo ']}';;
"exec -i "*" -- bitcost agent") exec "$PROGRAM" agent;;
"delete jobs --cascade=foreground"*) rm jobs 2>/dev/null;;
*) echo "unknown: $*" >&2; exit 98;;
esac
"#;

/// A folder with the fake kubectl and a study.
struct Cluster(Bench);

impl Cluster {
    fn new(mesh: &str) -> Cluster {
        let bench = Bench::new().with_own_programs();
        let bench = bench.with("BITCOST_STATE_DIR", "FOLDER/state");
        let bench = bench.with("CLUSTER", "FOLDER");
        let bench = bench.with("PROGRAM", program().to_str().unwrap());
        bench.write("kubectl", KUBECTL);
        bench.write("broken", "");
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

    /// A run of the study with these options.
    fn run(&self, words: &[&str]) -> Done {
        let own = split("run mesh.toml --kubernetes --image i:1 --out runs");
        self.0.bitcost(&[&own[..], words].concat())
    }

    fn has_jobs(&self) -> bool {
        self.0.path().join("jobs").exists()
    }
}

fn pods_in_the_network_of_nodes_are_measured_and_removed() {
    let cluster = Cluster::new("pattern = \"ring\"\nnetwork = \"host\"");
    let done = cluster
        .run(&["--namespace", "bench", "--json"])
        .with_code(0);
    assert_eq!(done.json()["runs"], 6, "{}", done.stderr);
    assert!(!cluster.has_jobs());
}

fn a_node_whose_image_is_not_there_has_a_line_and_is_measured_later() {
    let cluster = Cluster::new("pattern = \"ring\"");
    cluster.0.write("broken", "2");
    let done = cluster.run(&[]).with_code(1);
    let line = "kubernetes:n3 has no agent: its container does not start: ImagePullBackOff; its runs have no result";
    done.assert_says(line);
    assert!(!cluster.has_jobs());
    cluster.0.write("broken", "");
    let runs = fs::read_dir(cluster.0.path().join("runs")).unwrap();
    let folder = runs.flatten().next().expect("a log").path();
    let done = cluster
        .0
        .bitcost(&["run", "--resume", folder.to_str().unwrap(), "--json"])
        .with_code(0);
    assert_eq!(done.json()["runs"], 6, "{}", done.stderr);
    assert!(!cluster.has_jobs());
}

fn errors_of_a_cluster_name_cause_and_remedy() {
    let cluster = Cluster::new("pattern = \"ring\"");
    for (words, code, means) in [
        (
            &["--node-selector", "rack=r11"][..],
            3,
            "kubectl get nodes --show-labels",
        ),
        (&["--slurm"], 2, "cannot be used with"),
    ] {
        let done = cluster.run(words).with_code(code);
        assert!(done.stderr.contains(means), "{words:?}: {}", done.stderr);
    }
    cluster.0.write("forbidden", "");
    let done = cluster.run(&[]).with_code(3);
    done.assert_says("a role with the rights");
    fs::remove_file(cluster.0.path().join("kubectl")).unwrap();
    let cluster = Cluster(cluster.0.with("PATH", "/nowhere"));
    let done = cluster.run(&[]).with_code(3);
    done.assert_says("needs kubectl on the PATH");
}
