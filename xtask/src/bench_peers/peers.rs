//! The rivals: how each is installed and started, and how its output is read. One row each.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bitcost_model::record::CpuTicks;
use bitcost_probe::cpu::CpuProbe;

use super::cases::{Case, Traffic};
use super::field::{Field, RECEIVER, SENDER, Server, output_of};
use super::figure::{Figure, lost, packet_bytes};
use super::flavours;
use super::load::Load;

/// A generator.
pub struct Rival {
    /// Its name in the table.
    pub name: &'static str,
    program: PathBuf,
    /// The command that prints its version.
    version: &'static [&'static str],
    server: fn(&Rival, &Case) -> Vec<String>,
    client: fn(&Rival, &Case, &str, f64) -> Option<Vec<String>>,
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

/// Every rival.
pub fn all(c_loop: &Path) -> Vec<Rival> {
    vec![
        Rival {
            name: "C loop",
            program: c_loop.to_owned(),
            version: &[],
            server: loop_server,
            client: loop_client,
            rate: loop_rate,
            whole_seconds: false,
        },
        Rival {
            name: "netperf",
            program: "netperf".into(),
            version: &["-V"],
            server: netserver,
            client: netperf,
            rate: netperf_rate,
            whole_seconds: true,
        },
        Rival {
            name: "iperf3",
            program: "iperf3".into(),
            version: &["--version"],
            server: iperf3_server,
            client: iperf3,
            rate: iperf3_rate,
            whole_seconds: true,
        },
        Rival {
            name: "iperf3 -Z",
            program: "iperf3".into(),
            version: &["--version"],
            server: iperf3_server,
            client: iperf3_sendfile,
            rate: iperf3_rate,
            whole_seconds: true,
        },
        Rival {
            name: "nuttcp",
            program: "nuttcp".into(),
            version: &["-V"],
            server: nuttcp_server,
            client: nuttcp,
            rate: nuttcp_rate,
            whole_seconds: true,
        },
        Rival {
            name: "iperf2",
            program: "iperf".into(),
            version: &["--version"],
            server: iperf2_server,
            client: iperf2,
            rate: iperf2_rate,
            whole_seconds: true,
        },
    ]
}

impl Rival {
    /// Whether it has this kind of traffic.
    pub fn can(&self, case: &Case) -> bool {
        case.rate_bps.is_none() && (self.client)(self, case, "10.0.0.2", 1.0).is_some()
    }

    /// Its version, as it prints it.
    pub fn version(&self) -> String {
        let output = Command::new(&self.program).args(self.version).output();
        let text = output
            .map(|output| [output.stdout, output.stderr].concat())
            .unwrap_or_default();
        let line = String::from_utf8_lossy(&text)
            .lines()
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned();
        if self.version.is_empty() {
            "bench/peers/loop.c".to_owned()
        } else {
            line
        }
    }

    fn words(&self, words: &[&str]) -> Vec<String> {
        std::iter::once(self.program.to_string_lossy().into_owned())
            .chain(words.iter().map(|word| (*word).to_owned()))
            .collect()
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
    let server = Server(field.start(RECEIVER, &(rival.server)(rival, case))?);
    std::thread::sleep(SERVER_SETTLES);
    let words = (rival.client)(rival, case, &field.receiver.to_string(), seconds)
        .context("not this traffic")?;
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
        Traffic::Tcp => field.window_limited(),
        _ => None,
    };
    let text = output_of(client, begin + length + PATIENCE)?;
    let sent_per_second =
        (rival.rate)(case, &text).with_context(|| format!("no rate in: {}", text.trim()))?;
    let span = (last.at - first.at).as_secs_f64();
    let per_second = match case.traffic {
        Traffic::Udp => {
            let taken = first.taken.zip(last.taken);
            let (before, after) = taken.context("the datagrams received could not be read")?;
            after.saturating_sub(before) as f64 / span
        }
        _ => sent_per_second,
    };
    let load = Load::between(&first.cpus, &last.cpus, span);
    Ok(Figure {
        per_second,
        lost: (case.traffic == Traffic::Udp).then(|| lost(sent_per_second, per_second)),
        cpu: load.map(|load| load.busy_cpus * 1e6 / (per_second * case.cpu_units())),
        pacing_cpu_pct: None,
        packet_bytes: first.sent.zip(last.sent).and_then(|(first, last)| {
            packet_bytes(
                last.0.saturating_sub(first.0),
                last.1.saturating_sub(first.1),
            )
        }),
        window_limited,
        options: None,
        stolen: load.map_or(0.0, |load| load.stolen),
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

fn transport(case: &Case) -> &'static str {
    if case.traffic == Traffic::Udp {
        "udp"
    } else {
        "tcp"
    }
}

fn loop_server(rival: &Rival, case: &Case) -> Vec<String> {
    rival.words(&["receive", transport(case), PORT, &case.size.to_string()])
}

fn loop_client(rival: &Rival, case: &Case, host: &str, seconds: f64) -> Option<Vec<String>> {
    let words = [
        "send",
        transport(case),
        host,
        PORT,
        &case.size.to_string(),
        &seconds.to_string(),
    ];
    case.is_stream().then(|| rival.words(&words))
}

fn loop_rate(_: &Case, text: &str) -> Option<f64> {
    let mut words = text.split_whitespace().map(str::parse::<f64>);
    Some(words.next()?.ok()? / words.next()?.ok()?)
}

fn netserver(_: &Rival, _: &Case) -> Vec<String> {
    ["netserver", "-D", "-p", PORT].map(str::to_owned).into()
}

fn netperf(rival: &Rival, case: &Case, host: &str, seconds: f64) -> Option<Vec<String>> {
    let test = match case.traffic {
        Traffic::Tcp => "TCP_STREAM",
        Traffic::Udp => "UDP_STREAM",
        Traffic::Rr => "TCP_RR",
        Traffic::UdpRr => "UDP_RR",
        Traffic::Crr => "TCP_CRR",
    };
    let (size, time) = (case.size.to_string(), seconds.to_string());
    let mut words = vec![
        "-H", host, "-p", PORT, "-t", "omni", "-P", "0", "-l", &time, "--",
    ];
    let both = format!("{size},{size}");
    match case.traffic {
        Traffic::Tcp | Traffic::Udp => words.extend([
            "-d",
            "send",
            "-T",
            transport(case),
            "-m",
            &size,
            "-M",
            &size,
            "-R",
            "1",
        ]),
        Traffic::Rr | Traffic::UdpRr | Traffic::Crr => {
            words = vec![
                "-H", host, "-p", PORT, "-t", test, "-P", "0", "-l", &time, "--", "-r", &both,
            ];
        }
    }
    words.extend([
        "-o",
        if case.is_stream() {
            "LOCAL_SEND_THROUGHPUT"
        } else {
            "TRANSACTION_RATE"
        },
    ]);
    Some(rival.words(&words))
}

fn netperf_rate(case: &Case, text: &str) -> Option<f64> {
    let figure: f64 = text
        .lines()
        .rev()
        .find_map(|line| line.trim().parse().ok())?;
    Some(if case.is_stream() {
        figure * 1e6 / 8.0 / f64::from(case.size)
    } else {
        figure
    })
}

fn iperf3_server(rival: &Rival, _: &Case) -> Vec<String> {
    rival.words(&["-s", "-1", "-p", PORT])
}

fn iperf3(rival: &Rival, case: &Case, host: &str, seconds: f64) -> Option<Vec<String>> {
    let (size, time) = (case.size.to_string(), seconds.to_string());
    let mut words = vec!["-c", host, "-p", PORT, "-J", "-t", &time, "-l", &size];
    match case.traffic {
        Traffic::Tcp => {}
        // iperf3's datagrams carry a header of 16 bytes.
        Traffic::Udp if case.size >= 16 => words.extend(["-u", "-b", "0"]),
        _ => return None,
    }
    Some(rival.words(&words))
}

/// `-Z`: the data comes from a file, which is iperf3's fastest mode.
fn iperf3_sendfile(rival: &Rival, case: &Case, host: &str, seconds: f64) -> Option<Vec<String>> {
    let mut words = iperf3(rival, case, host, seconds)?;
    words.push("-Z".to_owned());
    flavours::is_fast_tcp(case).then_some(words)
}

fn iperf3_rate(case: &Case, text: &str) -> Option<f64> {
    let result: serde_json::Value = serde_json::from_str(text).ok()?;
    let bits = result["end"]["sum_sent"]["bits_per_second"]
        .as_f64()
        .or(result["end"]["sum"]["bits_per_second"].as_f64())?;
    Some(bits / 8.0 / f64::from(case.size))
}

fn nuttcp_server(rival: &Rival, _: &Case) -> Vec<String> {
    rival.words(&["-S", "--nofork", "-P", PORT])
}

fn nuttcp(rival: &Rival, case: &Case, host: &str, seconds: f64) -> Option<Vec<String>> {
    let (size, time) = (format!("-l{}", case.size), format!("-T{seconds}"));
    let mut words = vec!["-P", PORT, "-fparse", &size, &time];
    match case.traffic {
        Traffic::Tcp => {}
        Traffic::Udp if case.size >= 16 => words.extend(["-u", "-R0"]),
        _ => return None,
    }
    words.push(host);
    Some(rival.words(&words))
}

fn nuttcp_rate(case: &Case, text: &str) -> Option<f64> {
    let value = |key: &str| {
        text.split_whitespace()
            .find_map(|word| word.strip_prefix(key)?.parse::<f64>().ok())
    };
    match case.traffic {
        Traffic::Udp => Some(value("pkt=")? / value("real_seconds=")?),
        _ => Some(value("rate_Mbps=")? * 1e6 / 8.0 / f64::from(case.size)),
    }
}

fn iperf2_server(rival: &Rival, case: &Case) -> Vec<String> {
    let size = case.size.to_string();
    let mut words = vec!["-s", "-p", PORT, "-l", &size];
    if case.traffic == Traffic::Udp {
        words.push("-u");
    }
    rival.words(&words)
}

fn iperf2(rival: &Rival, case: &Case, host: &str, seconds: f64) -> Option<Vec<String>> {
    let (size, time) = (case.size.to_string(), seconds.to_string());
    let mut words = vec!["-c", host, "-p", PORT, "-y", "C", "-t", &time, "-l", &size];
    match case.traffic {
        Traffic::Tcp => {}
        // iperf2's datagrams carry a header of up to 60 bytes.
        Traffic::Udp if case.size >= 64 => words.extend(["-u", "-b", "1000g"]),
        _ => return None,
    }
    Some(rival.words(&words))
}

fn iperf2_rate(case: &Case, text: &str) -> Option<f64> {
    let fields: Vec<&str> = text.lines().next()?.split(',').collect();
    Some(fields.get(8)?.parse::<f64>().ok()? / 8.0 / f64::from(case.size))
}
