//! Room that a run gives to TCP at both ends: bytes, or times what the path holds.

use serde::{Deserialize, Serialize};

use crate::conditions::Conditions;
use crate::knobs::SYSCTL;
use crate::units::parse_bytes;

/// What is allowed, in words.
pub const ALLOWED: &str =
    "a multiple of the path's bandwidth-delay product such as \"8 bdp\", or bytes such as \"20MiB\"";

/// The kernel's least and usual room of a socket, in bytes, to receive and to send (tcp(7), `tcp_rmem` and `tcp_wmem`).
const RECEIVE: [u64; 2] = [4096, 131_072];
const SEND: [u64; 2] = [4096, 16_384];
/// Most room, in bytes: what the kernel's numbers hold.
const MOST: u64 = (1 << 31) - 1;

/// Most bytes that the kernel gives a TCP socket by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TcpBuffers {
    /// So many.
    Bytes(u64),
    /// Thousandths of the bandwidth-delay product of the lab's path.
    MilliBdp(u64),
}

impl TcpBuffers {
    /// Reads what a study or a command line asks; `None` for what is not [`ALLOWED`].
    pub fn parse(text: &str) -> Option<TcpBuffers> {
        let text = text.trim();
        let Some(times) = text.strip_suffix("bdp").or_else(|| text.strip_suffix("BDP")) else {
            return parse_bytes(text).ok().filter(|bytes| (4096..=MOST).contains(bytes)).map(TcpBuffers::Bytes);
        };
        let times = times.trim().trim_end_matches('×').trim_end().parse::<f64>().ok()?;
        (0.001..=1e6).contains(&times).then(|| TcpBuffers::MilliBdp((times * 1000.0).round() as u64))
    }

    /// The bytes on a path with this bandwidth-delay product.
    ///
    /// # Errors
    /// A sentence where the path has none, or the product is out of the kernel's range.
    pub fn bytes(self, bdp_bytes: Option<u64>) -> Result<u64, String> {
        let bytes = match (self, bdp_bytes) {
            (TcpBuffers::Bytes(bytes), _) => bytes,
            (TcpBuffers::MilliBdp(times), Some(bdp)) => bdp.saturating_mul(times) / 1000,
            (TcpBuffers::MilliBdp(_), None) => {
                return Err("buffers in bdp need a lab whose path has a rate and a delay; allowed: bytes".to_owned());
            }
        };
        let range = 4096..=MOST;
        let error = || format!("buffers of {bytes} bytes; allowed: {} to {}", range.start(), range.end());
        if range.contains(&bytes) { Ok(bytes) } else { Err(error()) }
    }
}

impl Conditions {
    /// Asks of the hosts the kernel parameters that give TCP the room that is asked for, of this part and those beside it.
    ///
    /// # Errors
    /// As [`TcpBuffers::bytes`].
    pub fn size_buffers(&mut self, bdp_bytes: Option<u64>) -> Result<(), String> {
        if let Some(asked) = self.tcp_buffers {
            let most = asked.bytes(bdp_bytes)?;
            let text = |[least, usual]: [u64; 2]| format!("{least} {} {most}", usual.min(most));
            self.ask(&SYSCTL, &format!("net.ipv4.tcp_rmem={}, net.ipv4.tcp_wmem={}", text(RECEIVE), text(SEND)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_s_eight_times_the_path() {
        let mut conditions = Conditions { tcp_buffers: TcpBuffers::parse("8 bdp"), ..Conditions::default() };
        conditions.size_buffers(Some(2_500_000)).unwrap();
        let value = |name: &str| {
            let wish = conditions.knobs.iter().find(|wish| wish.subject.as_deref() == Some(name)).unwrap();
            wish.values["value"].clone()
        };
        assert_eq!(value("net.ipv4.tcp_rmem"), "4096 131072 20000000");
        assert_eq!(value("net.ipv4.tcp_wmem"), "4096 16384 20000000");
        assert!(conditions.size_buffers(None).unwrap_err().contains("need a lab whose path has a rate and a delay"));
        assert!(conditions.size_buffers(Some(1)).unwrap_err().contains("allowed: 4096 to"));
    }

    #[test]
    fn what_is_no_room_is_refused() {
        assert_eq!(TcpBuffers::parse("20MiB"), Some(TcpBuffers::Bytes(20_971_520)));
        assert_eq!(TcpBuffers::parse("0.5bdp"), Some(TcpBuffers::MilliBdp(500)));
        for text in ["", "bdp", "-1 bdp", "8 bpd", "0 bdp", "1", "9G", "nan bdp"] {
            assert_eq!(TcpBuffers::parse(text), None, "{text}");
        }
    }
}
