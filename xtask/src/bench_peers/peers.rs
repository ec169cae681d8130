//! The rivals: how each is installed and started, and how its output is read. One row each.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bitcost_model::conditions::Workload;
use bitcost_model::record::CpuTicks;
use bitcost_probe::cpu::CpuProbe;

use super::cases::Case;
use super::field::{Field, RECEIVER, SENDER, Server, output_of};
use super::figure::{Figure, lost, packet_bytes};
use super::load::Load;
use super::ours;

/// A generator. In its commands HOST, PORT, SIZE, TIME and LOOP stand for what a case has.
pub struct Rival {
    /// Its name in the table.
    pub name: &'static str,
    program: PathBuf,
    /// The option that prints its version; none of the C loop.
    version: &'static str,
    server: fn(&Case) -> String,
    /// Absent where it has no such traffic.
    client: fn(&Case) -> Option<String>,
    /// Reads messages or transactions per second from the client's output.
    rate: fn(&Case, &str) -> Option<f64>,
    /// Whether it counts whole seconds only.
    whole_seconds: bool,
}

const PORT: &str = "5999";

/// Time until a started server listens.
const SERVER_SETTLES: Duration = Duration::from_millis(120);

/// Time until a started client sends, with a margin.
const CLIENT_SETTLES: Duration = Duration::from_millis(150);

/// Time before the end of a client at which nothing has begun to end yet.
const BEFORE_ITS_END: Duration = Duration::from_millis(50);

/// How long a client may take beyond its time.
const PATIENCE: Duration = Duration::from_secs(10);

pub fn all(c_loop: &Path) -> Vec<Rival> {
    type Of<T> = fn(&Case) -> T;
    type Rate = fn(&Case, &str) -> Option<f64>;
    let rival = |name: &'static str,
                 version,
                 server: Of<String>,
                 client: Of<Option<String>>,
                 rate: Rate| Rival {
        name,
        program: name.split(' ').next().unwrap_or_default().into(),
        version,
        server,
        client,
        rate,
        whole_seconds: true,
    };
    let netserver = |_: &Case| "netserver -D -p PORT".to_owned();
    let nuttcp_server = |_: &Case| "nuttcp -S --nofork -P PORT".to_owned();
    vec![
        Rival {
            program: c_loop.to_owned(),
            whole_seconds: false,
            ..rival("C loop", "", loop_server, loop_client, loop_rate)
        },
        rival("netperf", "-V", netserver, netperf, netperf_rate),
        rival("iperf3", "--version", iperf3_server, iperf3, iperf3_rate),
        // The data comes from a file, which is iperf3's fastest mode.
        rival(
            "iperf3 -Z",
            "--version",
            iperf3_server,
            iperf3_sendfile,
            iperf3_rate,
        ),
        rival("nuttcp", "-V", nuttcp_server, nuttcp, nuttcp_rate),
        Rival {
            program: "iperf".into(),
            ..rival("iperf2", "--version", iperf2_server, iperf2, iperf2_rate)
        },
    ]
}

impl Rival {
    /// Whether it has this kind of traffic.
    pub fn can(&self, case: &Case) -> bool {
        case.rate_bps.is_none() && (self.client)(case).is_some()
    }

    /// Its version, as it prints it.
    pub fn version(&self) -> String {
        if self.version.is_empty() {
            return "bench/peers/loop.c".to_owned();
        }
        let output = Command::new(&self.program).arg(self.version).output();
        let text = output.map(|output| [output.stdout, output.stderr].concat());
        let text = String::from_utf8_lossy(&text.unwrap_or_default()).into_owned();
        text.lines().next().unwrap_or_default().trim().to_owned()
    }

    fn words(&self, command: &str, case: &Case, host: &str, seconds: f64) -> Vec<String> {
        let command = command
            .replace("HOST", host)
            .replace("PORT", PORT)
            .replace("SIZE", &case.size.to_string())
            .replace("TIME", &seconds.to_string());
        let word = |word: &str| word.replace("LOOP", &self.program.to_string_lossy());
        command.split_whitespace().map(word).collect()
    }
}

/// One run of a rival. Most peers count whole seconds only.
///
/// CPU time is measured in a span within the run, so that starting and stopping programs does not
/// count.
pub fn measure(rival: &Rival, case: &Case, field: &Field, seconds: f64) -> Result<Figure> {
    let seconds = if rival.whole_seconds {
        seconds.ceil()
    } else {
        seconds
    };
    let host = field.receiver.to_string();
    let server = rival.words(&(rival.server)(case), case, &host, seconds);
    let server = Server(field.start(RECEIVER, &server)?);
    std::thread::sleep(SERVER_SETTLES);
    let words = (rival.client)(case).context("not this traffic")?;
    let words = rival.words(&words, case, &host, seconds);
    let mut cpus = CpuProbe::open();
    let length = Duration::from_secs_f64(seconds);
    let begin = Instant::now();
    let client = field.start(SENDER, &words)?;
    sleep_until(begin + length.min(CLIENT_SETTLES));
    let edge = |cpus: &mut CpuProbe| Edge {
        cpus: cpus.read(),
        at: Instant::now(),
        sent: field.sent(&client),
        taken: field.taken(&server.0),
    };
    let first = edge(&mut cpus);
    sleep_until(begin + length.saturating_sub(BEFORE_ITS_END).max(CLIENT_SETTLES));
    let last = edge(&mut cpus);
    let window_limited = match case.traffic {
        Workload::TcpStream => field.window_limited(),
        _ => None,
    };
    let text = output_of(client, begin + length + PATIENCE)?;
    let sent_per_second =
        (rival.rate)(case, &text).with_context(|| format!("no rate in: {}", text.trim()))?;
    let span = (last.at - first.at).as_secs_f64();
    let per_second = match case.traffic {
        Workload::UdpStream => {
            let taken = first.taken.zip(last.taken);
            let (before, after) = taken.context("the datagrams received could not be read")?;
            after.saturating_sub(before) as f64 / span
        }
        _ => sent_per_second,
    };
    let load = Load::between(&first.cpus, &last.cpus, span);
    Ok(Figure {
        per_second,
        lost: (case.traffic == Workload::UdpStream).then(|| lost(sent_per_second, per_second)),
        cpu: load.map(|load| load.busy_cpus * 1e6 / (per_second * case.cpu_units())),
        packet_bytes: first
            .sent
            .zip(last.sent)
            .and_then(|(first, last)| packet_bytes(first, last)),
        window_limited,
        stolen: load.map_or(0.0, |load| load.stolen),
        ..Figure::default()
    })
}

/// What is read at each end of a span within a run.
struct Edge {
    cpus: Vec<CpuTicks>,
    at: Instant,
    sent: Option<(u64, u64)>,
    taken: Option<u64>,
}

fn sleep_until(moment: Instant) {
    std::thread::sleep(moment.saturating_duration_since(Instant::now()));
}

fn loop_server(case: &Case) -> String {
    match case.traffic {
        Workload::UdpStream => "LOOP receive udp PORT SIZE".to_owned(),
        _ => "LOOP receive tcp PORT SIZE".to_owned(),
    }
}

fn loop_client(case: &Case) -> Option<String> {
    let transport = match case.traffic {
        Workload::TcpStream => "tcp",
        Workload::UdpStream => "udp",
        _ => return None,
    };
    Some(format!("LOOP send {transport} HOST PORT SIZE TIME"))
}

fn loop_rate(_: &Case, text: &str) -> Option<f64> {
    let mut words = text.split_whitespace().map(str::parse::<f64>);
    Some(words.next()?.ok()? / words.next()?.ok()?)
}

fn netperf(case: &Case) -> Option<String> {
    let (test, transport) = match case.traffic {
        Workload::TcpStream => ("omni", "tcp"),
        Workload::UdpStream => ("omni", "udp"),
        Workload::TcpRr => ("TCP_RR", ""),
        Workload::UdpRr => ("UDP_RR", ""),
        _ => ("TCP_CRR", ""),
    };
    let words = match transport {
        "" => "-r SIZE,SIZE -o TRANSACTION_RATE".to_owned(),
        _ => format!("-d send -T {transport} -m SIZE -M SIZE -R 1 -o LOCAL_SEND_THROUGHPUT"),
    };
    Some(format!(
        "netperf -H HOST -p PORT -t {test} -P 0 -l TIME -- {words}"
    ))
}

fn netperf_rate(case: &Case, text: &str) -> Option<f64> {
    let mut lines = text.lines().rev();
    let figure: f64 = lines.find_map(|line| line.trim().parse().ok())?;
    Some(match case.traffic {
        Workload::TcpStream | Workload::UdpStream => figure * 1e6 / 8.0 / f64::from(case.size),
        _ => figure,
    })
}

/// A client's command for TCP, and with more words for datagrams that have room for the program's header.
fn of_streams(case: &Case, tcp: &str, header: u32, udp: &str) -> Option<String> {
    match case.traffic {
        Workload::TcpStream => Some(tcp.to_owned()),
        Workload::UdpStream if case.size >= header => Some(format!("{tcp} {udp}")),
        _ => None,
    }
}

fn iperf3_server(_: &Case) -> String {
    "iperf3 -s -1 -p PORT".to_owned()
}

fn iperf3(case: &Case) -> Option<String> {
    let tcp = "iperf3 -c HOST -p PORT -J -t TIME -l SIZE";
    of_streams(case, tcp, 16, "-u -b 0")
}

fn iperf3_sendfile(case: &Case) -> Option<String> {
    let command = format!("{} -Z", iperf3(case)?);
    ours::is_fast_tcp(case).then_some(command)
}

fn iperf3_rate(case: &Case, text: &str) -> Option<f64> {
    let result: serde_json::Value = serde_json::from_str(text).ok()?;
    let of = |sum: &str| result["end"][sum]["bits_per_second"].as_f64();
    Some(of("sum_sent").or(of("sum"))? / 8.0 / f64::from(case.size))
}

fn nuttcp(case: &Case) -> Option<String> {
    let tcp = "nuttcp -P PORT -fparse -lSIZE -TTIME";
    Some(format!("{} HOST", of_streams(case, tcp, 16, "-u -R0")?))
}

fn nuttcp_rate(case: &Case, text: &str) -> Option<f64> {
    let value = |key: &str| {
        let mut words = text.split_whitespace();
        words.find_map(|word| word.strip_prefix(key)?.parse::<f64>().ok())
    };
    match case.traffic {
        Workload::UdpStream => Some(value("pkt=")? / value("real_seconds=")?),
        _ => Some(value("rate_Mbps=")? * 1e6 / 8.0 / f64::from(case.size)),
    }
}

fn iperf2_server(case: &Case) -> String {
    match case.traffic {
        Workload::UdpStream => "iperf -s -p PORT -l SIZE -u".to_owned(),
        _ => "iperf -s -p PORT -l SIZE".to_owned(),
    }
}

fn iperf2(case: &Case) -> Option<String> {
    let tcp = "iperf -c HOST -p PORT -y C -t TIME -l SIZE";
    of_streams(case, tcp, 64, "-u -b 1000g")
}

fn iperf2_rate(case: &Case, text: &str) -> Option<f64> {
    let fields: Vec<&str> = text.lines().next()?.split(',').collect();
    Some(fields.get(8)?.parse::<f64>().ok()? / 8.0 / f64::from(case.size))
}
