//! Machines with 64 and 256 CPUs: lists with holes, offline and isolated CPUs, nodes, and a card with many queues.

mod machines;

use std::sync::atomic::{AtomicU32, Ordering};

use bitcost_model::cpu_list::{CPUS_MOST, show_cpu_list};
use bitcost_model::machine::CpuSets;
use bitcost_probe::{card, cores, cpu, softnet};
use machines::{ADDRESS, EPYC, Machine, XEON};

/// What is read of a machine whose process may use these CPUs.
fn read(machine: &Machine, allowed: Vec<u32>) -> (CpuSets, bitcost_model::counters::Card) {
    static FOLDERS: AtomicU32 = AtomicU32::new(0);
    let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
    let root = std::env::temp_dir().join(format!("bitcost-{}-{number}", std::process::id()));
    machine.write(&root);
    let text = root.to_string_lossy();
    let found = (
        cores::sets(&text, allowed),
        card::at(&text, "eth0", "ice", ADDRESS).expect("a card"),
    );
    assert_eq!(card::at(&text, "eth0", "veth", "../../class"), None);
    std::fs::remove_dir_all(&root).expect("removed");
    found
}

#[test]
fn lists_with_holes_are_read_and_what_is_missing_is_empty() {
    let (sets, card) = read(&EPYC, (0..4).collect());
    assert_eq!(show_cpu_list(&sets.online), "0-6,8-134,136-255");
    assert_eq!(
        (&sets.offline, show_cpu_list(&sets.isolated).as_str()),
        (&vec![7, 135], "120-127")
    );
    assert_eq!(show_cpu_list(&sets.nodes[&1]), "64-127,192-255");
    assert_eq!(
        (card.node, card.near_cpus.as_str()),
        (Some(1), "64-127,192-255")
    );
    assert_eq!((card.speed_mbps, card.is_half_duplex), (Some(100), true));
    assert_eq!(card.interrupts.len(), 128);
    assert_eq!(card.interrupts["ice-eth0-TxRx-7"], "8");
    assert_eq!(
        [63, 64, 7].map(|cpu| sets.node_of(cpu)),
        [Some(0), Some(1), None]
    );
    assert!(
        sets.check(&[0, 3, 120, 127]).is_ok(),
        "isolated ones may be pinned to"
    );
    let refused = [135, 64, 256].map(|cpu| sets.check(&[cpu]).expect_err("refused").to_string());
    assert_eq!(
        refused,
        [
            "CPU 135 is offline; online: 0-6,8-134,136-255",
            "CPU 64 may not be used by this process, because of taskset or the cpuset of its control group; allowed: 0-3",
            "CPU 256 does not exist here; online: 0-6,8-134,136-255",
        ]
    );

    let (sets, card) = read(&XEON, Vec::new());
    assert_eq!(show_cpu_list(&sets.online), "0-63");
    assert_eq!((sets.offline, sets.isolated), (Vec::new(), Vec::new()));
    // With one list of a node, it is not known where the others are.
    assert_eq!((sets.nodes.len(), card.interrupts.len()), (1, 16));
    assert_eq!(cores::sets("/nonexistent", Vec::new()), CpuSets::default());
}

#[test]
fn tables_of_all_cpus_are_read_and_bounded() {
    for machine in [&XEON, &EPYC] {
        let cpus = cpu::parse(&machine.stat());
        let numbers: Vec<u32> = cpus.iter().map(|one| one.cpu).collect();
        assert!(machine.online().eq(numbers));
        let last = cpus.last().expect("a CPU");
        assert_eq!(last.softirq, u64::from(last.cpu));
        // Each line says for which CPU it is.
        let softnet = softnet::parse(&machine.softnet());
        assert!(softnet.iter().all(|one| one.cpu == one.dropped));
        assert_eq!(softnet.len(), cpus.len());
    }
    let vast = Machine { cpus: 5000, ..EPYC };
    assert_eq!(cpu::parse(&vast.stat()).len(), CPUS_MOST);
    assert_eq!(softnet::parse(&vast.softnet()).len(), CPUS_MOST);
}
