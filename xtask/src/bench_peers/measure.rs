//! One run of a contender: of a rival in two hosts of a private lab joined by a bare veth pair, of ours by `bitcost test`, which
//! builds the same lab.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bitcost_lab::{Lab, Napi};
use bitcost_model::conditions::Workload;
use bitcost_model::record::{CpuTicks, EndpointRecord, Sample};
use bitcost_probe::cpu::CpuProbe;

use super::figure::{Figure, Sent, busy_cpus, cost, lost, packet_bytes};
use super::table::{Case, Contender};
use crate::programs::{json, median, root};

/// The congestion control of both hosts, so that the machine's default does not matter; one that
/// every kernel allows a namespace.
pub const CONGESTION_CONTROL: &str = "reno";

/// The hosts of the sender and of the receiver.
const HOSTS: [&str; 2] = ["h1", "h2"];
const PORT: &str = "5999";

/// Time until a started server listens.
const SERVER_SETTLES: Duration = Duration::from_millis(120);
/// Time until a started client sends, with a margin.
const CLIENT_SETTLES: Duration = Duration::from_millis(150);
/// Time before the end of a client at which nothing has begun to end yet.
const BEFORE_ITS_END: Duration = Duration::from_millis(50);
/// How many seconds a client may take beyond its time.
const PATIENCE_S: f64 = 10.0;

/// The path of rivals, and what both use.
pub struct Field {
    lab: Lab,
    /// The CPU of the sender, and that of the receiver.
    cpus: [u32; 2],
    pub c_loop: PathBuf,
    pub bitcost: PathBuf,
}

/// A server that is stopped when this is dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only for a process that has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Field {
    pub fn build(mtu_bytes: u32, c_loop: &Path, bitcost: &Path) -> Result<Field> {
        let pair = bitcost_study::topology::preset("pair", mtu_bytes, Napi::Inline)?;
        let cpus = match bitcost_sys::thread::allowed_cpus()?[..] {
            [] => bail!("no CPU to run on"),
            [only] => [only, only],
            [first, second, ..] => [first, second],
        };
        let field = Field {
            lab: Lab::up(&pair)?,
            cpus,
            c_loop: c_loop.to_owned(),
            bitcost: bitcost.to_owned(),
        };
        let choice =
            format!("echo {CONGESTION_CONTROL} >/proc/sys/net/ipv4/tcp_congestion_control");
        for host in 0..2 {
            let status = field.start(host, &choice)?.wait()?;
            ensure!(status.success(), "{choice}: {status}");
        }
        Ok(field)
    }

    /// Starts a line of shell in a host, on the CPU of its endpoint.
    fn start(&self, host: usize, line: &str) -> Result<Child> {
        let mut command = Command::new("taskset");
        command.args(["-c", &self.cpus[host].to_string(), "sh", "-c", line]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(Stdio::null());
        self.lab.command_in(HOSTS[host], &mut command)?;
        command.spawn().with_context(|| format!("start {line}"))
    }

    /// Bytes and packets that the sender's interface has sent, as a process in its host sees them.
    fn sent(&self, process: &Child) -> Option<Sent> {
        let device = &self.lab.host(HOSTS[0]).ok()?.device;
        let text = std::fs::read_to_string(format!("/proc/{}/net/dev", process.id())).ok()?;
        let mut lines = text.lines().map(str::trim);
        let line = lines.find_map(|line| line.strip_prefix(device)?.strip_prefix(':'))?;
        let mut sent = line.split_whitespace().skip(8).map(str::parse);
        Some((sent.next()?.ok()?, sent.next()?.ok()?))
    }

    /// Share of the busy time of the sender's connection that the receive window limited so far, as ss
    /// prints it; absent where it does not.
    fn window_limited(&self) -> Option<f64> {
        let listing = self.start(0, "timeout 1 ss -tinH state established").ok()?;
        let text = listing.wait_with_output().ok()?.stdout;
        let ms = |line: &str, name: &str| {
            let mut words = line.split_whitespace();
            let word = words.find_map(|word| word.strip_prefix(name))?;
            word.split("ms").next()?.parse::<f64>().ok()
        };
        let text = String::from_utf8_lossy(&text);
        let connections = text.lines().filter_map(|line| {
            Some((ms(line, "busy:")?, ms(line, "rwnd_limited:").unwrap_or(0.0)))
        });
        let (busy, limited) = connections.max_by(|a, b| a.0.total_cmp(&b.0))?;
        (busy > 0.0).then(|| limited / busy)
    }
}

/// Datagrams that programs in the host of this process have taken from their sockets.
fn taken(process: &Child) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{}/net/snmp", process.id())).ok()?;
    let mut rows = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, values) = (rows.next()?, rows.next()?);
    let mut pairs = names.split_whitespace().zip(values.split_whitespace());
    let (_, value) = pairs.find(|(name, _)| *name == "InDatagrams")?;
    value.parse().ok()
}

/// One run of this many seconds.
pub fn measure(of: &Contender, case: &Case, field: &Field, seconds: f64) -> Result<Figure> {
    match &of.options {
        Some(options) => ours(options, case, field, seconds),
        None if of.whole_seconds => rival(of, case, field, seconds.ceil()),
        None => rival(of, case, field, seconds),
    }
}

/// What is read at each end of a span within a run.
struct Edge {
    cpus: Vec<CpuTicks>,
    at: Instant,
    sent: Option<Sent>,
    taken: Option<u64>,
}

fn sleep_until(moment: Instant) {
    std::thread::sleep(moment.saturating_duration_since(Instant::now()));
}

/// A run of a rival. CPU time is measured in a span within it, so that starting and stopping programs does not
/// count.
fn rival(of: &Contender, case: &Case, field: &Field, seconds: f64) -> Result<Figure> {
    let host = field.lab.host(HOSTS[1])?.address.to_string();
    let commands = of.commands(case.workload).context("not this traffic")?;
    let [server, client] = commands.map(|line| {
        line.replace("HOST", &host)
            .replace("PORT", PORT)
            .replace("SIZE", &case.size.to_string())
            .replace("TIME", &seconds.to_string())
            .replace("LOOP", &field.c_loop.to_string_lossy())
    });
    let server = Server(field.start(1, &format!("exec {server}"))?);
    std::thread::sleep(SERVER_SETTLES);
    let mut cpus = CpuProbe::open();
    let (length, begin) = (Duration::from_secs_f64(seconds), Instant::now());
    let client = field.start(0, &format!("timeout {} {client}", seconds + PATIENCE_S))?;
    let mut edge = |moment| {
        sleep_until(moment);
        Edge {
            cpus: cpus.read(),
            at: Instant::now(),
            sent: field.sent(&client),
            taken: taken(&server.0),
        }
    };
    let first = edge(begin + length.min(CLIENT_SETTLES));
    let last = edge(begin + length.saturating_sub(BEFORE_ITS_END).max(CLIENT_SETTLES));
    let is_tcp = case.workload == Workload::TcpStream;
    let window_limited = is_tcp.then(|| field.window_limited()).flatten();
    let output = client.wait_with_output()?.stdout;
    let text = String::from_utf8_lossy(&output);
    let rate = text.trim().parse::<f64>().ok().filter(|rate| *rate > 0.0);
    let sent_per_second = rate.with_context(|| format!("no rate in: {text}"))?;
    let span = (last.at - first.at).as_secs_f64();
    let is_udp = case.workload == Workload::UdpStream;
    let per_second = if is_udp {
        let taken = first.taken.zip(last.taken);
        let (before, after) = taken.context("the datagrams received could not be read")?;
        after.saturating_sub(before) as f64 / span
    } else {
        sent_per_second
    };
    let busy = busy_cpus(&first.cpus, &last.cpus, span);
    let sent = first.sent.zip(last.sent);
    Ok(Figure {
        per_second,
        lost: is_udp.then(|| lost(sent_per_second, per_second)),
        cpu: busy.map(|busy| cost(busy, case, per_second)),
        packet_bytes: sent.and_then(|(first, last)| packet_bytes(first, last)),
        window_limited,
        ..Figure::default()
    })
}

/// A run of `bitcost test` with these options.
fn ours(options: &str, case: &Case, field: &Field, seconds: f64) -> Result<Figure> {
    let mut command = Command::new(&field.bitcost);
    let [sender, receiver] = field.cpus;
    let lab = root().join("bench/peers/pair.toml");
    let line = format!(
        "test {} -l {} -t {seconds}s -O 50ms --set idle_baseline_s=0 --mtu {} --sender-cpus {sender} \
         --receiver-cpus {receiver} --sysctl net.ipv4.tcp_congestion_control={CONGESTION_CONTROL} --no-log --json --samples {options}",
        case.workload.info().short_name,
        case.size,
        case.mtu_bytes
    );
    command.args(line.split_whitespace());
    let rate = case.rate_bps.map(|bps| format!("--rate={bps}"));
    let document = json(command.args(rate).arg("--topology").arg(lab))?;
    let sender = serde_json::from_value(document["records"][0]["sender"].clone())?;
    let taken = &document["mode_search"][0]["steps"][1]["change"]["settings"];
    let median = |name: &str| median(&document, name);
    let per_second = match case.workload {
        Workload::TcpStream => median("messages_per_second")?,
        Workload::UdpStream => median("throughput_mbps")? * 1e6 / 8.0 / f64::from(case.size),
        _ => median("transactions_per_second")?,
    };
    let share = |name: &str| median(name).ok().map(|pct| pct / 100.0);
    Ok(Figure {
        lost: share("loss_pct"),
        pacing_cpu_pct: median("pacing_cpu_pct").ok(),
        window_limited: share("receive_window_limited_pct"),
        options: taken.is_object().then(|| taken.to_string()),
        ..of_samples(case, &sender, per_second)
    })
}

/// What the samples of the machine and of the sender's interface say of a run with this rate.
fn of_samples(case: &Case, sender: &EndpointRecord, per_second: f64) -> Figure {
    let edges = sender.samples.first().zip(sender.samples.last());
    let busy = edges.and_then(|(first, last)| {
        let seconds = last.at_ns.saturating_sub(first.at_ns) as f64 / 1e9;
        busy_cpus(&first.cpus, &last.cpus, seconds)
    });
    let own = |sample: &Sample| {
        let interface = sample.interfaces.iter().find(|one| one.node.is_none())?;
        Some((interface.tx_bytes, interface.tx_packets))
    };
    let sent = edges.and_then(|(first, last)| own(first).zip(own(last)));
    Figure {
        per_second,
        cpu: busy.map(|busy| cost(busy, case, per_second)),
        packet_bytes: sent.and_then(|(first, last)| packet_bytes(first, last)),
        ..Figure::default()
    }
}
