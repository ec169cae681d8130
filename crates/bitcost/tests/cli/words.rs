//! The output of commands that run nothing: plans, studies, and mistakes. Nothing is created.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Exit code, standard output, standard error.
pub type Said = (Option<i32>, String, String);

/// Runs bitcost in a folder, for a page of the default width.
pub fn bitcost(folder: &Path, words: &[&str]) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bitcost"));
    let output = command
        .args(words)
        .current_dir(folder)
        .env_remove("COLUMNS")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// The standard output of a command that succeeds, prints nothing else and creates nothing.
fn printed(words: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (code, stdout, stderr) = bitcost(folder.path(), words);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    stdout
}

/// The cells of a plan in their order.
fn order(words: &[&str]) -> Vec<String> {
    let text = printed(&[&["plan", "not-all-mbits"], words].concat());
    let (_, runs) = text.split_once("measured  cell\n").unwrap();
    // An empty line parts the runs from what they come to.
    runs.lines()
        .map_while(|line| Some(line.split_once(" s  ")?.1.to_owned()))
        .collect()
}

#[test]
fn the_seed_alone_decides_the_order() {
    let first = order(&["--seed", "7", "--blocks", "4"]);
    assert_eq!(first.len(), 32);
    assert_eq!(
        first,
        order(&["--seed", "7", "--blocks", "4", "--duration", "1s"])
    );
    assert_ne!(first, order(&["--seed", "8", "--blocks", "4"]));
    assert_eq!(first[..16], order(&["--seed", "7", "--blocks", "2"]));
    let sorted = |block: &[String]| {
        let mut cells = block.to_vec();
        cells.sort();
        cells.dedup();
        cells
    };
    assert!(
        first.chunks(8).all(|block| sorted(block).len() == 8),
        "every cell once in each block: {first:#?}"
    );
}

#[test]
fn a_plan_says_how_long_and_in_which_order_again() {
    let text = printed(&["plan", "not-all-mbits"]);
    let seed = text
        .split("--seed ")
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap();
    assert_eq!(text, printed(&["plan", "not-all-mbits", "--seed", seed]));
    assert!(
        text.contains("40 runs: 8 cells in 5 blocks; about "),
        "{text}"
    );
    let budget = printed(&["plan", "not-all-mbits", "--budget", "10m"]);
    let runs: u32 = budget
        .lines()
        .find(|line| line.contains(" runs: "))
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!(runs > 40 && runs.is_multiple_of(8), "{budget}");
    // Four times the time of the study's own five blocks.
    let auto = printed(&["plan", "not-all-mbits", "--blocks", "auto"]);
    assert!(
        auto.contains("at most 160 runs: 8 cells in 5 to 20 blocks; at most about "),
        "{auto}"
    );
    let document = printed(&["plan", "not-all-mbits", "--like-the-paper"]);
    assert!(
        document.contains("160 runs: 8 cells in 20 blocks") && document.contains("10 s"),
        "{document}"
    );
}

/// A plan contacts no host: the hosts need not exist.
#[test]
fn a_plan_names_its_hosts_and_what_of_the_study_they_leave_unused() {
    let text = printed(&[
        "plan",
        "not-all-mbits",
        "--seed",
        "7",
        "--sender",
        "ssh:me@no.invalid",
        "--sudo",
    ]);
    let line = text.lines().nth(1).unwrap();
    assert!(
        line.starts_with("between ssh:me@no.invalid (sender) and local (receiver); "),
        "{text}"
    );
    assert!(
        line.ends_with("[lab] is not used: topology wire, mtu_bytes 8896, napi threaded"),
        "{text}"
    );
    let lab = printed(&["plan", "not-all-mbits", "--seed", "7"]);
    let calibration = lab
        .split("; about ")
        .nth(1)
        .and_then(|rest| rest.split(';').next())
        .unwrap();
    let (runs, calibration) = calibration
        .split_once(" after about ")
        .expect("calibration of the lab's path");
    assert!(calibration.ends_with(" s of calibration"), "{lab}");
    let hosts = text.replacen(&format!("{line}\n"), "", 1);
    let lab = lab.replacen(&format!("{runs} after about {calibration}"), runs, 1);
    let [lab, hosts] = [&lab, &hosts].map(|plan| {
        let (before, after) = plan.split_once("checked as for a run; ").expect("a line");
        let (unchecked, runs) = after.split_once('\n').expect("runs");
        assert!(unchecked.starts_with("only a run finds out whether "));
        format!("{before}{runs}")
    });
    assert_eq!(lab, hosts, "the same runs in the same order");
}

#[test]
fn studies_are_listed_and_printed() {
    let list = printed(&["studies"]);
    let study = printed(&["studies", "not-all-mbits"]);
    assert!(list.lines().any(|line| line == "not-all-mbits"), "{list}");
    let files = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies")).unwrap();
    for path in files.map(|entry| entry.unwrap().path()) {
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert_eq!(
            printed(&["studies", name]),
            fs::read_to_string(&path).unwrap()
        );
        assert!(list.lines().any(|line| line == name), "{name}: {list}");
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine.toml"), study).unwrap();
    let (code, plan, _) = bitcost(folder.path(), &["plan", "./mine.toml", "--seed", "1"]);
    let embedded = printed(&["plan", "not-all-mbits", "--seed", "1"]);
    assert_eq!(
        (code, plan),
        (Some(0), embedded.replacen("not-all-mbits", "mine", 1))
    );
}

#[test]
fn each_study_has_a_short_form_and_its_document_s_lengths() {
    let list = printed(&["studies"]);
    for study in list.lines().filter(|line| !line.starts_with(' ')) {
        for form in ["--ci", "--like-the-document"] {
            let (code, plan, said) = bitcost(Path::new("."), &["plan", study, form]);
            assert!(
                code == Some(0) && said.lines().all(|line| line.starts_with("warning: ")),
                "{study} {form}: {said}"
            );
            assert!(
                plan.contains(" block") && plan.contains("; about "),
                "{study} {form}: {plan}"
            );
        }
    }
}

#[test]
fn the_manual_and_the_completions_know_every_verb() {
    let manual = printed(&["man"]);
    assert!(manual.contains(".TH bitcost 1"), "{manual}");
    let script = printed(&["completions", "bash"]);
    for verb in [
        "run",
        "plan",
        "studies",
        "show",
        "test",
        "host",
        "man",
        "completions",
    ] {
        let page = printed(&["man", verb]);
        assert!(
            page.contains(&format!(".TH bitcost-{verb} 1")),
            "{verb}: {page}"
        );
        assert!(
            manual.contains(&format!("bitcost\\-{verb}(1)"))
                && script.contains(&format!("bitcost,{verb})")),
            "{verb}"
        );
    }
    assert!(
        printed(&["man", "test"]).contains("message\\-size"),
        "settings are in it"
    );
    for shell in ["zsh", "fish"] {
        assert!(
            printed(&["completions", shell]).contains("message-size"),
            "{shell}"
        );
    }
}

#[test]
fn the_whole_manual_goes_into_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let (code, stdout, stderr) = bitcost(folder.path(), &["man", "--out", "man1"]);
    assert_eq!((code, stdout.as_str(), stderr.as_str()), (Some(0), "", ""));
    let pages = [
        "bitcost.1",
        "bitcost-run.1",
        "bitcost-test.1",
        "bitcost-host-show.1",
    ];
    assert!(
        pages
            .iter()
            .all(|page| folder.path().join("man1").join(page).is_file())
    );
}

/// Lines of the study, each with its replacement and the words of the error.
const MISTAKES: &[(&str, &str, &[&str])] = &[
    (
        "blocks = 5",
        "blokcs = 5",
        &[
            "unknown key `blokcs` in [run]",
            "did you mean `blocks`",
            "like_the_document",
        ],
    ),
    (
        "warmup_s = 0.25",
        "warm_up_s = 1",
        &["unknown setting `warm_up_s`", "did you mean `warmup_s`?"],
    ),
    (
        "[lab]",
        "[lob]",
        &["unknown key `lob`", "did you mean `lab`?"],
    ),
    (
        "levels = [1024, 8192]",
        "levels = []",
        &[
            "factor `message_size_bytes` has no levels",
            "allowed: levels = [",
        ],
    ),
    (
        "levels = [1024, 8192]",
        "",
        &["factor `message_size_bytes` has no levels"],
    ),
    (
        "levels = [1024, 8192]",
        "levels = [1024, 8192, 1024]",
        &["level `1024`", "appears twice", "each level once"],
    ),
    (
        "levels = [1024, 8192]",
        "levels = [1024, 65508]",
        &["message size 65508", "UDP limit", "allowed: 1 to 65507"],
    ),
    (
        "levels = [1024, 8192]",
        "levels = [1024, 8845]",
        &["MSS of 8845", "does not fit the MTU of 8896", "88 to 8844"],
    ),
    (
        "levels = [1024, 8192]",
        "levels = [1024, \"1024\", 8192]",
        &["level `1024`", "appears twice", "each level once"],
    ),
    (
        "{ label = \"TCP, offloads on\"",
        "{ label = \"TCP, offloads on\", mss = 9000, workload = \"tcp_stream\" }, { label = \"TCP\"",
        &[
            "cell 1024 · TCP, offloads on: an MSS of 9000",
            "does not fit the MTU of 8896",
        ],
    ),
    (
        "{ label = \"UDP\"",
        "{ message_size_bytes = 99, label = \"UDP\"",
        &[
            "level `UDP` of factor `transport` sets `message_size_bytes`",
            "factor `message_size_bytes` sets too",
        ],
    ),
    (
        "columns = ",
        "columns = \"message_size_bytes\" #",
        &["factor `message_size_bytes` is in the rows already"],
    ),
    (
        "mtu_bytes = 8896",
        "mtu_bytes = 70000",
        &[
            "`mtu_bytes` is 70000",
            "allowed: a whole number from 576 to 65535",
        ],
    ),
    (
        "napi = \"threaded\"",
        "napi = \"thread\"",
        &["`napi` is \"thread\"", "\"threaded\" or \"inline\""],
    ),
    (
        "rows = ",
        "rows = \"mesage_size\" #",
        &[
            "unknown factor `mesage_size`",
            "did you mean `message_size_bytes`?",
        ],
    ),
    (
        "metrics = ",
        "metrics = [\"throughput_mpbs\"] #",
        &["unknown metric `throughput_mpbs`", "`throughput_mbps`"],
    ),
    (
        "throughput_mbps = 4805",
        "thruput_mbps = 1",
        &[
            "unknown metric `thruput_mbps`",
            "did you mean `throughput_mbps`",
        ],
    ),
    (
        "\"boxes\",",
        "\"boxs\",",
        &[
            "unknown picture `boxs`",
            "did you mean `boxes`?",
            "medians, quantiles",
        ],
    ),
    (
        "\"cost\",",
        "{ kind = \"cost\", metrics = [] },",
        &[
            "unknown key `metrics` of a picture `cost`",
            "allowed: title",
        ],
    ),
    (
        "\"cpus\",",
        "{ kind = \"cpus\", off = {} },",
        &["unknown key `off`", "did you mean `of`?"],
    ),
    (
        "\"cpus\",",
        "{ kind = \"curve\", x = \"logg\" },",
        &["unknown `x` `logg`", "did you mean `log`?", "linear, log"],
    ),
    (
        "\"cpus\",",
        "{ kind = \"cpus\", of = { transport = \"TCP, offloads of\" } },",
        &[
            "unknown level `TCP, offloads of` of factor `transport`",
            "did you mean `TCP, offloads off`",
        ],
    ),
    (
        "\"cpus\",",
        "{ kind = \"boxes\", metrics = [\"rtt_s\"] },",
        &["unknown metric `rtt_s`", "did you mean `rtt_us`?"],
    ),
    ("title = ", "title = what? #", &["not TOML"]),
];

#[test]
fn a_mistake_in_a_study_is_named_with_its_line() {
    let study = printed(&["studies", "not-all-mbits"]);
    for (line, instead, says) in MISTAKES {
        let number = 1 + study
            .lines()
            .position(|text| text.trim_start().starts_with(line))
            .unwrap();
        // The error for a factor without levels names the first line of the factor.
        let number = if instead.is_empty() {
            number - 2
        } else {
            number
        };
        let folder = tempfile::tempdir().unwrap();
        fs::write(
            folder.path().join("mine.toml"),
            study.replacen(line, instead, 1),
        )
        .unwrap();
        for verb in ["run", "plan"] {
            let said = bitcost(folder.path(), &[verb, "./mine.toml"]);
            assert!(
                said.2.contains(&format!("bitcost: ./mine.toml:{number}:")),
                "{instead}: {}",
                said.2
            );
            assert_refused(folder.path(), &said, says);
            // What refers to a level that has another name now is refused as well, each on its line.
            let mut rest = said.2.lines().skip(1);
            assert!(
                rest.all(|line| line.starts_with("./mine.toml:")),
                "{}",
                said.2
            );
        }
    }
}

/// Asserts exit code 2, these words, nothing on standard output and nothing new in the folder.
fn assert_refused(folder: &Path, (code, stdout, stderr): &Said, says: &[&str]) {
    assert_eq!((*code, stdout.as_str()), (Some(2), ""), "{stderr}");
    says.iter()
        .for_each(|what| assert!(stderr.contains(what), "{what}: {stderr}"));
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    assert!(
        entries.into_iter().all(|name| name == "mine.toml"),
        "{stderr}"
    );
}

#[test]
fn a_mistake_on_the_command_line_is_named() {
    let rows: &[(&[&str], &[&str])] = &[
        (
            &["run", "not-all-mbit"],
            &[
                "unknown study `not-all-mbit`",
                "did you mean `not-all-mbits`?",
                ".toml",
            ],
        ),
        (
            &["man", "tets"],
            &["unknown command `tets`", "did you mean `test`?"],
        ),
        (&["completions", "bsh"], &["bsh", "bash"]),
        (
            &["ping", "10.0.0.300"],
            &["<HOST>: `10.0.0.300` is not possible here; allowed: an IPv4"],
        ),
        (
            &["ping", "10.0.0.2", "-c", "0"],
            &["--count: `0` is not possible here; allowed: a whole number from 1 to 10000"],
        ),
        (
            &["limits", "goodput", "--rate", "2.5"],
            &[
                "--rate: `2.5` is 2.5 bit/s",
                "a packet of 1500 B takes 1 h 20 min",
                "write `2.5M`",
            ],
        ),
        (
            &["limits", "bdp", "--rate", "1G", "--rtt", "20"],
            &["--rtt: `20` has no unit; write `20ms` or `20s`"],
        ),
        (
            &["test", "tcp", "--receiver", "no host"],
            &["--receiver: `no host`: no host; allowed: `local`"],
        ),
        (
            &["test", "tcp", "--flows", "x"],
            &["--flows (-P): `x`", "a whole number from 1 to 1000"],
        ),
        (
            &["plan", "zzz"],
            &["unknown study `zzz`; allowed: ", "not-all-mbits"],
        ),
        (
            &["studies", "not-all-bits"],
            &["did you mean `not-all-mbits`?"],
        ),
        (
            &["run", "./nowhere.toml"],
            &["./nowhere.toml", "No such file", "bitcost studies"],
        ),
        (&["run"], &["STUDY"]),
        (
            &["run", "not-all-mbits", "--block", "1"],
            &["--block", "--blocks"],
        ),
        (
            &["run", "not-all-mbits", "--blocks", "0"],
            &["--blocks", "allowed: 1 to 100000"],
        ),
        (
            &["run", "not-all-mbits", "--duration", "1ms"],
            &["--duration", "allowed: 100ms to 1h"],
        ),
        (
            &["run", "not-all-mbits", "--duration", "2 parsecs"],
            &["--duration", "2 parsecs"],
        ),
        (
            &["run", "not-all-mbits", "--budget", "3s"],
            &["a budget of 3.0 s is too short", "--duration"],
        ),
        (
            &["run", "not-all-mbits", "--budget", "1m", "--blocks", "2"],
            &["--budget", "--blocks"],
        ),
        (
            &["plan", "not-all-mbits", "--blocks", "automatic"],
            &["--blocks", "allowed: 1 to 100000, or auto"],
        ),
        (
            &["plan", "not-all-mbits", "--within", "5%"],
            &["--within needs --blocks auto"],
        ),
        (
            &["plan", "lab15", "--blocks", "auto", "--budget", "1m"],
            &["budget of 60 s is too short", "the 5 blocks", "--duration"],
        ),
        (
            &["run", "--resume", "nowhere"],
            &["there is no nowhere", "`bitcost test` and `bitcost run`"],
        ),
        (
            &["run", "--resume", "nowhere", "--seed", "1"],
            &["--resume", "--seed"],
        ),
        (
            &["show", "nowhere"],
            &["there is no nowhere", "`bitcost test` and `bitcost run`"],
        ),
        (
            &["test", "tcp", "--until-interval", "0"],
            &["--until-interval", "over 0 % up to 100 %"],
        ),
        (
            &["test", "tcp", "--until-interval", "5%", "--repeats", "9-3"],
            &["--repeats", "MIN-MAX from 2"],
        ),
        (
            &["test", "tcp", "--metric", "rtt_us"],
            &["--until-interval"],
        ),
        (
            &[
                "test",
                "rr",
                "--until-interval",
                "5%",
                "--metric",
                "latency_p50",
            ],
            &[
                "`latency_p50` is not a metric",
                "did you mean `latency_p50_us`",
            ],
        ),
        (&["plna", "not-all-mbits"], &["plna", "plan"]),
        (
            &["test", "udp", "--send-mode", "gso", "-l", "65000"],
            &["send_mode `gso`", "65000", "allowed: 1 to 1472"],
        ),
        (
            &["test", "tcp", "--send-mode", "io_urin"],
            &["--send-mode: `io_urin`", "did you mean `io_uring`"],
        ),
        (
            &["test", "tcp", "--receive-mode", "gro"],
            &["`gro` is none of tcp_stream; allowed: plain, truncate"],
        ),
        (
            &["test", "tcp", "--mode", "atuo"],
            &["atuo", "honest, auto"],
        ),
        (&["test", "tcp", "-R", "--both"], &["cannot be used with"]),
        (
            &["test", "tcp", "--direction", "revers"],
            &["--direction: `revers`", "did you mean `reverse`"],
        ),
        (
            &["test", "tcp", "--background", "rr request-sise=1"],
            &["--background", "did you mean `request-size`"],
        ),
        (
            &["test", "tcp", "--background", "rr time=1"],
            &["--background", "`time` applies to the whole run"],
        ),
        (
            &["test", "udp", "--background", "tcp mss=2000"],
            &[
                "background, tcp_stream: an MSS of 2000",
                "allowed: 88 to 1448",
            ],
        ),
        (
            &["test", "rr", "--mode", "auto"],
            &["--mode auto is for tcp and udp"],
        ),
        (
            &["test", "tcp", "--mode", "honest", "--send-mode", "splice"],
            &["--mode honest is plain calls"],
        ),
        (
            &["test", "tcp", "-l", "0"],
            &["--message-size", "`0`", "bytes from 1 to 16777216"],
        ),
        (
            &["test", "tcp", "-l", "-1"],
            &["--message-size", "`-1`", "bytes from 1 to 16777216"],
        ),
        (
            &["test", "tcp", "-l", "99999999999999999999"],
            &["--message-size", "bytes from 1 to 16777216"],
        ),
        (&["test", "tcp", "-l", "1.5"], &["--message-size", "`1.5`"]),
        (
            &["test", "udp", "-l", "65508"],
            &["65508 bytes is over the UDP limit", "1 to 65507 (IPv4)"],
        ),
        (
            &["test", "udp", "-6", "-l", "65528"],
            &["65528 bytes is over the UDP limit", "1 to 65527 (IPv6)"],
        ),
        (
            &["test", "udp", "--send-mode", "gso", "-l", "65507"],
            &["gso", "65507 bytes do not fit the MTU of 1500"],
        ),
        (
            &["test", "udp", "-6", "--send-mode", "gso", "-l", "1472"],
            &["1472 bytes do not fit", "1 to 1452"],
        ),
        (
            &["test", "tcp", "-6", "-M", "1448"],
            &["MSS of 1448", "88 to 1428", "60 bytes of headers"],
        ),
        (
            &["test", "tcp", "-t", "0"],
            &["--time", "seconds from 0.1 to 3600"],
        ),
        (
            &["run", "not-all-mbits", "--blocks", "many"],
            &["--blocks: `many`", "allowed: 1 to 100000"],
        ),
        (
            &["test", "tcp", "somewhere", "else"],
            &["`else` is a word too many; write `bitcost test"],
        ),
        (&["test", "tcp", "--time"], &["--time needs a value"]),
        (&["test"], &["needs the name of a test", "tcp, udp, rr"]),
        (
            &["test", "tcp_rrr"],
            &["`tcp_rrr` is not a test", "tcp, udp, rr, udp-rr"],
        ),
        (
            &["lab", "prestes"],
            &["no command `prestes`; did you mean `presets`?", "up, exec"],
        ),
        (&["test", "tcp", "-t", "-1s"], &["-1"]),
        (
            &["test", "tcp", "-t", "1e30"],
            &["--time", "seconds from 0.1 to 3600"],
        ),
        (&["test", "tcp", "-b", "0"], &["--rate", "bit/s from 1 to"]),
        (&["test", "tcp", "-b", "-5"], &["--rate", "`-5`"]),
        (&["test", "tcp", "-b", "99999999999T"], &["--rate"]),
        (&["test", "tcp", "-n", "0"], &["--bytes", "bytes from 1 to"]),
        (
            &["test", "tcp", "-P", "0"],
            &["--flows", "a whole number from 1 to 1000"],
        ),
        (
            &["test", "tcp", "-P", "1001"],
            &["--flows", "a whole number from 1 to 1000"],
        ),
        (
            &["test", "rr", "--transactions", "0"],
            &["--transactions", "a whole number from 1 to"],
        ),
        (
            &["test", "tcp", "--transactions", "5"],
            &["--transactions is not for tcp_stream", "tcp_rr"],
        ),
        (
            &["test", "tcp", "-C", "a-name-that-is-too-long"],
            &["--congestion", "1 to 15 letters"],
        ),
        (
            &["test", "tcp", "--sender-cpus", "4095"],
            &["sender_cpus: CPU 4095 does not exist here", "allowed: 0"],
        ),
        (
            &["test", "tcp", "--receiver-cpus", "0,0"],
            &["--receiver-cpus", "each once"],
        ),
        (
            &["test", "tcp", "--scheduling", "bach"],
            &["--scheduling", "`bach`", "did you mean `batch`?"],
        ),
        (
            &["test", "tcp", "--flow-label", "5"],
            &["a flow label needs IPv6"],
        ),
        (
            &["test", "tcp", "-6", "--flow-label", "1048576"],
            &["--flow-label", "1 to 1048575"],
        ),
        (&["test", "tcp", "-4", "-6"], &["-4", "-6"]),
        (
            &["test", "tcp", "-6", "--mtu", "1279"],
            &["IPv6 does not run over an MTU of 1279"],
        ),
        (
            &["test", "tcp", "-4", "-B", "fd00::1"],
            &["the sender's address fd00::1 is none of IPv4"],
        ),
        (
            &["test", "tcp", "-B", "h1"],
            &["--sender-address", "`h1`", "10.0.0.1"],
        ),
        (
            &["test", "tcp", "--source-port", "0"],
            &["--source-port", "1 to 65535"],
        ),
        (
            &["test", "tcp", "-P", "3", "--source-port", "40000-40001"],
            &["3 flows do not fit", "40000-40001"],
        ),
        (
            &["test", "tcp", "--message-size-distribution", "64,0"],
            &["--message-size-distribution", "`64,0`", "uniform:"],
        ),
        (
            &["test", "rr", "--message-size-distribution", "64"],
            &["--message-size-distribution is not for tcp_rr"],
        ),
        (
            &["test", "udp", "--message-size-distribution", "4,64"],
            &["without room for a number", "8 bytes and more"],
        ),
        (
            &[
                "test",
                "tcp",
                "--message-size-distribution",
                "64,128",
                "-M",
                "message",
            ],
            &["no one size for `mss", "a number of bytes"],
        ),
        (
            &["test", "udp", "--message-size-distribution", "64,65508"],
            &["65508 bytes is over the UDP limit", "1 to 65507 (IPv4)"],
        ),
        (
            &["test", "tcp", "--buffer-alignment", "100"],
            &["no power of two", "allowed: 64, 128"],
        ),
        (
            &["test", "tcp", "--ring", "0"],
            &["--ring", "from 1 to 4096"],
        ),
        (
            &["test", "tcp", "--ring", "4096", "-l", "16MiB"],
            &["take 68719476736 bytes of memory"],
        ),
        (
            &["test", "tcp", "--ring", "2", "--send-mode", "zerocopy"],
            &["not for send_mode `zerocopy`", "plain"],
        ),
        (
            &["test", "tcp", "--payload", "dirt"],
            &["--payload", "did you mean `dirty`?"],
        ),
        (
            &["test", "tcp", "--sudo"],
            &["--sudo needs named hosts", "--receiver HOST"],
        ),
        (
            &["run", "not-all-mbits", "--receiver-address", "10.0.0.2"],
            &["--receiver-address needs named hosts"],
        ),
        (
            &["plan", "not-all-mbits", "--sender", "a b"],
            &["--sender", "no host; allowed: `local`"],
        ),
        (
            &[
                "plan",
                "not-all-mbits",
                "--sender",
                "a",
                "--ssh-config",
                "nowhere",
            ],
            &["--ssh-config nowhere: No such file"],
        ),
        (
            &["test", "tpc"],
            &["`tpc` is not a test; did you mean `tcp`?"],
        ),
        (
            &["compare", "a", "b", "--format", "html"],
            &["`bitcost report OLD NEW`"],
        ),
    ];
    for (words, says) in rows {
        let folder = tempfile::tempdir().unwrap();
        assert_refused(folder.path(), &bitcost(folder.path(), words), says);
    }
}

/// A log of this format that was written before most settings and some of a record's fields were
/// there.
#[test]
fn an_older_log_opens() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/older");
    let (code, text, answer) = bitcost(Path::new("/"), &["show", folder]);
    assert_eq!(code, Some(0), "{answer}");
    assert!(text.contains("| 1024               |"), "{text}");
    assert!(answer.contains("bottleneck   unknown: "), "{answer}");
    assert!(
        !text.contains("left out") && !text.contains("no value"),
        "{text}"
    );
    let plan = fs::read_to_string(Path::new(folder).join("events.jsonl")).unwrap();
    assert!(
        !plan.contains("\"flows\":") && !plan.contains("\"nodelay\":"),
        "it is older"
    );
}

#[test]
fn limits_show_their_arithmetic() {
    let goodput = printed(&["limits", "goodput", "--rate", "2.5G", "--mtu", "1500"]);
    assert!(
        goodput.contains("1448 ÷ 1538 = 94.15 %") && goodput.contains("= 2.354 Gbit/s"),
        "{goodput}"
    );
    let jumbo = printed(&["limits", "goodput", "--rate", "2.5G", "--mtu", "9000"]);
    assert!(
        jumbo.contains("= 99.00 %") && jumbo.contains("= 2.475 Gbit/s"),
        "{jumbo}"
    );
    let pacing = printed(&[
        "limits",
        "pacing",
        "--rate",
        "1G",
        "--message-size",
        "1024",
        "--udp",
    ]);
    assert!(
        pacing.contains("125000000 × 1066 ÷ 1024 = 130126953 byte/s"),
        "{pacing}"
    );
    let bdp = printed(&["limits", "bdp", "--rate", "1G", "--rtt", "20ms"]);
    assert!(
        bdp.contains("= 2500000 B") && bdp.contains("2.384 MiB") && bdp.contains("2621440 B"),
        "{bdp}"
    );
    for question in ["goodput", "pacing", "bdp"] {
        let words: &[&str] = match question {
            "bdp" => &["limits", "bdp", "--rate", "1G", "--rtt", "20ms", "--json"],
            "pacing" => &["limits", "pacing", "--rate", "1G", "-l", "1KiB", "--json"],
            _ => &[
                "limits", "goodput", "--rate", "1G", "-l", "20k", "--udp", "--json",
            ],
        };
        let document: serde_json::Value = serde_json::from_str(&printed(words)).unwrap();
        assert_eq!(document["rate_bps"], 1_000_000_000);
    }
}

#[test]
fn limits_that_cannot_be_are_refused_with_what_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    for (words, wanted) in [
        (
            ["limits", "goodput", "--rate", "1G", "--mtu", "40"],
            "allowed: 88 to 65535",
        ),
        (
            ["limits", "goodput", "--rate", "fast", "--mtu", "1500"],
            "is not a rate",
        ),
        (
            ["limits", "pacing", "--rate", "1G", "--message-size", "0"],
            "allowed: 1 to",
        ),
        (
            ["limits", "bdp", "--rate", "1G", "--rtt", "20 parsecs"],
            "is not a duration",
        ),
    ] {
        let (code, stdout, stderr) = bitcost(folder.path(), &words);
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{words:?}");
        assert!(stderr.contains(wanted), "{stderr}");
    }
}

#[test]
fn a_table_of_another_program_is_explained() {
    let fixture = |name: &str| format!("{}/tests/fixtures/{name}.csv", env!("CARGO_MANIFEST_DIR"));
    let sweep = printed(&["explain", &fixture("udp-size-sweep")]);
    assert!(
        sweep.contains("1447 ns per packet + 0.26 ns per byte"),
        "{sweep}"
    );
    let modes = printed(&["explain", &fixture("udp-random-sizes"), "--runs"]);
    assert!(
        modes.contains("separated by receiver_peak_cpu_pct = 100"),
        "{modes}"
    );
    assert!(
        modes.contains("it is 0.605, 17.2 % above the printed one, which is 14.7 % too low"),
        "{modes}"
    );
    let document = printed(&["explain", &fixture("udp-size-sweep"), "--json"]);
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["cost_models"][0]["of"], "send_time");
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("empty.csv"),
        "local_send_size,throughput\n",
    )
    .unwrap();
    fs::write(folder.path().join("other.csv"), "a,b\n1,2\n").unwrap();
    for (path, wanted) in [
        ("empty.csv", "no run"),
        ("other.csv", "no column with the size"),
        ("none.csv", "cannot be read"),
    ] {
        let (code, stdout, stderr) = bitcost(folder.path(), &["explain", path]);
        assert_eq!((code, stdout.as_str()), (Some(2), ""));
        assert!(stderr.contains(wanted), "{stderr}");
    }
}

#[test]
fn a_miniedit_file_is_printed_as_a_lab_file_and_its_commands_never_run() {
    let folder = tempfile::tempdir().unwrap();
    let campus = fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../import/tests/miniedit/campus.mn"
    ))
    .unwrap();
    fs::write(
        folder.path().join("campus.mn"),
        campus.replace("python3 -m http.server 80", "touch here"),
    )
    .unwrap();
    let (code, stdout, stderr) = bitcost(folder.path(), &["import", "campus.mn"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    for part in [
        "# never run: h1 start command: touch here",
        "#   h1-eth0 - S1-eth1",
        "[egress.h1-eth0]",
        "MICROSECONDS",
    ] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    assert!(!stdout.contains('\u{1b}'), "control characters are escaped");
    fs::write(folder.path().join("own.toml"), &stdout).unwrap();
    fs::write(folder.path().join("cut.mn"), &campus[..500]).unwrap();
    for (words, says) in [
        (["import", "cut.mn"], "cut.mn: not a whole JSON document"),
        (["import", "none.mn"], "cannot read the lab none.mn"),
    ] {
        let (code, _, stderr) = bitcost(folder.path(), &words);
        assert_eq!(code, Some(2), "{words:?}");
        assert!(stderr.contains(says), "{says}: {stderr}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}

/// If some of many files cannot be imported, each of these is named, and no file is imported.
#[test]
fn files_that_cannot_be_imported_are_all_named() {
    let folder = tempfile::tempdir().unwrap();
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/fixtures");
    let whole = fs::read(format!("{fixtures}/iperf3/iperf3-tcp.json")).unwrap();
    fs::write(folder.path().join("whole.json"), &whole).unwrap();
    fs::write(folder.path().join("cut.json"), &whole[..whole.len() / 2]).unwrap();
    fs::write(folder.path().join("notes.txt"), "milk\n").unwrap();
    let files = ["import", "cut.json", "whole.json", "notes.txt", "none.json"];
    let (code, stdout, stderr) = bitcost(folder.path(), &files);
    assert_eq!((code, stdout.as_str()), (Some(2), ""));
    for part in [
        "nothing was imported: 3 of 4 files cannot be\n",
        "cut.json: looks like iperf3 -J, but its JSON cannot be read",
        "notes.txt: not a known output; it begins with \"milk\"",
        "cannot read none.json: No such file",
        "known are the outputs of iperf3",
    ] {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    let (code, _, stderr) = bitcost(folder.path(), &["import", "whole.json"]);
    assert_eq!((code, stderr.as_str()), (Some(0), "1 run read\n"));
}

#[test]
fn embedded_labs_are_listed_and_printed() {
    let names: Vec<String> = printed(&["lab", "presets"])
        .lines()
        .map(|line| line.split(' ').next().unwrap().to_owned())
        .collect();
    assert_eq!(
        names,
        ["wire", "pair", "switch", "lab15", "dumbbell", "star"]
    );
    assert!(printed(&["lab", "presets", "lab15"]).contains("[egress.s1-eth2]\ndelay = \"20ms\""));
    assert!(printed(&["lab", "presets", "star", "--size", "9"]).contains("\"h9\""));
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("l.toml"),
        "hosts = [\"h1\", \"h2\"]\n[[link]]\nends = [\"h1\", \"h3\"]\n",
    )
    .unwrap();
    for (words, says) in [
        (
            &["lab", "up", "lab51"][..],
            "unknown lab `lab51`; did you mean `lab15`?",
        ),
        (&["lab", "up", "star", "--size", "1"], "allowed: 2 to 100"),
        (
            &["lab", "up", "l.toml"],
            "l.toml:2:1: unknown node `h3`; there are: h1, h2",
        ),
        (
            &["lab", "up", "pair", "--name", "a b"],
            "`a b` is not a possible name of a lab",
        ),
        (
            &["lab", "exec", "--lab", "no-such-lab", "h1", "--", "true"],
            "no lab `no-such-lab` is running",
        ),
        (
            &["test", "tcp", "--topology", "l.toml"],
            "l.toml:2:1: unknown node",
        ),
    ] {
        let (code, _, stderr) = bitcost(folder.path(), words);
        assert_eq!(code, Some(2), "{words:?}: {stderr}");
        assert!(stderr.contains(says), "{says}: {stderr}");
    }
}

#[test]
fn a_plan_says_what_of_its_lab_spoils_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let study = "title = \"t\"\nquestion = \"q\"\n[lab]\ntopology = \"lab15\"\n[workload]\nsend_buffer_bytes = 65536\n[[factor]]\nname = \"message_size_bytes\"\nlevels = [1024, 8192]\n";
    fs::write(folder.path().join("mine.toml"), study).unwrap();
    let (code, _, stderr) = bitcost(folder.path(), &["plan", "mine.toml"]);
    assert_eq!(code, Some(0), "{stderr}");
    for says in [
        "warning: queue-limit: s1-eth2 has room for 1000 packets; 1G for 20ms are 2500000 bytes",
        "warning: one-way-delay: ",
        "warning: buffers: the send buffer holds at most 65536 bytes, less than the 2500000 bytes",
    ] {
        assert_eq!(stderr.matches(says).count(), 1, "{says}: {stderr}");
    }
    fs::write(
        folder.path().join("sized.toml"),
        study.replace("send_buffer_bytes = 65536", "buffers = \"8 bdp\""),
    )
    .unwrap();
    let (code, _, stderr) = bitcost(folder.path(), &["plan", "sized.toml"]);
    assert!(
        code == Some(0) && !stderr.contains("warning: buffers"),
        "{stderr}"
    );
    let vain = study
        .replace("send_buffer_bytes = 65536", "buffers = \"8 bdp\"")
        .replace("lab15", "pair");
    fs::write(folder.path().join("vain.toml"), vain).unwrap();
    let (code, _, stderr) = bitcost(folder.path(), &["plan", "vain.toml"]);
    assert_eq!(code, Some(2));
    assert!(
        stderr.contains("need a lab whose path has a rate and a delay"),
        "{stderr}"
    );
}

/// The command that docs/howto/examples.md shows works on the study that it shows with it.
#[test]
fn a_study_against_something_is_planned_or_refused_like_it_is_run() {
    let commands = include_str!("../../../../docs/howto/examples.md");
    let example = commands
        .split("`bitcost run not-all-mbits --against ")
        .nth(1)
        .unwrap()
        .split('`')
        .next()
        .unwrap();
    assert!(
        printed(&["plan", "not-all-mbits", "--against", example])
            .contains("80 runs: 16 cells in 5 blocks")
    );
    let folder = tempfile::tempdir().unwrap();
    for (verb, against, says) in [
        (
            "plan",
            "/etc/passwd",
            "it is not executable; allowed: another bitcost",
        ),
        (
            "run",
            "/etc/passwd",
            "it is not executable; allowed: another bitcost",
        ),
        // This is known only after the program was started, and a plan does not start it.
        ("run", "/bin/true", "not older than that option"),
    ] {
        let (code, stdout, stderr) = bitcost(
            folder.path(),
            &[verb, "not-all-mbits", "--against", against],
        );
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{stderr}");
        assert!(
            stderr.contains(against) && stderr.contains(says),
            "{stderr}"
        );
    }
    fs::write(
        folder.path().join("one.toml"),
        "title = \"One\"\nquestion = \"Any?\"\n[run]\nblocks = 2\n",
    )
    .unwrap();
    let (code, plan, stderr) = bitcost(
        folder.path(),
        &["plan", "one.toml", "--against", "nodelay=true"],
    );
    assert!(
        code == Some(0) && plan.contains("4 runs: 2 cells in 2 blocks"),
        "{stderr}{plan}"
    );
}

#[test]
fn without_a_folder_the_newest_execution_is_read() {
    let folder = tempfile::tempdir().unwrap();
    for verb in ["show", "explain", "report"] {
        let (code, _, stderr) = bitcost(folder.path(), &[verb]);
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains("bitcost-runs holds none"), "{stderr}");
    }
    for name in ["older", "newer"] {
        let execution = folder.path().join("bitcost-runs").join(name);
        fs::create_dir_all(&execution).unwrap();
        fs::write(execution.join("events.jsonl"), "").unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let (_, _, stderr) = bitcost(folder.path(), &["show"]);
    assert!(
        stderr.contains("the newest execution: bitcost-runs/newer"),
        "{stderr}"
    );
}

#[test]
fn the_other_host_is_named_as_iperf3_and_netperf_do() {
    let folder = tempfile::tempdir().unwrap();
    for option in ["-c", "-H", "--client", "--receiver"] {
        let (code, _, stderr) = bitcost(
            folder.path(),
            &["test", "tcp", option, "host", "--mtu", "1500"],
        );
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains("--receiver"), "{stderr}");
    }
}

/// Command lines of iperf3 and netperf, each with the sentence that says how it is written here.
#[test]
fn what_iperf3_and_netperf_write_otherwise_is_named_with_how_it_is_written_here() {
    for (line, says) in [
        ("-c host", "iperf3's `-c` is `bitcost test tcp HOST`"),
        ("-s", "ssh starts an agent"),
        (
            "-P 4",
            "`-P` is an option of `bitcost test`: `bitcost test tcp -P`",
        ),
        (
            "-H host -t TCP_RR -l 10",
            "netperf's `-t TCP_RR` is `bitcost test rr`",
        ),
        ("tcp", "write `bitcost test tcp`"),
        ("UDP_RR -t 2", "write `bitcost test udp-rr -t 2`"),
        ("test -u", "iperf3's `-u` is `bitcost test udp`"),
        ("test tcp -u -b 1M", "iperf3's `-u` is `bitcost test udp`"),
        (
            "test tcp -t TCP_RR",
            "netperf's `-t TCP_RR` is `bitcost test rr`",
        ),
        (
            "test -t TCP_RR",
            "netperf's `-t TCP_RR` is `bitcost test rr`",
        ),
        ("test TCP_MAERTS", "`bitcost test tcp --reverse`"),
        ("test omni", "`bitcost test tcp` or `bitcost test udp`"),
        ("test tcp --fq-rate 1M", "`--rate RATE --pacing kernel`"),
        ("test tcp --tos 0x28", "`--dscp N`, where N"),
        ("test tcp -A 0,0", "`--sender-cpus N --receiver-cpus N`"),
        (
            "test tcp -- -m 1024",
            "netperf's `-m` is `--message-size BYTES`",
        ),
        (
            "test tcp -- -M 64K",
            "netperf's `-M` is `--receive-size BYTES`",
        ),
        (
            "test rr -- -r 64,1024",
            "--request-size BYTES --response-size BYTES",
        ),
        ("test rr -l 10", "netperf's -l SECONDS is --time SECONDS"),
        (
            "test tcp -l -1000",
            "netperf's `-l -1000` is `--bytes 1000`",
        ),
        ("test udp -b 1G/10", "`--rate 1G --burst 10`"),
        (
            "test udp -b 0",
            "without --rate a test sends as fast as it can",
        ),
        (
            "test tcp -i 2",
            "--interval: `2` is not possible here; allowed: 1",
        ),
        (
            "test tcp -w 1K --send-buffer 1K",
            "--window cannot be used with --send-buffer",
        ),
        ("test tcp -b -100M", "-b: `-100M` is below 0"),
        ("run not-all-mbits --blocks -1", "--blocks: `-1` is below 0"),
        ("run", "the name of an embedded one: not-all-mbits, "),
        (
            "test tcp --receiver me@web:2222",
            "write `ssh://me@web:2222`",
        ),
        (
            "test tcp -L 10.0.0.1",
            "netperf's `-L ADDRESS` is `--sender-address ADDRESS`",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        let said = bitcost(folder.path(), &words);
        assert_refused(folder.path(), &said, &["bitcost: ", says]);
        assert!(
            !said.2.contains("as a value") && said.2.lines().count() == 1,
            "{}",
            said.2
        );
    }
}

/// A rate whose letter was forgotten carries no message in the time of a test.
#[test]
fn a_rate_that_carries_no_message_is_refused_with_what_it_means() {
    for (line, says) in [
        (
            "tcp -b 100",
            "100 bit/s is a message of 131072 B every 2 h 54 min, longer than the run's 10 s; write `--rate 100M`",
        ),
        ("udp -b 500", "write `--rate 500M` for 500 Mbit/s"),
        (
            "tcp -b 1M -t 1",
            "1000000 bit/s is a message of 131072 B every 1.0 s",
        ),
        (
            "tcp --message-rate 1 -t 0.5",
            "every 1.0 s, longer than the run's 0.5 s",
        ),
        (
            "rr --transaction-rate 1 -t 100ms",
            "every 1.0 s, longer than the run's 0.1 s",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let words: Vec<&str> = ["test"].into_iter().chain(line.split(' ')).collect();
        let said = bitcost(folder.path(), &words);
        assert_refused(folder.path(), &said, &[says]);
    }
    let folder = tempfile::tempdir().unwrap();
    let background = ["test", "tcp", "--background", "udp rate=100", "-t", "1"];
    let said = bitcost(folder.path(), &background);
    let says = "--background: rate: 100 bit/s is a message of";
    assert_refused(folder.path(), &said, &[says]);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("slow.toml"), SLOW_STUDY).unwrap();
    for verb in ["plan", "run"] {
        let (code, _, said) = bitcost(folder.path(), &[verb, "slow.toml"]);
        assert_eq!(code, Some(2), "{said}");
        assert!(
            said.contains("rate_bps: 100 bit/s is a message of"),
            "{said}"
        );
    }
}

/// A study whose rate lacks its letter.
const SLOW_STUDY: &str = r#"title = "Slow"
question = "Is it refused?"
[workload]
workload = "udp_stream"
rate_bps = 100
[[factor]]
name = "message_size_bytes"
levels = [512]
[run]
blocks = 1
"#;
