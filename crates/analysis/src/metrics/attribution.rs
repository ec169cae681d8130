//! Attribution of CPU time to the two endpoints. This one file has every method.
//!
//! On two hosts, each host's time is its endpoint's. On one host that plays both endpoints, thread
//! clocks and tick counts of whole CPUs both charge one endpoint for work done on behalf of the
//! other, so the time is attributed by where the receive side of the network ran.

use bitcost_model::Unavailable;
use bitcost_model::cpu_list::parse_cpu_list;
use bitcost_model::host_settings::HostSetting;
use bitcost_model::record::{EndpointRecord, RECEIVE_CPUS, Role, ThreadKind};

use crate::metrics::cpu::{self, CpuSpan};
use crate::metrics::disturbance;
use crate::metrics::softirqs::{self, SoftirqMeans};
use crate::metrics::view::{RunView, actual};

bitcost_model::words! {
    /// How CPU time was attributed to the endpoints.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Method {
        Hosts = "hosts",
        /// Each endpoint has its own CPUs, and the hosts' load before the block is known and
        /// subtracted.
        HostsAboveIdle = "hosts_above_idle",
        /// Each host of a lab has its CPUs, also for what its interface receives.
        OwnCpus = "own_cpus",
        /// The receive side ran in kernel threads of the interfaces.
        NapiThread = "napi_thread",
        /// The receive side ran in soft interrupts on the other endpoint's CPUs.
        SoftirqTicks = "softirq_ticks",
        /// Another program holds the connections.
        ProgramThreads = "program_threads",
    }
}

impl Method {
    pub fn uses_softirqs(self) -> bool {
        matches!(self, Method::OwnCpus | Method::SoftirqTicks)
    }

    /// What it means, in one line for people.
    pub fn doc(self) -> &'static str {
        match self {
            Method::Hosts => {
                "all busy time of each end's host (wall clock less idle), other work there included"
            }
            Method::HostsAboveIdle => {
                "all busy time of each end's host (wall clock less idle), less what it was busy before the block while bitcost was idle"
            }
            Method::OwnCpus => {
                "busy time of each end's own CPUs (wall clock less idle), less their soft interrupts of the network, which are the wire's work, and less what they were busy before the block"
            }
            Method::NapiThread => {
                "run time of each end's traffic thread and of its interface's NAPI thread, by the scheduler's clock"
            }
            Method::SoftirqTicks => {
                "busy time of each end's CPUs, the soft interrupts on them given to the other end"
            }
            Method::ProgramThreads => {
                "run time of the threads that work for the program's connections, by the scheduler's clock; what the kernel does for them elsewhere is not in it"
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuUse {
    /// CPU seconds per second.
    pub cpus: f64,
    /// Standard error ÷ value of what soft interrupts took; absent where that is no part of it.
    pub relative_standard_error: Option<f64>,
}

impl CpuUse {
    fn exact(cpus: f64) -> CpuUse {
        CpuUse {
            cpus,
            relative_standard_error: None,
        }
    }

    /// One with this standard error, in CPUs.
    fn within(cpus: f64, standard_error: f64) -> CpuUse {
        CpuUse {
            cpus,
            relative_standard_error: (cpus > 0.0).then(|| standard_error / cpus),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attribution {
    pub method: Method,
    /// The sender's; absent where an iperf3 server played it.
    pub sender: Option<CpuUse>,
    /// The receiver's; absent where an iperf3 server played it.
    pub receiver: Option<CpuUse>,
    /// The work of the wire between them, which is charged to neither; absent where it is not
    /// known.
    pub wire: Option<CpuUse>,
    /// By which means the time of soft interrupts is known; absent where the method does not use it.
    pub softirqs: Option<SoftirqMeans>,
}

impl Attribution {
    /// The CPU time of one endpoint; absent where an iperf3 server played it.
    pub fn end(&self, role: Role) -> Option<&CpuUse> {
        [self.sender.as_ref(), self.receiver.as_ref()][role as usize]
    }

    /// One of both ends, without the work of the wire.
    fn of(method: Method, sender: Option<CpuUse>, receiver: Option<CpuUse>) -> Attribution {
        Attribution {
            method,
            sender,
            receiver,
            wire: None,
            softirqs: None,
        }
    }
}

/// The least growth of the receiver's NAPI thread that shows NAPI in use, as a share of its traffic
/// thread's, and of the soft interrupts on the sender's CPUs.
pub const NAPI_IN_USE: f64 = 0.05;

/// Of kernel threads whose times are not in the records.
const HIDDEN_THREADS: &str = "the receiver's interface receives in kernel threads, and this kernel does not say which (Linux before 6.8); use napi = \"inline\" in the study";

const WITH_SERVER: &str = "the iperf3 server works on the CPUs of this host, too, and its work in the kernel cannot be separated; test a server on another host";

const UNSEEN_THREADS: &str =
    "the threads of the program are not seen; run bitcost as root, or as the user who started it";

const MOVED: &str = "received packets were handed to other CPUs (rps_cpus), where no clock assigns them to an endpoint of one host";

/// The CPU time of the two endpoints, by the first method that the records allow.
pub fn attribute(run: &RunView) -> Result<Attribution, Unavailable> {
    if run.is_of_programs() {
        return by_program_threads(run).ok_or_else(|| Unavailable(UNSEEN_THREADS.into()));
    }
    if !run.shared_cpus {
        return by_hosts(run)
            .ok_or_else(|| Unavailable("the CPU times of a host could not be read".into()));
    }
    if run.is_with_iperf3() {
        return Err(Unavailable(WITH_SERVER.into()));
    }
    let mut requests = run.conditions.host_settings.iter();
    if requests.any(|request| matches!(request.setting, HostSetting::RpsCpus(_))) {
        return Err(Unavailable(MOVED.into()));
    }
    if has_own_cpus(run) {
        return by_own_cpus(run);
    }
    match by_napi_thread(run) {
        Some(attribution) => Ok(attribution),
        None if threads_are_hidden(run) => Err(Unavailable(HIDDEN_THREADS.into())),
        None => undisturbed(run).and_then(|()| by_softirq_ticks(run)),
    }
}

/// Fails on a disturbed run, because ticks do not distinguish the run's own time from that of other
/// programs.
fn undisturbed(run: &RunView) -> Result<(), Unavailable> {
    let Some(other) = disturbance::charged_by_ticks_pct(run) else {
        return Ok(());
    };
    Err(Unavailable(match disturbance::is_known(run) {
        true => format!(
            "something else took {other:.0} % of the CPUs' time, and ticks do not distinguish it from the run's own; measure on an idle machine"
        ),
        false => format!(
            "soft interrupts in no thread of the run, or other programs, took {other:.0} % of the CPUs' time, and ticks do not distinguish them from the run's own; bitcost reads the clocks of other programs outside of containers, where /proc shows all processes"
        ),
    }))
}

/// A veth uses NAPI only while GRO is on; without GRO, everything is received in soft interrupts. A
/// record that does not name GRO is of a lab that leaves it on.
fn threads_are_hidden(run: &RunView) -> bool {
    let offloads = &run.receiver.offloads.active;
    let uses_napi = offloads.get("rx-gro").is_none_or(|on| *on);
    let host = run.conditions.direction.role_of(Role::Receiver);
    let mut requests = run.conditions.of_host(host);
    let has_threads = !requests.any(|setting| *setting == HostSetting::ThreadedNapi(false));
    let has_clocks = cpu::of_threads(run.receiver, ThreadKind::Napi).is_some();
    run.napi_threaded && has_threads && uses_napi && !has_clocks
}

fn by_program_threads(run: &RunView) -> Option<Attribution> {
    let of = |end| Some(CpuUse::exact(cpu::of_threads(end, ThreadKind::Traffic)?));
    let [sender, receiver] = run.ends().map(of);
    sender.or(receiver)?;
    Some(Attribution::of(Method::ProgramThreads, sender, receiver))
}

fn by_hosts(run: &RunView) -> Option<Attribution> {
    // The host of an iperf3 server is not known.
    let of_agent = |role: Role, cpus: fn(&EndpointRecord) -> Option<f64>| {
        let end = run.end(role);
        match end.iperf3 {
            Some(_) => Some(None),
            None => Some(Some(CpuUse::exact(cpus(end)?))),
        }
    };
    let both = |method, cpus| {
        let sender = of_agent(Role::Sender, cpus)?;
        let receiver = of_agent(Role::Receiver, cpus)?;
        Some(Attribution::of(method, sender, receiver))
    };
    both(Method::HostsAboveIdle, cpu::cpus_above_idle)
        .or_else(|| both(Method::Hosts, cpu::busy_cpus))
}

/// Whether the receiver's interface received in kernel threads.
fn receives_in_threads(run: &RunView) -> Option<bool> {
    let [traffic, napi] =
        [ThreadKind::Traffic, ThreadKind::Napi].map(|kind| cpu::of_threads(run.receiver, kind));
    Some(napi? > traffic? * NAPI_IN_USE)
}

fn by_napi_thread(run: &RunView) -> Option<Attribution> {
    receives_in_threads(run).filter(|in_threads| *in_threads)?;
    let of = |role: Role| {
        let end = run.end(role);
        let traffic = cpu::of_threads(end, ThreadKind::Traffic)?;
        let napi = cpu::of_threads(end, ThreadKind::Napi)?;
        Some(CpuUse::exact(traffic + napi))
    };
    let sender = Some(of(Role::Sender)?);
    let receiver = Some(of(Role::Receiver)?);
    Some(Attribution::of(Method::NapiThread, sender, receiver))
}

/// Whether each endpoint's traffic and its interface's receive work were confined to CPUs that the
/// other endpoint does not use. It is what the lab does with all of its runs alike; only over a bare veth
/// pair does the method depend on who segments.
fn has_own_cpus(run: &RunView) -> bool {
    let is_confined = receives_there(run.sender) && receives_there(run.receiver);
    !shares_cpus(run) && is_confined && !receives_on_sender(run)
}

/// Whether the CPUs to which the endpoints are pinned have one in common.
pub(crate) fn shares_cpus(run: &RunView) -> bool {
    let (a, b) = (&run.sender.pinned_cpus, &run.receiver.pinned_cpus);
    a.iter().any(|cpu| b.contains(cpu))
}

/// Whether the receiver's kernel threads had next to nothing to do while the sender's CPUs received in
/// soft interrupts: a bare veth passes packets to its NAPI only where their sender does not
/// segment them (TSO off; `veth_skb_is_eligible_for_gro`), and hands all others to the receiver's stack.
fn receives_on_sender(run: &RunView) -> bool {
    let napi = cpu::of_threads(run.receiver, ThreadKind::Napi);
    let softirqs = own_cpus(run, Role::Sender)
        .ok()
        .map(|own| own.cpus * own.softirq);
    let is_little = |(napi, softirqs): (f64, f64)| napi < NAPI_IN_USE * softirqs;
    receives_in_threads(run) == Some(false) && napi.zip(softirqs).is_some_and(is_little)
}

/// Where each endpoint has its own CPUs, their busy time is the endpoint's, but for the wire. The
/// wire works in soft interrupts; a receiving interface does not, because it has kernel threads.
fn by_own_cpus(run: &RunView) -> Result<Attribution, Unavailable> {
    let share = |role: Role| {
        let end = run.end(role);
        let own = own_cpus(run, role)?;
        let before = cpu::idle_cpus(end, |cpu| end.pinned_cpus.contains(cpu)).unwrap_or_default();
        let cpus = own.cpus * (1.0 - own.softirq) + postponed_cpus(run, role) - before;
        // The rest is at least what its own threads used, unless other processes used less than before the run.
        let is_too_little = before > 0.0 && own.cpus - before < least_cpus(end);
        if cpus <= 0.0 || is_too_little {
            return Err(Unavailable(format!(
                "other programs used the {}'s CPU more before this test than during it; repeat it on a quiet machine",
                role.name()
            )));
        }
        let shared = CpuUse::within(cpus, own.variance.sqrt());
        Ok((own, shared))
    };
    let ((a, sender), (b, receiver)) = (share(Role::Sender)?, share(Role::Receiver)?);
    let wire = a.cpus * a.softirq + b.cpus * b.softirq;
    Ok(Attribution {
        method: Method::OwnCpus,
        wire: Some(CpuUse::within(wire, (a.variance + b.variance).sqrt())),
        sender: Some(sender),
        receiver: Some(receiver),
        softirqs: Some(a.means.max(b.means)),
    })
}

/// Nine tenths of what an endpoint's traffic threads used, in CPUs, less a tick of each of its CPUs in the window and before.
fn least_cpus(end: &EndpointRecord) -> f64 {
    let ticks_s = end.pinned_cpus.len() as f64 / end.ticks_per_second as f64;
    let spans = [cpu::span_seconds(end), cpu::idle_seconds(end)];
    let missed = spans.into_iter().flatten().map(|span| ticks_s / span);
    cpu::of_first_part(end).map_or(0.0, |(ran, _)| 0.9 * ran) - missed.sum::<f64>()
}

/// What is to be added to the time of an endpoint's CPUs for the work that TCP postpones to tasklets on
/// the receiver's CPUs, which is the sender's. It is known where soft interrupts were timed.
fn postponed_cpus(run: &RunView, role: Role) -> f64 {
    if run.conditions.workload.is_datagram() {
        return 0.0;
    }
    let on_receiver = softirqs::timed(run, &run.receiver.pinned_cpus, |kind| kind == "TASKLET");
    let cpus = on_receiver.map_or(0.0, |(cpus, _)| cpus);
    match role {
        Role::Sender => cpus,
        Role::Receiver => -cpus,
    }
}

/// The work of a lab's wire on the CPUs of one endpoint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WireLoad {
    /// Share of the time of these CPUs that is in use.
    pub busy: f64,
    /// Share of the time in use that is the wire's.
    pub wire: f64,
}

/// The share of a CPU's time in use from which it is full.
pub const FULL: f64 = 0.75;

impl WireLoad {
    /// From this share of a CPU's time in use on, the wire takes more than everything else together.
    const MOST: f64 = 0.5;

    /// True where the CPUs are full, and most of their work is the wire's.
    pub fn limits(&self) -> bool {
        self.busy >= FULL && self.wire >= WireLoad::MOST
    }
}

/// The wire's work on an endpoint's CPUs: where the interfaces of both hosts receive in kernel
/// threads, what is left in soft interrupts there is the wire. Absent elsewhere.
pub fn wire_load(run: &RunView, role: Role) -> Option<WireLoad> {
    if !run.shared_cpus || shares_cpus(run) || !receives_in_threads(run)? {
        return None;
    }
    let own = own_cpus(run, role).ok()?;
    Some(WireLoad {
        busy: own.cpus / run.end(role).pinned_cpus.len() as f64,
        wire: own.softirq,
    })
}

/// Whether the interface's receive work was confined to the CPUs of the endpoint's traffic, as read
/// back.
fn receives_there(end: &EndpointRecord) -> bool {
    let mut cpus = end.pinned_cpus.clone();
    cpus.sort_unstable();
    !cpus.is_empty() && actual(end, RECEIVE_CPUS).and_then(parse_cpu_list) == Some(cpus)
}

struct OwnCpus {
    /// CPU seconds per second.
    cpus: f64,
    softirq: f64,
    /// Variance of `cpus × softirq`.
    variance: f64,
    means: SoftirqMeans,
}

/// Over a veth, the receiver's network work runs in soft interrupts on the sender's CPUs, and the
/// work that acknowledgements make for the sender runs on the receiver's. So each endpoint's share
/// is the time of the CPUs to which it is pinned, without their soft interrupts, and the soft
/// interrupts of the other endpoint's CPUs.
fn by_softirq_ticks(run: &RunView) -> Result<Attribution, Unavailable> {
    if run.sender.pinned_cpus.is_empty() || run.receiver.pinned_cpus.is_empty() {
        return Err(Unavailable("both ends share the CPUs of one host, the ends are not pinned to CPUs of their own, and the receive side did not run in a kernel thread".into()));
    }
    if shares_cpus(run) {
        return Err(Unavailable("both ends are pinned to the same CPU, and the receive side did not run in a kernel thread".into()));
    }
    let (sender, receiver) = (own_cpus(run, Role::Sender)?, own_cpus(run, Role::Receiver)?);
    let standard_error = (sender.variance + receiver.variance).sqrt();
    let share = |own: &OwnCpus, other: &OwnCpus, role: Role| {
        let cpus =
            own.cpus * (1.0 - own.softirq) + other.cpus * other.softirq + postponed_cpus(run, role);
        CpuUse::within(cpus, standard_error)
    };
    Ok(Attribution {
        method: Method::SoftirqTicks,
        sender: Some(share(&sender, &receiver, Role::Sender)),
        receiver: Some(share(&receiver, &sender, Role::Receiver)),
        wire: None,
        softirqs: Some(sender.means.max(receiver.means)),
    })
}

fn own_cpus(run: &RunView, role: Role) -> Result<OwnCpus, Unavailable> {
    let end = run.end(role);
    let spans = cpu::cpus(end).unwrap_or_default();
    let is_own = |span: &&CpuSpan| end.pinned_cpus.contains(&span.cpu);
    let own: Vec<&CpuSpan> = spans.iter().filter(is_own).collect();
    let name = role.name();
    let seconds = cpu::span_seconds(end).filter(|_| own.len() == end.pinned_cpus.len());
    let unread = || Unavailable(format!("the times of the {name}'s CPUs could not be read"));
    let busy: f64 = own.iter().map(|span| span.busy_seconds).sum();
    let cpus = busy / seconds.ok_or_else(unread)?;
    let timed = softirqs::timed(run, &end.pinned_cpus, |kind| kind.starts_with("NET_"));
    if let Some((of_network, variance)) = timed.filter(|_| cpus > 0.0) {
        return Ok(OwnCpus {
            cpus,
            softirq: (of_network / cpus).min(1.0),
            variance,
            means: SoftirqMeans::Timed,
        });
    }
    let ticks = own.iter().map(|span| span.busy_ticks).sum::<u64>() as f64;
    if ticks == 0.0 {
        return Err(Unavailable(format!(
            "the {name}'s CPUs counted no tick of work; measure for longer"
        )));
    }
    let softirq = own.iter().map(|span| span.softirq_ticks).sum::<u64>() as f64 / ticks;
    Ok(OwnCpus {
        cpus,
        softirq,
        // Binomial over the ticks of work.
        variance: cpus * cpus * softirq * (1.0 - softirq) / ticks,
        means: SoftirqMeans::Ticks,
    })
}
