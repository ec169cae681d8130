//! How much counters grew between the first and the last sample of an endpoint.

use bitcost_model::record::{EndpointRecord, Sample, TcpInfo};

/// The first and the last sample of an endpoint, and the time between them.
pub(crate) struct Edges<'a> {
    pub first: &'a Sample,
    pub last: &'a Sample,
    pub seconds: f64,
}

impl<'a> Edges<'a> {
    /// Those of samples at two times.
    pub fn of(samples: &'a [Sample]) -> Option<Edges<'a>> {
        let (first, last) = (samples.first()?, samples.last()?);
        let ns = last.at_ns.checked_sub(first.at_ns).filter(|ns| *ns > 0)?;
        Some(Edges {
            first,
            last,
            seconds: ns as f64 / 1e9,
        })
    }

    /// How much these counters of the protocols grew together; absent where none of them is known.
    pub fn grown(&self, names: &[&str]) -> Option<f64> {
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
    pub fn tcp(&self, counter: fn(&TcpInfo) -> Option<u32>) -> Option<f64> {
        let of = |sample: &Sample| counter(sample.tcp_info.as_ref()?);
        Some(f64::from(of(self.last)?.wrapping_sub(of(self.first)?)))
    }

    /// How much a time of the connections grew, in µs.
    pub fn tcp_64(&self, time: fn(&TcpInfo) -> Option<u64>) -> Option<f64> {
        let of = |sample: &Sample| time(sample.tcp_info.as_ref()?);
        Some(of(self.last)?.checked_sub(of(self.first)?)? as f64)
    }
}

/// How much a counter of the protocols of an endpoint's host grew in the window; absent where it is not known.
pub(crate) fn protocols_grown(end: &EndpointRecord, name: &str) -> Option<f64> {
    Edges::of(&end.samples)?.grown(&[name])
}
