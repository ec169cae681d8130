//! Full packets that never arrive: the sizes that are tried after such a test, and what they show.

use bitcost_model::conditions::{Conditions, Mss};
use bitcost_model::units::plain;
use bitcost_model::workload::Workload;
use bitcost_stats::Interval;

use super::base::rate_metric;
use crate::explain::{
    Decision, Limiter, MTU_BLACK_HOLE, Outcome, Proof, Tried, UNKNOWN, full_segment,
};
use crate::findings::Findings;

/// User data of segments that nearly every path carries, in bytes.
const SMALL: u32 = 1000;

/// The largest size that passes is known to within this, in bytes.
const PRECISION: u32 = 8;

/// Window and warm-up of a test with smaller segments, and of datagrams of one size, in milliseconds.
const TEST_MS: [u32; 2] = [500, 300];
const PROBE_MS: [u32; 2] = [100, 50];

/// The rate of datagrams of one size, in bit/s.
const PROBE_BPS: u64 = 2_000_000;

/// A test whose full packets never arrived, as its counters say.
pub struct BlackHole {
    limiter: Limiter,
    conditions: Conditions,
    /// The headers of a full packet, in bytes.
    header: u32,
    /// User data of the largest segment whose packet is known to pass, and of the smallest whose packet does not.
    passes: u32,
    fails: u32,
}

impl BlackHole {
    /// Absent where the counters of a test say something else.
    pub fn of(findings: &Findings) -> Option<BlackHole> {
        let single = findings.single()?;
        let verdict = single.limiter?.verdict()?;
        let limiter = verdict.limiter();
        let [fails, header] = full_segment(&single.first)?;
        (limiter.name() == MTU_BLACK_HOLE.name).then(|| BlackHole {
            limiter: limiter.clone(),
            conditions: single.first.conditions.clone(),
            header,
            passes: SMALL.min(fails / 2),
            fails,
        })
    }

    /// A short form of the test with segments of this size.
    pub fn test(&self, size: u32) -> Conditions {
        let [duration_ms, warmup_ms] = TEST_MS;
        Conditions {
            mss: Some(Mss::Bytes(size)),
            duration_ms,
            warmup_ms,
            idle_baseline_ms: Some(0),
            stop_bytes: None,
            stop_messages: None,
            ..self.conditions.clone()
        }
    }

    /// Whether the large messages are answers, whose way datagrams do not take.
    pub fn is_of_answers(&self) -> bool {
        let of = &self.conditions;
        of.workload.is_transactional() && of.response_size_bytes > of.request_size_bytes
    }

    /// Datagrams in packets as large as those of segments with this much user data.
    pub fn probe(&self, size: u32) -> Conditions {
        let [duration_ms, warmup_ms] = PROBE_MS;
        let probe = Conditions {
            places: self.conditions.places.clone(),
            direction: self.conditions.direction,
            rate_bps: Some(PROBE_BPS),
            duration_ms,
            warmup_ms,
            idle_baseline_ms: Some(0),
            ..Conditions::of(Workload::UdpStream)
        };
        let of_tcp = self.conditions.header_bytes() - probe.header_bytes();
        // The headers of IP and TCP are multiples of 20 bytes, and what is over are TCP's options.
        Conditions {
            message_size_bytes: size + of_tcp + self.header % 20,
            ..probe
        }
    }

    /// The largest size that is known to pass, and the least that is known not to.
    pub fn bounds(&self) -> [u32; 2] {
        [self.passes, self.fails]
    }

    /// The next size to try, by its user data in a segment; absent where the largest is known well enough.
    pub fn next(&self) -> Option<u32> {
        let apart = self.fails - self.passes;
        (apart > PRECISION).then_some(self.passes + apart / 2)
    }

    /// Takes whether packets with this much user data pass.
    pub fn take(&mut self, size: u32, passes: bool) {
        match passes {
            true => self.passes = size,
            false => self.fails = size,
        }
    }

    /// What the test shows with the largest segments that pass, by its rate; absent where it is not the size that matters.
    pub fn proof(&self, rate: Option<f64>) -> Proof {
        let [passes, fails] = self.bounds();
        let Some(rate) = rate else {
            let tried =
                format!("segments of {passes} bytes do not arrive, either, or full ones do by now");
            return self.shown(Outcome::Likely(UNKNOWN.limiter(), tried), Vec::new());
        };
        let unit = rate_metric(&self.conditions).map_or("", |metric| metric.unit);
        // Of full segments less than one came.
        let seconds = f64::from(self.conditions.duration_ms) / 1e3;
        let less_than = match self.conditions.workload.is_transactional() {
            true => 1.0 / seconds,
            false => 8e-6 * f64::from(fails) / seconds,
        };
        let at_least = rate / less_than;
        let tried = Tried {
            label: format!("-M {passes}"),
            changed: format!(
                "smaller segments (tried: {} {unit}; packets of {} bytes pass, of {} bytes they do not)",
                plain(rate),
                passes + self.header,
                fails + self.header
            ),
            rate: Interval {
                low: Some(at_least),
                ..Interval::alone(at_least)
            },
            cost: None,
            background: None,
            elasticity: None,
            limits: Decision::Limits,
            blocks: 1,
        };
        self.shown(Outcome::Proved, vec![tried])
    }

    fn shown(&self, outcome: Outcome, tried: Vec<Tried>) -> Proof {
        Proof {
            named: Some(self.limiter.clone()),
            outcome,
            then: None,
            tried,
            untried: Vec::new(),
            blocks: 1,
        }
    }
}
