//! How much counters grew between the first and the last sample of an endpoint.

use bitcost_model::record::{EndpointRecord, Sample, TcpInfo};

use crate::metrics::cpu;

/// The first and the last sample of an endpoint.
pub(super) struct Edges<'a> {
    pub(super) first: &'a Sample,
    pub(super) last: &'a Sample,
    pub(super) seconds: f64,
}

impl<'a> Edges<'a> {
    /// Those of a record that has two.
    pub(super) fn of(end: &'a EndpointRecord) -> Option<Edges<'a>> {
        let (first, last) = cpu::ends_of(end)?;
        let seconds = cpu::span_seconds(end)?;
        Some(Edges {
            first,
            last,
            seconds,
        })
    }

    /// How much these counters of the protocols grew together; absent where none of them is known.
    pub(super) fn grown(&self, names: &[&str]) -> Option<f64> {
        let growth = |name: &&str| {
            let (before, after) = (
                self.first.protocols.get(*name)?,
                self.last.protocols.get(*name)?,
            );
            Some((after - before) as f64)
        };
        let found: Vec<f64> = names.iter().filter_map(growth).collect();
        (!found.is_empty()).then(|| found.iter().sum())
    }

    /// How much a 32-bit counter of the connections grew.
    pub(super) fn tcp(&self, counter: fn(&TcpInfo) -> Option<u32>) -> Option<f64> {
        let of = |sample: &Sample| counter(sample.tcp_info.as_ref()?);
        Some(f64::from(of(self.last)?.wrapping_sub(of(self.first)?)))
    }

    /// How much a time of the connections grew, in µs.
    pub(super) fn tcp_64(&self, time: fn(&TcpInfo) -> Option<u64>) -> Option<f64> {
        let of = |sample: &Sample| time(sample.tcp_info.as_ref()?);
        Some(of(self.last)?.checked_sub(of(self.first)?)? as f64)
    }
}

/// How much a counter of the protocols of an endpoint's host grew in the window; absent where it is not known.
pub(crate) fn protocols_grown(end: &EndpointRecord, name: &str) -> Option<f64> {
    Edges::of(end)?.grown(&[name])
}
