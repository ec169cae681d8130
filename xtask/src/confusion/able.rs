//! What a machine can do: scenarios take their rates and quotas from it.

use std::fmt;

/// What the machine can do over the wire of the scenarios.
#[derive(Clone, Copy, Debug, Default)]
pub struct Able {
    /// Rate of a stream of messages of 128 B, in bit/s.
    pub small_tcp_bps: f64,
    /// Rate of a stream of messages of 64 B, in bit/s.
    pub tiny_tcp_bps: f64,
    /// Datagrams of 1400 B that a sender hands over, in bit/s.
    pub udp_bps: f64,
    /// CPUs that the processes of sender and receiver use for a stream of whole buffers.
    pub tcp_cpus: [f64; 2],
}

impl fmt::Display for Able {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "this machine: TCP of 128 B {:.0} Mbit/s, of 64 B {:.0}; UDP of 1400 B {:.0} Mbit/s sent; TCP uses {:.2} CPUs to send and {:.2} to receive",
            self.small_tcp_bps / 1e6,
            self.tiny_tcp_bps / 1e6,
            self.udp_bps / 1e6,
            self.tcp_cpus[0],
            self.tcp_cpus[1]
        )
    }
}
