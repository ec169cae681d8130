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

/// When the bucket of a divided run is empty, in seconds after the first message: in the middle of
/// the window.
const EMPTY_AFTER_S: f64 = 0.85;

impl Able {
    /// A text of `scenarios.txt` with numbers in place of what is in braces. The kernel keeps rates in whole bytes
    /// per second, so that others than whole Mbit/s are not read back as they were requested.
    pub fn filled(&self, text: &str) -> String {
        let whole_mbps = |bps: f64| (bps / 1e6).floor().max(1.0);
        let mut text = text.to_owned();
        for (name, bps) in [
            ("udp", self.udp_bps),
            ("small", self.small_tcp_bps),
            ("tiny", self.tiny_tcp_bps),
        ] {
            for parts in [3, 4, 5, 10] {
                let rate = whole_mbps(bps / f64::from(parts)).to_string();
                text = text.replace(&format!("{{{name}/{parts}}}"), &rate);
            }
            let burst = (bps - 1e6 * whole_mbps(bps / 3.0)) * EMPTY_AFTER_S / 8.0;
            text = text.replace(&format!("{{{name} burst}}"), &format!("{burst:.0}"));
        }
        text
    }
}

impl fmt::Display for Able {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [small, tiny, udp] =
            [self.small_tcp_bps, self.tiny_tcp_bps, self.udp_bps].map(|bps| bps / 1e6);
        let [sender, receiver] = self.tcp_cpus;
        write!(
            f,
            "this machine: TCP of 128 B {small:.0} Mbit/s, of 64 B {tiny:.0}; UDP of 1400 B {udp:.0} Mbit/s sent; TCP uses {sender:.2} CPUs \
             to send and {receiver:.2} to receive"
        )
    }
}
