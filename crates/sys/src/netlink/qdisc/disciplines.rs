//! The queueing disciplines whose parameters this crate writes and reads, one row each.

use std::collections::BTreeMap;

use crate::netlink::message::{Message, attribute, number, u32_at, u64_at};

/// Parameters by name, with the unit last.
pub type Parameters = BTreeMap<&'static str, u64>;

/// The value that is requested of a parameter; `None` lets the kernel choose.
pub type Requested<'a> = &'a dyn Fn(&str) -> Option<u64>;

/// A kind of queueing discipline.
#[derive(Debug)]
pub struct Discipline {
    /// Its name, such as "tbf".
    pub kind: &'static str,
    /// Parameters as the kernel's options.
    pub encode: fn(Requested) -> Vec<u8>,
    /// The kernel's options as parameters.
    pub decode: fn(&[u8]) -> Parameters,
}

/// The discipline of this name; `None` when this crate cannot create it.
pub fn discipline(kind: &str) -> Option<&'static Discipline> {
    DISCIPLINES
        .iter()
        .find(|discipline| discipline.kind == kind)
}

impl Discipline {
    /// The names of all.
    pub fn kinds() -> impl Iterator<Item = &'static str> {
        DISCIPLINES.iter().map(|discipline| discipline.kind)
    }
}

const DISCIPLINES: &[Discipline] = &[
    Discipline {
        kind: "pfifo",
        encode: |of| word(of("limit_packets")),
        decode: |options| first_word("limit_packets", options),
    },
    Discipline {
        kind: "bfifo",
        encode: |of| word(of("limit_bytes")),
        decode: |options| first_word("limit_bytes", options),
    },
    Discipline {
        kind: "pfifo_fast",
        encode: |_| Vec::new(),
        decode: |_| Parameters::new(),
    },
    Discipline {
        kind: "tbf",
        encode: encode_tbf,
        decode: |options| decode_tbf(options).unwrap_or_default(),
    },
    Discipline {
        kind: "netem",
        encode: encode_netem,
        decode: |options| decode_netem(options).unwrap_or_default(),
    },
    Discipline {
        kind: "fq",
        encode: |of| encode_words(FQ, of),
        decode: |options| decode_words(FQ, options),
    },
    Discipline {
        kind: "fq_codel",
        encode: |of| encode_words(FQ_CODEL, of),
        decode: |options| decode_words(FQ_CODEL, options),
    },
];

/// Attributes that are one word each, with the kernel's unit in our units.
type Words = &'static [(u16, &'static str, u64)];

/// `TCA_FQ_*`; the rate counts bytes per second.
const FQ: Words = &[
    (1, "limit_packets", 1),
    (2, "flow_limit_packets", 1),
    (3, "quantum_bytes", 1),
    (4, "initial_quantum_bytes", 1),
    (5, "pacing", 1),
    (7, "flow_max_rate_bps", 8),
    (9, "refill_delay_us", 1),
    (11, "low_rate_threshold_bps", 8),
    (14, "horizon_us", 1),
];

/// `TCA_FQ_CODEL_*`.
const FQ_CODEL: Words = &[
    (1, "target_us", 1),
    (2, "limit_packets", 1),
    (3, "interval_us", 1),
    (4, "ecn", 1),
    (5, "flows", 1),
    (6, "quantum_bytes", 1),
    (9, "memory_limit_bytes", 1),
];

const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;
const TCA_NETEM_REORDER: u16 = 3;
const TCA_NETEM_RATE: u16 = 6;
const TCA_NETEM_RATE64: u16 = 8;
const TCA_NETEM_LATENCY64: u16 = 10;
const TCA_NETEM_JITTER64: u16 = 11;
const TC_LINKLAYER_ETHERNET: u8 = 1;
/// Length of `struct tc_netem_qopt`.
const NETEM_BYTES: usize = 24;
/// The kernel's tick in its options, in ns.
const TICK_NS: u64 = 64;
const SECOND_NS: u128 = 1_000_000_000;

fn word(value: Option<u64>) -> Vec<u8> {
    value
        .map(|value| clamped(value).to_ne_bytes().to_vec())
        .unwrap_or_default()
}

fn first_word(name: &'static str, options: &[u8]) -> Parameters {
    u32_at(options, 0)
        .map(|value| (name, u64::from(value)))
        .into_iter()
        .collect()
}

fn clamped(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

fn encode_words(words: Words, of: Requested) -> Vec<u8> {
    let mut message = Message::new(0, 0, &[]);
    for (kind, name, unit) in words {
        if let Some(value) = of(name) {
            message = message.attribute_u32(*kind, clamped(value / unit));
        }
    }
    message.into_body()
}

fn decode_words(words: Words, options: &[u8]) -> Parameters {
    let value = |(kind, name, unit): &(u16, &'static str, u64)| {
        let value = number(options, *kind)?;
        // The kernel's value for "no limit".
        let is_none = *unit > 1 && value == u32::MAX;
        (!is_none).then(|| (*name, u64::from(value) * unit))
    };
    words.iter().filter_map(value).collect()
}

/// `struct tc_ratespec` for Ethernet, which needs no rate table.
fn rate_spec(bytes_per_s: u64) -> Vec<u8> {
    let mut spec = vec![0, TC_LINKLAYER_ETHERNET, 0, 0, 0, 0, 0, 0];
    spec.extend(clamped(bytes_per_s).to_ne_bytes());
    spec
}

/// Bytes per second from a `tc_ratespec` at the start of `parms`, or from its 64-bit attribute if
/// present.
fn read_rate(parms: &[u8], rate64: Option<&[u8]>) -> Option<u64> {
    rate64
        .and_then(|value| u64_at(value, 0))
        .or_else(|| u32_at(parms, 8).map(u64::from))
}

/// The transmission time of this number of bytes, in the kernel's ticks.
fn ticks(bytes: u64, bytes_per_s: u64) -> u32 {
    let time_ns = u128::from(bytes) * SECOND_NS / u128::from(bytes_per_s.max(1));
    u32::try_from(time_ns / u128::from(TICK_NS)).unwrap_or(u32::MAX)
}

/// The smallest number of bytes that takes this number of ticks: converted back, it is the same
/// number.
fn bytes_of_ticks(ticks: u32, bytes_per_s: u64) -> u64 {
    let bytes =
        (u128::from(ticks) * u128::from(TICK_NS) * u128::from(bytes_per_s)).div_ceil(SECOND_NS);
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

fn encode_tbf(of: Requested) -> Vec<u8> {
    let number = |name: &str| of(name).unwrap_or(0);
    let (bytes_per_s, burst) = (number("rate_bps") / 8, number("burst_bytes"));
    let mut parms = rate_spec(bytes_per_s);
    parms.extend([0; 12]);
    for value in [clamped(number("limit_bytes")), ticks(burst, bytes_per_s), 0] {
        parms.extend(value.to_ne_bytes());
    }
    Message::new(0, 0, &[])
        .attribute(TCA_TBF_PARMS, &parms)
        .attribute(TCA_TBF_RATE64, &bytes_per_s.to_ne_bytes())
        .attribute_u32(TCA_TBF_BURST, clamped(burst))
        .into_body()
}

fn decode_tbf(options: &[u8]) -> Option<Parameters> {
    let parms = attribute(options, TCA_TBF_PARMS)?;
    let bytes_per_s = read_rate(parms, attribute(options, TCA_TBF_RATE64))?;
    Some(Parameters::from([
        ("rate_bps", bytes_per_s.saturating_mul(8)),
        ("limit_bytes", u64::from(u32_at(parms, 24)?)),
        (
            "burst_bytes",
            bytes_of_ticks(u32_at(parms, 28)?, bytes_per_s),
        ),
    ]))
}

fn encode_netem(of: Requested) -> Vec<u8> {
    let number = |name: &str| of(name).unwrap_or(0);
    let limit = of("limit_packets").unwrap_or(1000);
    let (loss, duplicate) = (share(number("loss_ppm")), share(number("duplicate_ppm")));
    let reorder = share(number("reorder_ppm"));
    // Without a gap netem reorders nothing; 1 makes every packet a candidate (tc-netem(8)).
    let gap = u32::from(reorder > 0);
    let mut fixed = Vec::new();
    for value in [0, clamped(limit), loss, gap, duplicate, 0] {
        fixed.extend(value.to_ne_bytes());
    }
    let mut message = Message::new(0, 0, &[])
        .raw(&fixed)
        .attribute(
            TCA_NETEM_LATENCY64,
            &number("delay_us").saturating_mul(1000).to_ne_bytes(),
        )
        .attribute(
            TCA_NETEM_JITTER64,
            &number("jitter_us").saturating_mul(1000).to_ne_bytes(),
        );
    if reorder > 0 {
        let chance: Vec<u8> = [reorder, 0]
            .into_iter()
            .flat_map(u32::to_ne_bytes)
            .collect();
        message = message.attribute(TCA_NETEM_REORDER, &chance);
    }
    if let Some(rate) = of("rate_bps") {
        let mut spec = clamped(rate / 8).to_ne_bytes().to_vec();
        spec.extend([0; 12]);
        message = message
            .attribute(TCA_NETEM_RATE64, &(rate / 8).to_ne_bytes())
            .attribute(TCA_NETEM_RATE, &spec);
    }
    message.into_body()
}

/// Millionths in the kernel's unit: 2^32 - 1 is 100 %.
fn share(ppm: u64) -> u32 {
    let share = (u128::from(ppm) * u128::from(u32::MAX) + 500_000) / 1_000_000;
    u32::try_from(share).unwrap_or(u32::MAX)
}

fn millionths(share: u32) -> u64 {
    let ppm = (u128::from(share) * 1_000_000 + u128::from(u32::MAX) / 2) / u128::from(u32::MAX);
    u64::try_from(ppm).unwrap_or(u64::MAX)
}

fn decode_netem(options: &[u8]) -> Option<Parameters> {
    let attributes = options.get(NETEM_BYTES..)?;
    let time_us = |wide: u16, ticks_at: usize| {
        let wide = attribute(attributes, wide).and_then(|value| u64_at(value, 0));
        wide.or_else(|| Some(u64::from(u32_at(options, ticks_at)?) * TICK_NS))
            .map(|ns| ns / 1000)
    };
    let mut found = Parameters::from([
        ("delay_us", time_us(TCA_NETEM_LATENCY64, 0)?),
        ("jitter_us", time_us(TCA_NETEM_JITTER64, 20)?),
        ("loss_ppm", millionths(u32_at(options, 8)?)),
        ("limit_packets", u64::from(u32_at(options, 4)?)),
    ]);
    let duplicate = millionths(u32_at(options, 16)?);
    let reorder = number(attributes, TCA_NETEM_REORDER).map_or(0, millionths);
    let chances = [("duplicate_ppm", duplicate), ("reorder_ppm", reorder)];
    found.extend(chances.into_iter().filter(|(_, ppm)| *ppm > 0));
    if let Some(spec) = attribute(attributes, TCA_NETEM_RATE) {
        let wide = attribute(attributes, TCA_NETEM_RATE64).and_then(|value| u64_at(value, 0));
        let bytes_per_s = wide
            .filter(|rate| *rate > 0)
            .or_else(|| u32_at(spec, 0).map(u64::from))?;
        found.insert("rate_bps", bytes_per_s.saturating_mul(8));
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parameters, and the words of tc for them.
    const ROWS: &[(&str, &[(&str, u64)])] = &[
        ("pfifo limit 77", &[("limit_packets", 77)]),
        ("bfifo limit 1048576", &[("limit_bytes", 1 << 20)]),
        (
            "tbf rate 8mbit burst 16000 limit 500000",
            &[
                ("rate_bps", 8_000_000),
                ("burst_bytes", 16_000),
                ("limit_bytes", 500_000),
            ],
        ),
        (
            "tbf rate 10gbit burst 800000 limit 1048576",
            &[
                ("rate_bps", 10_000_000_000),
                ("burst_bytes", 800_000),
                ("limit_bytes", 1 << 20),
            ],
        ),
        (
            "netem delay 20ms 128us loss 0.1% limit 5000 rate 8kbit reorder 25% duplicate 0.0001%",
            &[
                ("delay_us", 20_000),
                ("jitter_us", 128),
                ("loss_ppm", 1000),
                ("limit_packets", 5000),
                ("rate_bps", 8000),
                ("reorder_ppm", 250_000),
                ("duplicate_ppm", 1),
            ],
        ),
        (
            "netem limit 1000 rate 100gbit",
            &[
                ("delay_us", 0),
                ("jitter_us", 0),
                ("loss_ppm", 0),
                ("limit_packets", 1000),
                ("rate_bps", 100_000_000_000),
            ],
        ),
        (
            "fq limit 10000 maxrate 80mbit pacing",
            &[
                ("limit_packets", 10_000),
                ("flow_max_rate_bps", 80_000_000),
                ("pacing", 1),
            ],
        ),
        ("fq refill_delay 40ms", &[("refill_delay_us", 40_000)]),
        (
            "fq low_rate_threshold 550kbit horizon 10s",
            &[
                ("low_rate_threshold_bps", 550_000),
                ("horizon_us", 10_000_000),
            ],
        ),
        (
            "fq_codel target 5ms ecn",
            &[("target_us", 5000), ("ecn", 1)],
        ),
    ];

    /// tc adds a rate table to tbf, and gives netem times in ticks of 64 ns: the options differ,
    /// but not their meaning.
    const OTHER_BYTES: [&str; 2] = ["tbf", "netem"];

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal"))
            .collect()
    }

    #[test]
    fn options_are_those_of_tc() {
        let recorded = include_str!("../../../tests/fixtures/tc-6.1.0.txt");
        let mut lines = recorded.lines().filter(|line| !line.starts_with('#'));
        for (command, parameters) in ROWS {
            assert_eq!(lines.next(), Some(*command));
            let of_tc = bytes(lines.next().expect("the bytes"));
            let kind = command.split(' ').next().expect("a kind");
            let discipline = discipline(kind).expect("a row");
            let parameters: Parameters = parameters.iter().copied().collect();
            let ours = (discipline.encode)(&|name| parameters.get(name).copied());
            assert_eq!((discipline.decode)(&of_tc), parameters, "{command}");
            assert_eq!((discipline.decode)(&ours), parameters, "{command}");
            assert!(
                OTHER_BYTES.contains(&kind) || ours == of_tc,
                "{command}: {ours:02x?}"
            );
        }
        assert_eq!(lines.next(), None);
        // tc 6.1 computes the burst of such a rate from 32 bits.
        let fast = Parameters::from([
            ("rate_bps", 100_000_000_000),
            ("burst_bytes", 800_000),
            ("limit_bytes", 1 << 20),
        ]);
        let tbf = discipline("tbf").expect("a row");
        let ours = (tbf.encode)(&|name| fast.get(name).copied());
        assert_eq!((tbf.decode)(&ours), fast);
        assert!(discipline("cake").is_none());
    }

    #[test]
    fn burst_keeps_its_ticks_when_written_again() {
        for rate in [125, 125_000, 125_000_000, 12_500_000_000] {
            for burst in [1600, 65_536, 1 << 20] {
                let kept = ticks(burst, rate);
                assert_eq!(
                    ticks(bytes_of_ticks(kept, rate), rate),
                    kept,
                    "{burst} bytes at {rate} bytes/s"
                );
            }
        }
    }

    #[test]
    fn truncated_options_have_no_parameters() {
        for kind in Discipline::kinds() {
            assert_eq!(
                (discipline(kind).expect("a row").decode)(&[1, 2, 3]),
                Parameters::new(),
                "{kind}"
            );
        }
    }
}
