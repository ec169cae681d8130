//! Our contenders: the ways in which bitcost takes part, one row each.

use bitcost_model::conditions::{Conditions, ReceiveSize, Waiting};
use bitcost_model::modes::Mode;
use bitcost_model::probes::Probes;

use super::cases::{Case, Traffic};
use super::field::Setup;

/// bitcost with the engine's defaults.
pub const DEFAULT: &str = "bitcost";
/// A TCP receiver with large calls that sets its low-water mark itself.
pub const LOW_WATER: &str = "bitcost, low-water mark";
/// The fast modes.
pub const FAST: &str = "bitcost, fast";
/// Both endpoints of a transaction repeat their calls instead of sleeping.
pub const SPINNING: &str = "bitcost, spinning";
/// Every transaction's time is recorded.
pub const TIMED: &str = "bitcost, timed";

/// Counters are read only at the edges of the window.
pub const EDGES: &str = "bitcost, edges";

/// The message size of the fast modes' TCP case.
const FAST_TCP: u32 = 131_072;
/// The message sizes of the fast modes' UDP cases.
const FAST_UDP: [u32; 2] = [64, 1472];

/// A way in which bitcost takes part.
pub struct Flavour {
    /// Its name in the table.
    pub name: &'static str,
    /// A description for people.
    pub about: &'static str,
    fits: fn(&Case, Setup) -> bool,
    /// Its changes of the engine's defaults.
    pub change: fn(&mut Conditions),
}

/// Every flavour.
pub const FLAVOURS: &[Flavour] = &[
    Flavour {
        name: DEFAULT,
        about: "the engine's defaults; TCP: a receive call takes a message, low-water mark of 1 byte",
        fits: |_, _| true,
        change: |_| {},
    },
    Flavour {
        name: LOW_WATER,
        about: "a receive call takes up to 256 KiB, and waits for what arrives in 1 ms",
        fits: |case, _| case.traffic == Traffic::Tcp && case.rate_bps.is_none(),
        change: |conditions| conditions.receive_size_bytes = ReceiveSize::Auto,
    },
    Flavour {
        name: FAST,
        about: "UDP: gso and gro; TCP: splice and truncate",
        fits: |case, _| is_fast_tcp(case) || is_fast_udp(case),
        change: |conditions| {
            let udp = conditions.workload.is_datagram();
            conditions.send_mode = if udp { Mode::Gso } else { Mode::Splice };
            conditions.receive_mode = if udp { Mode::Gro } else { Mode::Truncate };
        },
    },
    Flavour {
        name: EDGES,
        about: "the defaults, with counters read at the edges of the window instead of every 100 ms",
        fits: |case, setup| {
            case.is_stream() && case.rate_bps.is_none() && setup == Setup::default()
        },
        change: |conditions| conditions.probes = Probes::Edges,
    },
    Flavour {
        name: SPINNING,
        about: "both ends call again and again instead of sleeping",
        fits: |case, setup| is_rr(case) && !setup.one_cpu,
        change: |conditions| conditions.waiting = Waiting::Spin,
    },
    Flavour {
        name: TIMED,
        about: "every transaction's time goes into a histogram",
        fits: |case, _| is_rr(case),
        change: |conditions| conditions.latency = true,
    },
];

impl Flavour {
    /// Whether it takes part.
    pub fn can(&self, case: &Case, setup: Setup) -> bool {
        (self.fits)(case, setup)
    }
}

/// Whether this is the case of TCP's fast modes.
pub fn is_fast_tcp(case: &Case) -> bool {
    case.traffic == Traffic::Tcp && case.size == FAST_TCP && case.rate_bps.is_none()
}

fn is_fast_udp(case: &Case) -> bool {
    case.traffic == Traffic::Udp && FAST_UDP.contains(&case.size) && case.rate_bps.is_none()
}

fn is_rr(case: &Case) -> bool {
    matches!(case.traffic, Traffic::Rr | Traffic::UdpRr)
}
