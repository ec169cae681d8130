//! One direction of a run, by its samples and its records.

use bitcost_analysis::metrics::{PartRun, RunView, parts};
use bitcost_model::conditions::Direction;
use bitcost_model::record::{Counts, EndpointRecord, Role, Sample, TcpInfo};
use serde_json::Value;

/// iperf3 names streams by the descriptors of their sockets, the first of which is 5; ours are
/// numbered from 5 too.
pub(super) const FIRST_SOCKET: usize = 5;

/// A direction: that of the run, or, in a run with both directions, the opposite one.
pub(super) struct Way<'a> {
    /// The records of both endpoints for this direction.
    pub part: PartRun<'a>,
    /// Whether iperf3's client, which starts the test, is the sender.
    pub client_sends: bool,
    /// The endpoint whose samples the intervals are made from.
    pub client: &'a EndpointRecord,
    sender: &'a EndpointRecord,
    /// Its index among the parts of the run.
    index: usize,
}

/// Whether the endpoint that starts the test is the receiver.
pub(super) fn is_reverse(run: &RunView) -> bool {
    run.conditions.direction == Direction::Reverse
}

/// The records of iperf3's client and server.
pub(super) fn client_and_server<'a>(run: &RunView<'a>) -> [&'a EndpointRecord; 2] {
    if is_reverse(run) {
        [run.receiver, run.sender]
    } else {
        [run.sender, run.receiver]
    }
}

/// The run's own direction, and in a run with both directions the opposite one; other background
/// flows have no place in a result of iperf3.
pub(super) fn ways<'a>(run: &RunView<'a>) -> Vec<Way<'a>> {
    let count = if run.conditions.direction == Direction::Both {
        2
    } else {
        1
    };
    let [client, _] = client_and_server(run);
    let way = |(index, part): (usize, PartRun<'a>)| {
        let mirrored = index > 0;
        let sender = if mirrored { run.receiver } else { run.sender };
        Way {
            part,
            client_sends: is_reverse(run) == mirrored,
            client,
            sender,
            index,
        }
    };
    parts(run)
        .into_iter()
        .take(count)
        .enumerate()
        .map(way)
        .collect()
}

pub(super) fn with(mut all: Value, more: Value) -> Value {
    if let (Value::Object(all), Value::Object(more)) = (&mut all, more) {
        all.extend(more);
    }
    all
}

impl Way<'_> {
    pub fn is_datagram(&self) -> bool {
        self.part.conditions.workload.is_datagram()
    }

    pub fn counts(&self, sample: &Sample) -> Option<Counts> {
        Some(sample.part(self.index)?.counts)
    }

    /// The state of the sender's connections at a sample: of one flow, or of all together.
    pub fn info(&self, sample: &Sample, flow: Option<usize>) -> Option<TcpInfo> {
        let part = sample.part(self.index)?;
        match flow {
            Some(flow) if self.part.sender.flows.len() > 1 => part.connections.get(flow).cloned(),
            _ => part.tcp_info,
        }
    }

    /// Retransmitted segments between the first and the last sample, which are at the window's
    /// edges.
    pub fn retransmits(&self, flow: Option<usize>) -> Option<u32> {
        let of = |sample: &Sample| self.info(sample, flow)?.total_retrans;
        Some(of(self.sender.samples.last()?)?.wrapping_sub(of(self.sender.samples.first()?)?))
    }

    /// A field of the sender's connection at every sample that has it.
    pub fn samples_of(&self, flow: usize, field: fn(&TcpInfo) -> Option<u32>) -> Vec<u32> {
        self.sender
            .samples
            .iter()
            .filter_map(|sample| field(&self.info(sample, Some(flow))?))
            .collect()
    }

    /// Bytes of an endpoint in the window, and the window's length in seconds.
    pub fn total(&self, role: Role) -> (f64, u64) {
        let view = self.part.view();
        (
            view.window_seconds(role).unwrap_or(0.0),
            view.measured(role).bytes,
        )
    }

    /// User data per segment, in bytes.
    pub fn mss(&self) -> Option<u32> {
        self.part
            .sender
            .tcp_info
            .as_ref()
            .and_then(|info| info.snd_mss_bytes)
    }
}
