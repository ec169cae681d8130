//! Known answers: those of the paper, of standards, and of the lab's text.

use bitcost_analysis::theory::Goodput;
use bitcost_model::framing::{Counted, Framing, OnWire, Transport};
use bitcost_model::place::IpVersion;

const TCP: Transport = Transport::Tcp;

fn link(transport: Transport, mtu_bytes: u32) -> Goodput {
    let framing = Framing {
        ip: IpVersion::V4,
        transport,
        timestamps: true,
        vlan: false,
        mtu_bytes,
        counted: Counted::Wire,
    };
    Goodput {
        framing,
        rate_bps: 2_500_000_000,
        message_size_bytes: None,
    }
}

fn packet(bytes: u64) -> OnWire {
    OnWire { packets: 1, bytes }
}

#[test]
fn efficiency_is_that_of_full_packets() {
    let percent = |goodput: Goodput| (1e4 * goodput.framing.efficiency()).round() / 1e2;
    assert_eq!(percent(link(TCP, 1500)), 94.15);
    assert_eq!(percent(link(TCP, 9000)), 99.0);
    assert_eq!(percent(link(Transport::Udp, 1500)), 95.71);
    assert_eq!((link(TCP, 1500).goodput_bps() / 1e6).round(), 2354.0);
    let mut others = link(TCP, 1500);
    others.framing.timestamps = false;
    assert_eq!(percent(others), 94.93);
    (others.framing.vlan, others.framing.ip) = (true, IpVersion::V6);
    // 1440 bytes of user data, 1500 + 38 + 4 on the wire.
    assert_eq!(percent(others), 93.39);
}

#[test]
fn small_frames_are_filled_up() {
    // The well-known 1.488 million frames per second of 10 × 100 Mbit/s.
    let goodput = Goodput {
        rate_bps: 1_000_000_000,
        ..link(Transport::Udp, 1500)
    };
    let point = goodput.point(1);
    assert_eq!(point.alone, packet(84));
    assert_eq!(point.packets_per_second.round(), 1_488_095.0);
    assert_eq!(goodput.point(18).alone.bytes, 84);
    assert_eq!(goodput.point(19).alone.bytes, 85);
}

#[test]
fn an_emulated_link_counts_the_ethernet_header_alone() {
    let mut emulated = link(TCP, 1500);
    emulated.framing.counted = Counted::Queue;
    assert_eq!(emulated.framing.full(), packet(1514));
    // Short frames are not filled up.
    assert_eq!(emulated.point(1).alone, packet(67));
    assert_eq!((emulated.goodput_bps() / 1e6).round(), 2391.0);
    emulated.framing.vlan = true;
    assert_eq!(emulated.framing.frame_bytes(), 18);
}

#[test]
fn curves_rise_up_to_the_goodput_of_full_segments() {
    let goodput = link(TCP, 1500);
    let curve = goodput.curve();
    assert!(
        curve
            .windows(2)
            .all(|pair| pair[0].message_size_bytes < pair[1].message_size_bytes)
    );
    for point in &curve {
        assert!(
            point.goodput_bps <= goodput.goodput_bps() * 1.000_001,
            "{point:?}"
        );
    }
    assert_eq!(goodput.point(1448).goodput_bps, goodput.goodput_bps());
    assert!(
        goodput.point(1449).goodput_bps < 0.96 * goodput.goodput_bps(),
        "a second segment for one byte"
    );
}

#[test]
fn large_datagrams_are_cut_by_ip() {
    let mut framing = link(Transport::Udp, 1500).framing;
    assert_eq!(pieces(framing, 1472), [(1, 1500)]);
    assert_eq!(pieces(framing, 1473), [(1, 1500), (1, 21)]);
    // 65 515 bytes with UDP's header: 44 fragments of 1480 and one of 395.
    assert_eq!(pieces(framing, 65_507), [(44, 1500), (1, 415)]);
    framing.ip = IpVersion::V6;
    // 1448 bytes of data with 40 and 8 bytes of headers.
    assert_eq!(pieces(framing, 2000), [(1, 1496), (1, 608)]);
}

/// Numbers of packets with their sizes.
fn pieces(framing: Framing, size_bytes: u32) -> Vec<(u64, u32)> {
    let all = framing.fragments(size_bytes).into_iter();
    all.map(|of| (of.count, of.packet_bytes)).collect()
}
