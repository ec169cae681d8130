//! The table of anchors: entry points of the kernel that outlive its releases, each with its layer.
//!
//! A name that ends in `*` is the start of names. The longest match decides. Names in one row are
//! alternatives: of other kernels, or other ways into the same layer.

use super::layer::Layer;

/// Entry points of one layer.
pub struct Anchor {
    /// The layer.
    pub layer: Layer,
    /// Their names, and starts of names.
    pub names: &'static [&'static str],
}

const fn of(layer: Layer, names: &'static [&'static str]) -> Anchor {
    Anchor { layer, names }
}

/// Entry points, one row for each part of a layer.
pub const ANCHORS: &[Anchor] = &[
    // Copies between the program and the kernel, and the checks that belong to them.
    of(
        Layer::Copy,
        &[
            "_copy_to_iter*",
            "_copy_from_iter*",
            "copy_page_to_iter*",
            "copy_page_from_iter*",
            "copy_to_iter*",
            "simple_copy_to_iter",
            "copyin",
            "copyout",
            "copy_user_*",
            "_copy_to_user",
            "_copy_from_user",
            "__arch_copy_*",
            "rep_movs_alternative",
            "csum_and_copy_*",
            "__check_object_size",
            "__check_heap_object",
            "check_stack_object",
        ],
    ),
    of(
        Layer::Copy,
        &[
            "skb_copy_datagram_*",
            "__skb_datagram_iter",
            "skb_copy_and_csum_datagram*",
            "ip_generic_getfrag",
            "skb_copy_bits",
        ],
    ),
    // Packets.
    of(
        Layer::Buffers,
        &[
            "__alloc_skb",
            "alloc_skb_with_frags",
            "sock_alloc_send_pskb",
            "sock_wmalloc",
            "tcp_stream_alloc_skb",
            "sk_stream_alloc_skb",
            "__napi_alloc_skb",
            "napi_alloc_skb",
            "__netdev_alloc_skb",
            "build_skb*",
            "napi_build_skb",
            "slab_build_skb",
            "napi_skb_cache_*",
            "kmalloc_reserve",
            "get_netmem",
        ],
    ),
    of(
        Layer::Buffers,
        &[
            "kfree_skb*",
            "__kfree_skb",
            "consume_skb",
            "napi_consume_skb",
            "__napi_kfree_skb",
            "skb_release_*",
            "skb_free_*",
            "skb_attempt_defer_free",
            "skb_defer_free_flush",
            "dev_kfree_skb*",
            "__dev_kfree_skb*",
            "sk_skb_reason_drop",
        ],
    ),
    of(
        Layer::Buffers,
        &[
            "skb_clone",
            "__skb_clone",
            "skb_copy",
            "pskb_expand_head",
            "__pskb_pull_tail",
            "__pskb_copy*",
            "skb_try_coalesce",
        ],
    ),
    // Memory below packets.
    of(
        Layer::Buffers,
        &[
            "kmem_cache_*",
            "__kmem_cache_*",
            "kmalloc*",
            "__kmalloc*",
            "___kmalloc*",
            "kfree",
            "__slab_*",
            "___slab_*",
            "slab_*",
            "__sheaf_*",
        ],
    ),
    of(
        Layer::Buffers,
        &[
            "__alloc_pages*",
            "alloc_pages*",
            "__alloc_frozen_pages*",
            "alloc_frozen_pages*",
            "__free_pages*",
            "free_unref_*",
            "free_frozen_*",
            "__free_frozen_pages",
            "get_page_from_freelist",
            "rmqueue*",
            "__rmqueue*",
            "put_page",
            "__folio_put",
            "free_large_kmalloc",
        ],
    ),
    of(
        Layer::Buffers,
        &[
            "skb_page_frag_refill",
            "sk_page_frag_refill",
            "page_frag_*",
            "__page_frag_*",
            "napi_alloc_frag*",
            "page_pool_*",
            "__page_pool_*",
        ],
    ),
    of(
        Layer::Buffers,
        &[
            "__sk_mem_*",
            "sk_mem_*",
            "mem_cgroup_*",
            "__mem_cgroup_*",
            "obj_cgroup_*",
            "__memcg_*",
        ],
    ),
    // TCP and UDP, with the socket's part.
    of(
        Layer::Transport,
        &[
            "tcp_*",
            "__tcp_*",
            "tcp4_*",
            "tcp6_*",
            "bbr_*",
            "cubictcp_*",
        ],
    ),
    of(
        Layer::Transport,
        &[
            "udp_*", "__udp_*", "udp4_*", "__udp4_*", "udpv6_*", "__udp6_*",
        ],
    ),
    of(
        Layer::Transport,
        &[
            "inet_sendmsg",
            "inet_recvmsg",
            "inet6_sendmsg",
            "inet6_recvmsg",
            "inet_csk_*",
            "inet_hash*",
            "inet_ehash*",
            "__inet_lookup_*",
            "inet_stream_*",
            "__inet_stream_*",
            "inet_release",
            "inet_accept",
            "inet_shutdown",
            "inet_twsk_*",
        ],
    ),
    of(
        Layer::Transport,
        &[
            "sk_*",
            "__sk_*",
            "sock_queue_*",
            "__sock_queue_*",
            "sock_wfree",
            "sock_rfree",
            "__sock_wfree",
            "skb_set_owner_w",
            "lock_sock_nested",
            "__lock_sock",
            "release_sock",
            "__release_sock",
            "__skb_recv_udp",
            "__skb_wait_for_more_packets",
        ],
    ),
    // IP and routing.
    of(
        Layer::Ip,
        &[
            "ip_*",
            "__ip_*",
            "ip6_*",
            "__ip6_*",
            "ipv6_*",
            "ipv4_*",
            "ip4_*",
            "raw_local_deliver",
            "icmp_*",
        ],
    ),
    of(
        Layer::Ip,
        &[
            "fib_*",
            "fib6_*",
            "dst_*",
            "rt_*",
            "inet_gifconf",
            "neigh_*",
            "__neigh_*",
            "arp_*",
            "inet_lookup_ifaddr*",
            "xfrm_*",
            "__xfrm_*",
        ],
    ),
    // Netfilter and bridges.
    of(
        Layer::Netfilter,
        &[
            "nf_*",
            "__nf_*",
            "nft_*",
            "ipt_*",
            "ip6t_*",
            "xt_*",
            "iptable_*",
            "ipv4_conntrack_*",
            "ipv6_conntrack_*",
            "selinux_ip_*",
        ],
    ),
    of(
        Layer::Netfilter,
        &["br_*", "__br_*", "fdb_*", "ebt_*", "ovs_*"],
    ),
    // Queueing disciplines.
    of(
        Layer::Device,
        &[
            "__dev_queue_xmit",
            "dev_queue_xmit",
            "__dev_xmit_skb",
            "sch_direct_xmit",
            "__qdisc_run",
            "qdisc_*",
            "dev_qdisc_enqueue",
            "net_tx_action",
            "netdev_core_pick_tx",
            "netdev_pick_tx",
        ],
    ),
    of(
        Layer::Device,
        &[
            "pfifo_*",
            "fq_*",
            "fq_codel_*",
            "netem_*",
            "tbf_*",
            "htb_*",
            "mq_*",
            "noqueue_*",
            "tcf_*",
            "cls_bpf_*",
            "cake_*",
        ],
    ),
    // Devices and drivers.
    of(
        Layer::Device,
        &[
            "dev_hard_start_xmit",
            "xmit_one",
            "veth_*",
            "loopback_xmit",
            "__dev_forward_skb*",
            "dev_forward_skb*",
            "skb_scrub_packet",
            "eth_*",
            "is_skb_forwardable",
            "____dev_forward_skb",
        ],
    ),
    of(
        Layer::Device,
        &[
            "virtnet_*",
            "start_xmit",
            "virtqueue_*",
            "vring_*",
            "receive_buf",
            "free_old_xmit*",
            "xennet_*",
            "netvsc_*",
            "vmxnet3_*",
            "ena_*",
            "gve_*",
            "tun_*",
            "tap_*",
            "vhost_*",
        ],
    ),
    of(
        Layer::Device,
        &[
            "mlx4_*",
            "mlx5e_*",
            "mlx5_*",
            "ixgbe_*",
            "i40e_*",
            "ice_*",
            "iavf_*",
            "igb_*",
            "igc_*",
            "e1000_*",
            "e1000e_*",
            "bnxt_*",
            "bnx2x_*",
            "r8169_*",
            "rtl8169_*",
            "tg3_*",
            "qede_*",
            "aq_*",
            "dma_map_*",
            "dma_unmap_*",
            "iommu_*",
            "swiotlb_*",
        ],
    ),
    of(
        Layer::Device,
        &[
            "net_rx_action",
            "__napi_poll",
            "napi_poll",
            "napi_threaded_poll*",
            "napi_busy_loop*",
            "napi_complete_done",
            "process_backlog",
            "__netif_receive_skb*",
            "netif_receive_skb*",
            "netif_rx*",
            "__netif_rx*",
            "enqueue_to_backlog",
            "xdp_*",
            "__xdp_*",
            "validate_xmit_*",
            "netif_skb_features",
            "passthru_features_check",
            "skb_network_protocol",
            "skb_csum_hwoffload_help",
            "dev_nit_active*",
            "dev_queue_xmit_nit",
            "packet_rcv",
            "tpacket_rcv",
        ],
    ),
    // Segmentation and merging.
    of(
        Layer::Segmentation,
        &[
            "skb_segment*",
            "__skb_gso_segment",
            "skb_mac_gso_segment",
            "skb_gso_*",
            "inet_gso_segment",
            "ipv6_gso_segment",
            "tcp_gso_segment",
            "tcp4_gso_segment",
            "tcp6_gso_segment",
            "__udp_gso_segment*",
            "udp4_ufo_fragment",
            "udp6_ufo_fragment",
        ],
    ),
    of(
        Layer::Segmentation,
        &[
            "dev_gro_receive",
            "gro_receive_skb",
            "napi_gro_*",
            "gro_*",
            "__gro_flush",
            "napi_gro_complete",
            "inet_gro_*",
            "ipv6_gro_*",
            "tcp_gro_*",
            "tcp4_gro_*",
            "tcp6_gro_*",
            "udp_gro_*",
            "udp4_gro_*",
            "udp6_gro_*",
            "skb_gro_*",
            "skb_mac_gro_*",
            "eth_gro_*",
        ],
    ),
    // Wake-ups.
    of(
        Layer::WakeUps,
        &[
            "try_to_wake_up",
            "ttwu_*",
            "wake_up*",
            "__wake_up*",
            "default_wake_function",
            "autoremove_wake_function",
            "woken_wake_function",
            "sock_def_readable",
            "sock_def_write_space",
            "sk_stream_write_space",
            "sock_def_wakeup",
            "ep_poll_callback",
            "pollwake",
            "receiver_wake_function",
        ],
    ),
    of(
        Layer::WakeUps,
        &[
            "__napi_schedule*",
            "____napi_schedule",
            "napi_schedule*",
            "raise_softirq*",
            "__raise_softirq*",
            "x2apic_send_*",
            "native_send_call_func*",
            "native_smp_send_reschedule",
            "__smp_call_single_queue",
            "generic_smp_call_function*",
            "smp_call_function*",
            "flush_smp_call_function_queue",
            "__flush_smp_call_function_queue",
            "sched_ttwu_pending",
            "kvm_send_ipi*",
            "__send_ipi*",
            "gic_*",
        ],
    ),
    // Interrupts.
    of(
        Layer::WakeUps,
        &[
            "handle_softirqs",
            "__do_softirq",
            "__softirqentry_text_start",
            "do_softirq*",
            "__local_bh_enable_ip",
            "irq_exit_rcu",
            "__irq_exit_rcu",
            "run_ksoftirqd",
            "smpboot_thread_fn",
            "tasklet_action*",
            "run_timer_softirq",
            "hrtimer_run_softirq",
        ],
    ),
    of(
        Layer::WakeUps,
        &[
            "asm_sysvec_*",
            "sysvec_*",
            "asm_common_interrupt",
            "common_interrupt",
            "__common_interrupt",
            "hrtimer_interrupt",
            "handle_irq_event*",
            "handle_edge_irq",
            "el1_interrupt",
            "el0_interrupt",
            "el1h_64_irq*",
            "el0t_64_irq*",
            "call_on_irq_stack",
        ],
    ),
    // The scheduler.
    of(
        Layer::Scheduler,
        &[
            "schedule*",
            "__schedule",
            "preempt_schedule*",
            "hrtimer_nanosleep",
            "do_nanosleep",
            "common_nsleep*",
            "__cond_resched",
            "finish_task_switch",
            "pick_next_*",
            "__pick_next_task",
            "wait_woken",
            "prepare_to_wait*",
            "finish_wait",
            "add_wait_queue",
            "remove_wait_queue",
            "sched_yield",
            "do_sched_yield",
            "__switch_to*",
            "futex_*",
            "do_futex",
        ],
    ),
    // Locks. What enables interrupts again is no anchor: a clock's sample falls there too late.
    of(
        Layer::Locks,
        &[
            "_raw_spin_lock*",
            "_raw_spin_trylock*",
            "_raw_read_lock*",
            "_raw_write_lock*",
            "native_queued_spin_lock_slowpath",
            "queued_spin_lock_slowpath",
            "__pv_queued_spin_lock_slowpath",
            "mutex_lock*",
            "__mutex_lock*",
            "mutex_spin_on_owner",
            "osq_lock",
            "rwsem_*",
            "down_read*",
            "down_write*",
        ],
    ),
];

/// Entries of the kernel: their layer counts only at the leaf or close to it.
pub const ENTRIES: &[Anchor] = &[
    of(
        Layer::SystemCall,
        &[
            "entry_SYSCALL_64*",
            "do_syscall_64",
            "x64_sys_call",
            "__x64_sys_*",
            "__arm64_sys_*",
            "__se_sys_*",
            "el0t_64_sync*",
            "el0_svc*",
            "invoke_syscall*",
            "syscall_*",
            "exit_to_user_mode_*",
            "entry_SYSRETQ_*",
            "ret_to_user*",
        ],
    ),
    of(
        Layer::SystemCall,
        &[
            "__sys_*",
            "___sys_*",
            "____sys_*",
            "ksys_*",
            "vfs_write",
            "vfs_read",
            "sock_sendmsg*",
            "__sock_sendmsg*",
            "sock_recvmsg*",
            "sock_write_iter",
            "sock_read_iter",
            "splice_to_socket",
            "sock_splice_read",
            "do_splice*",
            "splice_*",
            "direct_splice_actor",
            "do_sendfile",
            "io_*",
            "__io_*",
            "security_socket_*",
        ],
    ),
];

/// Where a kernel thread, an interrupt of a program or a fault starts: a chain with one of them and
/// no anchor is of the kernel.
pub const STARTS: &[&str] = &[
    "ret_from_fork*",
    "kthread",
    "asm_exc_*",
    "common_startup_64",
    "secondary_startup_64*",
    "cpu_startup_entry",
    "el1h_64_*",
    "worker_thread",
];

/// How closely a function's name matches one of these; a whole name is closer than a start.
pub fn matched(patterns: &[&str], name: &str) -> Option<usize> {
    let length = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start).then_some(2 * start.len()),
        None => (name == *pattern).then_some(2 * name.len() + 1),
    };
    patterns.iter().filter_map(length).max()
}

/// The layers of which a kernel with these functions has no entry point.
pub fn absent<'a>(functions: impl IntoIterator<Item = &'a str>) -> Vec<Layer> {
    let rows = || ANCHORS.iter().chain(ENTRIES);
    let has = |layer: Layer, name: &str| {
        let mut of_layer = rows().filter(|row| row.layer == layer);
        of_layer.any(|row| matched(row.names, name).is_some())
    };
    let mut absent: Vec<Layer> = Layer::ALL.into_iter().collect();
    absent.retain(|layer| rows().any(|row| row.layer == *layer));
    for name in functions {
        if absent.is_empty() {
            break;
        }
        absent.retain(|layer| !has(*layer, name));
    }
    absent
}

#[cfg(test)]
mod tests {
    use super::{absent, matched};
    use crate::profile::Layer;

    #[test]
    fn a_layer_without_an_entry_point_is_named() {
        let all = absent([]);
        assert!(all.contains(&Layer::Netfilter) && !all.contains(&Layer::Application));
        let left = absent(["unknown", "nf_hook_slow", "tcp_sendmsg"]);
        assert!(!left.contains(&Layer::Netfilter) && left.contains(&Layer::Copy));
        assert_eq!(left.len(), all.len() - 2);
    }

    #[test]
    fn a_whole_name_is_closer_than_a_start() {
        assert!(matched(&["tcp_send"], "tcp_send") > matched(&["tcp_send*"], "tcp_send"));
        assert_eq!(matched(&["tcp_send"], "tcp_sendmsg"), None);
    }
}
