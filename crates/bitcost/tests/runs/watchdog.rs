//! The settings of the host are restored whichever process dies. In a private network, with the
//! real agent and watchdog.

use crate::bench::*;
use std::ops::{Deref, DerefMut};

use bitcost_host::{KNOBS, Values};
use bitcost_model::host_settings::{MTU, OFFLOADS, QDISC, SYSCTL};
use bitcost_testkit::process::Family;

use crate::agent_process::AgentProcess;
use crate::frames::prepare;

bitcost_testkit::trials! {
    PrivateNetwork: changes_are_journalled_shown_and_restored, killed_watchdog_ends_the_run_and_the_host_is_restored, stopped_agent_or_watchdog_is_ended_by_the_other, journal_restores_after_agent_and_watchdog_died, foreign_change_is_left_by_the_watchdog, host_in_use_is_refused;
}

/// A veth, a state folder, and the processes started.
struct Bench {
    folder: tempfile::TempDir,
    family: Family,
    before: Vec<(String, Values)>,
}

impl Bench {
    fn new() -> Bench {
        bitcost_testkit::veth(3000);
        let mut rtnl = Rtnl::open().unwrap();
        for name in ["a0", "b0"] {
            let index = rtnl.link(name).unwrap().index;
            rtnl.set_up(index, true).unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        Bench {
            folder,
            family: Family::new(),
            before: observed(),
        }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bitcost"));
        let state = self.folder.path().join("state");
        command.args(words).env("BITCOST_STATE_DIR", state);
        self.family.adopt(&mut command);
        command
    }

    fn bitcost(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// What `bitcost host` prints with these words.
    fn host(&self, words: &[&str]) -> String {
        String::from_utf8(self.bitcost(&[&["host"], words].concat()).stdout).unwrap()
    }

    fn wait_until_empty(&self, what: &str) {
        eventually(PATIENCE, &format!("{what}: no process is left"), || {
            self.family.members().is_empty().then_some(())
        });
    }

    fn journals(&self) -> Vec<PathBuf> {
        bitcost_host::journal::all(&self.folder.path().join("state"))
    }

    /// Asserts that every value is as before, that no change is journalled, and that no process is
    /// left.
    fn assert_as_before(&self, what: &str) {
        self.wait_until_empty(what);
        assert_eq!(observed(), self.before, "{what}");
        assert_eq!(self.journals(), Vec::<PathBuf>::new(), "{what}");
    }
}

/// Every value of every knob of this network, and what other programs print of the device.
fn observed() -> Vec<(String, Values)> {
    let of_knob = |knob: &'static dyn bitcost_host::Knob| {
        knob.subjects().into_iter().filter_map(move |subject| {
            let name = format!("{} {subject}", knob.name());
            Some((name, knob.observe(&subject).ok()?))
        })
    };
    let mut all: Vec<(String, Values)> = KNOBS.iter().flat_map(|knob| of_knob(*knob)).collect();
    for line in [
        "ethtool -k a0",
        "tc qdisc show dev a0",
        "ip -o link show a0",
    ] {
        let words = split(line);
        if let Ok(output) = Command::new(words[0]).args(&words[1..]).output() {
            let shown = String::from_utf8_lossy(&output.stdout);
            all.push((line.to_owned(), bitcost_host::single(shown)));
        }
    }
    all
}

struct Agent(AgentProcess);

impl Deref for Agent {
    type Target = AgentProcess;

    fn deref(&self) -> &AgentProcess {
        &self.0
    }
}

impl DerefMut for Agent {
    fn deref_mut(&mut self) -> &mut AgentProcess {
        &mut self.0
    }
}

impl Agent {
    fn start(bench: &Bench) -> Agent {
        let mut command = bench.command(&["agent"]);
        Agent(AgentProcess::start(command.stderr(Stdio::null())))
    }

    /// A run with many settings.
    fn settings() -> ToAgent {
        let mut conditions = Conditions::default();
        let sysctls = "net.ipv4.tcp_rmem=4096 65536 524288, net.ipv4.tcp_sack=0";
        for (setting, asked) in [
            (&MTU, "1400"),
            (&OFFLOADS, "off"),
            (&QDISC, "tbf rate 100M"),
            (&SYSCTL, sysctls),
        ] {
            setting.ask(&mut conditions.host_settings, asked).unwrap();
        }
        ToAgent::Prepare(Box::new(prepare(conditions)))
    }

    /// Asks for that run; the agent waits for its peer once they are in effect.
    fn applied(&mut self) {
        self.send(&Agent::settings());
        let is_answer = |message: &FromAgent| {
            use FromAgent::{Failed, Listening};
            matches!(message, Listening { .. } | Failed { .. })
        };
        if let FromAgent::Failed { reason, .. } = self.until("listening", is_answer) {
            panic!("{reason}");
        }
        let sack = fs::read_to_string("/proc/sys/net/ipv4/tcp_sack").unwrap();
        assert_ne!(sack.trim(), "1");
    }

    /// Closes the agent's input, as the death of the controller does.
    fn let_go(&mut self) {
        self.input = None;
    }

    fn kill(&self) {
        kill(self.child.id());
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.wait();
    }
}

fn kill(pid: u32) {
    let _ = kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL);
}

fn stop(pid: u32) {
    kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::STOP).unwrap();
}

/// Whether all threads of a process are stopped by a signal (state `T`, proc_pid_stat(5)).
fn is_stopped(pid: u32) -> bool {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    tasks.flatten().all(|task| {
        let stat = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        stat.rsplit(") ")
            .next()
            .is_some_and(|rest| rest.starts_with('T'))
    })
}

/// The watchdogs that were started here.
fn watchdogs(bench: &Bench) -> Vec<u32> {
    bench.family.members_with("host-watchdog", "a0")
}

fn changes_are_journalled_shown_and_restored() {
    let bench = Bench::new();
    let mut agent = Agent::start(&bench);
    agent.applied();
    let shown = bench.host(&["show"]);
    let mtu = "mtu_bytes of a0: value 3000 → 1400";
    assert_says(&shown, &["held by a run", mtu, "qdisc of a0"]);
    assert_says(&shown, &["net.ipv4.tcp_rmem"]);
    let json: Value = serde_json::from_str(&bench.host(&["show", "--json"])).unwrap();
    assert_eq!(json["settings"]["mtu_bytes"]["a0"]["value"], "1400");
    let pending = json["journals"][0]["pending"].as_array();
    assert_eq!(pending.map(Vec::len), Some(5));
    let restored = bench.host(&["restore"]);
    assert_says(&restored, &["held by bitcost with process"]);
    agent.send(&ToAgent::Stop);
    agent.until("stopped", |message| matches!(message, FromAgent::Stopped));
    assert_eq!(observed(), bench.before);
    agent.applied();
    agent.let_go();
    bench.assert_as_before("the controller let go");
}

fn killed_watchdog_ends_the_run_and_the_host_is_restored() {
    let bench = Bench::new();
    for seed in 0..4 {
        let mut agent = Agent::start(&bench);
        agent.applied();
        watchdogs(&bench).into_iter().for_each(kill);
        let status = agent.child.wait().unwrap();
        assert_eq!(status.code(), Some(3), "seed {seed}");
        drop(agent);
        bench.assert_as_before("watchdog killed");
    }
}

fn stopped_agent_or_watchdog_is_ended_by_the_other() {
    let bench = Bench::new();
    for agent_stops in [true, false] {
        let mut agent = Agent::start(&bench);
        agent.applied();
        if agent_stops {
            stop(agent.child.id());
        } else {
            stop(watchdogs(&bench)[0]);
            agent.let_go();
        }
        eventually(PATIENCE, "the agent ends", || {
            agent.child.try_wait().unwrap()
        });
        drop(agent);
        bench.assert_as_before(&format!("stopped; the agent: {agent_stops}"));
    }
}

fn journal_restores_after_agent_and_watchdog_died() {
    let bench = Bench::new();
    let mut agent = Agent::start(&bench);
    agent.applied();
    // Neither may act on the other's death. The agent is the one that is stopped: a stopped
    // watchdog would be continued by the kernel when the agent's end leaves it in an orphaned
    // process group (exit(3p)).
    let agent_pid = agent.child.id();
    stop(agent_pid);
    eventually(PATIENCE, "the agent stops", || {
        is_stopped(agent_pid).then_some(())
    });
    watchdogs(&bench).into_iter().for_each(kill);
    eventually(PATIENCE, "the watchdog ends", || {
        watchdogs(&bench).is_empty().then_some(())
    });
    agent.kill();
    drop(agent);
    bench.wait_until_empty("both are gone");
    assert_ne!(observed(), bench.before);
    assert_eq!(bench.journals().len(), 1);
    let mut agent = Agent::start(&bench);
    let refusal = agent.obstacle(&Agent::settings());
    assert!(refusal.contains("bitcost host restore"), "{refusal}");
    drop(agent);
    for words in ["test tcp -t 100ms", "run not-all-mbits"] {
        let refused = bench.bitcost(&split(words));
        assert_eq!(refused.status.code(), Some(3), "{refused:?}");
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_says(&said, &["bitcost host restore"]);
    }
    assert_says(&bench.host(&["show"]), &["left by an interrupted run"]);
    let restored = bench.bitcost(&["host", "restore"]);
    assert_eq!(restored.status.code(), Some(0), "{restored:?}");
    bench.assert_as_before("restored by hand");
}

fn foreign_change_is_left_by_the_watchdog() {
    let bench = Bench::new();
    let mut agent = Agent::start(&bench);
    agent.applied();
    let mut rtnl = Rtnl::open().unwrap();
    let index = rtnl.link("a0").unwrap().index;
    rtnl.set_mtu(index, 2000).unwrap();
    agent.kill();
    drop(agent);
    bench.wait_until_empty("killed");
    assert_eq!(rtnl.link("a0").unwrap().mtu_bytes, 2000);
    let left = "changed by another program and is left at 2000 (before: 3000)";
    assert_says(&bench.host(&["show"]), &[left]);
    rtnl.set_mtu(index, 3000).unwrap();
    bench.assert_as_before("but for the foreign MTU");
}

fn host_in_use_is_refused() {
    let bench = Bench::new();
    let mut first = Agent::start(&bench);
    first.applied();
    let mut second = Agent::start(&bench);
    let refusal = second.obstacle(&Agent::settings());
    let wanted = format!("held by bitcost with process {}, since", first.child.id());
    assert!(refusal.contains(&wanted), "{refusal}");
    drop((second, first));
    bench.assert_as_before("both ended");
}
