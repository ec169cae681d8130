//! The cases of a comparison: transport, size, rate, and the path's MTU.

use bitcost_model::conditions::Workload;

/// One comparison.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub traffic: Workload,
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
        let traffic = self.traffic.info().short_name;
        let paced = self.rate_bps.map_or("", |_| "paced-");
        format!("{paced}{traffic}/{}", self.size)
    }

    /// The number by which the CPU time of one message or transaction is divided: its KiB for a
    /// stream, otherwise 1.
    pub fn cpu_units(&self) -> f64 {
        match self.traffic {
            Workload::TcpStream | Workload::UdpStream => f64::from(self.size) / 1024.0,
            _ => 1.0,
        }
    }

    /// Whether it is of this traffic without a rate, and of one of these sizes.
    pub fn is_of(&self, traffic: Workload, sizes: &[u32]) -> bool {
        self.traffic == traffic && self.rate_bps.is_none() && sizes.contains(&self.size)
    }
}

const TRANSACTIONS: [Workload; 3] = [Workload::TcpRr, Workload::UdpRr, Workload::TcpCrr];
const PACED_BPS: u64 = 1_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    All,
    /// Cases with separate targets and some sizes between: for a quick run.
    Quick,
    /// A few of each kind, without pacing: for a second place.
    Few,
}

/// Every case of an extent, or those whose name begins as requested.
pub fn all(extent: Extent, only: Option<&str>) -> Vec<Case> {
    let (tcp, udp, paced): (&[u32], &[u32], &[u32]) = match extent {
        Extent::All => (
            &[64, 1024, 8192, 65_536, 131_072, 1_048_576],
            &[1, 64, 256, 1024, 1472, 8192],
            &[1024, 8192],
        ),
        Extent::Quick => (&[64, 1024, 8192, 131_072], &[64, 1472], &[1024, 8192]),
        Extent::Few => (&[64, 8192, 131_072], &[64, 1472], &[]),
    };
    let case = |traffic, size: u32, rate_bps| Case {
        traffic,
        size,
        mtu_bytes: match traffic {
            Workload::UdpStream if size > 1472 => 9000,
            _ => 1500,
        },
        rate_bps,
    };
    let of = |traffic, sizes: &[u32], rate_bps| -> Vec<Case> {
        let sizes = sizes.iter();
        sizes.map(|size| case(traffic, *size, rate_bps)).collect()
    };
    let mut cases = [
        of(Workload::TcpStream, tcp, None),
        of(Workload::UdpStream, udp, None),
        TRANSACTIONS.map(|traffic| case(traffic, 1, None)).to_vec(),
        of(Workload::UdpStream, paced, Some(PACED_BPS)),
        of(Workload::TcpStream, paced, Some(PACED_BPS)),
    ]
    .concat();
    cases.retain(|case| only.is_none_or(|only| case.name().starts_with(only)));
    cases
}
