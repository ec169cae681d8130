//! The workloads: one row for each, with all properties that other parts of bitcost use.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Workload {
    /// One TCP connection, one send call per message, sender to receiver.
    #[default]
    TcpStream,
    /// One UDP flow, one datagram per message, sender to receiver.
    UdpStream,
    /// One TCP connection, one request and its response at a time; the sender sends the requests.
    TcpRr,
    /// One UDP flow, one request and its response at a time; the sender sends the requests.
    UdpRr,
    /// A TCP connection for each request and its response.
    TcpCrr,
    /// TCP connections that are made and ended, one after the other, without data.
    TcpConnect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// TCP: a stream of bytes.
    Tcp,
    /// UDP: each message is a datagram.
    Udp,
}

/// The action that a flow repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// The sender sends messages; the receiver only takes them.
    Stream,
    /// The sender sends a request and waits for its response.
    Transactions,
    /// The sender opens a connection for each request and closes it after the response.
    ConnectionPerTransaction,
    /// The sender opens a connection and closes it; it carries no data.
    ConnectionOnly,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkloadInfo {
    pub workload: Workload,
    /// Its name in studies, logs and tables.
    pub name: &'static str,
    /// Its name as a test of `bitcost test`.
    pub short_name: &'static str,
    /// Its name in the answer of `bitcost test`.
    pub title: &'static str,
    /// Its name as a test of netperf.
    pub netperf_name: &'static str,
    /// What it does and the names that other programs give it, in a line of help.
    pub summary: &'static str,
    pub transport: Transport,
    /// The action that each flow repeats.
    pub pattern: Pattern,
    /// Whether each message or request says if it belongs to the measured window, so that the
    /// receiver counts by the sender's window.
    pub marks_window: bool,
    /// Default size of a message, in bytes.
    pub message_size_bytes: u32,
}

/// Every workload. A new one is a variant, a row here, and a file in `bitcost-traffic`.
pub const WORKLOADS: [WorkloadInfo; 6] = [
    WorkloadInfo {
        workload: Workload::TcpStream,
        name: "tcp_stream",
        short_name: "tcp",
        title: "TCP stream",
        netperf_name: "TCP_STREAM",
        summary: "One TCP stream, like iperf3 and netperf's TCP_STREAM",
        transport: Transport::Tcp,
        pattern: Pattern::Stream,
        marks_window: false,
        message_size_bytes: 131_072,
    },
    WorkloadInfo {
        workload: Workload::UdpStream,
        name: "udp_stream",
        short_name: "udp",
        title: "UDP stream",
        netperf_name: "UDP_STREAM",
        summary: "One stream of UDP datagrams, like iperf3 -u and netperf's UDP_STREAM",
        transport: Transport::Udp,
        pattern: Pattern::Stream,
        marks_window: true,
        message_size_bytes: 1024,
    },
    WorkloadInfo {
        workload: Workload::TcpRr,
        name: "tcp_rr",
        short_name: "rr",
        title: "TCP request/response",
        netperf_name: "TCP_RR",
        summary: "Requests and responses over one TCP connection, like netperf's TCP_RR",
        transport: Transport::Tcp,
        pattern: Pattern::Transactions,
        marks_window: true,
        message_size_bytes: 131_072,
    },
    WorkloadInfo {
        workload: Workload::UdpRr,
        name: "udp_rr",
        short_name: "udp-rr",
        title: "UDP request/response",
        netperf_name: "UDP_RR",
        summary: "Requests and responses in UDP datagrams, like netperf's UDP_RR",
        transport: Transport::Udp,
        pattern: Pattern::Transactions,
        marks_window: true,
        message_size_bytes: 1024,
    },
    WorkloadInfo {
        workload: Workload::TcpCrr,
        name: "tcp_crr",
        short_name: "crr",
        title: "TCP connect/request/response",
        netperf_name: "TCP_CRR",
        summary: "A TCP connection for each request and response, like netperf's TCP_CRR",
        transport: Transport::Tcp,
        pattern: Pattern::ConnectionPerTransaction,
        marks_window: true,
        message_size_bytes: 131_072,
    },
    WorkloadInfo {
        workload: Workload::TcpConnect,
        name: "tcp_connect",
        short_name: "connect",
        title: "TCP connect",
        netperf_name: "TCP_CC",
        summary: "TCP connections that are opened and closed without data, like netperf's TCP_CC",
        transport: Transport::Tcp,
        pattern: Pattern::ConnectionOnly,
        marks_window: false,
        message_size_bytes: 131_072,
    },
];

impl Workload {
    /// Its row of [`WORKLOADS`].
    pub const fn info(self) -> &'static WorkloadInfo {
        &WORKLOADS[self as usize]
    }

    /// The workload with this name, of those that studies, `bitcost test` and netperf use, in small
    /// or large letters.
    pub fn named(name: &str) -> Option<Workload> {
        let has_name = |row: &&WorkloadInfo| {
            let names = [row.name, row.short_name, row.netperf_name];
            names.iter().any(|known| known.eq_ignore_ascii_case(name))
        };
        WORKLOADS.iter().find(has_name).map(|row| row.workload)
    }

    /// The names of the workloads for which this is true, as errors list them.
    pub fn names(is_allowed: impl Fn(Workload) -> bool) -> String {
        let allowed = WORKLOADS.iter().filter(|row| is_allowed(row.workload));
        let names: Vec<&str> = allowed.map(|row| row.name).collect();
        names.join(", ")
    }

    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// True where each message travels as a separate datagram.
    pub fn is_datagram(self) -> bool {
        self.info().transport == Transport::Udp
    }

    /// True where the sender sends requests and the receiver responds, one transaction at a time;
    /// false for streams.
    pub fn is_transactional(self) -> bool {
        self.info().pattern != Pattern::Stream
    }

    /// True where a flow is a stream of bytes in one direction.
    pub fn is_byte_stream(self) -> bool {
        !self.is_datagram() && !self.is_transactional()
    }

    /// True where a flow is one TCP connection for the whole run.
    pub fn keeps_connection(self) -> bool {
        !self.is_datagram() && !self.makes_connections()
    }

    /// True where the sender opens a connection for each transaction.
    pub fn makes_connections(self) -> bool {
        matches!(
            self.info().pattern,
            Pattern::ConnectionPerTransaction | Pattern::ConnectionOnly
        )
    }

    /// True where a transaction carries a request and a response.
    pub fn has_requests(self) -> bool {
        matches!(
            self.info().pattern,
            Pattern::Transactions | Pattern::ConnectionPerTransaction
        )
    }

    /// True where datagrams carry numbers by which the receiver finds the lost ones.
    pub fn numbers_datagrams(self) -> bool {
        self.is_datagram() && !self.is_transactional()
    }

    /// True where each message or request says whether it belongs to the measured window.
    pub fn marks_window(self) -> bool {
        self.info().marks_window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_workload_has_its_row_and_the_name_that_records_use() {
        for row in WORKLOADS {
            assert_eq!(row.workload.info(), &row);
            assert_eq!(
                serde_json::to_string(&row.workload).expect("a word"),
                format!("\"{}\"", row.name)
            );
            for name in [row.name, row.short_name, row.netperf_name] {
                assert_eq!(Workload::named(name), Some(row.workload), "{name}");
                assert_eq!(Workload::named(&name.to_uppercase()), Some(row.workload));
            }
        }
        assert_eq!(Workload::named("tcp_rt"), None);
    }
}
