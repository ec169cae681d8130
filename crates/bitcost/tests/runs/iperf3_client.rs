//! `bitcost test --peer iperf3`: tests with a stock server, and what is no server.

use crate::bench::*;
use crate::server::Owned;
use serde_json::json;
use std::net::TcpListener;

bitcost_testkit::trials! {
    PrivateNetwork: both_sides_count_the_same, what_is_no_server_is_named, a_server_that_is_stopped_is_named,
        a_search_tries_what_a_server_can_do;
}

const PORT: u16 = 5301;

/// A stock server that serves one client, and its document.
struct Stock(Owned);

impl Stock {
    fn start(port: u16, options: &[&str]) -> Stock {
        let mut server = Command::new("iperf3");
        server.args(["-s", "-J", "-p", &port.to_string()]);
        let piped = server.args(options).stdout(Stdio::piped());
        let Ok(server) = piped.stderr(Stdio::piped()).spawn() else {
            bitcost_testkit::ignore("iperf3 is not installed");
        };
        let server = Stock(Owned(server));
        let until = Instant::now() + Duration::from_secs(5);
        while !listens(port) {
            assert!(Instant::now() < until, "iperf3 does not listen");
            thread::sleep(Duration::from_millis(10));
        }
        server
    }

    fn document(mut self) -> Value {
        let mut text = String::new();
        let mut output = self.0.0.stdout.take().unwrap();
        output.read_to_string(&mut text).unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}

/// Whether the port is taken, without a connection, which a server would take for a client.
fn listens(port: u16) -> bool {
    let hex = format!(":{port:04X} ");
    let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
    let text = tables.map(|table| std::fs::read_to_string(table).unwrap_or_default());
    text.concat().lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        line.contains(&hex) && words.get(3) == Some(&"0A")
    })
}

/// Runs `bitcost test`; its exit code, standard output and standard error.
fn bitcost(options: &str) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bitcost"));
    command.arg("test").args(options.split_whitespace());
    command.args(["--peer", "iperf3", "--no-log"]);
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let [printed, said] = [output.stdout, output.stderr].map(text);
    (output.status.code(), printed, said)
}

/// The raw record of one end of the only run.
fn record(document: &Value, role: &str) -> Value {
    document["records"][0][role].clone()
}

/// A count of all flows of a part of an end, in the window and outside of it.
fn total(record: &Value, name: &str) -> u64 {
    let count = |phase| record["counts"][phase][name].as_u64().unwrap();
    count("measured") + count("outside")
}

/// How many of them run at the same time: each takes a second, most of which it waits.
const TOGETHER: usize = 4;

fn both_sides_count_the_same() {
    let all = [
        "tcp -t 1 --bidir",
        "tcp -t 1 -P 4",
        "tcp -t 1 -P 4 -R",
        "tcp -n 100M",
        "tcp -n 100000007 -P 4",
        "tcp -n 10MB -R",
        "udp -t 1 -b 8M -R",
        "udp -t 1 -b 8M --bidir -P 2",
        "udp -t 1 -b 8M -P 4",
        "udp -n 1000000 -b 20M",
    ];
    for some in all.chunks(TOGETHER) {
        thread::scope(|scope| {
            for (options, port) in some.iter().zip(PORT..) {
                scope.spawn(move || same_counts(options, port));
            }
        });
    }
}

fn same_counts(options: &str, port: u16) {
    let server = Stock::start(port, &["-1"]);
    let (code, printed, said) = bitcost(&format!("{options} 127.0.0.1:{port} --json --samples"));
    assert_eq!(code, Some(0), "{options}: {printed}{said}");
    let ours: Value = serde_json::from_str(&printed).unwrap();
    judge(options, &ours, &server.document());
}

/// The totals that a stock server prints: what it received and what it sent.
fn stock_totals(document: &Value) -> [u64; 2] {
    let streams = document["end"]["streams"].as_array().unwrap();
    let mut totals = [0; 2];
    for stream in streams {
        let (stream, sends) = match stream.get("udp") {
            Some(udp) => (udp, udp["sender"].as_bool().unwrap()),
            // The other half of a stream is what this client reported.
            None if stream["sender"]["sender"] == true => (&stream["sender"], true),
            None => (&stream["receiver"], false),
        };
        totals[usize::from(sends)] += stream["bytes"].as_u64().unwrap();
    }
    totals
}

fn judge(options: &str, ours: &Value, theirs: &Value) {
    let [received, sent] = stock_totals(theirs);
    let is_reverse = options.contains("-R");
    let (sender, receiver) = (record(ours, "sender"), record(ours, "receiver"));
    let (of_sender, of_receiver) = (total(&sender, "bytes"), total(&receiver, "bytes"));
    if !options.starts_with("udp") && !is_reverse {
        assert_eq!((of_sender, of_receiver), (received, received), "{options}");
    }
    if options.contains("-n 100M") {
        assert_eq!(of_sender, 100 << 20);
    }
    if is_reverse {
        assert_eq!(of_sender, sent, "{options}");
        // What was in flight at the end is not received where the client ends by bytes.
        let is_whole = of_receiver == sent || options.contains("-n");
        let is_right = is_whole && of_receiver <= sent;
        assert!(is_right, "{options}: {of_receiver} of {sent}");
    } else {
        // Stock servers print of datagrams what was sent, as far as they know.
        assert!(of_receiver > 0 && of_receiver <= of_sender, "{options}");
    }
    if options.starts_with("udp") && !is_reverse {
        let lost = receiver["sequence"]["total_lost"].as_u64();
        assert_eq!(lost, Some(0), "{options}: {receiver:#}");
    }
    if options.contains("--bidir") {
        let back = &receiver["background"][0];
        let here = &sender["background"][0];
        assert_eq!(total(back, "bytes"), sent, "{options}");
        assert_eq!(total(here, "bytes"), sent, "{options}");
    }
    let server = if is_reverse { &sender } else { &receiver };
    let cpu = server["iperf3"]["process_cpu_pct"][0].as_f64();
    assert!(cpu.is_some(), "{options}: {server:#}");
    assert_eq!(server["samples"].as_array().map(Vec::len), Some(0));
}

/// Answers the first connection with these bytes, and ends; further ones wait until the listener is dropped.
fn impostor(answer: &'static [u8]) -> TcpListener {
    let listener = TcpListener::bind(("127.0.0.1", PORT)).unwrap();
    let first = listener.try_clone().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = first.accept().unwrap();
        drop(first);
        let _ = stream.write_all(answer);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    });
    listener
}

fn what_is_no_server_is_named() {
    let options = format!("tcp -t 1 127.0.0.1:{PORT}");
    let (code, _, said) = bitcost(&options);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("nothing listens there"), "{said}");
    for (answer, named) in [
        (&b"\xff"[..], "is busy with another client"),
        (b"SSH-2.0-OpenSSH\r\n", "is not an iperf3 server"),
        (b"", "is not an iperf3 server"),
        (b"\x09\xfe\0\0\0\x1b\0\0\0\0", "iperf3's error 27"),
        (b"\x09\x0a\x01\x02\x0b", "was stopped in the middle"),
        (b"\x09\x0a\x63", "not expected here"),
    ] {
        let impostor = impostor(answer);
        let (code, _, said) = bitcost(&options);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(named), "{named}: {said}");
        drop(impostor);
        thread::sleep(Duration::from_millis(50));
    }
}

fn a_server_that_is_stopped_is_named() {
    let mut server = Stock::start(PORT, &[]);
    let ender = {
        let pid = Pid::from_child(&server.0.0);
        thread::spawn(move || {
            let connected = format!(":{PORT:04X} 01 ");
            let has_one = || {
                let all = fs::read_to_string("/proc/thread-self/net/tcp").unwrap();
                all.contains(&connected).then_some(())
            };
            eventually(Duration::from_secs(15), "a connection to it", has_one);
            thread::sleep(Duration::from_millis(1500));
            kill_process(pid, Signal::TERM)
        })
    };
    let (code, _, said) = bitcost(&format!("tcp -t 20 127.0.0.1:{PORT}"));
    ender.join().unwrap().unwrap();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("iperf3 server at 127.0.0.1:5301"), "{said}");
    let _ = server.0.0.wait();
}

fn a_search_tries_what_a_server_can_do() {
    let _server = Stock::start(PORT, &[]);
    let (code, printed, said) = bitcost(&format!("tcp -t 1 127.0.0.1:{PORT} --mode auto --json"));
    assert_eq!(code, Some(0), "{said}");
    let document: Value = serde_json::from_str(&printed).unwrap();
    let search = &document["mode_search"][0];
    assert_eq!(search["not_tried"], json!([]), "{search:#}");
    let kept = search["steps"].as_array().unwrap().iter().skip(1);
    let kept = kept.map(|step| &step["change"]);
    let all = search["not_kept"].as_array().unwrap().iter().chain(kept);
    let tried: Vec<&str> = all.map(|one| one["label"].as_str().unwrap()).collect();
    assert!(!tried.is_empty(), "{document:#}");
    assert!(
        tried.iter().all(|one| one.starts_with("--receive-buffer ")),
        "{tried:?}"
    );
}
