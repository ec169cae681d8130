//! `bitcost test --receiver HOST --sender HOST`, with a fake ssh that comes first in the path.

use crate::bench::*;
use std::os::unix::fs::symlink;

bitcost_testkit::trials! {
    PrivateNetwork: both_endpoints_on_this_machine, ssh_carries_either_agent, program_is_copied_to_a_host_without_it, host_errors_name_cause_and_remedy;
}

/// A script that accepts exactly the options that ssh should get, and acts according to the host's
/// name.
const SSH: &str = r#"#!/bin/sh
if [ "$1" = -G ]; then
    [ $# = 2 ] || exit 98
    case "$2" in nameless) echo "hostname no-such-name.invalid" ;; *) echo "user me"; echo "hostname 127.0.0.1" ;; esac
    exit 0
fi
host=${18}
no="-o ForwardAgent=no -o ForwardX11=no -o ClearAllForwardings=yes -o PermitLocalCommand=no -o RemoteCommand=none -o ControlMaster=no"
[ "$*" = "-T -o BatchMode=yes -o ConnectTimeout=5 $no $host -- ${20}" ] || { echo "told: $*" >&2; exit 99; }
set -- 1 2 3 4 5 6 7 "${20}"
case "$host" in
    me@web) exec sh -c "$8" ;;
    unknown) echo "ssh: Could not resolve hostname unknown" >&2; exit 255 ;;
    chatty) echo "Welcome to chatty"; exec sh -c "$8" ;;
    old) printf '\000\000\000\065{"from_agent":"hello","protocol":0,"version":"0.0.1"}'; exec cat >/dev/null ;;
    dead) echo "boom" >&2; exit 7 ;;
esac
exit 97
"#;

/// A folder with the fake ssh, and with bitcost as the program of the remote host.
struct Hosts(Bench);

impl Hosts {
    fn new() -> Hosts {
        let bench = Bench::new().with_own_programs();
        let bench = bench.with("BITCOST_STATE_DIR", "FOLDER/state");
        let bench = bench.with("TMPDIR", "FOLDER/tmp");
        bench.write("ssh", SSH);
        fs::set_permissions(bench.path().join("ssh"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink(program(), bench.path().join("far-bitcost")).unwrap();
        Hosts(bench)
    }

    /// One short run.
    fn test(&self, words: &[&str]) -> Done {
        let words = [&["test"], words, &["-t", "200ms", "-O", "50ms"]].concat();
        let done = self.0.bitcost(&words);
        self.0.assert_nothing_left();
        done
    }

    fn result(&self, words: &[&str]) -> Done {
        self.test(&[words, &["--json", "--samples"]].concat())
            .with_code(0)
    }
}

/// Place and interface of each endpoint, and the bytes that the receiver took.
fn told(done: &Done) -> ([String; 2], [String; 2], u64) {
    let document = done.json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let [sender, receiver] = ["sender", "receiver"].map(|end| &document["hosts"][end]);
    assert_eq!(sender["boot_id"], receiver["boot_id"]);
    let bytes = document["bytes"]["received"].as_u64().unwrap();
    let devices = [sender, receiver].map(|end| text(&end["device"]["name"]));
    (
        [sender, receiver].map(|end| text(&end["place"])),
        devices,
        bytes,
    )
}

fn lo() -> [String; 2] {
    ["lo", "lo"].map(str::to_owned)
}

/// Both endpoints are on this machine, over loopback with either version of IP; no setting of the
/// host is held or changed.
fn both_endpoints_on_this_machine() {
    let hosts = Hosts::new();
    for (words, version) in [
        (&["tcp"][..], "4"),
        (&["udp", "-6"], "6"),
        (&["rr", "-R"], "4"),
    ] {
        let done = hosts.result(&[words, &["--receiver", "local"]].concat());
        let (places, devices, bytes) = told(&done);
        assert_eq!(
            (places, devices),
            (["local", "local"].map(str::to_owned), lo())
        );
        assert!(bytes > 0);
        for end in done.records() {
            assert_eq!(in_effect(&end, "ip_version").unwrap()[1], version);
            assert!(end.offloads.requested.is_empty());
        }
    }
    assert!(
        !hosts.0.path().join("state").exists(),
        "no journal without a change"
    );
}

fn ssh_carries_either_agent() {
    let hosts = Hosts::new();
    for (role, place) in [
        ("--receiver", ["local", "ssh:me@web"]),
        ("--sender", ["ssh:me@web", "local"]),
    ] {
        let done = hosts.result(&[
            "tcp",
            role,
            "ssh:me@web",
            "--remote-program",
            "./far-bitcost",
        ]);
        let (places, devices, bytes) = told(&done);
        assert_eq!((places, devices), (place.map(str::to_owned), lo()));
        assert!(bytes > 0);
    }
}

/// A host without bitcost gets a copy that leaves no file, also where its login prints something.
fn program_is_copied_to_a_host_without_it() {
    let hosts = Hosts::new();
    fs::create_dir(hosts.0.path().join("tmp")).unwrap();
    let (places, _, bytes) =
        told(&hosts.result(&["tcp", "--receiver", "chatty", "--sender", "me@web"]));
    assert_eq!(places, ["ssh:me@web", "ssh:chatty"].map(str::to_owned));
    assert!(bytes > 0);
    assert_eq!(fs::read_dir(hosts.0.path().join("tmp")).unwrap().count(), 0);
}

fn host_errors_name_cause_and_remedy() {
    let hosts = Hosts::new();
    let far = ["--remote-program", "./far-bitcost"];
    let elsewhere = ["--receiver-address", "192.0.2.9"];
    for (host, more, says) in [
        (
            "unknown",
            &far[..],
            [
                "ssh has no connection to unknown",
                "Could not resolve hostname",
            ],
        ),
        (
            "old",
            &far,
            ["it is bitcost 0.0.1", "use the same bitcost on all hosts"],
        ),
        ("dead", &far, ["ended with exit status 7", "boom"]),
        (
            "nameless",
            &far,
            [
                "no-such-name.invalid of nameless cannot be resolved",
                "--receiver-address ADDR",
            ],
        ),
        ("local", &elsewhere, ["192.0.2.9", "route"]),
    ] {
        let done = hosts.test(&[&["tcp", "--receiver", host], more].concat());
        assert_eq!(
            (done.code, done.stdout.as_str()),
            (Some(3), ""),
            "{host}: {}",
            done.stderr
        );
        assert_says(&done.stderr, &says);
    }
}
