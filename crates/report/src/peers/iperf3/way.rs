//! One direction of a run, as its samples and its records have it.

use metrics::{PartRun, RunView, parts};
use model::conditions::Direction;
use model::record::{Counts, EndRecord, Role, Sample, TcpInfo};

/// A direction: that of the run, or the other one where it goes both ways.
pub(super) struct Way<'a> {
    /// What both ends know of it.
    pub part: PartRun,
    /// Whether iperf3's client, who began it, is who sends.
    pub client_sends: bool,
    /// Whose samples the intervals are made from.
    pub client: &'a EndRecord,
    /// Who sends.
    sender: &'a EndRecord,
    /// Its place among the parts of the run.
    index: usize,
}

/// Whether who began it is who receives.
pub(super) fn is_reverse(run: &RunView) -> bool {
    run.conditions.direction == Direction::Reverse
}

/// The records of iperf3's client and server.
pub(super) fn client_and_server<'a>(run: &RunView<'a>) -> [&'a EndRecord; 2] {
    if is_reverse(run) { [run.receiver, run.sender] } else { [run.sender, run.receiver] }
}

/// The run's own direction, and where it goes both ways the other one: what is beside it stands in no result of iperf3.
pub(super) fn ways<'a>(run: &RunView<'a>) -> Vec<Way<'a>> {
    let count = if run.conditions.direction == Direction::Both { 2 } else { 1 };
    let [client, _] = client_and_server(run);
    let way = |(index, part): (usize, PartRun)| {
        let mirrored = index > 0;
        let sender = if mirrored { run.receiver } else { run.sender };
        Way { part, client_sends: is_reverse(run) == mirrored, client, sender, index }
    };
    parts(run).into_iter().take(count).enumerate().map(way).collect()
}

impl Way<'_> {
    pub fn is_datagram(&self) -> bool {
        self.part.conditions.workload.is_datagram()
    }

    /// What the client had counted of it at a sample.
    pub fn counts(&self, sample: &Sample) -> Option<Counts> {
        match self.index.checked_sub(1) {
            None => Some(sample.counts),
            Some(beside) => sample.beside.get(beside).map(|part| part.counts),
        }
    }

    /// The sender's connections at a sample: of one flow, else of all together.
    pub fn info<'s>(&self, sample: &'s Sample, flow: Option<usize>) -> Option<&'s TcpInfo> {
        let (all, each) = match self.index.checked_sub(1) {
            None => (&sample.tcp_info, &sample.connections),
            Some(beside) => sample.beside.get(beside).map(|part| (&part.tcp_info, &part.connections))?,
        };
        match flow {
            Some(flow) if self.part.sender.flows.len() > 1 => each.get(flow),
            _ => all.as_ref(),
        }
    }

    /// Segments sent again between the first and the last sample, which are the window's edges.
    pub fn retransmits(&self, flow: Option<usize>) -> Option<u32> {
        let of = |sample: &Sample| self.info(sample, flow)?.total_retrans;
        Some(of(self.sender.samples.last()?)?.wrapping_sub(of(self.sender.samples.first()?)?))
    }

    /// A field of the sender's connection at every sample that has it.
    pub fn samples_of(&self, flow: usize, field: fn(&TcpInfo) -> Option<u32>) -> Vec<u32> {
        self.sender.samples.iter().filter_map(|sample| field(self.info(sample, Some(flow))?)).collect()
    }

    /// Bytes of an end in the window, and the window's length in seconds.
    pub fn total(&self, role: Role) -> (f64, u64) {
        let view = self.part.view();
        (view.window_seconds(role).unwrap_or(0.0), view.measured(role).bytes)
    }

    /// User data per segment, in bytes.
    pub fn mss(&self) -> Option<u32> {
        self.part.sender.tcp_info.as_ref().and_then(|info| info.snd_mss_bytes)
    }
}
