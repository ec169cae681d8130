//! A client without a free port, in its own network namespace.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use bitcost_model::conditions::{Conditions, Workload};
use bitcost_testkit::assert_says;
use bitcost_traffic::Control;

const PATIENCE: Duration = Duration::from_secs(5);

fn main() {
    bitcost_testkit::main(&[TRIALS]);
}

bitcost_testkit::trials! { PrivateNetwork:
    error_without_a_free_port_names_the_settings_to_change,
    tcp_connect_without_a_free_port_names_them_too,
    connections_reuse_ports;
}

fn allow_ports(range: &str) {
    std::fs::write("/proc/sys/net/ipv4/ip_local_port_range", range).expect("a range of ports");
}

/// Runs both endpoints; returns how many transactions the client made, and its result.
fn connect_again_and_again(workload: Workload, transactions: u64) -> (u64, Result<(), String>) {
    let conditions = Conditions {
        workload,
        stop_messages: Some(transactions),
        ..Conditions::default()
    };
    let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let pending = bitcost_traffic::listen(&conditions, here, [7; 16]).expect("listen");
    let address = pending.address();
    let (accepted, is_accepted) = mpsc::channel();
    let server = thread::spawn(move || {
        let mut server = pending.accept(PATIENCE).expect("the client comes").flow;
        accepted.send(()).expect("the client waits");
        let control = Control::default();
        server
            .run(&control)
            .map(|()| control.counts().total().messages)
    });
    let mut client = bitcost_traffic::connect(&conditions, address, [7; 16], PATIENCE)
        .expect("the server listens")
        .flow;
    // As the controller does: nothing is sent before both endpoints are ready.
    is_accepted.recv().expect("the server accepts");
    let control = Control::default();
    let result = client.run(&control).map_err(|error| error.to_string());
    drop(client);
    let served = server
        .join()
        .expect("no panic")
        .expect("the server succeeds");
    assert_eq!(served, control.counts().total().messages);
    (served, result)
}

fn error_without_a_free_port_names_the_settings_to_change() {
    no_port_left(Workload::TcpCrr);
}

fn tcp_connect_without_a_free_port_names_them_too() {
    no_port_left(Workload::TcpConnect);
}

/// The listening socket uses one of the two ports, the first connection the other.
fn no_port_left(workload: Workload) {
    allow_ports("40000 40001");
    let (made, result) = connect_again_and_again(workload, 10);
    let error = result.expect_err("no port is left");
    assert_says(&error, &["ip_local_port_range", "tcp_tw_reuse"]);
    assert_eq!(made, 0);
}

/// The server closes first, so that `TIME_WAIT` holds no port of the client.
fn connections_reuse_ports() {
    allow_ports("40000 40099");
    for workload in [Workload::TcpCrr, Workload::TcpConnect] {
        assert_eq!(connect_again_and_again(workload, 1000), (1000, Ok(())));
    }
}
