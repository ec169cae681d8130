//! The size of TCP buffers that a run requests at both endpoints: in bytes, or as a multiple of the
//! path's bandwidth-delay product.

use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Invalid;
use crate::units::parse_bytes;

/// The allowed forms, in words.
pub const ALLOWED: &str = "a multiple of the path's bandwidth-delay product such as \"8 bdp\", or bytes such as \"20MiB\"";

/// The sizes that a run may request, in bytes, up to the limit of the kernel's numbers.
const SIZES: RangeInclusive<u64> = 4096..=(1 << 31) - 1;

/// The most bytes that the kernel's autotuning may give a TCP socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TcpBuffers {
    Bytes(u64),
    /// Thousandths of the bandwidth-delay product of the lab's path.
    MilliBdp(u64),
}

impl TcpBuffers {
    /// Reads the request of a study or a command line; `None` for a text that is not [`ALLOWED`].
    pub fn parse(text: &str) -> Option<TcpBuffers> {
        let text = text.trim();
        let times = text
            .strip_suffix("bdp")
            .or_else(|| text.strip_suffix("BDP"));
        let Some(times) = times else {
            let bytes = parse_bytes(text).ok().filter(|bytes| SIZES.contains(bytes));
            return bytes.map(TcpBuffers::Bytes);
        };
        let times: f64 = times.trim().trim_end_matches('×').trim_end().parse().ok()?;
        let is_possible = (0.001..=1e6).contains(&times);
        is_possible.then(|| TcpBuffers::MilliBdp((times * 1000.0).round() as u64))
    }

    /// The bytes on a path with this bandwidth-delay product.
    pub fn bytes(self, bdp_bytes: Option<u64>) -> Result<u64, Invalid> {
        let bytes = match (self, bdp_bytes) {
            (TcpBuffers::Bytes(bytes), _) => bytes,
            (TcpBuffers::MilliBdp(times), Some(bdp)) => bdp.saturating_mul(times) / 1000,
            (TcpBuffers::MilliBdp(_), None) => {
                return Err(Invalid(
                    "a size in bdp needs a lab whose path has a rate and a delay; allowed: bytes"
                        .to_owned(),
                ));
            }
        };
        match SIZES.contains(&bytes) {
            true => Ok(bytes),
            false => Err(Invalid(format!(
                "buffers of {bytes} bytes; allowed: {} to {}",
                SIZES.start(),
                SIZES.end()
            ))),
        }
    }
}
