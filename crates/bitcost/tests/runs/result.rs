//! One command prints the table, for root and for an ordinary user, and leaves the machine as it
//! was.

use crate::bench::*;
use std::collections::{BTreeMap, BTreeSet};

use bitcost_model::host_settings::{HostSetting, OffloadSet, Offloads};
use bitcost_sys::netlink::{Ethtool, Features, Link};

bitcost_testkit::trials! {
    Host: study_runs_by_its_path;
    // All costs are there, which other programs may hide.
    QuietHost: table_printed_and_machine_unchanged, ordinary_user_gets_the_same_table;
}

const NOBODY: u32 = 65534;
const SHORT: &str = "run not-all-mbits --json --duration 300ms --blocks 1";

fn table_printed_and_machine_unchanged() {
    let before = Machine::now();
    let bench = Bench::new();
    let done = bench.bitcost(&split(SHORT)).with_code(0);
    bench.assert_nothing_left();
    assert_eq!(Machine::now(), before);
    check_result(&bench, &done);
}

fn ordinary_user_gets_the_same_table() {
    if bitcost_sys::process::effective_uid() != 0 {
        bitcost_testkit::ignore("the tests are run by an ordinary user already");
    }
    let before = Machine::now();
    let bench = Bench::of_user(NOBODY);
    let running = bench.start_program(&copy_of_program(&bench), &split(SHORT));
    let done = running.finish(PATIENCE);
    if done.code == Some(3) && done.stderr.contains("namespaces") {
        drop(bench);
        bitcost_testkit::ignore(&done.stderr);
    }
    done.assert_code(0);
    bench.assert_nothing_left();
    assert_eq!(Machine::now(), before);
    fs::remove_file(bench.path().join("bitcost")).unwrap();
    check_result(&bench, &done);
}

/// A copy of the program in a place that the other user can reach.
fn copy_of_program(bench: &Bench) -> PathBuf {
    let copy = bench.path().join("bitcost");
    fs::copy(program(), &copy).unwrap();
    copy
}

fn check_result(bench: &Bench, done: &Done) {
    let document = done.json();
    check_cells(&document);
    check_streams(bench, done);
    for run in ended(&bench.log()) {
        check_placement(&run);
    }
    assert_eq!(bench.contents(), ["bitcost-runs"]);
    let shown = bench.bitcost(&["show", "--json", bench.execution().to_str().unwrap()]);
    assert_eq!((shown.code, shown.json()), (Some(0), document));
}

fn check_cells(document: &Value) {
    let cells = document["cells"].as_array().unwrap();
    let found = cells.iter().map(|cell| cell["levels"].to_string());
    let found: BTreeSet<String> = found.collect();
    assert_eq!(found.len(), 8, "{found:?}");
    assert_eq!(runs_per_cell(document), [1; 8]);
    for cell in cells {
        let levels = &cell["levels"];
        assert!(levels["message_size_bytes"].is_u64(), "{cell}");
        assert!(levels["transport"].is_string(), "{cell}");
        let figure = |metric: &str| cell[metric]["median"].as_f64();
        // If CPU time is attributed by ticks, a busy machine leaves no service demand.
        let may_lack = figure("other_cpu_pct").is_some_and(|other| other > 10.0);
        for (metric, may_lack) in [
            ("throughput_mbps", false),
            ("send_service_demand_us_per_kib", may_lack),
            ("receive_service_demand_us_per_kib", may_lack),
            ("sender_segments_per_packet", false),
            ("receiver_segments_per_packet", false),
        ] {
            let is_there = figure(metric).map_or(may_lack, |value| value > 0.0);
            assert!(is_there, "{metric}: {cell:#}");
        }
    }
    let of = |transport: &str, metric: &str| {
        let is_it = |cell: &&Value| cell["levels"]["transport"] == transport;
        let figures = cells
            .iter()
            .filter(is_it)
            .map(|cell| &cell[metric]["median"]);
        let figures: Vec<f64> = figures.filter_map(Value::as_f64).collect();
        assert_eq!(figures.len(), 2, "{metric} of {transport}: {document:#}");
        figures
    };
    // The counters are read one after the other, on a machine with other work maybe late.
    let is_one = |figures: Vec<f64>| figures.iter().all(|figure| (figure - 1.0).abs() < 0.5);
    for metric in ["sender", "sender_interface", "receiver"] {
        let metric = format!("{metric}_segments_per_packet");
        assert!(is_one(of("TCP, one segment a packet", &metric)), "{metric}");
        let off = is_one(of("TCP, offloads off", &metric));
        assert!(off || metric == "sender_segments_per_packet", "{metric}");
    }
    assert_eq!(document["excluded"], Value::Array(Vec::new()));
    assert_eq!(document["improvements"].as_array().map(Vec::len), Some(4));
}

/// Asserts plain lines on standard error, and the result alone on standard output.
fn check_streams(bench: &Bench, done: &Done) {
    let printed = &done.stdout;
    assert!(
        printed.starts_with('{') && printed.ends_with("}\n"),
        "{printed}"
    );
    assert!(!done.stderr.contains(['\u{1b}', '\r']), "{:?}", done.stderr);
    let log = bench.log();
    let plan = plan(&log);
    for (run, planned) in (1..).zip(&plan.runs) {
        let cell = plan.cells[planned.cell].name();
        let line = format!("run {run} of 8 · {cell} · ");
        let mut lines = done.stderr.lines();
        assert!(
            lines.any(|said| said.starts_with(&line)),
            "{line}: {done:?}"
        );
    }
    let folder = bench.execution();
    done.assert_says(folder.file_name().unwrap().to_str().unwrap());
}

/// Each host receives on the CPUs of its traffic, and only what receives data is moderated; a set of
/// offloads leaves GRO on, so that every cell is received in the same way.
fn check_placement(run: &Ended) {
    let off = HostSetting::Offloads(Offloads::Set(OffloadSet::Off));
    let mut requests = run.conditions.host_settings.iter();
    let merged = requests
        .any(|request| request.setting == off)
        .then_some("1");
    for end in &run.ends {
        let found = in_effect(end, "gro_max_size").map(|[_, actual]| actual);
        assert_eq!(found.as_deref(), merged);
        assert_eq!(end.offloads.requested.get("rx-gro"), None);
    }
    let values = |name: &str| run.ends.each_ref().map(|end| in_effect(end, name));
    // The lab of an ordinary user may not place its receive work, and says so in its log.
    let [Some([_, at_sender]), Some([_, at_receiver])] = values("moderation_us") else {
        return;
    };
    assert_eq!((&*at_sender, &*at_receiver), ("0", "50"));
    let cpus = values("receive_cpus").map(|cpus| cpus.expect("the CPUs of its threads")[1].clone());
    assert_eq!(
        cpus,
        run.ends
            .each_ref()
            .map(|end| end.pinned_cpus[0].to_string())
    );
    assert_ne!(cpus[0], cpus[1]);
}

fn study_runs_by_its_path() {
    let bench = Bench::new();
    bench.write("mine.toml", SMALL);
    let words = split("run ./mine.toml --blocks 1 --out deep/er");
    let done = bench.bitcost(&words).with_code(0);
    let title = "mine: Two message sizes\n";
    assert!(done.stdout.starts_with(title), "{done:?}");
    assert!(!done.stdout.contains("run 1 of"), "{done:?}");
    done.assert_says("run 2 of 2 · ");
    let shown = bench.bitcost(&["show", last_word(&done.stderr)]);
    assert_eq!((shown.code, shown.stdout), (Some(0), done.stdout));
    // It ends as the execution ended: with the place of the log and the answer.
    let answer = done.stderr.find("\nlog: ").expect("the place of the log");
    assert_eq!(shown.stderr, done.stderr[answer + 1..]);
    bench.assert_nothing_left();
}

/// The folder in the last line, `all tables   bitcost show FOLDER`.
fn last_word(text: &str) -> &str {
    text.split_whitespace().next_back().unwrap()
}

/// The settings of the machine's own network.
#[derive(Debug, PartialEq)]
struct Machine {
    links: Vec<String>,
    features: BTreeMap<String, Features>,
    qdiscs: Vec<String>,
    named_namespaces: Vec<String>,
    sysctls: BTreeMap<PathBuf, String>,
}

impl Machine {
    fn now() -> Machine {
        let (mut rtnl, mut ethtool) = (Rtnl::open().unwrap(), Ethtool::open().unwrap());
        let links = rtnl.links().unwrap();
        let qdiscs = |link: &Link| format!("{:?}", rtnl.qdiscs(link.index).unwrap());
        let qdiscs = links.iter().map(qdiscs).collect();
        let features = |link: &Link| (link.name.clone(), ethtool.features(&link.name).unwrap());
        let folders = ["/proc/sys/net/core", "/proc/sys/net/ipv4"].into_iter();
        Machine {
            qdiscs,
            features: links.iter().map(features).collect(),
            links: links.iter().map(|link| format!("{link:?}")).collect(),
            named_namespaces: names("/run/netns"),
            sysctls: folders.flat_map(sysctls).collect(),
        }
    }
}

fn names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    names.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The sysctls directly in a folder that can be read.
fn sysctls(folder: &str) -> Vec<(PathBuf, String)> {
    let paths = names(folder).into_iter();
    let paths = paths.map(|name| PathBuf::from(folder).join(name));
    let read = |path: PathBuf| Some((path.clone(), fs::read_to_string(path).ok()?));
    paths.filter_map(read).collect()
}
