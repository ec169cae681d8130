//! A client without a free port.

use crate::play::*;
use bitcost_testkit::assert_says;

bitcost_testkit::trials! { PrivateNetwork:
    error_without_a_free_port_names_the_settings_to_change,
    connections_reuse_ports;
}

fn allow_ports(range: &str) {
    std::fs::write("/proc/sys/net/ipv4/ip_local_port_range", range).expect("a range of ports");
}

/// Runs both endpoints; returns how many transactions the client made, and its result.
fn connect_again_and_again(workload: Workload, transactions: u64) -> (u64, Result<(), String>) {
    let [mut client, server] = meet(&Conditions {
        workload,
        stop_messages: Some(transactions),
        ..Conditions::default()
    })
    .map(|ready| ready.flow);
    let controls: [Arc<Control>; 2] = Default::default();
    let server = start(server, &controls[1]);
    let result = client.run(&controls[0]).map_err(|error| error.to_string());
    drop(client);
    assert!(server.join().expect("no panic").is_ok());
    let [made, served] = controls.map(|control| control.counts().total().messages);
    assert_eq!(served, made);
    (served, result)
}

/// The listening socket uses one of the two ports, the first connection the other.
fn error_without_a_free_port_names_the_settings_to_change() {
    for (workload, ports) in [
        (Workload::TcpCrr, "40000 40001"),
        (Workload::TcpConnect, "40002 40003"),
    ] {
        allow_ports(ports);
        let (made, result) = connect_again_and_again(workload, 10);
        let error = result.expect_err("no port is left");
        assert_says(&error, &["ip_local_port_range", "tcp_tw_reuse"]);
        assert_eq!(made, 0);
    }
}

/// The server closes first, so that `TIME_WAIT` holds no port of the client.
fn connections_reuse_ports() {
    allow_ports("40000 40099");
    for workload in [Workload::TcpCrr, Workload::TcpConnect] {
        assert_eq!(connect_again_and_again(workload, 1000), (1000, Ok(())));
    }
}
