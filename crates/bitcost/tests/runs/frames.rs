//! Frames that no controller sends, to a real agent: it answers with an error or ends with one, and
//! its host is restored.

use crate::bench::*;
use std::ops::{Deref, DerefMut};
use std::process::ChildStdin;
use std::sync::mpsc::RecvTimeoutError;

use bitcost_model::conditions::Workload;
use bitcost_model::host_settings::{Flavour, HostSetting, MTU, SettingRequest, Stress};
use bitcost_model::protocol::{FRAME_BYTES_MAX, PROTOCOL, Prepare, Start, encode};
use bitcost_testkit::process::Family;

use crate::agent_process::AgentProcess;
use crate::confined::receiving;

bitcost_testkit::trials! {
    PrivateNetwork: frame_with_values_out_of_range_is_refused, repeated_idle_requests_start_one_thread, oversized_frame_ends_the_agent_with_an_error, repeated_messages_take_no_memory, an_agent_that_is_not_read_ends, receiver_count_above_sent_fails_the_run, low_open_files_limit_is_reported;
}

/// Time between two requests for a sign of life.
const ASK: Duration = Duration::from_millis(200);

/// The most memory that an agent may use here, in KiB.
const MEMORY_MAX_KIB: u64 = 64 << 10;

/// An agent with a veth of this network.
struct Agent {
    process: AgentProcess,
    family: Family,
    mtu_bytes: u32,
}

fn mtu() -> u32 {
    Rtnl::open().unwrap().link("a0").unwrap().mtu_bytes
}

impl Deref for Agent {
    type Target = AgentProcess;

    fn deref(&self) -> &AgentProcess {
        &self.process
    }
}

impl DerefMut for Agent {
    fn deref_mut(&mut self) -> &mut AgentProcess {
        &mut self.process
    }
}

impl Agent {
    fn start(wrap: &[&str]) -> Agent {
        if Rtnl::open().unwrap().link("a0").is_err() {
            bitcost_testkit::veth(3000);
        }
        let agent = [env!("CARGO_BIN_EXE_bitcost"), "agent", "--in-lab"];
        let words = [wrap, &agent].concat();
        let mut command = Command::new(words[0]);
        let family = Family::new();
        family.adopt(&mut command);
        command.args(&words[1..]).stderr(Stdio::piped());
        Agent {
            process: AgentProcess::start(&mut command),
            family,
            mtu_bytes: mtu(),
        }
    }

    /// Asks until the agent answers: if many answers are unread, some are dropped.
    fn assert_alive(&mut self, what: &str) {
        for _ in 0..PATIENCE.as_millis() / ASK.as_millis() {
            self.send(&ToAgent::Renew);
            loop {
                match self.output.recv_timeout(ASK) {
                    Ok(FromAgent::Alive) => return,
                    Ok(_) => {}
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => panic!("{what}: it has ended"),
                }
            }
        }
        panic!("{what}: no sign of life");
    }

    /// A line of its status, as a number.
    fn status(&self, name: &str) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let mut lines = text.lines();
        let line = lines.find_map(|line| line.strip_prefix(name)).expect(&text);
        let number = line.split_whitespace().nth(1);
        number.expect(&text).parse().unwrap()
    }

    fn assert_small(&self) {
        let most = self.status("VmHWM");
        assert!(most < MEMORY_MAX_KIB, "{most} KiB");
    }

    fn listening(&self) -> FromAgent {
        let is_it = |message: &FromAgent| matches!(message, FromAgent::Listening { .. });
        self.until("listening", is_it)
    }

    /// Closes the agent's input, and returns how it ended.
    fn end(mut self, what: &str) -> Output {
        self.input = None;
        let mtu_bytes = self.mtu_bytes;
        let family = self.family;
        let output = self.process.child.wait_with_output().unwrap();
        eventually(PATIENCE, &format!("{what}: no process is left"), || {
            family.members().is_empty().then_some(())
        });
        assert_eq!(mtu(), mtu_bytes, "{what}: the host is as before");
        output
    }
}

/// A run that the agent receives.
pub fn prepare(conditions: Conditions) -> Prepare {
    Prepare {
        token: [7; 16],
        ..receiving(conditions, "a0", Ipv4Addr::LOCALHOST)
    }
}

fn asking(change: impl FnOnce(&mut Conditions)) -> ToAgent {
    // The settings that were applied before the refusal would have to be reverted.
    let mut conditions = Conditions::default();
    MTU.ask(&mut conditions.host_settings, "1400").unwrap();
    change(&mut conditions);
    ToAgent::Prepare(Box::new(prepare(conditions)))
}

fn frame_with_values_out_of_range_is_refused() {
    let long = || "x".repeat(70_000);
    let stress = |c: &mut Conditions| {
        c.host_settings.push(SettingRequest {
            endpoint: None,
            setting: HostSetting::Stress(Stress {
                workers: u32::MAX,
                flavour: Flavour::Cpu,
                load_percent: 100,
                cpus: Vec::new(),
            }),
        });
    };
    let device = |request: &mut Conditions| request.places.receiver.device = Some(long());
    let parts = |count: usize| {
        let prepare = prepare(Conditions::default());
        ToAgent::Prepare(Box::new(Prepare {
            parts: vec![prepare.parts[0].clone(); count],
            ..prepare
        }))
    };
    let mut agent = Agent::start(&[]);
    let (length_ms, cpus) = (u32::MAX, vec![0; 10_000]);
    let flows = "flows is 4294967295; allowed: a whole number from 1 to 1000";
    let on_cpus = asking(|c| c.places.receiver.cpus.clone_from(&cpus));
    let frames: Vec<(ToAgent, &str)> = vec![
        (
            ToAgent::Describe { device: long() },
            "allowed: 1 to 15 bytes",
        ),
        (ToAgent::Idle { length_ms }, "at most 3600000 ms"),
        (asking(|c| c.flows = u32::MAX), flows),
        (asking(|c| c.warmup_ms = u32::MAX), "warmup_s is 4294967295"),
        (
            asking(stress),
            "`4294967295` is neither a number of workers from 1 to 1024",
        ),
        (asking(device), "15 bytes"),
        (on_cpus, "a list of 10000 CPUs"),
        (parts(65), "65 workloads at the same time"),
    ];
    for (frame, wanted) in &frames {
        let reason = agent.refusal(frame);
        assert!(reason.contains(wanted), "{wanted}: {reason}");
        assert_eq!(mtu(), agent.mtu_bytes, "{reason}");
    }
    agent.assert_alive("after all of them");
    agent.assert_small();
    let output = agent.end("refused");
    let is_quiet = output.status.success() && output.stderr.is_empty();
    assert!(is_quiet, "{output:?}");
}

fn repeated_idle_requests_start_one_thread() {
    let mut agent = Agent::start(&[]);
    let length_ms = 3_600_000;
    let frame = encode(&ToAgent::Idle { length_ms }).unwrap();
    for _ in 0..40 {
        agent.write(&frame.repeat(100));
    }
    agent.assert_alive("after 4 000 of them");
    let threads = agent.status("Threads");
    assert!(threads < 10, "{threads} threads");
    let output = agent.end("idle");
    assert!(output.status.success(), "{output:?}");
}

fn oversized_frame_ends_the_agent_with_an_error() {
    let mut agent = Agent::start(&[]);
    agent.write(&(FRAME_BYTES_MAX as u32 + 1).to_be_bytes());
    agent.write(br#"{"to_agent":"meet","addresses":["127.0.0.1:1"]}"#);
    let output = agent.end("too long");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_says(&said, &["a frame of 1048577 bytes; at most 1048576"]);
    assert!(matches!(output.status.code(), Some(1..=3)), "{output:?}");
}

fn repeated_messages_take_no_memory() {
    let mut agent = Agent::start(&[]);
    agent.send(&asking(|_| {}));
    agent.listening();
    let somewhere = std::net::SocketAddr::from(([127, 0, 0, 1], 9));
    let meet = ToAgent::Meet {
        addresses: vec![Some(somewhere); 50_000],
        origin: None,
    };
    let meet = encode(&meet).unwrap();
    (0..50).for_each(|_| agent.write(&meet));
    let said = |message: &FromAgent| matches!(message, FromAgent::Failed { reason, .. } if reason.contains("twice"));
    agent.until("a refusal", said);
    agent.assert_alive("after 50 of them");
    agent.assert_small();
    let output = agent.end("again");
    assert!(output.status.success(), "{output:?}");
}

fn an_agent_that_is_not_read_ends() {
    let mtu_bytes = Agent::start(&[]).mtu_bytes;
    let mut child = Command::new(env!("CARGO_BIN_EXE_bitcost"))
        .args(["agent", "--in-lab"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let hello = ToAgent::Hello {
        protocol: PROTOCOL,
        version: "test".to_owned(),
    };
    let first = [&hello, &asking(|_| {})].map(|message| encode(message).unwrap());
    input.write_all(&first.concat()).unwrap();
    let questions = encode(&ToAgent::Clock).unwrap().repeat(10_000);
    let is_taken = |input: &mut ChildStdin| input.write_all(&questions).is_ok();
    assert!((0..100).any(|_| !is_taken(&mut input)), "it goes on");
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("has read nothing for 5 s"), "{said}");
    assert!(output.stdout.len() < 2 << 20);
    assert_eq!(mtu(), mtu_bytes, "the host is as before");
}

/// The test plays the sender: it sends 20 messages without numbers and reports that it sent 10.
fn receiver_count_above_sent_fails_the_run() {
    let mut agent = Agent::start(&[]);
    let conditions = Conditions {
        workload: Workload::UdpStream,
        message_size_bytes: 4,
        ..Conditions::default()
    };
    agent.send(&ToAgent::Prepare(Box::new(prepare(conditions))));
    let FromAgent::Listening { addresses, .. } = agent.listening() else {
        unreachable!()
    };
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(addresses[0].unwrap()).unwrap();
    let hello = [&[0xBF, 0, 0, 0, 0, 0, 0, 0][..], &[7; 16]].concat();
    agent.send(&ToAgent::Meet {
        addresses: vec![None],
        origin: None,
    });
    socket.send(&hello).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut cookie = [0; 64];
    let length = socket.recv(&mut cookie).unwrap();
    assert_eq!(length, hello.len());
    socket.send(&cookie[..length]).unwrap();
    agent.until("ready", |message| *message == FromAgent::Ready);
    for _ in 0..20 {
        socket.send(&[7; 4]).unwrap();
    }
    agent.send(&ToAgent::Clock);
    let is_clock = |message: &FromAgent| matches!(message, FromAgent::Clock { .. });
    let FromAgent::Clock { now_ns } = agent.until("clock", is_clock) else {
        unreachable!()
    };
    let at = |ms: u64| now_ns + ms * 1_000_000;
    let [begin_ns, window_start_ns, window_end_ns, stop_ns] = [10, 20, 1500, 1510].map(at);
    agent.send(&ToAgent::Start(Start {
        begin_ns,
        window_start_ns,
        window_end_ns,
        stop_ns,
    }));
    let has_all = |message: &FromAgent| matches!(message, FromAgent::Progress(sample) if sample.counts.messages == 20);
    agent.until("all messages", has_all);
    agent.until("the window's end", |message| {
        matches!(message, FromAgent::Sent { .. })
    });
    let reason = agent.refusal(&ToAgent::Finish {
        sent: vec![vec![[10, 10]]],
    });
    let counted = "the receiver counted 20 datagrams and the sender sent 10";
    assert!(reason.starts_with(counted), "{reason}");
    agent.end("more than sent");
}

fn low_open_files_limit_is_reported() {
    let mut agent = Agent::start(&["sh", "-c", "ulimit -n 64; exec \"$@\"", "sh"]);
    let reason = agent.obstacle(&asking(|_| {}));
    let needs = "a run of 1 flow needs 72 open files at each end";
    assert!(reason.starts_with(needs), "{reason}");
    assert_says(&reason, &["allows 64; raise its hard limit"]);
    assert!(!reason.contains("ask for at most"), "{reason}");
    agent.end("few files");
}
