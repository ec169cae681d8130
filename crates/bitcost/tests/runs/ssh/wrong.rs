//! Faults on the way to a host, reported with a remedy before any traffic.

use crate::bench::*;
use std::os::unix::fs::chown;

use bitcost_testkit::sshd::{GUEST, GUEST_ID};

use super::{DATA, Field, install};

bitcost_testkit::trials! {
    PrivateNetwork: ssh_errors_name_cause_and_remedy, ordinary_user_runs_without_host_settings, sudo_is_used_when_asked;
}

/// A short run from this host to another.
fn test(field: &Field, receiver: &str, words: &[&str]) -> Done {
    let config = field.servers.config();
    let run = split("test tcp -t 200ms -O 50ms --ssh-config");
    let to = [config.to_str().unwrap(), "--receiver", receiver];
    let done = field.bench.bitcost(&[&run[..], &to, words].concat());
    field.assert_nothing_left();
    done
}

fn refused(field: &Field, receiver: &str, words: &[&str], says: &[&str]) {
    let done = test(field, receiver, words);
    assert_eq!((done.code, done.stdout.as_str()), (Some(3), ""), "{done:?}");
    assert_says(&done.stderr, says);
}

fn script(field: &Field, name: &str, text: &str) {
    let path = field.at("b", name);
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn ssh_errors_name_cause_and_remedy() {
    let field = Field::new();
    let far = |name: &str, lines: &str| field.servers.add_host(name, "10.9.2.2", lines).unwrap();
    far(
        "other-key",
        &format!(
            " UserKnownHostsFile {}\n",
            field.servers.path("other_hosts").display()
        ),
    );
    let known = fs::read_to_string(field.servers.path("known_hosts")).unwrap();
    let of = |address: &str| {
        known
            .lines()
            .find(|line| line.starts_with(address))
            .unwrap()
            .to_owned()
    };
    // This is the key of one host under the name of the other.
    let wrong = of("10.9.1.2").replacen("10.9.1.2", "10.9.2.2", 1);
    fs::write(field.servers.path("other_hosts"), format!("{wrong}\n")).unwrap();
    far("unknown-key", " UserKnownHostsFile /dev/null\n");
    far("no-user", " User no-such-user\n");
    field
        .servers
        .add_host("no-name", "no-such-name.invalid", "")
        .unwrap();
    let to = ["--receiver-address", "10.9.2.2"];
    refused(
        &field,
        "other-key",
        &to,
        &[
            "ssh has no connection to other-key",
            "in known_hosts",
            "check the key",
        ],
    );
    refused(
        &field,
        "unknown-key",
        &to,
        &["Host key verification failed", "connect once with ssh"],
    );
    refused(
        &field,
        "no-user",
        &to,
        &["Permission denied", "ssh-copy-id"],
    );
    refused(
        &field,
        "no-name",
        &[],
        &[
            "no-such-name.invalid of no-name cannot be resolved",
            "--receiver-address",
        ],
    );
    // The data's address is not on the link that ssh uses.
    refused(
        &field,
        "b",
        &["--sender", "a"],
        &["find the route to 10.9.2.2", "--receiver-dev DEVICE"],
    );
    let misspelt = ["--sender", "a", "--receiver-dev", "dta0"];
    refused(&field, "b", &misspelt, &["dta0", "did you mean", DATA]);
}

fn sudo_is_used_when_asked() {
    let field = Field::new();
    install(&field);
    let address = ["--sender", "a", "--receiver-dev", DATA];
    refused(
        &field,
        "b",
        &[&address[..], &["--sudo"]].concat(),
        &["a has no sudo", "leave out --sudo"],
    );
    script(
        &field,
        "bin/sudo",
        "echo \"sudo: a password is required\" >&2; exit 1",
    );
    fs::copy(field.at("b", "bin/sudo"), field.at("a", "bin/sudo")).unwrap();
    refused(
        &field,
        "b",
        &[&address[..], &["--sudo"]].concat(),
        &["a password is required", "NOPASSWD"],
    );
    // This sudo works, with a copy of the program and without.
    script(
        &field,
        "bin/sudo",
        "echo \"$*\" >>\"$TMPDIR/../sudone\"; [ \"$1\" = -n ] && shift && \"$@\"",
    );
    fs::copy(field.at("b", "bin/sudo"), field.at("a", "bin/sudo")).unwrap();
    for has_one in [true, false] {
        let settings = ["--offloads", "off", "--sudo"];
        test(&field, "b", &[&address[..], &settings].concat()).assert_code(0);
        for host in ["a", "b"] {
            let told = fs::read_to_string(field.at(host, "sudone")).unwrap();
            let program = if has_one {
                "bin/bitcost agent"
            } else {
                "/fd/9 agent"
            };
            assert!(
                told.starts_with("-n /") && told.trim().ends_with(program),
                "{told}"
            );
            fs::remove_file(field.at(host, "sudone")).unwrap();
            if has_one {
                fs::remove_file(field.at(host, "bin/bitcost")).unwrap();
            }
        }
    }
    test(&field, "b", &address).assert_code(0);
    assert!(!field.at("a", "sudone").exists());
}

/// Without privileges there are runs, but no settings of the host.
fn ordinary_user_runs_without_host_settings() {
    let field = Field::new();
    field
        .servers
        .add_host("guest", "10.9.2.2", &format!(" User {GUEST}\n"))
        .unwrap();
    chown(field.servers.path("b"), Some(GUEST_ID), Some(GUEST_ID)).unwrap();
    test(&field, "guest", &[]).assert_code(0);
    let done = test(&field, "guest", &["--offloads", "off"]);
    assert_eq!(done.code, Some(3), "{}", done.stderr);
    assert_says(
        &done.stderr,
        &["receiver: ", "permitted", "named hosts: --sudo"],
    );
}
