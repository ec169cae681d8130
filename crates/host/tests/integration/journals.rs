//! Journals that are not as they were written, or not journals at all: recovered in a private
//! network namespace.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use bitcost_host::journal::{Entry, Header, line, path_here, read_at};
use bitcost_host::recovery::{check_restored, found, recover};
use bitcost_host::{Change, Outcome, Values, single};
use bitcost_sys::netlink::Rtnl;
use bitcost_testkit::{assert_says, veth};
use rustix::fs::{CWD, FileType, mknodat};

/// Journals that are changed at random.
const MUTANTS: u64 = 200;

bitcost_testkit::trials! { PrivateNetwork:
    randomly_damaged_journal_is_kept_unless_intact_and_settled,
    header_with_a_changed_bit_does_not_lose_the_network,
    irregular_files_are_reported_and_kept;
}

fn set_mtu(bytes: u32) {
    let mut rtnl = Rtnl::open().unwrap();
    let index = rtnl.link("a0").unwrap().index;
    rtnl.set_mtu(index, bytes).unwrap();
}

fn mtu() -> u32 {
    Rtnl::open().unwrap().link("a0").unwrap().mtu_bytes
}

fn change(number: u32, knob: &str, subject: &str, [before, asked]: [&str; 2]) -> Change {
    let (knob, subject) = (knob.to_owned(), subject.to_owned());
    let (before, asked) = (single(before), single(asked));
    Change {
        number,
        knob,
        subject,
        index: None,
        before,
        asked,
        after: None,
        side_effects: Values::new(),
        side_effects_after: None,
    }
}

/// The lines of a journal that changed an MTU and a sysctl.
fn lines(header: &Header) -> Vec<Vec<u8>> {
    let mtu = change(1, "mtu_bytes", "a0", ["3000", "1400"]);
    let sack = change(2, "sysctl", "net.ipv4.tcp_sack", ["1", "0"]);
    let made = Change {
        after: Some(single("1400")),
        ..mtu.clone()
    };
    let steps = [
        Entry::Header(header.clone()),
        Entry::Intent(mtu),
        Entry::Made(made),
        Entry::Intent(sack),
    ];
    steps.iter().map(|step| line(step).unwrap()).collect()
}

/// A small generator (xorshift); the seed is the number of the journal.
fn random(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |most| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % most as u64) as usize
    }
}

/// The journal with one change, and whether only a bit was changed.
fn mutant(mut lines: Vec<Vec<u8>>, random: &mut impl FnMut(usize) -> usize) -> (Vec<u8>, bool) {
    let (way, at, other) = (random(8), random(lines.len()), random(lines.len()));
    match way {
        0 => drop(lines.remove(at)),
        1 => lines.insert(other, lines[at].clone()),
        2 => lines.swap(at, other),
        _ => {}
    }
    let mut bytes = lines.concat();
    match way {
        3 => bytes.truncate(random(bytes.len())),
        4 => {
            let byte = random(256) as u8;
            bytes.insert(random(bytes.len()), byte);
        }
        5.. => {
            let bit = random(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        _ => {}
    }
    (bytes, way >= 5)
}

fn randomly_damaged_journal_is_kept_unless_intact_and_settled() {
    veth(3000);
    let folder = tempfile::tempdir().unwrap();
    let here = Header::now(1);
    let headers = [
        here.clone(),
        Header {
            boot: "another".to_owned(),
            is_first_network: false,
            ..here.clone()
        },
        Header {
            network: Some(u64::MAX),
            ..here
        },
    ];
    let path = folder.path().join("x.journal");
    for seed in 0..MUTANTS {
        let mut random = random(seed + 1);
        let (bytes, is_bit) = mutant(lines(&headers[random(headers.len())]), &mut random);
        fs::write(&path, &bytes).unwrap();
        let contents = read_at(&path).unwrap();
        let recovered = recover(folder.path()).unwrap().remove(0);
        let is_settled = recovered.outcomes.iter().all(Outcome::is_settled);
        if contents.hides_changes {
            assert_eq!(
                fs::read(&path).ok().as_ref(),
                Some(&bytes),
                "journal {seed} is kept as it was"
            );
            assert!(!recovered.problems.is_empty(), "journal {seed} is named");
        } else {
            let is_elsewhere = recovered
                .problems
                .iter()
                .any(|why| why.contains("of another network namespace"));
            assert_eq!(
                path.exists(),
                is_elsewhere || !is_settled,
                "journal {seed}: {recovered:?}"
            );
        }
        assert!(
            contents.hides_changes || !is_bit,
            "journal {seed}: the changed bit is found"
        );
    }
}

fn header_with_a_changed_bit_does_not_lose_the_network() {
    veth(3000);
    set_mtu(1400);
    let folder = tempfile::tempdir().unwrap();
    let whole = lines(&Header::now(1)).concat();
    for word in ["\"boot\":\"", "\"network\":"] {
        let text = String::from_utf8(whole.clone()).unwrap();
        let mut bytes = whole.clone();
        bytes[text.find(word).unwrap() + word.len()] ^= 1;
        let path = path_here(folder.path());
        fs::write(&path, &bytes).unwrap();
        let recovered = recover(folder.path()).unwrap().remove(0);
        assert!(recovered.outcomes.is_empty(), "{recovered:?}");
        let said = recovered.problems.join("\n");
        assert_says(
            &said,
            &["line 1 is damaged: its checksum is wrong", "kept, since"],
        );
        assert_eq!(fs::read(&path).unwrap(), bytes);
        assert!(
            check_restored(folder.path())
                .is_err_and(|why| why.0.contains("what it changed on this host is unknown"))
        );
    }
    assert_eq!(mtu(), 1400);
}

fn irregular_files_are_reported_and_kept() {
    veth(3000);
    set_mtu(1400);
    type Make = fn(&Path);
    let makes: [(&str, Make); 4] = [
        ("a symbolic link", |path| {
            symlink(path.with_file_name("target"), path).unwrap();
        }),
        ("a symbolic link", |path| {
            symlink("/dev/zero", path).unwrap();
        }),
        ("a FIFO", |path| {
            mknodat(CWD, path, FileType::Fifo, 0o600.into(), 0).unwrap();
        }),
        ("a folder", |path| fs::create_dir(path).unwrap()),
    ];
    for (what, make) in makes {
        let folder = tempfile::tempdir().unwrap();
        let [path, target] = ["x.journal", "target"].map(|name| folder.path().join(name));
        // The last line is incomplete: a process that holds the journal would remove it.
        let mut bytes = lines(&Header::now(1)).concat();
        bytes.extend(b"half a line");
        fs::write(&target, &bytes).unwrap();
        make(&path);
        let recovered = recover(folder.path()).unwrap().remove(0);
        assert!(recovered.outcomes.is_empty(), "{recovered:?}");
        assert!(recovered.problems[0].contains(what), "{recovered:?}");
        assert_eq!(
            fs::read(&target).unwrap(),
            bytes,
            "nothing behind it is cut"
        );
        assert!(fs::symlink_metadata(&path).is_ok());
        let found = found(folder.path()).unwrap();
        assert!(found[0].contents.unread[0].contains(what), "{found:?}");
        assert!(check_restored(folder.path()).is_err_and(|why| why.0.contains(what)));
    }
    assert_eq!(mtu(), 1400);
}
