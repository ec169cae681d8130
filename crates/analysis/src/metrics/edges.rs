//! How much counters grew between two samples of an endpoint.

use bitcost_model::counters::Interface;
use bitcost_model::record::{Counts, EndpointRecord, Sample, TcpInfo, ThreadKind, ThreadTime};

/// Two samples of an endpoint, and the time between them.
pub(crate) struct Edges<'a> {
    pub first: &'a Sample,
    pub last: &'a Sample,
    pub seconds: f64,
}

/// Whether a thread is one of the traffic of the run's first part.
pub(crate) fn is_of_first_part(thread: &ThreadTime) -> bool {
    thread.kind == ThreadKind::Traffic && thread.part == 0
}

/// The endpoint's own interface, not one of the lab between the endpoints.
pub(crate) fn own_interface(sample: &Sample) -> Option<&Interface> {
    sample.interfaces.iter().find(|own| own.node.is_none())
}

impl<'a> Edges<'a> {
    /// The first and the last of samples at two times.
    pub fn of(samples: &'a [Sample]) -> Option<Edges<'a>> {
        let (first, last) = (samples.first()?, samples.last()?);
        let ns = last.at_ns.checked_sub(first.at_ns).filter(|ns| *ns > 0)?;
        Some(Edges {
            first,
            last,
            seconds: ns as f64 / 1e9,
        })
    }

    /// Each two samples, at two times, that follow each other.
    pub fn steps(samples: &'a [Sample]) -> impl Iterator<Item = Edges<'a>> {
        samples.windows(2).filter_map(Edges::of)
    }

    /// How much a counter grew; absent where one of the samples does not have it, or it fell.
    pub fn growth(&self, counter: impl Fn(&Sample) -> Option<u64>) -> Option<f64> {
        Some(counter(self.last)?.checked_sub(counter(self.first)?)? as f64)
    }

    /// How much a count of the traffic loops grew.
    pub fn counted(&self, count: fn(&Counts) -> u64) -> Option<f64> {
        self.growth(|sample| Some(count(&sample.counts)))
    }

    /// How much a count of the traffic loops grew per second.
    pub fn per_second(&self, count: fn(&Counts) -> u64) -> Option<f64> {
        Some(self.counted(count)? / self.seconds)
    }

    /// How much these counters of the protocols grew together; absent where none of them is known.
    pub fn grown(&self, names: &[&str]) -> Option<f64> {
        let growth = |name: &&str| {
            let [before, after] = [self.first, self.last].map(|sample| sample.protocols.get(*name));
            Some((after? - before?) as f64)
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
        self.growth(|sample| time(sample.tcp_info.as_ref()?))
    }

    /// Packets that the endpoint's own interface was given to send.
    pub fn sent_packets(&self) -> Option<f64> {
        self.growth(|sample| own_interface(sample).map(|own| own.tx_packets))
    }

    /// How much a count of the first part's traffic threads grew, together; absent where one of them has none.
    pub fn of_threads(&self, count: impl Fn(&ThreadTime) -> Option<u64>) -> Option<f64> {
        self.growth(|sample| {
            let own = sample.threads.iter().filter(|one| is_of_first_part(one));
            own.map(&count).sum()
        })
    }

    /// Run time and run-queue delay of some threads, in seconds; absent where there are none, or where their number
    /// changed.
    pub fn threads(&self, is_of: impl Fn(&ThreadTime) -> bool) -> Option<(f64, f64)> {
        let sum = |sample: &Sample| {
            let threads = sample.threads.iter().filter(|thread| is_of(thread));
            threads.fold((0, 0, 0), |(count, run, wait), thread| {
                (count + 1, run + thread.run_ns, wait + thread.wait_ns)
            })
        };
        let (before, after) = (sum(self.first), sum(self.last));
        if before.0 == 0 || before.0 != after.0 {
            return None;
        }
        let seconds = |after: u64, before| Some(after.checked_sub(before)? as f64 / 1e9);
        Some((seconds(after.1, before.1)?, seconds(after.2, before.2)?))
    }
}

/// How much these counters of the protocols of an endpoint's host grew in the window, together; absent where none is known.
pub(crate) fn protocols_grown(end: &EndpointRecord, names: &[&str]) -> Option<f64> {
    Edges::of(&end.samples)?.grown(names)
}
