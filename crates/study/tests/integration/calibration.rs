//! The saturation runs of a plan's cells: one for each setting of the path, and none for settings
//! of the program alone.

use bitcost_model::calibration::{Calibration, Saturation};
use bitcost_model::conditions::Workload;
use bitcost_model::modes::Mode;
use bitcost_model::plan::Lengths;
use bitcost_study::Study;
use bitcost_study::calibration::{Ground, saturation_runs};

/// The saturation runs of a study, whose interfaces take super-packets as found.
fn of(text: &str) -> Calibration {
    let study = Study::parse("study.toml", text).unwrap();
    let plan = study.plan(1, Lengths::default());
    saturation_runs(
        &plan,
        Ground {
            lab: &study.lab,
            segment: [true; 2],
        },
    )
}

fn study(lab: &str, workload: &str, factors: &str) -> String {
    format!(
        "title = \"t\"\nquestion = \"q\"\n[lab]\n{lab}\n[workload]\n{workload}\n{factors}\n[run]\nblocks = 1\n"
    )
}

fn factor(name: &str, levels: &str) -> String {
    format!("[[factor]]\nname = \"{name}\"\nlevels = [{levels}]\n")
}

fn saturation(calibration: &Calibration, index: usize) -> &Saturation {
    calibration.capacities[index].saturation.as_deref().unwrap()
}

#[test]
fn what_only_the_program_does_shares_a_capacity() {
    let factors = [
        factor("message_size_bytes", "300, 9000"),
        factor("stress", "\"as-found\", \"sender: 1 cpu\""),
        factor(
            "sysctl",
            "\"as-found\", \"net.ipv4.tcp_rmem=4096 131072 6291456\"",
        ),
        factor("congestion_control", "\"reno\", \"cubic\""),
    ];
    let one = of(&study("", "workload = \"tcp_stream\"", &factors.concat()));
    assert_eq!(one.capacities.len(), 1);
    assert_eq!(one.capacities[0].cells, (0..16).collect::<Vec<_>>());
    let conditions = &saturation(&one, 0).conditions;
    assert_eq!(
        (conditions.send_mode, conditions.receive_mode),
        (Mode::Sendfile, Mode::Truncate)
    );
    assert!(conditions.host_settings.is_empty() && conditions.mss.is_none());
    conditions.check(1500).unwrap();
}

#[test]
fn what_changes_the_path_has_its_own_capacity() {
    let levels = "{ label = \"a\", offloads = \"on\" }, { label = \"b\", offloads = \"sender: tso off\" }, \
                  { label = \"c\", mtu_bytes = \"1280\" }, { label = \"d\", qdisc = \"sender: tbf rate 1G burst 64KiB\" }, \
                  { label = \"e\", workload = \"udp_stream\", message_size_bytes = 1024 }, { label = \"f\", mss = 500 }";
    let each = of(&study("", "", &factor("path", levels)));
    assert_eq!(each.capacities.len(), 6);
    assert!(
        each.capacities
            .iter()
            .all(|capacity| capacity.saturation.is_some() && capacity.absent.is_none())
    );
    let modes = [0, 1].map(|index| saturation(&each, index).conditions.send_mode);
    assert_eq!(modes, [Mode::Sendfile, Mode::Plain]);
    // Twice this in segments is what a CPU's backlog of 1000 packets takes.
    let buffers = [0, 1].map(|index| saturation(&each, index).conditions.send_buffer_bytes);
    assert_eq!(buffers, [None, Some(500 * 1500)]);
    let udp = saturation(&each, 4);
    assert_eq!(
        (udp.conditions.message_size_bytes, udp.conditions.send_mode),
        (1024, Mode::Plain)
    );
    assert_eq!(udp.counts_as, None);
}

/// A send buffer bounds datagrams that are on their way through a veth: with less of it than the
/// cell's runs have, the saturation run would carry less than they do.
#[test]
fn datagrams_have_no_smaller_buffers_than_their_cells() {
    let levels = "{ label = \"a\" }, { label = \"b\", send_buffer_bytes = 1048576, receive_buffer_bytes = 4194304 }, \
                  { label = \"c\", send_buffer_bytes = 16777216, receive_buffer_bytes = 8388608 }";
    let udp = of(&study(
        "",
        "workload = \"udp_stream\"\nmessage_size_bytes = 1024",
        &factor("buffers", levels),
    ));
    let cells = udp.capacities.iter().map(|capacity| &capacity.cells[..]);
    assert_eq!(cells.collect::<Vec<_>>(), [&[0, 1][..], &[2]]);
    let buffers = [0, 1].map(|index| {
        let conditions = &saturation(&udp, index).conditions;
        [
            conditions.send_buffer_bytes,
            conditions.receive_buffer_bytes,
        ]
    });
    assert_eq!(buffers[0], [Some(4 << 20); 2]);
    assert_eq!(buffers[1], [Some(16 << 20), Some(8 << 20)]);
}

#[test]
fn requests_have_no_capacity_and_many_settings_have_a_bound() {
    let rr = of(&study(
        "",
        "workload = \"tcp_rr\"",
        &factor("request_size_bytes", "1, 100"),
    ));
    assert_eq!(rr.capacities.len(), 1);
    assert_eq!(rr.capacities[0].cells, [0, 1]);
    assert!(
        rr.capacities[0].saturation.is_none()
            && rr.capacities[0]
                .absent
                .as_ref()
                .unwrap()
                .contains("round trip")
    );
    let sizes: Vec<String> = (100..130).map(|size| size.to_string()).collect();
    let many = of(&study(
        "",
        "workload = \"udp_stream\"",
        &factor("message_size_bytes", &sizes.join(", ")),
    ));
    let (measured, left): (Vec<_>, Vec<_>) = many
        .capacities
        .iter()
        .partition(|capacity| capacity.absent.is_none());
    assert_eq!((measured.len(), left.len()), (16, 14));
    assert!(left[0].absent.as_ref().unwrap().contains("12 s at most"));
}

#[test]
fn a_path_that_delays_is_saturated_with_datagrams_in_packets_like_those_of_tcp() {
    let levels =
        "{ label = \"a\", offloads = \"on\" }, { label = \"b\", offloads = \"sender: tso off\" }";
    let both = of(&study(
        "topology = \"lab15\"",
        "",
        &factor("offloading", levels),
    ));
    let (whole, cut) = (saturation(&both, 0), saturation(&both, 1));
    for saturation in [whole, cut] {
        let conditions = &saturation.conditions;
        assert_eq!(conditions.workload, Workload::UdpStream);
        // 20 of IP, 8 of UDP; 20 of IP, 20 of TCP, 12 of timestamps.
        assert_eq!(
            (conditions.message_size_bytes, saturation.counts_as),
            (1472, Some([1448, 1472]))
        );
        let offered = conditions.message_rate.unwrap() * 1514 * 8;
        assert!(
            (1_249_000_000..=1_250_000_000).contains(&offered),
            "{offered}"
        );
        assert!(conditions.warmup_ms > 120);
        conditions.check(1500).unwrap();
    }
    assert_eq!(
        (whole.conditions.send_mode, whole.conditions.burst_messages),
        (Mode::Gso, Some(44))
    );
    assert_eq!(
        (cut.conditions.send_mode, cut.conditions.burst_messages),
        (Mode::Plain, None)
    );
}
