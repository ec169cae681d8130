//! Recorded call chains of several kernels, by the table of layers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bitcost_analysis::profile::Layers;
use bitcost_model::profile::Layer;

/// The share of samples that may be below no anchor.
const UNCLASSIFIED: f64 = 0.05;

/// Layers whose entry points are in the kernel.
const OF_THE_KERNEL: [Layer; 11] = [
    Layer::SystemCall,
    Layer::Copy,
    Layer::Buffers,
    Layer::Transport,
    Layer::Ip,
    Layer::Netfilter,
    Layer::Device,
    Layer::Segmentation,
    Layer::WakeUps,
    Layer::Scheduler,
    Layer::Locks,
];

fn recorded() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/profile");
    let files = fs::read_dir(folder).unwrap();
    let found: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    assert!(!found.is_empty());
    found
}

/// Chains with counts, of lines `task;outermost;…;innermost count`.
fn chains(path: &Path) -> Vec<(String, String, u64)> {
    let text = fs::read_to_string(path).unwrap();
    let line = |line: &str| {
        let (stack, count) = line.rsplit_once(' ').unwrap();
        let (task, stack) = stack.split_once(';').unwrap();
        (task.to_owned(), stack.to_owned(), count.parse().unwrap())
    };
    text.lines().map(line).collect()
}

#[test]
fn few_samples_of_recorded_runs_are_below_no_anchor() {
    for path in recorded() {
        let mut layers = Layers::default();
        let mut counts: BTreeMap<Option<Layer>, u64> = BTreeMap::new();
        for (task, stack, count) in chains(&path) {
            if task != "idle" {
                *counts.entry(layers.of(&stack)).or_default() += count;
            }
        }
        let all: u64 = counts.values().sum();
        let none = counts.get(&None).copied().unwrap_or(0);
        let share = none as f64 / all as f64;
        assert!(share <= UNCLASSIFIED, "{}: {share:.3}", path.display());
        for layer in OF_THE_KERNEL {
            let share = counts.get(&Some(layer)).copied().unwrap_or(0);
            assert!(
                share > 0,
                "{}: no sample of {}",
                path.display(),
                layer.name()
            );
        }
    }
}

#[test]
fn the_layer_is_the_deepest_anchor_of_a_chain() {
    let send = "main;entry_SYSCALL_64_after_hwframe;do_syscall_64;__x64_sys_sendto;__sys_sendto";
    let known = [
        ("main;work", Some(Layer::Application)),
        (send, Some(Layer::SystemCall)),
        ("@;tcp_sendmsg;tcp_sendmsg_locked", Some(Layer::Transport)),
        (
            "@;tcp_sendmsg;tcp_sendmsg_locked;_copy_from_iter;rep_movs_alternative",
            Some(Layer::Copy),
        ),
        (
            "@;tcp_sendmsg;tcp_sendmsg_locked;sk_stream_alloc_skb;__alloc_skb;memset",
            Some(Layer::Buffers),
        ),
        // Where interrupts are enabled again says nothing of the layer, what is above it does.
        (
            "@;tcp_sendmsg;tcp_rcv_established;sock_def_readable;_raw_spin_unlock_irqrestore",
            Some(Layer::WakeUps),
        ),
        (
            "@;tcp_sendmsg;release_sock;_raw_spin_lock_bh.isra.0",
            Some(Layer::Locks),
        ),
        (
            "@;udp_sendmsg;ip_make_skb;__ip_append_data.constprop.0",
            Some(Layer::Ip),
        ),
        (
            "@;ip_output;nf_hook_slow;nft_do_chain",
            Some(Layer::Netfilter),
        ),
        (
            "@;__dev_queue_xmit;validate_xmit_skb;__skb_gso_segment;skb_segment",
            Some(Layer::Segmentation),
        ),
        (
            "@;__dev_queue_xmit;sch_direct_xmit;dev_hard_start_xmit;veth_xmit",
            Some(Layer::Device),
        ),
        (
            "@;tcp_recvmsg;sk_wait_data;wait_woken;schedule;__schedule",
            Some(Layer::Scheduler),
        ),
        (
            "main;entry_SYSCALL_64_after_hwframe;do_syscall_64;__x64_sys_clock_gettime;posix_cpu_clock_get;task_sched_runtime;_raw_spin_unlock_irqrestore",
            Some(Layer::SystemCall),
        ),
        // A part of the kernel that the table does not know, below the entry of a system call.
        ("@;a;b;c;d", None),
        ("ret_from_fork_asm;kthread;kdamond_fn", None),
    ];
    let mut layers = Layers::default();
    for (chain, layer) in known {
        let chain = chain.replace('@', send);
        assert_eq!(layers.of(&chain), layer, "{chain}");
    }
}
