//! `cargo xtask probe-cost`: how long each probe takes to read, in a host of a lab like the
//! embedded one.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use anyhow::{Context, Result};
use bitcost_lab::{Lab, Napi};
use bitcost_model::record::{Sample, ThreadKind};
use bitcost_probe::{Detail, Every, Node, PROBES, Socket, Target, Thread};
use bitcost_stats::median;

/// How often to read.
#[derive(clap::Args)]
pub struct Arguments {
    /// Readings of each probe
    #[arg(long, default_value_t = 2000)]
    readings: u32,
    /// Where the measurement itself goes on: a host of the lab
    #[arg(long, hide = true)]
    inside: bool,
    /// The nodes between the ends, as an agent is told them
    #[arg(long, hide = true)]
    between: Vec<String>,
}

/// Prints the table.
///
/// # Errors
/// When the lab cannot be built.
pub fn run(arguments: &Arguments) -> Result<()> {
    if arguments.inside {
        return measure(arguments);
    }
    let lab = Lab::up(
        Path::new("/proc/self/exe"),
        &bitcost_study::topology::wire(1500, Napi::Threaded),
    )?;
    let mut command = std::process::Command::new("/proc/self/exe");
    command.args([
        "probe-cost",
        "--inside",
        "--readings",
        &arguments.readings.to_string(),
    ]);
    for (name, path) in lab.nodes_but(&["h1", "h2"]) {
        command.arg(format!("--between={name}={}", path.display()));
    }
    lab.command_in("h1", &mut command)?;
    let status = command
        .status()
        .context("start the measurement in a host of the lab")?;
    anyhow::ensure!(status.success(), "the measurement in the lab failed");
    Ok(())
}

fn measure(arguments: &Arguments) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let stream = TcpStream::connect(listener.local_addr()?)?;
    let node = |text: &String| {
        text.split_once('=').map(|(name, path)| Node {
            name: name.into(),
            namespace: path.into(),
        })
    };
    let thread = Thread {
        kind: ThreadKind::Traffic,
        part: 0,
        id: bitcost_sys::thread::thread_id().cast_unsigned(),
    };
    let target = Target {
        device: "h1-eth0".to_owned(),
        threads: vec![thread; 2],
        sockets: Rc::from(vec![vec![Socket {
            handle: stream.into(),
            is_connection: true,
        }]]),
        tcp_info: |socket| bitcost_traffic::tcp_info(socket),
        between: bitcost_probe::Between {
            nodes: arguments.between.iter().filter_map(node).collect(),
            emulators: None,
        },
        softirqs: None,
    };
    println!(
        "{:<12} {:<10} {:>10} {:>10}  reads",
        "probe", "read", "median µs", "worst µs"
    );
    let mut sum = 0.0;
    for probe in PROBES {
        let every = if probe.every == Every::Reading {
            "100 ms"
        } else {
            "edges"
        };
        let Some(mut source) = (probe.open)(&target) else {
            println!(
                "{:<12} {every:<10} {:>10} {:>10}  {}",
                probe.name, "absent", "", probe.reads
            );
            continue;
        };
        let mut read = || {
            let begin = Instant::now();
            source.read(&mut Sample::default(), Detail::Flows);
            begin.elapsed().as_secs_f64() * 1e6
        };
        let times: Vec<f64> = (0..arguments.readings).map(|_| read()).collect();
        let (middle, worst) = (
            median(&times).unwrap_or_default(),
            times.iter().copied().fold(0.0, f64::max),
        );
        sum += if probe.every == Every::Reading {
            middle
        } else {
            0.0
        };
        println!(
            "{:<12} {every:<10} {middle:>10.1} {worst:>10.1}  {}",
            probe.name, probe.reads
        );
    }
    println!("every 100 ms: {sum:.1} µs, {:.3} % of a CPU", sum / 1000.0);
    Ok(())
}
