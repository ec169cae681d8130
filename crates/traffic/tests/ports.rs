//! What happens when a client has no port left, in a network of its own.

use std::net::{IpAddr, Ipv4Addr};
use std::thread;
use std::time::Duration;

use model::conditions::{Conditions, Workload};
use traffic::Control;

const PATIENCE: Duration = Duration::from_secs(5);

fn main() {
    testkit::main(vec![
        ("a client without a port left says which settings to change", || no_port_left(Workload::TcpCrr)),
        ("a client that only connects says so too", || no_port_left(Workload::TcpConnect)),
        ("many more connections than ports are made", ports_are_used_again),
    ]);
}

fn allow_ports(range: &str) {
    std::fs::write("/proc/sys/net/ipv4/ip_local_port_range", range).expect("a range of ports");
}

/// Runs one end after the other has met it; says how many transactions the client made, and how it ended.
fn connect_again_and_again(workload: Workload, transactions: u64) -> (u64, Result<(), String>) {
    let conditions = Conditions { workload, stop_messages: Some(transactions), ..Conditions::default() };
    let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let pending = traffic::listen(&conditions, here, [7; 16]).expect("listen");
    let address = pending.address();
    let server = thread::spawn(move || {
        let mut server = pending.accept(PATIENCE).expect("the client comes").flow;
        let control = Control::default();
        server.run(&control).map(|()| control.counts().total().messages)
    });
    let mut client = traffic::connect(&conditions, address, [7; 16], PATIENCE).expect("the server answers").flow;
    let control = Control::default();
    let result = client.run(&control).map_err(|error| error.to_string());
    drop(client);
    let served = server.join().expect("no panic").expect("the server ends well");
    assert_eq!(served, control.counts().total().messages);
    (served, result)
}

/// The listening socket takes one of the two ports, the first connection the other.
fn no_port_left(workload: Workload) {
    allow_ports("40000 40001");
    let (made, result) = connect_again_and_again(workload, 10);
    let error = result.expect_err("no port is left");
    assert!(error.contains("ip_local_port_range") && error.contains("tcp_tw_reuse"), "{error}");
    assert_eq!(made, 0);
}

/// The server closes first, so that `TIME_WAIT` takes no port of the client's.
fn ports_are_used_again() {
    allow_ports("40000 40099");
    for workload in [Workload::TcpCrr, Workload::TcpConnect] {
        assert_eq!(connect_again_and_again(workload, 1000), (1000, Ok(())));
    }
}
