//! Labs as people write them: presets can be read and read back, and each error is reported with
//! its line.

use std::cell::RefCell;

use bitcost_model::shaping::QueueLimit;
use bitcost_model::topology::Topology;
use bitcost_study::Study;
use bitcost_study::topology::{PRESETS, parse, to_toml};

const ROUTED: &str = r#"
hosts = ["h1", "h2", "h3"]
switches = ["s1"]
routers = ["r1", "r2"]
gro_off = ["h3-eth0"]

[[link]]
ends = ["h1", "s1"]

[[link]]
ends = ["h2", "s1"]

[[link]]
ends = ["s1", "r1"]

[[link]]
ends = ["r1", "r2"]
mtu_bytes = 9000
rate = "2.5G"
delay = "5ms"
jitter = "100us"
loss = "0.01%"

[[link]]
ends = ["r2", "h3"]

[egress.r1-eth1]
delay = "7ms"
reorder = "25%"
duplicate = "1%"
burst = "64KiB"
queue_limit = "5000 segments"
"#;

fn read(text: &str) -> Topology {
    parse("mine.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn what_is_written_reads_back_as_the_same() {
    let presets = PRESETS.iter().map(|preset| preset.text.to_owned());
    for text in presets.chain([
        ROUTED.to_owned(),
        "topology = \"switch\"\nnapi = \"inline\"".to_owned(),
    ]) {
        let topology = read(&text);
        assert_eq!(
            read(&to_toml(&topology)),
            topology,
            "{}",
            to_toml(&topology)
        );
    }
}

#[test]
fn a_routed_lab_is_completed() {
    let lab = read(ROUTED);
    let mut found = String::new();
    for end in lab.ends() {
        found += &format!("{} {:?}\n", end.device, end.addresses);
    }
    for name in ["h1", "h2", "h3", "r1", "r2"] {
        found += &format!("{name} {:?}\n", lab.node(name).unwrap().routes);
    }
    insta::assert_snapshot!(found);
    let path = lab.path("h1", "h3").unwrap();
    assert_eq!(
        (path.mtu_bytes, path.rate_bps()),
        (1500, Some(2_500_000_000))
    );
    assert_eq!(
        (path.delay_us(), path.rtt_us(), path.jitter_us()),
        (7000, 12_000, 200)
    );
    assert_eq!(path.bdp_bytes(), Some(3_750_000));
    let [there, back] = &lab.links[3].ends;
    assert_eq!(there.egress.queue_limit, Some(QueueLimit::Segments(5000)));
    assert_eq!((there.egress.loss_ppm, back.egress.reorder_ppm), (100, 0));
    assert!(lab.path("h1", "h9").is_none());
}

#[test]
fn mistakes_are_named_with_their_line() {
    let base = "hosts = [\"h1\", \"h2\"]\nswitches = [\"s1\", \"s2\", \"s3\"]\n";
    let link = |near: &str, far: &str| format!("[[link]]\nends = [\"{near}\", \"{far}\"]\n");
    let lab = format!("{base}{}{}", link("h1", "s1"), link("s1", "h2"));
    let ring = [link("s1", "s2"), link("s2", "s3"), link("s3", "s1")].concat();
    let mut answers = String::new();
    for text in [
        format!("{lab}{}", link("s1", "s9")),
        format!("{lab}{}", link("s1", "s1")),
        format!("{lab}{ring}"),
        String::new(),
        lab.replacen("\"h2\"]\nswi", "\"h1\"]\nswi", 1),
        lab.replacen("\"h1\"", "\"h 1\"", 1),
        lab.replacen("h2", "a-long-hostname", 2),
        format!("{lab}[addresses]\nh1-eth0 = [\"10.0.0.9/24\"]\nh2-eth0 = [\"10.0.0.9/24\"]\n"),
        format!("{lab}[addresses]\nh1-eth0 = [\"10.0.0.9\"]\n"),
        format!("{lab}[addresses]\nh1-eth0 = []\n"),
        format!("{lab}[addresses]\nh1-eth9 = []\n"),
        format!("{lab}[egress.s1-eth2]\nrate = 1000\n"),
        format!("{lab}[egress.s1-eth2]\nrate = \"1000\"\n"),
        format!("{lab}[egress.s1-eth2]\ndelay = \"20\"\n"),
        format!("{lab}[egress.s1-eth2]\ndelay = \"-5ms\"\n"),
        format!("{lab}[egress.s1-eth2]\nloss = -0.1\n"),
        format!("{lab}[egress.s1-eth2]\nloss = \"-1%\"\n"),
        format!("{lab}[egress.s1-eth2]\nloss = \"101%\"\n"),
        format!("{lab}[egress.s1-eth2]\nloss = \"nan%\"\n"),
        format!("{lab}[egress.s1-eth2]\ndelay = \"2h\"\n"),
        format!("{lab}[egress.s1-eth2]\nqueue_limit = 1000\n"),
        format!("{lab}[egress.s1-eth2]\nlatency = \"20ms\"\n"),
        format!("{lab}[egress.s1-eth8]\ndelay = \"20ms\"\n"),
        format!("{lab}[routes.h1]\ndefault = \"10.9.9.9\"\n"),
        format!("{lab}[routes.h9]\ndefault = \"10.0.0.254\"\n"),
        lab.replacen("ends", "end", 1),
        format!("egress = 5\n{lab}"),
        format!("{lab}[egress]\ns1-eth2 = \"20ms\"\n"),
        format!("napi = 1\n{lab}"),
        "topology = \"lab51\"\n".to_owned(),
        "hosts = [\"h1\"".to_owned(),
    ] {
        let error = parse("mine.toml", &text).expect_err(&text);
        answers += &format!("{text}=> {error}\n\n");
    }
    insta::assert_snapshot!(answers);
}

fn study(lab: &str) -> Result<Study, String> {
    let text = format!(
        "title = \"t\"\nquestion = \"q\"\n[[factor]]\nname = \"message_size_bytes\"\nlevels = [1024]\n[lab]\n{lab}\n"
    );
    Study::parse("mine.toml", &text).map_err(|error| error.to_string())
}

#[test]
fn a_study_changes_a_preset_or_has_its_own_lab() {
    let usual = study("mtu_bytes = 9000").unwrap().lab;
    assert_eq!((usual.topology.as_str(), usual.mtu_bytes), ("wire", 9000));
    let changed = "topology = \"lab15\"\n[lab.egress.s1-eth2]\nqueue_limit = \"20000 packets\"";
    let lab = study(changed).unwrap().lab;
    let delay = &lab.network.end("s1-eth2").unwrap().egress;
    assert_eq!(
        (delay.delay_us, delay.queue_limit),
        (20_000, Some(QueueLimit::Packets(20_000)))
    );
    assert_eq!((lab.sender.as_str(), lab.receiver.as_str()), ("h1", "h2"));
    let own = "hosts = [\"a\", \"b\", \"c\"]\nreceiver = \"c\"\n[[lab.link]]\nends = [\"a\", \"b\"]\n[[lab.link]]\nends = [\"a\", \"c\"]\nmtu_bytes = 1400";
    let lab = study(own).unwrap().lab;
    assert_eq!(
        (lab.topology.as_str(), lab.receiver.as_str(), lab.mtu_bytes),
        ("own", "c", 1400)
    );
}

#[test]
fn a_study_names_a_lab_file_whose_text_comes_with_it() {
    let text = "title = \"t\"\nquestion = \"q\"\n[lab]\ntopology = \"my-lab.toml\"\n";
    let named = |text: &str| {
        let asked = RefCell::new(String::new());
        let lab = |name: &str| {
            asked.borrow_mut().push_str(name);
            Err("it is gone".to_owned())
        };
        let mistakes = Study::read("mine.toml", text, Some(&lab), None).err();
        let mistake = mistakes.map_or(String::new(), |all| all[0].to_string());
        (asked.into_inner(), mistake)
    };
    let gone = "mine.toml:4:1: it is gone".to_owned();
    assert_eq!(named(text), ("my-lab.toml".to_owned(), gone));
    assert_eq!(
        named(&text.replace("my-lab.toml", "lab15")),
        Default::default()
    );
    let lab = "hosts = [\"a\", \"b\"]\n[[link]]\nends = [\"a\", \"b\"]\nmtu_bytes = 1400\n";
    let read = |text: &str, lab: &str| Study::parse_with("dir/mine.toml", text, Some(lab));
    let study = read(text, lab).expect("it reads");
    assert_eq!(study.lab_text.as_deref(), Some(lab));
    assert_eq!(
        (study.lab.sender.as_str(), study.lab.mtu_bytes),
        ("a", 1400)
    );
    // The study's MTU is that of every link.
    let larger = read(&format!("{text}mtu_bytes = 9000\n"), lab).expect("it reads");
    assert_eq!(larger.lab.mtu_bytes, 9000);
    let based = read(text, "topology = \"lab15\"\n").expect("it reads");
    assert_eq!(based.lab.path().expect("a path").rtt_us(), 20_000);
    // A mistake in the lab file has its place there.
    let wrong = read(text, &lab.replace("ends", "enids")).expect_err("a mistake");
    assert!(wrong.to_string().starts_with("dir/my-lab.toml:3:1: "));
    let missing = Study::parse("mine.toml", text).expect_err("no text");
    assert_eq!((missing.line, missing.column), (4, 1), "{missing}");
}

/// Texts on which a TOML reader has failed.
#[test]
fn what_is_hardly_toml_is_refused_with_its_line() {
    for text in [
        "==\n[.",
        "={=<=u==",
        "==\n[._[._",
        "hosts=[.[.",
        "[[lin\\j\\\0\0\\]\n\n[.....]1",
    ] {
        let lab = parse("mine.toml", text).expect_err("no lab");
        let study = Study::parse("mine.toml", text).expect_err("no study");
        for said in [lab.to_string(), study.to_string()] {
            assert!(
                said.starts_with("mine.toml:") && said.contains("not TOML"),
                "{said}"
            );
        }
    }
}
