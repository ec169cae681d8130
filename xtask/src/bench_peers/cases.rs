//! What is compared: transport, size, and the path's MTU.

/// What moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// A TCP stream.
    Tcp,
    /// A UDP stream, flat out.
    Udp,
    /// TCP requests and responses.
    Rr,
    /// UDP requests and responses.
    UdpRr,
    /// A TCP connection for each request and response.
    Crr,
}

/// One comparison.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// What moves.
    pub traffic: Traffic,
    /// Bytes of a message, or of a request and of its response.
    pub size: u32,
    /// MTU of the path, in bytes.
    pub mtu_bytes: u32,
}

impl Case {
    /// `udp/1472`
    pub fn name(&self) -> String {
        let traffic = match self.traffic {
            Traffic::Tcp => "tcp",
            Traffic::Udp => "udp",
            Traffic::Rr => "rr",
            Traffic::UdpRr => "udp-rr",
            Traffic::Crr => "crr",
        };
        format!("{traffic}/{}", self.size)
    }

    /// True where messages flow one way.
    pub fn is_stream(&self) -> bool {
        matches!(self.traffic, Traffic::Tcp | Traffic::Udp)
    }
}

const TCP_SIZES: [u32; 6] = [64, 1024, 8192, 65_536, 131_072, 1_048_576];
const TCP_SIZES_QUICK: [u32; 4] = [64, 1024, 8192, 131_072];
const UDP_SIZES: [u32; 6] = [1, 64, 256, 1024, 1472, 8192];
const UDP_SIZES_QUICK: [u32; 3] = [64, 1024, 8192];

/// Every case, or those whose name begins as asked.
pub fn all(quick: bool, only: Option<&str>) -> Vec<Case> {
    let case = |traffic, size, mtu_bytes| Case { traffic, size, mtu_bytes };
    let tcp: &[u32] = if quick { &TCP_SIZES_QUICK } else { &TCP_SIZES };
    let udp: &[u32] = if quick { &UDP_SIZES_QUICK } else { &UDP_SIZES };
    let mut cases: Vec<Case> = tcp.iter().map(|size| case(Traffic::Tcp, *size, 1500)).collect();
    cases.extend(udp.iter().map(|size| case(Traffic::Udp, *size, if *size > 1472 { 9000 } else { 1500 })));
    cases.extend([Traffic::Rr, Traffic::UdpRr, Traffic::Crr].map(|traffic| case(traffic, 1, 1500)));
    cases.retain(|case| only.is_none_or(|only| case.name().starts_with(only)));
    cases
}
