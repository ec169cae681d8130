//! `/proc` and `/sys` of machines with many CPUs, written as their kernels write them (fs/proc/stat.c,
//! net/core/net-procfs.c, drivers/base/cpu.c, drivers/base/node.c, kernel/irq/proc.c).

use std::fs::{create_dir_all, write};
use std::path::Path;

/// A machine with a card.
pub struct Machine {
    pub cpus: u32,
    pub offline: &'static [u32],
    pub isolated: &'static str,
    /// The NUMA nodes that have a list of CPUs.
    pub nodes: &'static [(u32, &'static str)],
    /// The node of its card, whose address is [`ADDRESS`], and the number of the card's queues.
    pub card: (usize, usize),
}

pub const ADDRESS: &str = "0000:18:00.0";

/// Four Intel Xeon X7550, whose CPUs are on the sockets by turns: the lists of the kernel are those that util-linux
/// recorded (tests/expected/lscpu/lscpu-x86_64-64cpu).
pub const XEON: Machine = Machine {
    cpus: 64,
    offline: &[],
    isolated: "",
    nodes: &[(
        0,
        "0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,42,44,46,48,50,52,54,56,58,60,62",
    )],
    card: (0, 16),
};

/// Two AMD EPYC 7742 with two threads a core, one node a socket, as lscpu lists them; two CPUs are offline and eight
/// isolated.
pub const EPYC: Machine = Machine {
    cpus: 256,
    offline: &[7, 135],
    isolated: "120-127",
    nodes: &[(0, "0-6,8-63,128-134,136-191"), (1, "64-127,192-255")],
    card: (1, 128),
};

impl Machine {
    pub fn online(&self) -> impl Iterator<Item = u32> + Clone {
        (0..self.cpus).filter(|cpu| !self.offline.contains(cpu))
    }

    /// `/proc/stat`, where CPU number N spent N ticks in soft interrupts.
    pub fn stat(&self) -> String {
        let line = |cpu: u32| format!("cpu{cpu} 100 0 50 9000 3 0 {cpu} 0 0 0\n");
        let lines: String = self.online().map(line).collect();
        let interrupts = " 0".repeat(4 * self.cpus as usize);
        format!("cpu  1 0 1 1 0 0 0 0 0 0\n{lines}intr 9{interrupts}\nctxt 7\n")
    }

    pub fn softnet(&self) -> String {
        let line = |cpu| format!("{:08x} {cpu:08x}{} {cpu:08x}\n", 7, " 00000000".repeat(10));
        self.online().map(line).collect()
    }

    /// Writes its files below a root.
    pub fn write(&self, root: &Path) {
        let file = |path: String, text: String| {
            let path = root.join(path);
            create_dir_all(path.parent().expect("a folder")).expect("a folder");
            write(path, text + "\n").expect("a file");
        };
        let system = |name: &str, text| file(format!("sys/devices/system/{name}"), text);
        let online: Vec<String> = self.online().map(|cpu| cpu.to_string()).collect();
        system("cpu/online", online.join(","));
        system("cpu/present", format!("0-{}", self.cpus - 1));
        system("cpu/isolated", self.isolated.to_owned());
        for (node, cpus) in self.nodes {
            system(&format!("node/node{node}/cpulist"), (*cpus).to_owned());
        }
        file("proc/stat".to_owned(), self.stat());
        file("proc/net/softnet_stat".to_owned(), self.softnet());
        let (node, queues) = self.card;
        let of_card =
            |name: &str, text| file(format!("sys/bus/pci/devices/{ADDRESS}/{name}"), text);
        of_card("numa_node", node.to_string());
        of_card("local_cpulist", self.nodes[node].1.to_owned());
        of_card("net/eth0/speed", "100".to_owned());
        of_card("net/eth0/duplex", "half".to_owned());
        // The interrupt of the link has no handler while the card is down.
        of_card("msi_irqs/99", "msix".to_owned());
        file("proc/irq/99/smp_affinity_list".to_owned(), "0".to_owned());
        for (queue, cpu) in online.iter().enumerate().take(queues) {
            of_card(&format!("msi_irqs/{}", 100 + queue), "msix".to_owned());
            let irq = format!("proc/irq/{}", 100 + queue);
            file(format!("{irq}/effective_affinity_list"), cpu.clone());
            create_dir_all(root.join(format!("{irq}/ice-eth0-TxRx-{queue}"))).expect("a folder");
        }
    }
}
