//! Connections that other programs hold: here this test's own, which are another program's to bitcost.

use crate::bench::*;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};

bitcost_testkit::trials! {
    Host: program_that_offers_little_is_named_and_its_log_is_an_execution, small_write_after_another_is_held_back, reader_that_does_not_read_is_named, both_ends_are_read_where_the_other_is_named, idle_connection_moves_nothing, connection_that_ends_is_read_until_then, what_is_not_there_is_an_error, watched_connection_has_its_program_and_limiter, connections_are_listed_each_second;
    PrivateNetwork: overloaded_udp_receiver_is_named, process_is_read_in_its_network_namespace, what_the_other_host_lacks_is_said;
}

/// Connects two threads of this process, which work until they are dropped.
pub struct Pair {
    /// The addresses of the client and of the server.
    pub ends: [SocketAddr; 2],
    is_over: &'static AtomicBool,
}

impl Pair {
    fn new(
        client: impl FnOnce(TcpStream, &AtomicBool) + Send + 'static,
        server: impl FnOnce(TcpStream, &AtomicBool) + Send + 'static,
    ) -> Pair {
        let is_over: &'static AtomicBool = Box::leak(Box::default());
        let listening = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listening.local_addr().expect("its address");
        let connected = TcpStream::connect(address).expect("connects");
        let own = connected.local_addr().expect("its address");
        let (accepted, _) = listening.accept().expect("accepts");
        thread::spawn(move || client(connected, is_over));
        thread::spawn(move || server(accepted, is_over));
        Pair {
            ends: [own, address],
            is_over,
        }
    }

    /// A client that writes 20 kB every 10 ms.
    pub fn slow() -> Pair {
        Pair::of_writes(20_000)
    }

    /// The same with as many bytes.
    pub fn of_writes(bytes: usize) -> Pair {
        let write = move |mut stream: TcpStream, is_over: &AtomicBool| {
            // Nagle's algorithm would hold a write back where a busy machine acknowledges the last one late.
            stream.set_nodelay(true).unwrap();
            while !is_over.load(Ordering::Relaxed) {
                let _ = stream.write_all(&vec![0; bytes]);
                thread::sleep(Duration::from_millis(10));
            }
        };
        Pair::new(write, read_all)
    }

    /// The connection from one end to the other.
    fn from(&self, end: usize) -> String {
        format!("{}-{}", self.ends[end], self.ends[1 - end])
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

fn read_all(mut stream: TcpStream, _: &AtomicBool) {
    let mut buffer = vec![0; 1 << 16];
    while stream.read(&mut buffer).is_ok_and(|count| count > 0) {}
}

fn write_all(mut stream: TcpStream, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        let _ = stream.write_all(&[0; 1 << 17]);
    }
}

fn read_seldom(mut stream: TcpStream, is_over: &AtomicBool) {
    let mut buffer = vec![0; 1 << 16];
    while !is_over.load(Ordering::Relaxed) && stream.read(&mut buffer).is_ok() {
        thread::sleep(Duration::from_millis(30));
    }
}

fn wait(_: TcpStream, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(10));
    }
}

/// What bitcost explains of this connection, and the document of the execution that it keeps.
fn explained(bench: &Bench, connection: &str) -> (Done, Value) {
    explained_with(bench, connection, "--clone")
}

/// The same with more words.
fn explained_with(bench: &Bench, connection: &str, more: &str) -> (Done, Value) {
    let words = ["explain", "--connection", connection, "-t", "1500ms"];
    let words = words.into_iter().chain(more.split(' '));
    let done = bench.bitcost(&words.collect::<Vec<_>>());
    let shown = bench.bitcost(&["show", &bench.execution_name(), "--json"]);
    (done, shown.with_code(0).json())
}

fn limiter(connection: &str) -> Value {
    explained(&Bench::new(), connection).1["bottleneck"]["limiter"].clone()
}

fn program_that_offers_little_is_named_and_its_log_is_an_execution() {
    let (pair, bench) = (Pair::slow(), Bench::new());
    let (done, document) = explained(&bench, &pair.from(0));
    assert_eq!(document["bottleneck"]["limiter"], "sender_application");
    assert_eq!(document["bottleneck"]["confidence"], "likely");
    let done = done.with_code(0);
    done.assert_prints("the receiver's end was not read");
    done.assert_prints("the same traffic: bitcost test tcp 127.0.0.1");
    let other = Bench::new();
    explained(&other, &pair.from(0));
    let folders = [bench.execution_name(), other.execution_name()];
    let compared = bench.bitcost(&["compare", &folders[0], &folders[1]]);
    compared.with_code(0);
    let page = ["report", &folders[0], "-o", "page.html"];
    bench.bitcost(&page).with_code(0);
    assert!(bench.contents().contains(&"page.html".to_owned()));
}

fn small_write_after_another_is_held_back() {
    let pair = Pair::new(
        |mut stream, is_over| {
            let mut answer = [0; 16];
            while !is_over.load(Ordering::Relaxed) {
                let _ = stream.write_all(&[0; 4]);
                let _ = stream.write_all(&[0; 200]);
                let _ = stream.read_exact(&mut answer);
            }
        },
        |mut stream, is_over| {
            let mut request = [0; 204];
            while !is_over.load(Ordering::Relaxed) && stream.read_exact(&mut request).is_ok() {
                let _ = stream.write_all(&[0; 16]);
            }
        },
    );
    assert_eq!(limiter(&pair.from(0)), "nagle");
}

fn reader_that_does_not_read_is_named() {
    let pair = Pair::new(write_all, read_seldom);
    assert_eq!(limiter(&pair.from(1)), "receiver_application");
}

/// A reader that does not read is named at its own end, also where the other one was asked for.
fn both_ends_are_read_where_the_other_is_named() {
    let pair = Pair::new(write_all, read_seldom);
    let bench = Bench::new();
    let (done, document) = explained_with(&bench, &pair.from(0), "--at local");
    let done = done.with_code(0);
    assert!(!done.stdout.contains("not read"), "{}", done.stdout);
    assert_eq!(document["bottleneck"]["limiter"], "receiver_application");
    let waiting = "a quarter of the receive buffer waiting for the program";
    done.assert_prints(waiting);
    for end in ["sender", "receiver"] {
        assert_eq!(document["hosts"][end]["place"], "local");
    }
}

fn idle_connection_moves_nothing() {
    let pair = Pair::new(wait, wait);
    let (_, document) = explained(&Bench::new(), &pair.from(0));
    assert_eq!(document["bottleneck"]["limiter"], "unknown");
    let why = document["bottleneck"]["detail"].as_str().expect("why");
    assert!(why.starts_with("nothing moved"), "{why}");
}

fn connection_that_ends_is_read_until_then() {
    let bench = Bench::new();
    let pair = Pair::slow();
    let words = ["explain", "--connection", &pair.from(0), "-t", "60s"];
    let running = bench.start(&words);
    thread::sleep(Duration::from_millis(2500));
    drop(pair);
    let done = running.finish(PATIENCE).with_code(0);
    done.assert_prints("the connection ended");
    done.assert_prints("sender's program");
}

fn what_is_not_there_is_an_error() {
    let bench = Bench::new();
    let mut idle = std::process::Command::new("sleep")
        .arg("20")
        .spawn()
        .unwrap();
    let of_idle = idle.id().to_string();
    for (words, code, why) in [
        (["--pid", &of_idle], 3, "has no TCP or UDP connection open"),
        (["--connection", ":9"], 3, "no such connection is open"),
        (["--connection", "localhost:80"], 2, "is no address"),
        (["--pid", "4194304"], 3, "there is no process 4194304"),
        (["--pid=1", "--sudo"], 2, "--at"),
    ] {
        let done = bench.bitcost(&[&["explain", "-t", "1s"], &words[..]].concat());
        done.with_code(code).assert_says(why);
    }
    idle.kill().unwrap();
    idle.wait().unwrap();
    assert!(bench.contents().is_empty());
}

fn process_is_read_in_its_network_namespace() {
    let bench = Bench::new();
    let pair = Pair::slow();
    let own = std::process::id().to_string();
    let (connection, port) = (pair.from(0), pair.ends[1].port().to_string());
    let explain = ["explain", "--connection", &connection];
    for words in [&explain[..], &["watch", "--once", "--port", &port]] {
        let bitcost = program();
        let bitcost = bitcost.to_str().expect("a path");
        // A namespace in which there is no such connection.
        let words = [
            &["--net", "--", bitcost],
            words,
            &["--netns", &own, "-t", "1500ms"],
        ];
        let done = bench.start_program(Path::new("unshare"), &words.concat());
        let done = done.finish(PATIENCE).with_code(0);
        done.assert_prints("sender's program");
    }
}

/// The connections that `watch --once` lists with these words.
fn watched(words: &[&str]) -> Vec<Value> {
    let all = [&["watch", "--once", "-t", "1500ms", "--json"], words].concat();
    let document = Bench::new().bitcost(&all).with_code(0).json();
    let connections = document["connections"].as_array();
    connections.expect("a list").clone()
}

/// Those of them that send.
fn senders(all: &[Value]) -> Vec<&Value> {
    let senders = all.iter().filter(|one| one["role"] == "sender");
    senders.collect()
}

fn watched_connection_has_its_program_and_limiter() {
    let (pair, idle) = (Pair::slow(), Pair::new(wait, wait));
    let own = std::process::id().to_string();
    let peer = pair.ends[1];
    let port = peer.port().to_string();
    let of_port = watched(&["--port", &port, "--peer", "localhost"]);
    assert_eq!(of_port.len(), 2, "{of_port:?}");
    let [one] = senders(&of_port)[..] else {
        panic!("one end sends: {of_port:?}");
    };
    assert_eq!(one["limiter"], "sender_application");
    assert_eq!(one["pid"].to_string(), own);
    assert_eq!(one["connections"][0][1], peer.to_string());
    let rate = one["throughput_mbps"].as_f64().expect("a rate");
    assert!((1.0..100.0).contains(&rate), "{rate}");
    assert!(one["cpu_us_per_kib"].as_f64() > Some(0.0), "{one}");
    let of_process = watched(&["--pid", &own]);
    let is_idle = |one: &&Value| {
        let ends = idle.ends.map(|end| end.to_string());
        ends.iter().any(|end| one["connections"][0][0] == **end)
    };
    assert!(senders(&of_process).len() == 1 && !of_process.iter().any(|one| is_idle(&one)));
}

fn overloaded_udp_receiver_is_named() {
    let [receiver, sender] = [0, 1].map(|_| UdpSocket::bind("127.0.0.1:0").expect("a port"));
    let address = receiver.local_addr().expect("its address");
    let is_over: &'static AtomicBool = Box::leak(Box::default());
    thread::spawn(move || {
        while !is_over.load(Ordering::Relaxed) {
            // In few bursts, since a process that waits for a CPU of a busy host has another limiter.
            for _ in 0..100 {
                let _ = sender.send_to(&[0; 1000], address);
            }
            thread::sleep(Duration::from_millis(100));
        }
    });
    let [own, port] = [std::process::id().to_string(), address.port().to_string()];
    for [name, value] in [["--pid", &own], ["--port", &port], ["--peer", "127.0.0.1"]] {
        // That which drops most is the first.
        let one = &watched(&["--udp", name, value])[0];
        assert_eq!(one["connections"][0][0], address.to_string());
        assert_eq!(one["pid"].to_string(), own);
        assert_eq!(one["limiter"], "udp_receive_buffer");
        assert!(one["drops_per_second"].as_f64() > Some(100.0), "{one}");
        assert!(one["unread_kib"].as_f64() > Some(100.0), "{one}");
    }
    let bench = Bench::new();
    let shown = bench.bitcost(&["watch", "--udp", "--once", "-t", "1s"]);
    shown.with_code(0).assert_prints("RcvbufErrors");
    is_over.store(true, Ordering::Relaxed);
}

fn connections_are_listed_each_second() {
    let (bench, pair) = (Bench::new(), Pair::slow());
    let port = pair.ends[1].port().to_string();
    let running = bench.start(&["watch", "--port", &port]);
    let lists = || running.stdout().matches("| limited by").count();
    eventually(PATIENCE, "two lists", || (lists() >= 2).then_some(()));
    let listed = running.stdout();
    assert!(listed.contains(&pair.ends[1].to_string()), "{listed}");
    assert!(listed.contains("2 connections with data"), "{listed}");
    for (words, code, why) in [
        (["--peer", "no.such.invalid"], 2, "has no address"),
        (["--pid", "4194304"], 3, "there is no process 4194304"),
        (["--netns", "4194304"], 3, "there is no process 4194304"),
    ] {
        let done = bench.bitcost(&[&["watch"], &words[..]].concat());
        done.with_code(code).assert_says(why);
    }
    let idle = bench.bitcost(&["watch", "--once", "-t", "100ms", "--port", "9"]);
    idle.with_code(0).assert_prints("0 connections with data");
}

/// ssh has its own words for a host that is out of reach; where a connection is not there, the end here is explained.
fn what_the_other_host_lacks_is_said() {
    let bench = Bench::new().with_own_programs();
    let why = "ssh: Could not resolve hostname web";
    bench.write("ssh", &format!("#!/bin/sh\necho '{why}' >&2; exit 255\n"));
    fs::set_permissions(bench.path().join("ssh"), fs::Permissions::from_mode(0o755)).unwrap();
    let pair = Pair::slow();
    let ends = pair.from(0);
    let done = bench.bitcost(&["explain", "--connection", &ends, "--at", "web"]);
    done.with_code(3)
        .assert_says("ssh has no connection to web");
    let own = std::process::id().to_string();
    let words = [
        "explain",
        "-t",
        "1500ms",
        "--netns",
        &own,
        "--connection",
        &ends,
        "--at",
        "local",
    ];
    let bitcost = program();
    let elsewhere = ["--net", "--", bitcost.to_str().expect("a path")];
    let words = [&elsewhere[..], &words].concat();
    let done = bench
        .start_program(Path::new("unshare"), &words)
        .finish(PATIENCE);
    let done = done.with_code(0);
    done.assert_prints("sender's program");
    done.assert_says("the other end was not read: local: no such connection is open");
}
