//! The layers among which CPU time is divided.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A layer of the way that a message takes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// The program's own code.
    Application,
    /// Entry and exit of system calls, and the socket's part of them.
    SystemCall,
    /// Copies between the program and the kernel.
    Copy,
    /// Allocation and release of packets and their memory.
    Buffers,
    /// TCP and UDP.
    Transport,
    /// IP and routing.
    Ip,
    /// Netfilter, and a bridge that is not the lab's wire.
    Netfilter,
    /// Queueing disciplines, devices and their drivers.
    Device,
    /// GSO and GRO.
    Segmentation,
    /// Wake-ups, interrupts and soft interrupts.
    WakeUps,
    /// The scheduler.
    Scheduler,
    /// Waiting for locks, and taking them.
    Locks,
    /// What stands for cards and cable in a lab.
    Wire,
    /// Functions of the kernel below no anchor.
    OtherKernel,
    /// Other programs of the host, and the agents.
    OtherPrograms,
    /// An idle CPU.
    Idle,
}

impl Layer {
    /// Every layer, in the order of tables.
    pub const ALL: [Layer; 16] = [
        Layer::Application,
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
        Layer::Wire,
        Layer::OtherKernel,
        Layer::OtherPrograms,
        Layer::Idle,
    ];

    /// The key in documents.
    pub fn name(self) -> &'static str {
        match self {
            Layer::Application => "application",
            Layer::SystemCall => "system_call",
            Layer::Copy => "copy",
            Layer::Buffers => "buffers",
            Layer::Transport => "transport",
            Layer::Ip => "ip",
            Layer::Netfilter => "netfilter",
            Layer::Device => "device",
            Layer::Segmentation => "segmentation",
            Layer::WakeUps => "wake_ups",
            Layer::Scheduler => "scheduler",
            Layer::Locks => "locks",
            Layer::Wire => "wire",
            Layer::OtherKernel => "other_kernel",
            Layer::OtherPrograms => "other_programs",
            Layer::Idle => "idle",
        }
    }

    /// The title for people.
    pub fn title(self) -> &'static str {
        match self {
            Layer::Application => "application",
            Layer::SystemCall => "system call",
            Layer::Copy => "copy",
            Layer::Buffers => "buffer management",
            Layer::Transport => "TCP/UDP",
            Layer::Ip => "IP and routing",
            Layer::Netfilter => "netfilter and bridge",
            Layer::Device => "queueing and device",
            Layer::Segmentation => "segmentation and merging",
            Layer::WakeUps => "wake-ups and interrupts",
            Layer::Scheduler => "scheduler",
            Layer::Locks => "locks",
            Layer::Wire => "the lab's wire",
            Layer::OtherKernel => "other kernel",
            Layer::OtherPrograms => "other programs",
            Layer::Idle => "idle",
        }
    }
}
