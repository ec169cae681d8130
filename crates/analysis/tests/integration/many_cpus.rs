//! The CPU time of runs on machines with 64 to 1 024 CPUs, of which some are offline.

use crate::common::*;

/// The ticks of CPUs with these numbers: those of the endpoints work 80 %, a quarter of it in soft interrupts.
fn all(numbers: &[u32], busy: [u32; 2], ticks: u64) -> Vec<CpuTicks> {
    let cpu = |cpu: &u32| {
        let share = u64::from(busy.contains(cpu)) * ticks;
        CpuTicks {
            cpu: *cpu,
            user: share * 6 / 10,
            softirq: share * 2 / 10,
            idle: ticks - share * 8 / 10,
            ..CpuTicks::default()
        }
    };
    numbers.iter().map(cpu).collect()
}

#[test]
fn cpu_time_is_attributed_to_ends_on_any_cpus() {
    for (numbers, busy) in [
        ((0..64).collect::<Vec<u32>>(), [40, 63]),
        ((0..256).filter(|cpu| *cpu != 7).collect(), [128, 255]),
        ((0..1024).step_by(2).collect(), [512, 1022]),
    ] {
        let end = |(role, cpu): (Role, u32)| {
            let at = |second: u64| {
                let mut cpus = all(&numbers, busy, 100 * second);
                // Another one is offline each time.
                cpus.remove(second as usize);
                sample(second * 1_000_000_000, cpus, Vec::new())
            };
            let mut record = record(role, counts(1000, 1 << 20), vec![at(1), at(3)]);
            record.pinned_cpus = vec![cpu];
            let list = in_effect(RECEIVE_CPUS, &format!("{cpu}-{cpu}"));
            record.in_effect.push(list);
            record
        };
        let ends = ENDS.into_iter().zip(busy).map(end).collect::<Vec<_>>();
        let mut run = Run::new(Workload::UdpStream, ends.try_into().expect("two"));
        run.shared_cpus = true;
        let found = attribute(&run.view()).expect("attributed");
        assert_eq!(found.method, Method::OwnCpus);
        for end in [found.sender, found.receiver] {
            assert_close(end.map(|of| of.cpus), 0.6);
        }
        assert_close(found.wire.map(|of| of.cpus), 0.4);
    }
}
