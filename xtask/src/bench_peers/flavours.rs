//! Our contenders: the ways in which bitcost takes part, one row each.

use bitcost_model::conditions::{Conditions, Waiting};
use bitcost_model::search::Goal;

use super::cases::{Case, Traffic};
use super::field::Setup;

/// bitcost with the engine's defaults.
pub const DEFAULT: &str = "bitcost";
/// What `--mode auto` finds.
pub const FAST: &str = "bitcost, auto";
/// What `--mode auto --for cost` finds.
pub const CHEAP: &str = "bitcost, auto for cost";
/// Both endpoints of a transaction repeat their calls instead of sleeping.
pub const SPINNING: &str = "bitcost, spinning";
/// Every transaction's time is recorded.
pub const TIMED: &str = "bitcost, timed";

/// The message sizes of the search's cases of TCP.
const FAST_TCP: [u32; 3] = [1024, 8192, 131_072];
/// The same of UDP.
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
        about: "the engine's defaults; TCP: a receive call takes a message",
        fits: |_, _| true,
        change: |_| {},
    },
    Flavour {
        name: FAST,
        about: "--mode auto: a search of at most 3 s before each run",
        fits: |case, setup| (is_fast_tcp(case) || is_fast_udp(case)) && setup == Setup::default(),
        change: |conditions| conditions.mode_auto = true,
    },
    Flavour {
        name: CHEAP,
        about: "--mode auto --for cost, of TCP",
        fits: |case, setup| is_fast_tcp(case) && setup == Setup::default(),
        change: |conditions| {
            conditions.mode_auto = true;
            conditions.search_for = Goal::Cost;
        },
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

/// Whether fast options are searched for this case of TCP.
pub fn is_fast_tcp(case: &Case) -> bool {
    case.traffic == Traffic::Tcp && FAST_TCP.contains(&case.size) && case.rate_bps.is_none()
}

fn is_fast_udp(case: &Case) -> bool {
    case.traffic == Traffic::Udp && FAST_UDP.contains(&case.size) && case.rate_bps.is_none()
}

fn is_rr(case: &Case) -> bool {
    matches!(case.traffic, Traffic::Rr | Traffic::UdpRr)
}
