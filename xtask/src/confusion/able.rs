//! What this machine can do, measured first: scenarios take their rates and quotas from it.

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};

use super::scenarios::{SMALL_TCP, TINY_TCP, WHOLE_TCP, WHOLE_UDP};
use super::trial;

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

impl Able {
    /// Measures it by four runs.
    ///
    /// # Errors
    /// When a run fails.
    pub fn measured(bitcost: &Path) -> Result<Able> {
        let run = |scenario| {
            trial::run(scenario, 0, &Able::default(), bitcost)?
                .able()
                .context("its records lack counters")
        };
        let (_, messages, _) = run(&WHOLE_UDP)?;
        Ok(Able {
            small_tcp_bps: run(&SMALL_TCP)?.0,
            tiny_tcp_bps: run(&TINY_TCP)?.0,
            udp_bps: 8.0 * 1400.0 * messages,
            tcp_cpus: run(&WHOLE_TCP)?.2,
        })
    }
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
