//! Logs of untrusted users: what they name is not started unasked.

use crate::bench::*;
use std::os::unix::fs::chown;

use bitcost_execute::store::Writer;
use bitcost_model::event::{NamedHost, NamedHosts};

bitcost_testkit::trials! {
    Host: programs_named_by_a_log_are_checked_first, files_of_another_user_start_nothing_unless_trusted;
}

/// An ordinary user.
const NOBODY: u32 = 65534;

/// An ssh configuration that leaves a mark when it is used.
struct Traps {
    bench: Bench,
}

impl Traps {
    fn new() -> Traps {
        let bench = Bench::new();
        let at = bench.path().display();
        bench.write("small.toml", SMALL);
        let config = format!("Match exec \"touch {at}/mark\"\n HostName 127.0.0.1\n");
        bench.write("ssh_config", &config);
        Traps { bench }
    }

    fn path(&self, name: &str) -> String {
        self.bench.path().join(name).to_str().unwrap().to_owned()
    }

    fn mark(&self) -> PathBuf {
        self.bench.path().join("mark")
    }

    /// A log of `events` in a new folder.
    fn execution(&self, name: &str, events: &[Event]) -> PathBuf {
        let mut writer = Writer::create(self.bench.path(), name, 0).unwrap();
        for event in events {
            writer.append(event).unwrap();
        }
        writer.folder().to_owned()
    }

    /// Resumes the execution in a folder; returns the result, and whether a mark was left.
    fn resumed(&self, folder: &Path, more: &[&str]) -> (Done, bool) {
        let words = [&["run", "--resume", folder.to_str().unwrap()], more];
        let done = self.bench.bitcost(&words.concat());
        let is_marked = fs::remove_file(self.mark()).is_ok();
        (done, is_marked)
    }

    /// Asserts that the command is refused with these words, and that nothing was started.
    fn refused(&self, folder: &Path, code: i32, says: &[&str]) {
        let (done, is_marked) = self.resumed(folder, &[]);
        assert_eq!((done.code, is_marked), (Some(code), false), "{done:?}");
        assert_says(&done.stderr, says);
    }
}

/// The events of an execution, with its place changed.
fn changed(events: &[Event], mut change: impl FnMut(&mut NamedHosts)) -> Vec<Event> {
    let mut events = events.to_vec();
    for event in &mut events {
        if let Event::Prepared { lab, hosts, .. } = event {
            let host = |place: &str| NamedHost {
                place: place.to_owned(),
                device: None,
            };
            let named = hosts.insert(NamedHosts {
                sender: host("local"),
                receiver: host("ssh:web"),
                ..NamedHosts::default()
            });
            *lab = None;
            change(named);
        }
    }
    events
}

/// Errors of a log that the command line would refuse, and another machine, are found before ssh is
/// started.
fn programs_named_by_a_log_are_checked_first() {
    if Command::new("ssh").arg("-V").output().is_err() {
        bitcost_testkit::ignore("ssh is not installed");
    }
    let traps = Traps::new();
    let one_block = ["run", "small.toml", "--blocks", "1"];
    traps.bench.bitcost(&one_block).assert_code(0);
    let events = traps.bench.log().events;
    let config = traps.path("ssh_config");
    let with = |change: &dyn Fn(&mut NamedHosts)| {
        changed(&events, |hosts| {
            hosts.ssh_config = Some(config.clone());
            change(hosts);
        })
    };
    let folder = traps.execution("trap", &with(&|_| ()));
    let (done, is_marked) = traps.resumed(&folder, &[]);
    // The trap works.
    assert!(is_marked && done.code != Some(0), "{done:?}");
    let named = format!(
        "the log names what is started: agents at local (sender) and ssh:web (receiver); by ssh with the configuration {config}"
    );
    done.assert_says(&named);
    let hostile = format!("true; touch {}; x", traps.mark().display());
    let refused = |name: &str, events: &[Event], code: i32, says: &[&str]| {
        traps.refused(&traps.execution(name, events), code, says);
    };
    let program = with(&|hosts| hosts.remote_program = Some(hostile.clone()));
    let says = ["the log names --remote-program", "allowed: letters"];
    refused("program", &program, 2, &says);
    let option = with(&|hosts| hosts.ssh_config = Some("-oProxyCommand=x".to_owned()));
    refused("config", &option, 2, &["the log names --ssh-config"]);
    let mut elsewhere = with(&|_| ());
    for event in &mut elsewhere {
        if let Event::Prepared { endpoints, .. } = event {
            endpoints[0].host.kernel = "2.6.18".to_owned();
        }
    }
    let says = ["sender: kernel: was 2.6.18, is "];
    refused("machine", &elsewhere, 3, &says);
}

fn files_of_another_user_start_nothing_unless_trusted() {
    if effective_uid() != 0 {
        bitcost_testkit::ignore("only root can make files of another user");
    }
    let traps = Traps::new();
    let one_block = ["run", "small.toml", "--blocks", "1"];
    traps.bench.bitcost(&one_block).assert_code(0);
    let config = traps.path("ssh_config");
    let events = changed(&traps.bench.log().events, |hosts| {
        hosts.ssh_config = Some(config.clone())
    });
    let folder = traps.execution("foreign", &events);
    let log = folder.join(bitcost_execute::store::LOG_NAME);
    let says = [
        "belongs to user 65534",
        "nothing was started",
        "ssh:web (receiver)",
        &config,
        "add --trust",
    ];
    let own = |path: &Path, uid: u32| chown(path, Some(uid), Some(uid)).unwrap();
    for path in [&folder, &log, Path::new(&config)] {
        own(path, NOBODY);
        traps.refused(&folder, 2, &says);
        own(path, 0);
    }
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    traps.refused(&folder, 2, &["may be written by every user", "add --trust"]);
    let (done, is_marked) = traps.resumed(&folder, &["--trust"]);
    assert!(is_marked && done.code == Some(3), "{}", done.stderr);
    let own_lab = traps.bench.execution();
    own(&own_lab, NOBODY);
    traps.refused(&own_lab, 2, &["agents in the embedded lab", "add --trust"]);
    let (done, _) = traps.resumed(&own_lab, &["--trust"]);
    done.assert_code(0);
    traps.bench.assert_nothing_left();
}
