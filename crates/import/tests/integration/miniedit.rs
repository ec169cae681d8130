//! MiniEdit's files: the lab that Mininet would make of them, the warnings, and that no input makes
//! the reader crash.

use bitcost_import::miniedit::{Imported, Options, import};
use bitcost_model::shaping::{QueueLimit, Shaper};
use bitcost_model::topology::NodeKind;
use bitcost_study::topology::{parse, to_toml};
use proptest::prelude::*;

const LAB15: &str = include_str!("../miniedit/lab15.mn");
const CAMPUS: &str = include_str!("../miniedit/campus.mn");

fn read(text: &str) -> Imported {
    import(text, Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn error_of(text: &str) -> String {
    import(text, Options::default()).expect_err(text)
}

#[test]
fn the_lab_of_the_document_has_its_ports_and_addresses() {
    let Imported {
        topology,
        warnings,
        commands,
    } = read(LAB15);
    assert_eq!((warnings.len(), commands.len()), (0, 0), "{warnings:?}");
    let ports: Vec<[&str; 2]> = topology
        .links
        .iter()
        .map(|link| [&link.ends[0], &link.ends[1]].map(|end| end.device.as_str()))
        .collect();
    assert_eq!(
        ports,
        [
            ["h1-eth0", "s1-eth1"],
            ["s1-eth2", "s2-eth1"],
            ["s2-eth2", "h2-eth0"]
        ]
    );
    assert_eq!(
        topology.end("h1-eth0").unwrap().addresses[0].to_string(),
        "10.0.0.1/8"
    );
    assert_eq!(
        topology.end("h2-eth0").unwrap().addresses[0].to_string(),
        "10.0.0.2/8"
    );
    assert!(
        topology
            .ends()
            .all(|end| end.egress.is_nothing() && !end.gro_off)
    );
    assert!(
        topology.nodes[2..]
            .iter()
            .all(|node| node.kind == NodeKind::Switch)
    );
    assert_eq!(parse("lab15.toml", &to_toml(&topology)).unwrap(), topology);
}

#[test]
fn what_has_no_counterpart_is_said() {
    let Imported {
        topology,
        warnings,
        commands,
    } = read(CAMPUS);
    for says in [
        "application.sflow: ignored",
        "controllers[1] c1: a remote controller",
        "hosts[0] h1: cpu: ignored",
        "hosts[0] h1: cores: ignored",
        "hosts[0] h1: sched: ignored",
        "hosts[1] h2: privateDirectory: ignored",
        "hosts[2] Web: the number 2 is used twice",
        "hosts[2] Web: externalInterfaces: not attached",
        "host h9: it has no link, and is left out",
        "host Web: its defaultRoute 172.16.0.9 is not in its network",
        "host h2: its defaultRoute 192.168.7.1",
        "switches[0] S1: its controller `c7` is not in the file",
        "switches[1] s2: it has no controller",
        "switches[1] s2: sflow: ignored",
        "switches[2] R1: only its first device has an address (172.16.0.5)",
        "links[0] (h1 - S1): delay: `20` has no unit, and tc takes it for MICROSECONDS",
        "links[3] (s2 - h2): bw: 2000 is not from 0 to 1000",
        "links with options: Mininet turns GRO off",
    ] {
        let is_absent = says.contains("192.168.7.1") || says.contains("172.16.0.9");
        assert_eq!(
            warnings.iter().any(|warning| warning.contains(says)),
            !is_absent,
            "{says}: {warnings:#?}"
        );
    }
    assert_eq!(commands[0].text, "python3 -m http.server 80 &\\u{1b}[31m");
    assert_eq!(
        (commands[1].node.as_str(), commands[1].when),
        ("h1", "stop")
    );
    let address = |device: &str| topology.end(device).unwrap().addresses[0].to_string();
    // An address without a prefix has /8 in every network; a router has the network's own.
    assert_eq!(address("h1-eth0"), "172.16.0.1/8");
    assert_eq!(address("h2-eth0"), "192.168.7.2/24");
    assert_eq!(address("Web-eth1"), "172.16.0.2/8");
    assert_eq!(address("R1-eth0"), "172.16.0.5/16");
    assert_eq!(parse("campus.toml", &to_toml(&topology)).unwrap(), topology);
}

#[test]
fn a_link_with_options_shapes_both_ends_as_tclink_does() {
    let topology = read(CAMPUS).topology;
    let shaping = |device: &str| topology.end(device).unwrap().egress.clone();
    let slow = shaping("h1-eth0");
    assert_eq!(slow, shaping("S1-eth1"));
    assert_eq!(
        (slow.rate_bps, slow.burst_bytes, slow.shaper),
        (Some(10_000_000), Some(15_360), Shaper::Htb)
    );
    assert_eq!((slow.delay_us, slow.loss_ppm), (20, 10_000));
    assert_eq!(slow.queue_limit, Some(QueueLimit::Packets(100)));
    // The name of the far node starts with an S, not with an s.
    assert_eq!(shaping("S1-eth2").rate_bps, Some(100_000_000));
    let far = shaping("s2-eth1");
    assert_eq!(
        (far.delay_us, far.jitter_us, far.rate_bps),
        (5000, 500, None)
    );
    assert_eq!(far.queue_limit, Some(QueueLimit::Packets(1000)));
    assert!(shaping("h2-eth0").is_nothing() && shaping("R1-eth0").is_nothing());
    let fast = read(&CAMPUS.replace("S1", "s1")).topology;
    assert_eq!(
        fast.end("s1-eth2").unwrap().egress.rate_bps,
        Some(500_000_000)
    );
    assert_eq!(
        fast.end("Web-eth1").unwrap().egress.rate_bps,
        Some(100_000_000)
    );
    let compat = import(
        CAMPUS,
        Options {
            mininet_compat: true,
        },
    )
    .unwrap()
    .topology;
    let off: Vec<&str> = compat
        .ends()
        .filter(|end| end.gro_off)
        .map(|end| end.device.as_str())
        .collect();
    assert_eq!(off.len(), 8, "{off:?}");
}

#[test]
fn what_mininet_takes_otherwise_than_it_was_meant_is_said_with_its_place() {
    let with = |opts: &str| {
        LAB15.replacen(
            "\"opts\": {},\n            \"src\": \"s1\"",
            &format!("\"opts\": {opts},\n            \"src\": \"s1\""),
            1,
        )
    };
    for (opts, says) in [
        (
            "{\"delay\": \"20\"}",
            "links[1] (s1 - s2): delay: `20` has no unit, and tc takes it for MICROSECONDS: 20 us are kept",
        ),
        (
            "{\"delay\": 20}",
            "links[1] (s1 - s2): delay: `20` has no unit",
        ),
        (
            "{\"loss\": -1}",
            "links[1] (s1 - s2): loss: -1 is not from 0 to 100; ignored",
        ),
        (
            "{\"loss\": \"101\"}",
            "links[1] (s1 - s2): loss: 101 is not from 0 to 100; ignored",
        ),
    ] {
        let Imported { warnings, .. } = read(&with(opts));
        assert!(
            warnings.iter().any(|warning| warning.contains(says)),
            "{says}: {warnings:#?}"
        );
    }
}

/// A truncated file is refused wherever it is cut.
#[test]
fn a_truncated_file_is_refused_wherever_it_ends() {
    let whole = LAB15.trim_end();
    for end in (0..whole.len()).filter(|end| whole.is_char_boundary(*end)) {
        assert!(
            error_of(&whole[..end]).contains("not a whole JSON document"),
            "{end}"
        );
    }
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    for (text, says) in [
        (
            LAB15[..400].to_owned(),
            "not a whole JSON document: EOF while parsing",
        ),
        (String::new(), "not a whole JSON document"),
        ("[]".to_owned(), "not a JSON object"),
        (
            LAB15.replace("\"version\": \"2\"", "\"version\": \"1\""),
            "version: `1`; allowed: \"2\"",
        ),
        (
            LAB15.replace(
                "\"controllers\": [],\n    \"hosts\"",
                "\"controllers\": {\"c0\": {}},\n    \"hosts\"",
            ),
            "controllers: an object",
        ),
        (
            LAB15.replace("\"src\": \"s2\"", "\"src\": \"s3\""),
            "links[2]: src: unknown node `s3`",
        ),
        (
            LAB15.replace("\"hostname\": \"h2\"", "\"hostname\": \"h1\""),
            "hosts[1]: the name `h1` is used twice",
        ),
        (
            LAB15.replace(
                "\"nodeNum\": 2,\n                \"sched\"",
                "\"nodeNum\": 1,\n                \"sched\"",
            ),
            "has the address 10.0.0.1",
        ),
        (
            LAB15.replacen(
                "\"opts\": {},\n            \"src\": \"s1\"",
                "\"opts\": {\"delay\": \"soon\"},\n            \"src\": \"s1\"",
                1,
            ),
            "links[1] (s1 - s2): delay: `soon` is no time",
        ),
        (
            LAB15.replace("\"h2\"", "\"a.very.long.name\""),
            "links[2]: `a.very.long.name-eth0` is no name of a device",
        ),
        (
            LAB15.replace("\"h2\"", "\"a b\""),
            "`a b` is no name of a node",
        ),
        (
            LAB15.replace("\"dest\": \"h2\"", "\"dest\": \"s1\""),
            "links[2]: the link of s2 and s1 closes a loop of switches",
        ),
        (
            LAB15.replace("\"dest\": \"h2\"", "\"dest\": \"s2\""),
            "joins `s2` with itself",
        ),
    ] {
        let error = error_of(&text);
        assert!(error.contains(says), "{says}: {error}");
    }
}

/// Pieces of such files, and replacements for them.
const WORDS: [&str; 14] = [
    "\"h1\"",
    "\"s1\"",
    "\"20ms\"",
    "\"2\"",
    "1",
    "{}",
    "[]",
    "\"10.0.0.0/8\"",
    "-1",
    "1e999",
    "null",
    "\"\"",
    "\"\\u0000\"",
    "18446744073709551615",
];

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in ".{0,300}") {
        let _ = import(&text, Options::default());
    }

    #[test]
    fn a_file_cut_or_changed_is_read_or_refused(
        campus: bool,
        cut in 0usize..4000,
        changes in proptest::collection::vec((0usize..4000, 0usize..40, 0usize..14), 0..6),
    ) {
        let mut text = if campus { CAMPUS } else { LAB15 }.to_owned();
        for (at, length, word) in changes {
            let (at, end) = (at.min(text.len()), (at + length).min(text.len()));
            if text.is_char_boundary(at) && text.is_char_boundary(end) {
                text.replace_range(at..end, WORDS[word]);
            }
        }
        if cut < text.len() / 8 && text.is_char_boundary(text.len() - cut) {
            text.truncate(text.len() - cut);
        }
        if let Ok(imported) = import(&text, Options { mininet_compat: true }) {
            let written = to_toml(&imported.topology);
            prop_assert_eq!(parse("mutated.toml", &written).map_err(|error| error.to_string()), Ok(imported.topology));
        }
    }
}
