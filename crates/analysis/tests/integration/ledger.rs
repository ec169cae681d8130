//! Loss ledgers of records whose counters are known.

use std::collections::BTreeMap;

use crate::common::*;
use bitcost_analysis::ledger::{LossLedger, loss_ledger};
use bitcost_model::counters::{Amount, LinkEmulator, Queue, SocketMemory, Softnet};
use bitcost_model::modes::Mode;
use bitcost_model::record::WholeRun;

impl Run {
    /// Both records of a run whose counters all began at 0.
    fn from_0(workload: Workload) -> Run {
        let end = |role| EndpointRecord {
            whole: Some(Box::default()),
            ..record(role, Counts::default(), vec![Sample::default(); 2])
        };
        Run::new(workload, ENDS.map(end))
    }

    /// A TCP stream of 45 segments a packet over `h1-eth0`, `w1` and `h2-eth0`, of which each port
    /// of `w1` has the queue `pfifo`.
    fn segments(sent: u32, arrived: u32, retransmitted: u32, reported: u32) -> Run {
        let mut run = Run::from_0(Workload::TcpStream);
        let super_packets = u64::from(sent) / 45;
        let after = run.after(Role::Sender);
        after.tcp_info = Some(info(sent, 0, retransmitted, reported));
        after.protocols = grown("Ip.OutRequests", 1000);
        after.interfaces = vec![
            interface(None, "h1-eth0", 900, super_packets),
            interface(Some("w1"), "w1-eth1", super_packets, 900),
            interface(Some("w1"), "w1-eth2", 900, u64::from(sent)),
        ];
        after.queues = ["w1-eth1", "w1-eth2"].map(queue).to_vec();
        let after = run.after(Role::Receiver);
        after.tcp_info = Some(info(0, arrived, 0, 0));
        after.interfaces = vec![interface(None, "h2-eth0", u64::from(arrived), 900)];
        let before = run.before(Role::Sender);
        before.protocols = grown("Ip.OutRequests", 0);
        before.interfaces = vec![
            interface(None, "h1-eth0", 0, 0),
            interface(Some("w1"), "w1-eth1", 0, 0),
            interface(Some("w1"), "w1-eth2", 0, 0),
        ];
        before.queues = ["w1-eth1", "w1-eth2"].map(queue).to_vec();
        run.before(Role::Receiver).interfaces = vec![interface(None, "h2-eth0", 0, 0)];
        run
    }

    /// A stream of datagrams.
    fn datagrams(sent: u64, lost: u64) -> Run {
        let mut run = Run::from_0(Workload::UdpStream);
        run.sender.counts.measured.messages = sent;
        run.receiver.counts.measured.messages = sent - lost;
        run.receiver.sequence = Some(Sequence {
            total_lost: lost,
            ..Sequence::default()
        });
        run
    }

    fn whole(&mut self, role: Role) -> &mut WholeRun {
        self.end(role).whole.as_mut().expect("counters")
    }

    fn before(&mut self, role: Role) -> &mut Sample {
        &mut self.whole(role).before
    }

    fn after(&mut self, role: Role) -> &mut Sample {
        &mut self.whole(role).after
    }

    fn ledger(&self) -> Result<LossLedger, &'static str> {
        loss_ledger(&self.view())
    }
}

fn info(sent: u32, received: u32, retransmitted: u32, reported: u32) -> TcpInfo {
    TcpInfo {
        data_segs_out: Some(sent),
        data_segs_in: Some(received),
        segs_out: Some(sent),
        total_retrans: Some(retransmitted),
        dsack_dups: Some(reported),
        reord_seen: Some(reported),
        ..TcpInfo::default()
    }
}

fn interface(node: Option<&str>, device: &str, rx_packets: u64, tx_packets: u64) -> Interface {
    Interface {
        node: node.map(str::to_owned),
        device: device.to_owned(),
        rx_packets,
        rx_bytes: 60 * rx_packets,
        tx_packets,
        tx_bytes: 60 * tx_packets,
        ..Interface::default()
    }
}

/// The only counter of the protocols.
fn grown(name: &str, count: i64) -> BTreeMap<String, i64> {
    BTreeMap::from([(name.to_owned(), count)])
}

fn queue(device: &str) -> Queue {
    Queue {
        node: Some("w1".to_owned()),
        device: device.to_owned(),
        kind: "pfifo".to_owned(),
        handle: "8001:".to_owned(),
        ..Queue::default()
    }
}

fn named(ledger: &LossLedger) -> Vec<(&str, u64, u64)> {
    let drops = ledger.drops.iter();
    drops
        .map(|drops| (drops.by.as_str(), drops.packets, drops.segments))
        .collect()
}

/// What a socket had no room for.
fn socket(drops: u32) -> SocketMemory {
    SocketMemory {
        drops,
        ..SocketMemory::default()
    }
}

#[test]
fn segments_retransmitted_for_nothing_are_spurious() {
    let ledger = Run::segments(45_000, 45_000, 87, 85).ledger().unwrap();
    assert_eq!(
        (ledger.sent, ledger.delivered, ledger.lost()),
        (45_000, 45_000, 0)
    );
    let spurious = ledger.spurious.clone().unwrap();
    assert_eq!((spurious.segments, spurious.reported), (87, Some(85)));
    assert!(ledger.closes());
    assert_eq!(
        ledger.to_string(),
        "87 segments were retransmitted: none lost, all spurious (segments arrived in another order)"
    );
    assert_eq!(
        Run::segments(45_000, 45_000, 1, 1)
            .ledger()
            .unwrap()
            .to_string(),
        "1 segment was retransmitted: spurious (segments arrived in another order)"
    );
    let quiet = Run::segments(45_000, 45_000, 0, 0).ledger().unwrap();
    assert!(quiet.closes() && !quiet.has_any() && quiet.to_string().is_empty());
}

/// 5 super-packets of 45 segments were dropped before the wire cut them, 4 segments after it did.
#[test]
fn drops_of_super_packets_are_converted() {
    let mut run = Run::segments(45_000, 44_771, 235, 6);
    let after = run.after(Role::Sender);
    after.queues[1].drops = 5;
    after.interfaces[2].tx_dropped = 4;
    // An acknowledgement that was dropped is no lost data.
    after.interfaces[1].tx_dropped = 9;
    let ledger = run.ledger().unwrap();
    assert_eq!(
        named(&ledger),
        [
            ("the queue (pfifo) of w1-eth2", 5, 225),
            ("w1-eth2 on departure", 4, 4)
        ]
    );
    assert_eq!(ledger.drops[0].each, Some(45.0));
    assert_eq!((ledger.lost(), ledger.unexplained()), (229, 0));
    assert_eq!(
        ledger.spurious.as_ref().map(|found| found.segments),
        Some(6)
    );
    assert!((ledger.tolerance() - (2.35 + 22.5)).abs() < 1e-9);
    assert_eq!(
        ledger.to_string(),
        "235 segments were retransmitted: 225 dropped by the queue (pfifo) of w1-eth2, 4 dropped by w1-eth2 on departure, 6 spurious (segments arrived in another order)"
    );
}

/// A veth counts a drop of the backlog too, and so does the machine.
#[test]
fn drop_of_the_backlog_is_counted_once() {
    let mut run = Run::segments(45_000, 44_955, 45, 0);
    run.after(Role::Sender).interfaces[0].tx_dropped = 1;
    let softnet = |dropped| Softnet {
        dropped,
        ..Softnet::default()
    };
    run.before(Role::Receiver).softnet = vec![softnet(7)];
    let after = run.after(Role::Receiver);
    after.softnet = vec![softnet(8)];
    after.interfaces[0] = Interface {
        rx_packets: 999,
        rx_dropped: 1,
        ..after.interfaces[0].clone()
    };
    let ledger = run.ledger().unwrap();
    assert_eq!(
        named(&ledger),
        [("the CPU's backlog for the receiver's h2-eth0", 1, 45)]
    );
    assert_eq!(ledger.unexplained(), 0);
}

#[test]
fn what_no_counter_has_is_unexplained() {
    let mut run = Run::segments(45_000, 44_800, 200, 0);
    run.after(Role::Sender).interfaces[2].tx_dropped = 150;
    let ledger = run.ledger().unwrap();
    assert_eq!(ledger.unexplained(), 50);
    assert!(!ledger.closes());
    assert!(
        ledger
            .to_string()
            .ends_with("50 lost at a place that no counter shows")
    );
    // Of few, one may stay.
    let few = |arrived| Run::segments(45_000, arrived, 9, 0).ledger().unwrap();
    assert!(few(44_999).closes() && !few(44_998).closes());
}

/// TCP had counted what its backlog had no room for: 3 packets of 30 segments in all.
#[test]
fn drops_of_tcp_after_it_counted_them_are_lost() {
    let mut run = Run::segments(45_000, 45_000, 40, 10);
    run.before(Role::Receiver).protocols = grown("TcpExt.TCPBacklogDrop", 2);
    run.after(Role::Receiver).protocols = grown("TcpExt.TCPBacklogDrop", 5);
    let ledger = run.ledger().unwrap();
    assert_eq!(named(&ledger), [("TCP at the receiving socket", 3, 30)]);
    assert_eq!((ledger.lost(), ledger.unexplained()), (30, 0));
    assert_eq!(ledger.spurious.map(|found| found.segments), Some(10));
}

#[test]
fn datagrams_are_lost_at_the_socket_and_on_the_way() {
    let mut run = Run::datagrams(100_000, 1204);
    run.before(Role::Receiver).sockets = vec![socket(4)];
    run.after(Role::Receiver).sockets = vec![socket(1108)];
    let lost = |packets| LinkEmulator {
        device: "h1-eth0".to_owned(),
        lost: Amount {
            packets,
            segments: packets,
            bytes: 0,
        },
        ..LinkEmulator::default()
    };
    run.before(Role::Sender).emulators = vec![lost(50)];
    run.after(Role::Sender).emulators = vec![lost(150)];
    let ledger = run.ledger().unwrap();
    assert_eq!(
        named(&ledger),
        [
            (
                "the link emulator at h1-eth0 (loss, as requested)",
                100,
                100
            ),
            ("the receiver's socket buffer", 1104, 1104)
        ]
    );
    assert_eq!((ledger.unexplained(), ledger.retransmitted), (0, None));
    run.after(Role::Sender).emulators = vec![lost(50)];
    run.after(Role::Receiver).sockets = vec![socket(1208)];
    assert_eq!(
        run.ledger().unwrap().to_string(),
        "1204 datagrams were lost: all dropped by the receiver's socket buffer"
    );
    // Counters with 10 more than were lost.
    run.after(Role::Sender).emulators = vec![lost(160)];
    run.after(Role::Receiver).sockets = vec![socket(1108)];
    let ledger = run.ledger().unwrap();
    assert_eq!(ledger.unexplained(), -10);
    assert_eq!(
        ledger.to_string(),
        "1204 datagrams were lost: 1104 dropped by the receiver's socket buffer, 100 dropped by the link emulator at h1-eth0 (loss, as requested)"
    );
}

#[test]
fn copies_that_the_receiver_saw_hide_no_loss() {
    let mut run = Run::datagrams(100_000, 100);
    let sequence = run.receiver.sequence.as_mut().expect("of datagrams");
    sequence.duplicated = 60;
    let ledger = run.ledger().unwrap();
    assert_eq!(
        (ledger.copies, ledger.lost(), ledger.delivered),
        (60, 100, 99_960)
    );
}

#[test]
fn merged_datagrams_are_dropped_together() {
    let mut run = Run::datagrams(256_000, 128_000);
    run.conditions.receive_mode = Mode::Gro;
    run.receiver.counts.measured.calls = 1000;
    run.before(Role::Receiver).sockets = vec![socket(0)];
    run.after(Role::Receiver).sockets = vec![socket(1000)];
    let ledger = run.ledger().unwrap();
    let dropped = ("the receiver's socket buffer", 1000, 128_000);
    assert_eq!(named(&ledger), [dropped]);
    assert_eq!(ledger.unexplained(), 0);
}

#[test]
fn ledger_is_absent_where_the_records_do_not_allow_one() {
    let mut run = Run::datagrams(10, 1);
    run.after(Role::Receiver).protocols = grown("Ip.ReasmReqds", 9);
    run.before(Role::Receiver).protocols = grown("Ip.ReasmReqds", 0);
    let why_none = |run: &Run| run.ledger().expect_err("no ledger");
    assert!(why_none(&run).contains("fragments"));
    run.receiver.whole = None;
    assert!(why_none(&run).contains("not in this log"));
    let crr = Run::from_0(Workload::TcpCrr);
    assert!(why_none(&crr).contains("each transaction"));
}
