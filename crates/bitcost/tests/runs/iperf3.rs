//! `bitcost serve --iperf3`: stock clients, the rules, and what is no client.

use crate::bench::*;
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};

use crate::server::Server;
use crate::service::after;

bitcost_testkit::trials! {
    PrivateNetwork: stock_clients_are_served_at_the_same_time, rules_are_named, what_is_no_client_gets_nothing, results_that_are_too_long_end_the_test;
}

/// A server at a port that the kernel chose.
pub struct Listening {
    process: Server,
    pub address: SocketAddr,
}

impl Listening {
    fn start(options: &str) -> Listening {
        Listening::at(IpAddr::from([127, 0, 0, 1]), options)
    }

    pub fn at(host: IpAddr, options: &str) -> Listening {
        let mut process = Server::start(
            Command::new(env!("CARGO_BIN_EXE_bitcost"))
                .args(["serve", "--iperf3", &format!("{host}:0")])
                .args(options.split_whitespace()),
        );
        let port = after(&process.line(), "port ").parse().unwrap();
        Listening {
            process,
            address: SocketAddr::new(host, port),
        }
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Stops the server as Ctrl-C does; returns its standard output and standard error.
    pub fn stop(&mut self) -> (String, String) {
        self.process.stop(Signal::INT)
    }
}

fn stock(port: u16, options: &str) -> Value {
    let output = Command::new("iperf3")
        .args(["-c", "127.0.0.1", "-J", "-p", &port.to_string()])
        .args(options.split_whitespace())
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn bytes(document: &Value, sum: &str) -> u64 {
    let bytes = document["end"][sum]["bytes"].as_u64();
    bytes.unwrap_or_else(|| panic!("{sum}: {document:#}"))
}

fn stock_clients_are_served_at_the_same_time() {
    if Command::new("iperf3").arg("--version").output().is_err() {
        bitcost_testkit::ignore("iperf3 is not installed");
    }
    let tests = [
        "-t 1",
        "-t 1 -R",
        "-t 1 --bidir",
        "-t 1 -P 4",
        "-n 100000000",
        "-n 100000000 -R",
        "-k 100",
        "-k 100 -R",
        "-k 100 -R -P 2",
        "-k 100 --bidir",
        "-u -k 100 -R -b 20M",
        "-t 1 -O 1 -b 50M",
        "-t 1 -R -Z -N -S 0x28",
        "-u -t 1 -b 8M",
        "-u -t 1 -b 8M -R",
        "-u -t 1 -b 8M --bidir -P 2",
        "-u -t 1 -b 8M --udp-counters-64bit -l 1000",
    ];
    let mut server = Listening::start("--max-clients 20");
    let port = server.address.port();
    thread::scope(|scope| {
        for options in tests {
            scope.spawn(move || {
                let document = stock(port, options);
                assert!(document.get("error").is_none(), "{options}: {document:#}");
                judge(options, &document);
            });
        }
    });
    let (printed, said) = server.stop();
    assert_says(&printed, &[&format!("served {} tests", tests.len())]);
    // The one line is about its privileges.
    assert!(!printed.contains("ended:") && said.lines().count() == 1);
}

/// What a client sent was received, but for what is in flight at the end of what the server sends.
fn judge(options: &str, document: &Value) {
    if options.starts_with("-u") {
        let sum = &document["end"]["sum"];
        let packets = sum["packets"].as_u64();
        assert!(packets > Some(0), "{options}: {sum:#}");
        if options.contains("-k 100 -R") {
            // More only where some were lost, or the client is slow to end the test.
            assert!(packets >= Some(100), "{options}: {sum:#}");
        }
        return;
    }
    let (sent, received) = (bytes(document, "sum_sent"), bytes(document, "sum_received"));
    assert!(received > 0, "{options}");
    match options {
        // Whole blocks of 128 KiB, as a server of iperf3 sends them; a client that has enough ends the test.
        "-n 100000000 -R" => {
            assert_eq!(sent, 763 << 17);
            assert!(
                (100_000_000..=sent).contains(&received),
                "{received} of {sent}"
            );
        }
        // A client that reads a block in parts counts each part, and may end the test before the server's hundredth block.
        "-k 100 -R" | "-k 100 -R -P 2" => {
            assert!(sent <= 100 << 17, "{sent}");
            assert!(received <= sent, "{received} of {sent}");
        }
        // Either side's hundredth block ends it.
        "-k 100 --bidir" => assert!(sent.max(received) <= 100 << 17),
        // With an omitted time both sides count from their own clocks.
        _ if options.contains("-O") => {}
        _ if options.contains("-R") => assert!(received <= sent, "{received} of {sent}"),
        _ => assert_eq!(sent, received, "{options}"),
    }
    if options.contains("--bidir") {
        assert!(bytes(document, "sum_received_bidir_reverse") > 0);
    }
}

pub const COOKIE: &[u8; 37] = b"abcdefghijklmnopqrstuvwxyz234567abcd\0";

/// A connection with this cookie, after which the server asked for parameters and received these.
pub fn asking(server: &Listening, cookie: &[u8; 37], params: &str) -> TcpStream {
    let mut control = TcpStream::connect(server.address).unwrap();
    let wait = Some(Duration::from_secs(5));
    control.set_read_timeout(wait).unwrap();
    control.write_all(cookie).unwrap();
    assert_eq!(read::<1>(&mut control), [9]);
    let length = (params.len() as u32).to_be_bytes();
    control.write_all(&length).unwrap();
    control.write_all(params.as_bytes()).unwrap();
    control
}

/// The next bytes of a connection.
pub fn read<const COUNT: usize>(stream: &mut TcpStream) -> [u8; COUNT] {
    let mut bytes = [0; COUNT];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

/// iperf3's code of a SERVER_ERROR.
fn code(control: &mut TcpStream) -> i32 {
    let [mark, code @ .., _, _, _, _] = read::<9>(control);
    assert_eq!(mark, 0xFE);
    i32::from_be_bytes(code)
}

fn rules_are_named() {
    let mut server =
        Listening::start("--max-duration 2 --max-rate 10M --max-clients 1 --max-flows 2");
    for (expected, params) in [
        (5, r#"{"tcp":true,"time":3,"bandwidth":1000}"#),
        (5, r#"{"tcp":true,"time":0}"#),
        (27, r#"{"tcp":true,"time":1}"#),
        (
            27,
            r#"{"udp":true,"time":1,"parallel":2,"bandwidth":6000000}"#,
        ),
        (6, r#"{"tcp":true,"time":1,"parallel":3,"bandwidth":1000}"#),
        (18, r#"{"sctp":true,"time":1}"#),
        (
            134,
            r#"{"tcp":true,"time":1,"bandwidth":1000,"congestion":"no\nbitcost: well"}"#,
        ),
        (
            141,
            r#"{"tcp":true,"time":1,"bandwidth":1000,"window":2000000000}"#,
        ),
        (114, "no JSON"),
    ] {
        let found = code(&mut asking(&server, COOKIE, params));
        assert_eq!(found, expected, "{params}");
    }
    // One client is served, another one is told at once that the server is busy.
    let params = r#"{"tcp":true,"num":1000000,"bandwidth":1000}"#;
    let mut first = asking(&server, COOKIE, params);
    assert_eq!(read::<1>(&mut first), [10]);
    let mut second = TcpStream::connect(server.address).unwrap();
    second.write_all(&[b'x'; 36]).unwrap();
    second.write_all(&[0]).unwrap();
    assert_eq!(read::<1>(&mut second), [0xFF]);
    drop(first);
    let (printed, said) = server.stop();
    assert!(printed.contains("served 0 tests"), "{printed}");
    assert_says(
        &said,
        &[
            "--max-duration is 2.0 s",
            "--max-rate is 10000000 bit/s",
            "--max-flows is 2",
            "--max-clients is 1",
            "congestion control `no bitcost: well`",
        ],
    );
}

/// A TCP connection from this address.
pub fn connected_from(host: [u8; 4], to: SocketAddr) -> std::io::Result<TcpStream> {
    let other = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    bind(&other, &SocketAddr::new(IpAddr::from(host), 0))?;
    connect(&other, &to)?;
    Ok(TcpStream::from(other))
}

fn what_is_no_client_gets_nothing() {
    let mut server = Listening::start("");
    let address = server.address;
    // Neither a half-open connection nor many of them take anything from others.
    let silent = (0..600).map(|_| TcpStream::connect(address).unwrap());
    let silent: Vec<TcpStream> = silent.collect();
    let mut random = TcpStream::connect(address).unwrap();
    random.write_all(&[0xAB; 37]).unwrap();
    assert_eq!(code(&mut random), 114);
    let mut oversized = TcpStream::connect(address).unwrap();
    oversized.write_all(COOKIE).unwrap();
    oversized.write_all(&u32::MAX.to_be_bytes()).unwrap();
    assert_eq!(read::<1>(&mut oversized), [9]);
    assert_eq!(code(&mut oversized), 114);
    let greeter = |host: [u8; 4]| {
        let socket = UdpSocket::bind((IpAddr::from(host), 0)).unwrap();
        let wait = Some(Duration::from_millis(300));
        socket.set_read_timeout(wait).unwrap();
        socket.send_to(b"9876", address).unwrap();
        socket
    };
    let mut answer = [0; 64];
    // No test, no answer.
    assert!(greeter([127, 0, 0, 1]).recv(&mut answer).is_err());
    // The streams of a test come from the host of its control connection.
    let mut tcp = asking(&server, COOKIE, r#"{"tcp":true,"time":1,"reverse":true}"#);
    assert_eq!(read::<1>(&mut tcp), [10]);
    let mut foreign = connected_from([127, 0, 0, 2], address).unwrap();
    let wait = Some(Duration::from_secs(5));
    foreign.set_read_timeout(wait).unwrap();
    foreign.write_all(COOKIE).unwrap();
    assert_eq!(read::<1>(&mut foreign), [0xFF]);
    let other_cookie = b"bbcdefghijklmnopqrstuvwxyz234567abcd\0";
    let params = r#"{"udp":true,"time":1,"reverse":true,"len":64,"bandwidth":80000}"#;
    let mut udp = asking(&server, other_cookie, params);
    assert_eq!(read::<1>(&mut udp), [10]);
    // Another host's greeting has none.
    assert!(greeter([127, 0, 0, 2]).recv(&mut answer).is_err());
    let stream = greeter([127, 0, 0, 1]);
    let length = stream.recv(&mut answer).unwrap();
    assert_eq!(&answer[..length], b"6789");
    assert_eq!(read::<2>(&mut udp), [1, 2]);
    assert_eq!(stream.recv(&mut answer).unwrap(), 64);
    // Clients that vanish are noticed.
    drop((udp, tcp, silent));
    let (printed, said) = server.stop();
    assert_says(&printed, &["UDP from this host", "ended:"]);
    assert!(said.contains("data connection from another host"), "{said}");
}

fn results_that_are_too_long_end_the_test() {
    let mut server = Listening::start("");
    let mut control = asking(&server, COOKIE, r#"{"tcp":true,"time":1}"#);
    assert_eq!(read::<1>(&mut control), [10]);
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.write_all(COOKIE).unwrap();
    assert_eq!(read::<2>(&mut control), [1, 2]);
    control.write_all(&[4]).unwrap();
    assert_eq!(read::<1>(&mut control), [13]);
    let length = (256 << 10) + 1_u32;
    control.write_all(&length.to_be_bytes()).unwrap();
    let results = vec![b' '; length as usize];
    let _ = control.write_all(&results);
    let _ = control.read_to_end(&mut Vec::new());
    let (printed, said) = server.stop();
    let expected = "it announced results of 262145 bytes; at most 262144 are allowed";
    assert!([printed, said].concat().contains(expected));
}
