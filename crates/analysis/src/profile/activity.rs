//! What the innermost function of a chain does: the family of its name.

bitcost_model::words! {
    /// A kind of work that every layer does.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Activity {
        /// Copies bytes.
        Copy = "copy",
        /// Computes checksums.
        Checksum = "checksum",
        /// Allocates and releases memory.
        Memory = "memory",
        /// Takes and releases locks.
        Lock = "lock",
        /// Wakes threads and sends interrupts.
        Wake = "wake",
        /// Reads clocks and sets timers.
        Clock = "clock",
        /// Enables interrupts: a sample of a clock falls there in place of where they were disabled.
        Interrupts = "interrupts_enabled",
        /// What only this layer does.
        Own = "own",
    }
}

impl Activity {
    /// The activity of a chain's innermost function.
    pub fn of(leaf: &str) -> Activity {
        let is_of = |name: &str| match name.strip_suffix('*') {
            Some(start) => leaf.starts_with(start),
            None => leaf == name,
        };
        let found = FAMILIES
            .iter()
            .find(|(_, names)| names.split(' ').any(is_of));
        found.map_or(Activity::Own, |(activity, _)| *activity)
    }
}

/// Families of names, the first that matches.
const FAMILIES: [(Activity, &str); 7] = [
    (
        Activity::Interrupts,
        "_raw_spin_unlock_irq* finish_task_switch __local_bh_enable_ip handle_softirqs \
         __do_softirq local_irq_* pv_native_safe_halt",
    ),
    (
        Activity::Copy,
        "_copy_* copy_* copyin copyout rep_movs* memcpy* __memcpy* __pi_memcpy* memmove* \
         __arch_copy_* skb_copy_*",
    ),
    (
        Activity::Checksum,
        "csum_* do_csum __skb_checksum* skb_checksum* crc32*",
    ),
    (
        Activity::Memory,
        "kmem_cache_* kmalloc* __kmalloc* kfree* __slab_* ___slab_* slab_* __alloc_* alloc_* \
         free_* __free_* get_page* put_page rmqueue* page_frag_* memset* clear_page* __memcg_* \
         skb_release_*",
    ),
    (
        Activity::Lock,
        "_raw_* native_queued_* queued_spin_* __pv_queued_* __raw_callee_save___pv_queued_* \
         mutex_* __mutex_* rwsem_* osq_* lock_sock* __rcu_read_*",
    ),
    (
        Activity::Wake,
        "try_to_wake_up ttwu_* __wake_up* wake_up* x2apic_send_* native_write_msr \
         __napi_schedule* smp_call_function* kick_*",
    ),
    (
        Activity::Clock,
        "ktime_* read_tsc kvm_clock_* pvclock_* hrtimer_* __mod_timer mod_timer sched_clock*",
    ),
];
