//! The path of a scenario: hosts in a private lab, and the path between them.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use bitcost_controller::{Endpoint, Endpoints, agent_in_lab};
use bitcost_host::{Knob, RootQdisc};
use bitcost_lab::{Address, End, Lab, Napi, Node, NodeKind, Topology};
use bitcost_model::record::Role;
use bitcost_sys::process::{NamespaceEntry, enter_before_exec};

use super::able::Able;
use super::quota::{Quota, inside};
use super::scenarios::{Between, PathSettings, Scenario};
use crate::runs::endpoint;

/// The node between the hosts that is a link emulator.
const EMULATOR_NODE: &str = "m1";

/// A running path; it is removed when this is dropped.
pub struct Testbed {
    lab: Arc<Lab>,
    cpus: [u32; 2],
    between: Vec<(String, PathBuf)>,
    lines: Option<PathBuf>,
    line: Option<Child>,
    quota: Option<(Role, Quota)>,
    bitcost: PathBuf,
}

impl Testbed {
    pub fn build(scenario: &Scenario, able: &Able, bitcost: &Path) -> Result<Testbed> {
        let topology = match &scenario.between {
            Between::Emulator(_) => with_emulator(scenario.mtu_bytes),
            Between::Lab(text) => bitcost_study::topology::parse(scenario.name, text)?,
            _ => bitcost_study::topology::wire(scenario.mtu_bytes, Napi::Threaded),
        };
        let cpus = match bitcost_sys::thread::allowed_cpus()?[..] {
            [first, second, ..] => [first, second],
            _ => bail!("the scenarios need two CPUs"),
        };
        let lab = Arc::new(Lab::up(Path::new("/proc/self/exe"), &topology)?);
        let (between, lines) = (lab.nodes_but(&["h1", "h2"]), lab.emulator_counters());
        let quota = scenario
            .quota
            .zip(scenario.quota_pct(able))
            .map(|((role, _), percent)| anyhow::Ok((role, Quota::new(percent)?)))
            .transpose()?;
        let mut testbed = Testbed {
            lab,
            cpus,
            between,
            lines,
            line: None,
            quota,
            bitcost: bitcost.to_owned(),
        };
        match &scenario.between {
            Between::Wire | Between::Lab(_) => {}
            Between::Queue(text) => {
                testbed.run_in("w1", &["node-qdisc", "w1-eth2", &able.filled(text)])?;
            }
            Between::Emulator(line) => testbed.line = Some(testbed.start_emulator(*line)?),
        }
        Ok(testbed)
    }

    fn command_in(&self, node: &str, words: &[&str]) -> Result<Command> {
        let (_, path) = self
            .between
            .iter()
            .find(|(name, _)| name == node)
            .context("no such node")?;
        let net = std::fs::File::open(path)?.into();
        let mut command = Command::new("/proc/self/exe");
        command.args(words).stdin(Stdio::null());
        enter_before_exec(&mut command, NamespaceEntry { user: None, net });
        Ok(command)
    }

    fn run_in(&self, node: &str, words: &[&str]) -> Result<()> {
        let status = self.command_in(node, words)?.status()?;
        if status.success() {
            Ok(())
        } else {
            bail!("{} in {node} failed", words.join(" "))
        }
    }

    fn start_emulator(&self, path: PathSettings) -> Result<Child> {
        let settings = serde_json::to_string(&settings(path))?;
        let mut command = self.command_in(
            EMULATOR_NODE,
            &["delay-node", "m1-eth1", "m1-eth2", &settings],
        )?;
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .context("start the link emulator")?;
        let mut ready = [0; 1];
        let output = child.stdout.as_mut().context("its output")?;
        std::io::Read::read_exact(output, &mut ready).context("the link emulator did not start")?;
        Ok(child)
    }

    /// The ways in which agents are started at both endpoints.
    pub fn ends(&self) -> Result<Endpoints> {
        Ok(Endpoints {
            sender: self.way(Role::Sender)?,
            receiver: self.way(Role::Receiver)?,
        })
    }

    fn way(&self, role: Role) -> Result<Endpoint> {
        let (name, cpu) = if role == Role::Sender {
            ("h1", self.cpus[0])
        } else {
            ("h2", self.cpus[1])
        };
        let is_sender = role == Role::Sender;
        let between = match is_sender {
            true => self.between.clone(),
            false => Vec::new(),
        };
        let lines = self.lines.clone().filter(|_| is_sender);
        let quota = self.quota.as_ref().filter(|(of, _)| *of == role);
        let group = quota.map(|(_, quota)| quota.group.clone());
        let bitcost = self.bitcost.clone();
        endpoint(&self.lab, name, cpu, move || {
            let mut command = match &group {
                Some(group) => inside(group, &bitcost),
                None => Command::new(&bitcost),
            };
            command.args(agent_in_lab(&between, lines.as_deref()));
            command
        })
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        if let Some(line) = &mut self.line {
            // Both fail only for a process that has ended.
            let _ = line.kill();
            let _ = line.wait();
        }
    }
}

/// Two hosts with a node between them that has a device towards each.
fn with_emulator(mtu_bytes: u32) -> Topology {
    let mut topology = bitcost_study::topology::wire(mtu_bytes, Napi::Threaded);
    topology.nodes.retain(|node| node.kind == NodeKind::Host);
    topology.nodes.push(Node {
        name: EMULATOR_NODE.to_owned(),
        kind: NodeKind::Host,
        routes: Vec::new(),
    });
    for (number, link) in (1_u8..).zip(&mut topology.links) {
        // A host of a lab has an address; no program uses these.
        let address = Address {
            ip: std::net::Ipv4Addr::new(192, 0, 2, number).into(),
            prefix_length: 32,
        };
        let [host, port] = &mut link.ends;
        let device = format!("{EMULATOR_NODE}-eth{number}");
        *port = End {
            node: EMULATOR_NODE.to_owned(),
            device,
            addresses: vec![address],
            ..host.clone()
        };
    }
    topology
}

fn settings(path: PathSettings) -> [bitcost_lab::emulator::Settings; 2] {
    let half = bitcost_lab::emulator::Settings {
        delay_ns: path.rtt_ms * 500_000,
        ..bitcost_lab::emulator::Settings::default()
    };
    let there = bitcost_lab::emulator::Settings {
        loss: path.loss_pct / 100.0,
        rate_bps: path.rate_bps,
        ..half.clone()
    };
    [there, half]
}

/// Carries packets between two devices of this network namespace until it is killed.
pub fn delay_node(devices: [&str; 2], settings: &str) -> Result<()> {
    let settings: [bitcost_lab::emulator::Settings; 2] = serde_json::from_str(settings)?;
    let mut rtnl = bitcost_sys::netlink::Rtnl::open()?;
    let mut device = |name: &str| -> Result<bitcost_lab::emulator::Device> {
        let link = rtnl.link(name)?;
        Ok(bitcost_lab::emulator::Device {
            index: link.index,
            mtu_bytes: link.mtu_bytes,
        })
    };
    let emulator = bitcost_lab::emulator::Emulator::open(
        [device(devices[0])?, device(devices[1])?],
        settings,
        7,
    )?;
    rustix::io::write(std::io::stdout().as_fd(), b"+")?;
    Err(anyhow!("the link emulator ended: {:?}", emulator.run()))
}

/// Makes a queueing discipline, written as in studies, the root of a device of this network
/// namespace.
pub fn node_qdisc(device: &str, text: &str) -> Result<()> {
    let requests = bitcost_study::host_settings::QDISC.read(text)?;
    let request = requests.into_iter().next().context("nothing is asked")?;
    let before = RootQdisc.observe(device)?;
    let asked = RootQdisc.plan(device, &before, &request.values)?;
    Ok(RootQdisc.write(device, &before, &asked)?)
}
