//! The cases of a comparison: transport, size, rate, and the path's MTU.

use serde::{Deserialize, Serialize};

/// The traffic of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Traffic {
    /// A TCP stream.
    Tcp,
    /// A UDP stream at full speed.
    Udp,
    /// TCP requests and responses.
    Rr,
    /// UDP requests and responses.
    UdpRr,
    /// A TCP connection for each request and response.
    Crr,
}

/// One comparison.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Case {
    /// Its traffic.
    pub traffic: Traffic,
    /// Bytes of a message, or of a request and of its response.
    pub size: u32,
    /// MTU of the path, in bytes.
    pub mtu_bytes: u32,
    /// Bit/s of user data to keep to; absent: as fast as possible.
    pub rate_bps: Option<u64>,
}

impl Case {
    /// The name, such as `udp/1472`.
    pub fn name(&self) -> String {
        let traffic = match self.traffic {
            Traffic::Tcp => "tcp",
            Traffic::Udp => "udp",
            Traffic::Rr => "rr",
            Traffic::UdpRr => "udp-rr",
            Traffic::Crr => "crr",
        };
        format!(
            "{}{traffic}/{}",
            if self.rate_bps.is_some() {
                "paced-"
            } else {
                ""
            },
            self.size
        )
    }

    /// The requested messages per second.
    pub fn asked_per_second(&self) -> Option<f64> {
        self.rate_bps
            .map(|rate_bps| rate_bps as f64 / 8.0 / f64::from(self.size))
    }

    /// The number by which the CPU time of one message or transaction is divided: its KiB for a
    /// stream, otherwise 1.
    pub fn cpu_units(&self) -> f64 {
        if self.is_stream() {
            f64::from(self.size) / 1024.0
        } else {
            1.0
        }
    }

    /// Whether messages flow one way.
    pub fn is_stream(&self) -> bool {
        matches!(self.traffic, Traffic::Tcp | Traffic::Udp)
    }
}

const TCP_SIZES: [u32; 6] = [64, 1024, 8192, 65_536, 131_072, 1_048_576];
const UDP_SIZES: [u32; 6] = [1, 64, 256, 1024, 1472, 8192];
const TRANSACTIONS: [Traffic; 3] = [Traffic::Rr, Traffic::UdpRr, Traffic::Crr];
const PACED_SIZES: [u32; 2] = [1024, 8192];
const PACED_BPS: u64 = 1_000_000_000;

/// The number of cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All.
    All,
    /// Cases with separate targets and some sizes between: for a quick run.
    Quick,
    /// A few of each kind, without pacing: for a second place.
    Few,
}

impl Extent {
    fn tcp(self) -> &'static [u32] {
        match self {
            Extent::All => &TCP_SIZES,
            Extent::Quick => &[64, 1024, 8192, 131_072],
            Extent::Few => &[64, 8192, 131_072],
        }
    }

    fn udp(self) -> &'static [u32] {
        if self == Extent::All {
            &UDP_SIZES
        } else {
            &[64, 1472]
        }
    }

    fn paced(self) -> &'static [u32] {
        if self == Extent::Few {
            &[]
        } else {
            &PACED_SIZES
        }
    }
}

/// Every case of an extent, or those whose name begins as requested.
pub fn all(extent: Extent, only: Option<&str>) -> Vec<Case> {
    let case = |traffic, size: u32, mtu_bytes| Case {
        traffic,
        size,
        mtu_bytes,
        rate_bps: None,
    };
    let datagram = |size: u32| case(Traffic::Udp, size, if size > 1472 { 9000 } else { 1500 });
    let mut cases: Vec<Case> = extent
        .tcp()
        .iter()
        .map(|size| case(Traffic::Tcp, *size, 1500))
        .collect();
    cases.extend(extent.udp().iter().map(|size| datagram(*size)));
    cases.extend(TRANSACTIONS.map(|traffic| case(traffic, 1, 1500)));
    for size in extent.paced() {
        cases.extend(
            [datagram(*size), case(Traffic::Tcp, *size, 1500)].map(|case| Case {
                rate_bps: Some(PACED_BPS),
                ..case
            }),
        );
    }
    cases.retain(|case| only.is_none_or(|only| case.name().starts_with(only)));
    cases
}
