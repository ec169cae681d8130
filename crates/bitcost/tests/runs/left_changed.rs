//! Changes that an earlier run left behind, and requests that a host cannot fulfil: the error names
//! them and the remedy.

use crate::bench::*;
use bitcost_host::journal::{Entry, Header};
use bitcost_host::{Change, Values, single};

bitcost_testkit::trials! {
    PrivateNetwork: impossible_host_setting_is_refused, damaged_journal_restores_its_whole_entries, journals_writable_by_others_are_refused, journal_of_another_network_is_ignored, journal_of_another_boot_is_reported;
}

/// A veth in this network, and a state folder.
struct Host(Bench);

impl Host {
    fn new() -> Host {
        bitcost_testkit::veth(3000);
        Host(Bench::new().with("BITCOST_STATE_DIR", "FOLDER/state"))
    }

    fn state(&self) -> PathBuf {
        self.0.path().join("state")
    }

    fn bitcost(&self, words: &[&str]) -> Done {
        let done = self.0.bitcost(words);
        self.0.assert_nothing_left();
        done
    }

    /// A short run with both endpoints on this host.
    fn test(&self, words: &[&str]) -> Done {
        let test = split("test tcp --receiver local -t 100ms -O 50ms");
        self.bitcost(&[&test[..], words].concat())
    }

    /// Writes a journal, followed by text that no program wrote.
    fn write_journal(&self, header: &Header, changes: &[Change], behind: &str) -> PathBuf {
        let steps = changes.iter().cloned().map(Entry::Made);
        let steps = std::iter::once(Entry::Header(header.clone())).chain(steps);
        let lines: Vec<u8> = steps
            .flat_map(|step| bitcost_host::journal::line(&step).unwrap())
            .collect();
        let path = bitcost_host::journal::path_here(&self.state());
        bitcost_host::journal::ready(&self.state()).unwrap();
        fs::write(&path, [&lines, behind.as_bytes()].concat()).unwrap();
        path
    }
}

/// A change of the MTU of a0 from 3000 to 1400, as a run left it.
fn mtu_left_changed() -> Change {
    let mut rtnl = Rtnl::open().unwrap();
    let index = rtnl.link("a0").unwrap().index;
    rtnl.set_mtu(index, 1400).unwrap();
    Change {
        number: 1,
        knob: "mtu_bytes".to_owned(),
        subject: "a0".to_owned(),
        index: None,
        before: single("3000"),
        asked: single("1400"),
        after: Some(single("1400")),
        side_effects: Values::new(),
        side_effects_after: None,
    }
}

fn mtu() -> u32 {
    Rtnl::open().unwrap().link("a0").unwrap().mtu_bytes
}

/// Complete entries are restored; a line that cannot be read is named, and the journal is kept
/// unchanged. Nothing is restored from a journal of another format.
fn damaged_journal_restores_its_whole_entries() {
    let host = Host::new();
    let behind = "{\"prophecy\":{\"number\":2}}\n";
    let damaged = host.write_journal(&Header::now(1), &[mtu_left_changed()], behind);
    let before = fs::read(&damaged).unwrap();
    let refused = host.test(&[]).with_code(3);
    refused.assert_says("left a setting of this host changed");
    refused.assert_says("bitcost host restore");
    let restored = host.bitcost(&["host", "restore"]).with_code(1);
    restored.assert_prints("mtu_bytes of a0: as before");
    let printed = ["line 3 is damaged", "kept, since"];
    assert_says(&restored.stdout, &printed);
    assert_eq!((mtu(), fs::read(&damaged).unwrap()), (3000, before));
    host.test(&[]).assert_code(3);
    let newer = Header {
        format: 99,
        bitcost: "9.9.0".to_owned(),
        ..Header::now(1)
    };
    let path = host.write_journal(&newer, &[mtu_left_changed()], "");
    let restored = host.bitcost(&["host", "restore"]).with_code(1);
    let printed = ["it has format 99 of bitcost 9.9.0", "kept, since"];
    assert_says(&restored.stdout, &printed);
    assert_eq!((mtu(), path.exists()), (1400, true));
    let refused = host.test(&[]).with_code(3);
    refused.assert_says("what it changed on this host is unknown");
    refused.assert_says("remove that file");
    fs::remove_file(path).unwrap();
    host.test(&[]).assert_code(0);
}

/// Journals in a folder that others may write, and files that are not journals, change nothing:
/// neither for `restore` nor for `show`.
fn journals_writable_by_others_are_refused() {
    let host = Host::new();
    let path = host.write_journal(&Header::now(1), &[mtu_left_changed()], "");
    fs::set_permissions(host.state(), fs::Permissions::from_mode(0o777)).unwrap();
    for words in ["host restore", "host show", "host show --json"] {
        let refused = host.bitcost(&split(words)).with_code(3);
        refused.assert_says("other users may write to it");
    }
    fs::set_permissions(host.state(), fs::Permissions::from_mode(0o700)).unwrap();
    let elsewhere = host.0.path().join("elsewhere");
    fs::rename(&path, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    let refused = host.bitcost(&["host", "restore"]).with_code(1);
    refused.assert_prints("it is a symbolic link");
    assert_eq!((mtu(), elsewhere.exists()), (1400, true));
}

/// A run that uses no other network namespace is not stopped by changes that are left there;
/// changes that are left of the whole machine stop it.
fn journal_of_another_network_is_ignored() {
    let host = Host::new();
    let elsewhere = Header {
        network: Some(u64::MAX),
        ..Header::now(1)
    };
    let path = host.write_journal(&elsewhere, &[mtu_left_changed()], "");
    host.test(&[]).assert_code(0);
    assert!(path.exists());
    let subject = "net.core.rmem_max".to_owned();
    let of_machine = Change {
        knob: "sysctl".to_owned(),
        subject,
        ..mtu_left_changed()
    };
    host.write_journal(&elsewhere, &[of_machine], "");
    let refused = host.test(&[]).with_code(3);
    refused.assert_says("bitcost host restore");
    assert_eq!(mtu(), 1400, "nothing was restored");
}

/// After a reboot, the settings of a network namespace no longer exist, because the namespace does
/// not.
fn journal_of_another_boot_is_reported() {
    let host = Host::new();
    let before = Header {
        boot: "another".to_owned(),
        is_first_network: false,
        ..Header::now(1)
    };
    let path = host.write_journal(&before, &[mtu_left_changed()], "");
    host.test(&[]).assert_code(3);
    let restored = host.bitcost(&["host", "restore"]).with_code(0);
    restored.assert_prints("its network namespace is gone");
    // What stands here is of somebody else.
    assert_eq!((mtu(), path.exists()), (1400, false));
    host.test(&[]).assert_code(0);
}

/// Requests that this host cannot fulfil make the run fail with a remedy, and nothing is left
/// changed.
fn impossible_host_setting_is_refused() {
    let host = Host::new();
    let missing = "no such device; did you mean `a0`";
    let twice = "both would set its sysctl: set it for one endpoint";
    for (words, code, says) in [
        (["--sender-device", "a1"], 3, missing),
        (["--sysctl", "net.ipv4.tcp_sack=0"], 2, twice),
    ] {
        host.test(&words).with_code(code).assert_says(says);
    }
    let program = program();
    let before = ["--bounding-set=-all", "--", program.to_str().unwrap()];
    let test = split("test tcp --receiver local -t 100ms --device-mtu 'sender: 1400'");
    let words = [&before[..], &test].concat();
    let powerless = host.0.start_program("setpriv".as_ref(), &words);
    let powerless = powerless.finish(PATIENCE).with_code(3);
    powerless.assert_says("it needs CAP_NET_ADMIN in the network namespace");
    assert!(bitcost_host::journal::all(&host.state()).is_empty());
}
