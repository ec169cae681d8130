//! Running labs: drawn, entered, listed, changed, measured in, removed, killed, many at once; none
//! of their processes and names remains.

use crate::bench::*;
use bitcost_model::shaping::show_shaping;
use bitcost_testkit::process::are_held;

bitcost_testkit::trials! {
    QuietHost: shaped_lab_keeps_its_rate;
    Host: lab_is_built_entered_listed_and_removed, detached_lab_outlives_its_command, ordinary_user_enters_a_lab, running_lab_is_changed_and_measured, a_path_that_loses_or_dies_is_measured, ordinary_user_changes_and_measures, shell_is_one_prompt_for_all_nodes, killed_lab_ends_its_processes, many_labs_at_the_same_time, tcp_buffer_limits_are_in_effect;
}

/// Devices that the kernel itself makes in every new network namespace, where the machine has loaded
/// the module of such tunnels (`fb_tunnels_only_for_init_net`, kernel doc: admin-guide/sysctl/net).
const FALLBACK_TUNNELS: [&str; 9] = [
    "tunl0", "gre0", "gretap0", "erspan0", "ip_vti0", "ip6_vti0", "sit0", "ip6tnl0", "ip6gre0",
];
const NOBODY: u32 = 65534;
/// Two hosts behind a router, and a bottleneck of 100 Mbit/s.
const ROUTED: &str = r#"
hosts = ["h1", "h2"]
switches = ["s1"]
routers = ["r1"]
[[link]]
ends = ["h1", "s1"]
[[link]]
ends = ["s1", "r1"]
[[link]]
ends = ["r1", "h2"]
mtu_bytes = 9000
[egress.r1-eth1]
rate = "100M"
queue_limit = "250 packets"
[egress.s1-eth1]
rate = "200M"
queue_limit = "100000 B"
"#;

/// A bench with a separate copy of the program, which its user may run.
struct Yard {
    bench: Bench,
    program: PathBuf,
}

impl Yard {
    fn new(bench: Bench) -> Yard {
        let program = bench.path().join("bitcost");
        fs::copy(crate::bench::program(), &program).unwrap();
        bench.write("routed.toml", ROUTED);
        Yard { bench, program }
    }

    fn start(&self, words: &[&str]) -> Running {
        self.bench.start_program(&self.program, words)
    }

    fn done(&self, words: &[&str]) -> Done {
        self.start(words).finish(PATIENCE)
    }

    /// Builds a lab with an unused name, and waits until it runs.
    fn up(&self, lab: &str, number: u32) -> (Running, String) {
        self.up_with(lab, number, &[])
    }

    fn up_with(&self, lab: &str, number: u32, options: &[&str]) -> (Running, String) {
        let name = format!("test-{}-{number}", std::process::id());
        let running = self.start(&[&["lab", "up", lab, "--name", &name], options].concat());
        eventually(PATIENCE, "the lab stands", || {
            self.listed(&name).then_some(())
        });
        (running, name)
    }

    fn labs(&self) -> Vec<Value> {
        let document = self.done(&["lab", "ls", "--json"]).json();
        document["labs"].as_array().unwrap().clone()
    }

    fn listed(&self, name: &str) -> bool {
        self.labs().iter().any(|lab| lab["name"] == name)
    }

    fn exec(&self, lab: &str, node: &str, command: &[&str]) -> Done {
        self.done(&[&["lab", "exec", "--lab", lab, node, "--"], command].concat())
    }

    /// Requests to connect from the first host: to where, and how many.
    fn ping(&self, lab: &str, to: &str, count: u16) -> Done {
        let bitcost = self.program.to_str().unwrap();
        let requests =
            serde_json::json!({"to": to, "count": count, "interval_ms": 10, "wait_ms": 1000});
        let words = [bitcost, "connect-requests", &requests.to_string()];
        self.exec(lab, "h1", &words).with_code(0)
    }

    /// Ends a lab, of which nothing is left.
    fn down(&self, lab: &str, running: Running) -> Done {
        self.done(&["lab", "down", lab]).assert_code(0);
        let done = running.finish(PATIENCE).with_code(0);
        self.bench.assert_nothing_left();
        done
    }
}

/// Ignores the test with the reason if an ordinary user cannot have a lab.
fn skip_without_namespaces(yard: Yard) -> Yard {
    let probe = yard.done(&split("test tcp -t 0.1s --topology pair --no-log"));
    if probe.code == Some(3) && probe.stderr.contains("namespaces") {
        drop(yard);
        bitcost_testkit::ignore(&probe.stderr);
    }
    yard
}

fn ordinary() -> Yard {
    let bench = if effective_uid() == 0 {
        Bench::of_user(NOBODY)
    } else {
        Bench::new()
    };
    skip_without_namespaces(Yard::new(bench))
}

fn lab_is_built_entered_listed_and_removed() {
    visit(&skip_without_namespaces(Yard::new(Bench::new())));
}

/// A lab in the background, which no process of the test holds: it goes down also where the test
/// fails.
struct Detached<'a>(&'a Yard, &'a str);

impl Drop for Detached<'_> {
    fn drop(&mut self) {
        self.0.done(&["lab", "down", self.1]);
    }
}

/// `lab up -d` returns with the lab running, although its outputs are pipes; `lab down` ends it.
fn detached_lab_outlives_its_command() {
    let yard = skip_without_namespaces(Yard::new(Bench::new()));
    let name = format!("test-{}-detached", std::process::id());
    let words = ["lab", "up", "pair", "--name", &name, "-d"];
    let started = yard.done(&["lab", "up", "--name", &name, "-d", "--", "pair"]);
    let lab = Detached(&yard, &name);
    started.assert_code(0);
    let is_told = started.stdout.starts_with(&format!("lab {name}\n"));
    assert!(is_told && !started.stdout.contains("Ctrl-C"), "{started:?}");
    assert!(yard.listed(&name));
    let inside = yard.exec(&name, "h1", &["cat", "/proc/sys/kernel/hostname"]);
    assert_eq!(inside.stdout, "h1\n", "{inside:?}");
    let again = yard.done(&words).with_code(3);
    assert!(again.stderr.contains("already running"), "{again:?}");
    drop(lab);
    assert!(!yard.listed(&name));
}

fn ordinary_user_enters_a_lab() {
    visit(&ordinary());
}

/// Whether a new network namespace may have its own /sys here; containers refuse it.
fn can_mount_sysfs() -> bool {
    let words = "--map-root-user --net --mount mount -t sysfs sysfs /sys".split(' ');
    let mounted = std::process::Command::new("unshare").args(words).output();
    mounted.is_ok_and(|output| output.status.success())
}

fn visit(yard: &Yard) {
    let (running, name) = yard.up("routed.toml", 0);
    for to in ["10.0.1.1", "fd00:0:0:1::1"] {
        let pinged = yard.ping(&name, to, 2);
        assert_eq!(pinged.json()["rtts_us"].as_array().unwrap().len(), 2);
    }
    let devices = yard.exec(&name, "r1", &["ls", "/sys/class/net"]);
    let is_made = |device: &&str| !FALLBACK_TUNNELS.contains(device);
    let listed: Vec<_> = devices.stdout.split_whitespace().filter(is_made).collect();
    let is_shown = listed == ["lo", "r1-eth0", "r1-eth1"];
    let note = "/sys shows the devices of this machine";
    assert!(
        is_shown || (!can_mount_sysfs() && devices.stderr.contains(note)),
        "{devices:?}"
    );
    for (script, printed, code) in [
        ("echo $BITCOST_NODE; id -u; exit 7", "h2\n0\n", 7),
        ("kill -TERM $$", "", 143),
    ] {
        let done = yard
            .exec(&name, "h2", &["sh", "-c", script])
            .with_code(code);
        assert_eq!(done.stdout, printed);
    }
    let wrong = yard.exec(&name, "h3", &["true"]).with_code(2);
    wrong.assert_says("has no host \"h3\"; it has h1, h2, s1, r1");
    let taken = yard
        .done(&["lab", "up", "pair", "--name", &name])
        .with_code(3);
    assert!(taken.stderr.contains("is already running"), "{taken:?}");
    let done = yard.down(&name, running);
    done.assert_prints("r1-eth1 ── h2-eth0   → 100Mbit/s, room for 250 packets");
    done.assert_prints("h1  10.0.0.1/24 fd00::1/64");
    assert!(!yard.listed(&name));
}

fn running_lab_is_changed_and_measured() {
    change(&skip_without_namespaces(Yard::new(Bench::new())));
}

fn ordinary_user_changes_and_measures() {
    change(&ordinary());
}

/// Datagrams over a path that loses three of ten packets in one direction, and TCP over one that
/// dies in the middle.
fn a_path_that_loses_or_dies_is_measured() {
    let yard = skip_without_namespaces(Yard::new(Bench::new()));
    let emulated = ["--emulate", "s1-eth1", "--emulate", "s1-eth2"];
    let (running, name) = yard.up_with("switch", 0, &emulated);
    let set = |to_first: &str, to_second: &str| {
        let ends = ["s1-eth1", to_first, "s1-eth2", to_second];
        let words = [&["lab", "set", &name][..], &ends].concat();
        yard.done(&words).assert_code(0);
    };
    set("loss=0", "loss=30%");
    let words = split("bitcost test udp h2 -t 2 -b 1M --json");
    let done = yard.exec(&name, "h1", &words).with_code(0);
    let lost = done.figure("loss_pct");
    assert!((10.0..60.0).contains(&lost), "{lost}");
    set("loss=0", "loss=0");
    let words = ["lab", "exec", "--lab", &name, "h1", "--", "bitcost", "test"];
    let dying = yard.start(&[&words[..], &["tcp", "h2", "-t", "4"]].concat());
    eventually(PATIENCE, "its first second is over", || {
        dying.stdout().contains("    1 s  ").then_some(())
    });
    set("loss=100%", "loss=100%");
    let done = dying.finish(PATIENCE).with_code(1);
    let said = ["interrupted after ", " of 4.0 s: no data moved for "];
    assert_says(&done.stderr, &said);
    yard.down(&name, running);
}

/// A lab whose delay is set and cleared while it is running, and a test in it by the name of a node.
fn change(yard: &Yard) {
    let of_machine = fs::read_to_string("/etc/hosts").unwrap_or_default();
    let (running, name) = yard.up_with("lab15", 0, &["--bare"]);
    let set = |words: &[&str]| yard.done(&[&["lab", "set", &name], words].concat());
    let both = set(&["s1-eth2", "delay=20ms", "loss=0.1%", "s2-eth2", "rate=1G"]).with_code(0);
    assert_eq!(both.stdout, "s1-eth2: 20ms, loss 0.1%\ns2-eth2: 1Gbit/s\n");
    let pinged = yard.ping(&name, "10.0.0.2", 3);
    let rtts: Vec<f64> = serde_json::from_value(pinged.json()["rtts_us"].clone()).unwrap();
    assert!(rtts.iter().all(|us| *us >= 20_000.0), "{rtts:?}");
    refusals(yard, &name);
    set(&["s1-eth2", "delay=5ms", "loss=0", "queue_limit=1000 packets"]).assert_code(0);
    let test = yard
        .exec(
            &name,
            "h1",
            &split("bitcost test tcp h2 -t 0.3 --json --samples"),
        )
        .with_code(0);
    // A node has the machine's `/proc`; a container's has no kernel threads.
    if fs::read_to_string("/proc/2/comm").is_ok_and(|name| name == "kthreadd\n") {
        let [sender, _] = test.records();
        assert!(sender.foreign.is_some(), "{sender:?}");
    }
    assert!(test.figure("throughput_mbps") > 0.0);
    in_effect(yard, &name);
    let cleared = set(&["s1-eth2", "clear", "s2-eth2", "rate=clear"]);
    assert_eq!(cleared.stdout, "s1-eth2: nothing\ns2-eth2: nothing\n");
    let shown = yard.done(&["lab", "show", &name]).stdout;
    assert_says(&shown, &["s1-eth2: 5ms, room for 1000 packets → nothing"]);
    let own = yard.exec(&name, "s1", &["sh", "-c", "hostname; cat /etc/hosts"]);
    let hosts = "s1\n10.0.0.1\th1\n10.0.0.2\th2\n";
    assert!(own.stdout.starts_with(hosts), "{own:?}");
    assert!(own.stdout.ends_with(&of_machine), "{own:?}");
    let after = fs::read_to_string("/etc/hosts").unwrap_or_default();
    assert_eq!(of_machine, after);
    yard.down(&name, running);
}

/// What cannot be set or tested is refused with what is near and what to do.
fn refusals(yard: &Yard, name: &str) {
    let wrong = yard
        .done(&["lab", "set", name, "s1-eth2", "dely=1ms"])
        .with_code(2);
    assert!(wrong.stderr.contains("did you mean `delay`?"), "{wrong:?}");
    let set = |words: &str| yard.done(&[&["lab", "set", name], &split(words)[..]].concat());
    let elsewhere = set("s2-eth2 rate=2G h1-eth0 delay=1ms");
    if elsewhere.code != Some(0) {
        // A kernel without netem.
        elsewhere.assert_code(3);
        elsewhere.assert_says("bitcost lab up LAB --emulate h1-eth0");
        let shown = yard.done(&["lab", "show", name]).stdout;
        assert_says(&shown, &["s2-eth2 ── h2-eth0   → 1Gbit/s\n"]);
    } else {
        set("s2-eth2 rate=1G h1-eth0 clear").assert_code(0);
    }
    let nobody = yard
        .exec(name, "h1", &["bitcost", "test", "tcp", "h3"])
        .with_code(2);
    nobody.assert_says("`h3` is not a host of the running lab");
    for (node, words, why) in [
        ("h1", "bitcost test tcp h1", "h1 is this node"),
        ("s1", "bitcost test tcp", "s1 is a switch"),
        ("h1", "bitcost lab show", "this is node h1 of lab"),
    ] {
        let refused = yard.exec(name, node, &split(words));
        refused.with_code(2).assert_says(why);
    }
}

/// The log of the only test has the lab's settings as they were when it ran.
fn in_effect(yard: &Yard, name: &str) {
    let events = yard.bench.log().events;
    let lab = events.iter().find_map(|event| match event {
        Event::Prepared { lab, .. } => lab.as_ref(),
        _ => None,
    });
    let lab = lab.expect("the test was in a lab");
    assert_eq!(lab.running.as_deref(), Some(name));
    let shown = |device| show_shaping(&lab.network.end(device).unwrap().egress);
    assert_eq!(shown("s1-eth2"), "5ms, room for 1000 packets");
    assert_eq!(shown("s2-eth2"), "1Gbit/s");
}

fn shell_is_one_prompt_for_all_nodes() {
    let yard = skip_without_namespaces(Yard::new(Bench::new()));
    let (running, name) = yard.up("lab15", 0);
    let shell = |script: &str| {
        yard.bench.write("script", script);
        let mut command = yard.bench.command(&yard.program, &["lab", "shell", &name]);
        let script = fs::File::open(yard.bench.path().join("script")).unwrap();
        let output = command.stdin(script).output().unwrap();
        let [printed, said] = [output.stdout, output.stderr];
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(printed), text(said))
    };
    let (code, printed, said) = shell(
        "net\n\n# a comment\nset s1-eth2 'queue_limit=9 packets'\nh1 echo $BITCOST_NODE\npingall\n",
    );
    assert_eq!(code, Some(0), "{said}");
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines[0].starts_with("h1  10.0.0.1/8"), "{printed}");
    for line in [
        "s1-eth2: 20ms, room for 9 packets",
        "h1",
        "h1 → h2",
        "2 of 2 pings answered",
    ] {
        assert!(lines.contains(&line), "{line}: {printed}");
    }
    let (code, printed, said) = shell("h1 exit 3\nnodes\n");
    assert_eq!((code, printed.as_str()), (Some(3), ""), "{said}");
    assert!(said.contains("line 1 failed: h1 exit 3"), "{said}");
    let (code, _, said) = shell("shw\n");
    assert_eq!(code, Some(2));
    assert!(said.contains("did you mean `show`?"), "{said}");
    yard.down(&name, running);
}

fn killed_lab_ends_its_processes() {
    kill(&skip_without_namespaces(Yard::new(Bench::new())));
    kill(&ordinary());
}

/// Waits for the program that runs in the lab already, and leaves another one there.
const BESIDE: &str = "for i in $(seq 200); do
    grep -qsaP '^sleep\\x001001' /proc/[0-9]*/cmdline && break
    sleep 0.1
done
setsid sleep 1000 >/dev/null 2>&1 &";

/// When a lab is killed, everything that runs in it ends: programs, and those that became daemons.
fn kill(yard: &Yard) {
    let (running, name) = yard.up("switch", 0);
    let sleeper = yard.start(&["lab", "exec", "--lab", &name, "h2", "--", "sleep", "1001"]);
    yard.exec(&name, "h1", &["sh", "-c", BESIDE]).assert_code(0);
    let networks = yard.bench.family.networks();
    assert!(networks.len() >= 3 && are_held(&networks), "{networks:?}");
    running.signal(Signal::KILL);
    sleeper.finish(PATIENCE).assert_code(137);
    eventually(PATIENCE, "the networks are gone", || {
        (!are_held(&networks)).then_some(())
    });
    drop(running);
    yard.bench.assert_nothing_left();
    assert!(!yard.listed(&name));
}

fn many_labs_at_the_same_time() {
    let yard = skip_without_namespaces(Yard::new(Bench::new()));
    // The lab is ended at once, by SIGINT and by SIGKILL, while it may still be starting its last
    // parts.
    let signals = [(Signal::INT, Some(0)), (Signal::KILL, None)].repeat(5);
    for (signal, code) in signals {
        let (running, _) = yard.up("pair", 0);
        running.signal(signal);
        assert_eq!(running.finish(PATIENCE).code, code);
    }
    yard.bench.assert_nothing_left();
    // All have the same base name, and each gets a different name.
    let running = (0..6).map(|_| yard.start(&["lab", "up", "switch"]));
    let running: Vec<Running> = running.collect();
    let names = eventually(PATIENCE, "six labs stand", || {
        let (mut labs, own) = (yard.labs(), yard.bench.family.members());
        labs.retain(|lab| own.contains(&(lab["pid"].as_u64().unwrap() as u32)));
        let names = labs
            .iter()
            .map(|lab| lab["name"].as_str().unwrap().to_owned());
        (labs.len() == 6).then(|| names.collect::<Vec<String>>())
    });
    let networks = yard.bench.family.networks();
    for name in &names[..2] {
        yard.ping(name, "10.0.0.2", 1);
        yard.done(&["lab", "down", name]).assert_code(0);
    }
    for lab in &running {
        // Two of them have ended.
        if lab.is_running() {
            lab.signal(Signal::TERM);
        }
    }
    for lab in running {
        lab.finish(PATIENCE).assert_code(0);
    }
    eventually(PATIENCE, "the networks are gone", || {
        (!are_held(&networks)).then_some(())
    });
    yard.bench.assert_nothing_left();
}

fn shaped_lab_keeps_its_rate() {
    let yard = skip_without_namespaces(Yard::new(Bench::new()));
    let run = yard
        .done(&split(
            "test udp -l 1000 -t 0.5s --topology routed.toml --json",
        ))
        .with_code(0);
    // The bound is 100 Mbit/s of frames of 1042 bytes, and a queue that may be emptied within the
    // window.
    let delivered = run.figure("throughput_mbps");
    assert!((60.0..=105.0).contains(&delivered), "{delivered}");
}

fn tcp_buffer_limits_are_in_effect() {
    let yard = skip_without_namespaces(Yard::new(Bench::new()));
    let run = yard
        .done(&split(
            "test tcp -t 0.2s --topology switch --tcp-buffers 2MiB --json --samples",
        ))
        .with_code(0);
    for end in run.records() {
        let of_buffers = end.in_effect.iter().filter(|row| row.name.contains("tcp_"));
        let actual = of_buffers.filter_map(|row| row.actual.as_deref());
        let is_asked = |value: &&str| value.split_whitespace().last() == Some("2097152");
        assert_eq!(actual.filter(is_asked).count(), 2, "{:?}", end.in_effect);
    }
}
