//! The layers among which CPU time is divided.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

words! {
    /// A layer of the way that a message takes.
    #[derive(
        Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
    )]
    #[serde(rename_all = "snake_case")]
    pub enum Layer {
        Application = "application",
        /// Entry and exit of system calls, and the socket's part of them.
        SystemCall = "system_call",
        /// Copies between the program and the kernel.
        Copy = "copy",
        /// Allocation and release of packets and their memory.
        Buffers = "buffers",
        /// TCP and UDP.
        Transport = "transport",
        /// IP and routing.
        Ip = "ip",
        /// Netfilter, and a bridge that is not the lab's wire.
        Netfilter = "netfilter",
        /// Queueing disciplines, devices and their drivers.
        Device = "device",
        /// GSO and GRO.
        Segmentation = "segmentation",
        /// Wake-ups, interrupts and soft interrupts.
        WakeUps = "wake_ups",
        Scheduler = "scheduler",
        /// Waiting for locks, and taking them.
        Locks = "locks",
        /// What stands for cards and cable in a lab.
        Wire = "wire",
        /// Functions of the kernel below no anchor.
        OtherKernel = "other_kernel",
        /// Other programs of the host, and the agents.
        OtherPrograms = "other_programs",
        Idle = "idle",
    }
}
