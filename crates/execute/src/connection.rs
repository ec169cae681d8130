//! What was read of another program's connections, as an execution of one run.

use std::net::SocketAddr;
use std::path::Path;

use bitcost_analysis::findings::Findings;
use bitcost_controller::now;
use bitcost_model::event::{EndpointDescription, Event};
use bitcost_model::harmless;
use bitcost_model::plan::Lengths;
use bitcost_model::record::{EndpointRecord, Role};
use bitcost_model::search::Changes;
use bitcost_model::settings::options;
use bitcost_model::workload::Workload;
use bitcost_study::Study;

use crate::error::ExecuteError;
use crate::recorder::Recorder;
use crate::store::{Writer, stamped};
use crate::target::Target;

/// Segments that the kernel gives every send buffer room for (`tcp_sndbuf_expand`), at least.
const SEGMENTS: u32 = 10;

/// The bytes of a program's calls are those of its connections where both differ by at most this share.
const SAME: f64 = 0.1;

/// One end of connections that another program holds.
pub struct Connection {
    pub record: EndpointRecord,
    pub host: EndpointDescription,
}

impl Connection {
    /// Writes its log to a folder in `out`, or to memory alone, with the other end where that was read.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn execution(
        self,
        other: Option<(EndpointRecord, EndpointDescription)>,
        out: Option<&Path>,
        command_line: Vec<String>,
    ) -> Result<Findings, ExecuteError> {
        let study = self.study()?;
        let mut endpoints = vec![self.host.clone()];
        let other = match other {
            Some((record, host)) => {
                endpoints.push(host);
                record
            }
            None => self.record.not_read(),
        };
        let is_apart = |two: &[EndpointDescription]| two[0].host.is_apart_from(&two[1].host);
        let shared_cpus = endpoints.windows(2).any(|two| !is_apart(two));
        let (sender, receiver) = match self.record.role {
            Role::Sender => (self.record, other),
            Role::Receiver => (other, self.record),
        };
        let target = match out {
            Some(out) => Target::Disk(Writer::create(out, &stamped(&study.name), 1)?),
            None => Target::Memory(Vec::new()),
        };
        let nobody = &mut ();
        let mut recorder = Recorder::new(target, nobody);
        recorder.begin(&study, &study.plan(0, Lengths::default()), command_line)?;
        recorder.record(&Event::Prepared {
            lab: None,
            endpoints,
            shared_cpus,
            notes: Vec::new(),
            hosts: None,
            rtt: None,
        })?;
        recorder.record(&Event::RunEnded {
            run: 0,
            start_uncertainty_us: 0.0,
            interrupted: None,
            sender: Box::new(sender),
            receiver: Box::new(receiver),
        })?;
        recorder.record(&Event::ExecutionEnded {
            at: now(),
            enough_blocks: None,
        })?;
        recorder.find()
    }

    fn workload(&self) -> Workload {
        match self.record.tcp_info {
            None if !self.record.flows.is_empty() => Workload::UdpStream,
            _ => Workload::TcpStream,
        }
    }

    /// The study of the one run, in whose place it stands.
    fn study(&self) -> Result<Study, ExecuteError> {
        let program = self.record.program.as_deref();
        let name = program.and_then(|of| of.name.as_deref()).map(harmless);
        let name = name.unwrap_or_else(|| "unknown program".to_owned());
        let title = serde_json::Value::from(format!("connections of {name}"));
        let (workload, flows) = (self.workload(), self.record.flows.len().max(1));
        let (workload, bytes) = (workload.name(), workload.usual_message_bytes());
        let seconds = self.record.window_seconds().max(0.1);
        let text = format!(
            "title = {title}\nquestion = \"What limits these connections?\"\n\
             [workload]\nworkload = \"{workload}\"\nflows = {flows}\nmessage_size_bytes = {bytes}\nduration_s = {seconds:.1}\n[run]\nblocks = 1\n\
             [[factor]]\nname = \"test\"\nlevels = [{{ label = \"connections\" }}]\n"
        );
        let study = Study::parse("connections.toml", &text);
        study.map_err(|error| ExecuteError::Usage(error.to_string()))
    }

    /// The `bitcost test` command that makes traffic of the same direction to the same host, with its number of connections,
    /// calls, buffers and congestion control. Absent where no connection lasted, or its socket has no peer.
    pub fn clone_command(&self) -> Option<String> {
        let program = self.record.program.as_deref()?;
        let [_, peer] = program.connections.first()?;
        let peer = peer.parse().ok();
        let peer = peer.filter(|peer: &SocketAddr| !peer.ip().is_unspecified())?;
        let is_sender = self.record.role == Role::Sender;
        let mut changes = Changes::new();
        let mut change = |name: &str, value: Option<String>| {
            changes.extend(value.map(|value| (name.to_owned(), value)));
        };
        let flows = program.connections.len();
        change("flows", (flows > 1).then(|| flows.to_string()));
        let reverse = (!is_sender).then(|| "reverse".to_owned());
        change("direction", reverse);
        change("message_size_bytes", self.message_bytes());
        let [send, receive] = self.set_buffers();
        match is_sender {
            true => change("send_buffer_bytes", send),
            false => change("receive_buffer_bytes", receive),
        }
        let control = self.record.in_effect.iter();
        let mut control = control.filter(|of| is_sender && of.name == "congestion_control");
        let control = control.find_map(|of| of.actual.clone());
        change("congestion_control", control);
        let test = self.workload().info().short_name;
        let options = options(&changes);
        Some(format!("bitcost test {test} {} {options}", peer.ip()))
    }

    /// The mean size of the program's calls; absent where it reads and writes something else, too, or uses other calls.
    fn message_bytes(&self) -> Option<String> {
        let [bytes, calls] = self.record.program.as_ref()?.calls?;
        let moved = self.record.counts.measured.bytes as f64;
        let is_same = (bytes as f64 - moved).abs() <= SAME * moved;
        (is_same && calls > 0).then(|| (bytes / calls).max(1).to_string())
    }

    /// The sizes of the send and of the receive buffer that the program must have set: less than the kernel gives at first, or
    /// more than the most to which it raises them.
    fn set_buffers(&self) -> [Option<String>; 2] {
        let limits = |name: &str| {
            let mut words = self.host.host.sysctls.get(name)?.split_whitespace().skip(1);
            Some([words.next()?.parse().ok()?, words.next()?.parse().ok()?])
        };
        let is_set = |bytes: u32, [least, most]: [u32; 2]| {
            // The kernel keeps twice what a program sets.
            let whole = bytes.saturating_mul(2);
            (whole < least.min(most) || whole > most).then(|| bytes.to_string())
        };
        let flow = self.record.flows.first();
        let [send, receive] = flow.map_or([None, None], |of| {
            [of.at_end.send_buffer_bytes, of.at_end.receive_buffer_bytes]
        });
        let mss = flow.and_then(|of| of.at_end.mss_bytes).unwrap_or(0);
        [
            send.zip(limits("net.ipv4.tcp_wmem"))
                .and_then(|(bytes, [_, most])| is_set(bytes, [2 * SEGMENTS * mss, most])),
            receive
                .zip(limits("net.ipv4.tcp_rmem"))
                .and_then(|(bytes, limits)| is_set(bytes, limits)),
        ]
    }
}
