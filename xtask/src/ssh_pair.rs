//! The lab's default path between two hosts that a real sshd reaches: to compare measurements there
//! with the embedded lab, and to try `--sender` and `--receiver` by hand.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};
use bitcost_lab::{Address, End, Lab, Link, Napi, Node, NodeKind, Topology};
use bitcost_model::shaping::Shaping;
use bitcost_testkit::sshd::{Server, Servers, obstacle};

/// The host of the controller, in addition to `h1` and `h2`.
const CONTROLLER: &str = "ctl";

/// The hosts' interface towards it.
const MANAGEMENT: &str = "mgmt";

/// What to run there.
#[derive(clap::Args)]
pub struct Arguments {
    /// MTU of the path, in bytes
    #[arg(long, default_value_t = 8896)]
    mtu: u32,
    /// Words of bitcost, such as `run not-all-mbits --seed 1`; the hosts are added
    #[arg(required = true, last = true)]
    words: Vec<String>,
}

/// Builds both hosts and runs bitcost between them; returns whether it ended with 0.
pub fn run(arguments: &Arguments) -> Result<bool> {
    if let Some(reason) = obstacle() {
        bail!("{reason}");
    }
    let bitcost = crate::bench_peers::built("bitcost")?;
    let mut servers = Servers::new().context("a separate mount namespace")?;
    let lab = Lab::up(Path::new("/proc/self/exe"), &topology(arguments.mtu))?;
    for (name, number) in [("h1", 1), ("h2", 2)] {
        start_sshd(&mut servers, &lab, name, management(number, 2).ip)?;
    }
    let receiver = lab.host("h2")?.address.to_string();
    let mut command = Command::new(bitcost);
    command
        .args(&arguments.words)
        .arg("--ssh-config")
        .arg(servers.config());
    command.args([
        "--sender",
        "ssh:h1",
        "--receiver",
        "ssh:h2",
        "--receiver-address",
        &receiver,
    ]);
    command.stdin(Stdio::null());
    lab.command_in(CONTROLLER, &mut command)?;
    Ok(command.status().context("start bitcost")?.success())
}

/// Starts an sshd in a host of the lab; returns the folder for what bitcost keeps there.
pub fn start_sshd(
    servers: &mut Servers,
    lab: &Lab,
    name: &str,
    address: IpAddr,
) -> Result<PathBuf> {
    let state = servers.path(&format!("{name}-state"));
    let server = Server {
        name,
        address,
        environment: &[format!("BITCOST_STATE_DIR={}", state.display())],
    };
    let enter = |command: &mut Command| {
        lab.command_in(name, command)
            .map_err(|error| error.to_string())
    };
    servers
        .start(&server, enter)
        .map_err(|error| anyhow!(error))?;
    Ok(state)
}

/// The lab's wire, and a link from each host to the controller's.
fn topology(mtu_bytes: u32) -> Topology {
    let mut topology = bitcost_study::topology::wire(mtu_bytes, Napi::Threaded);
    topology.nodes.push(Node {
        name: CONTROLLER.to_owned(),
        kind: NodeKind::Host,
        routes: Vec::new(),
    });
    for (host, number) in [("h1", 1), ("h2", 2)] {
        let end = |node: &str, device: String, last| End {
            node: node.to_owned(),
            device,
            addresses: vec![management(number, last)],
            egress: Shaping::default(),
            gro_off: false,
        };
        let ends = [
            end(CONTROLLER, format!("to-{host}"), 1),
            end(host, MANAGEMENT.to_owned(), 2),
        ];
        topology.links.push(Link {
            ends,
            mtu_bytes: 1500,
        });
    }
    topology
}

fn management(number: u8, last: u8) -> Address {
    Address {
        ip: [10, 9, number, last].into(),
        prefix_length: 24,
    }
}
