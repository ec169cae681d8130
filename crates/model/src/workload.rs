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
}

/// A row is: the workload, its transport, what each flow repeats, its names in studies, in `bitcost test`, in answers and
/// in netperf, and what it does.
macro_rules! workloads {
    ($($workload:ident $transport:ident $pattern:ident $name:literal $short_name:literal $title:literal $netperf_name:literal
        $summary:literal;)*) => {
        [$(WorkloadInfo {
            workload: Workload::$workload,
            name: $name,
            short_name: $short_name,
            title: $title,
            netperf_name: $netperf_name,
            summary: $summary,
            transport: Transport::$transport,
            pattern: Pattern::$pattern,
        }),*]
    };
}

/// Every workload. A new one is a variant, a row here, and a file in `bitcost-traffic`.
pub const WORKLOADS: [WorkloadInfo; 6] = workloads! {
    TcpStream Tcp Stream "tcp_stream" "tcp" "TCP stream" "TCP_STREAM"
        "One TCP stream, like iperf3 and netperf's TCP_STREAM";
    UdpStream Udp Stream "udp_stream" "udp" "UDP stream" "UDP_STREAM"
        "One stream of UDP datagrams, like iperf3 -u and netperf's UDP_STREAM";
    TcpRr Tcp Transactions "tcp_rr" "rr" "TCP request/response" "TCP_RR"
        "Requests and responses over one TCP connection, like netperf's TCP_RR";
    UdpRr Udp Transactions "udp_rr" "udp-rr" "UDP request/response" "UDP_RR"
        "Requests and responses in UDP datagrams, like netperf's UDP_RR";
    TcpCrr Tcp ConnectionPerTransaction "tcp_crr" "crr" "TCP connect/request/response" "TCP_CRR"
        "A TCP connection for each request and response, like netperf's TCP_CRR";
    TcpConnect Tcp ConnectionOnly "tcp_connect" "connect" "TCP connect" "TCP_CC"
        "TCP connections that are opened and closed without data, like netperf's TCP_CC";
};

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

    /// True where each message or request says whether it belongs to the measured window, so that the receiver counts by
    /// the sender's window.
    pub fn marks_window(self) -> bool {
        self.numbers_datagrams() || self.has_requests()
    }

    /// Size of a message that nobody requests, in bytes.
    pub fn usual_message_bytes(self) -> u32 {
        if self.is_datagram() { 1024 } else { 131_072 }
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
