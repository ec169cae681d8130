//! The path of a scenario: hosts in a lab of its own, and what lies between them.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use drive::{Ends, Way};
use host::{Knob, RootQdisc};
use lab::{Address, End, Lab, Napi, Node, NodeKind, Topology};
use model::record::Role;
use sys::process::{NamespaceEntry, enter_before_exec};

use super::scenarios::{Between, Line, Scenario};

/// The node between the hosts that is a delay line.
const LINE_NODE: &str = "m1";

/// A path that stands; it is gone with this.
pub struct Place {
    lab: Arc<Lab>,
    cpus: [u32; 2],
    between: Vec<(String, PathBuf)>,
    lines: Option<PathBuf>,
    line: Option<Child>,
    quota: Option<Quota>,
    bitcost: PathBuf,
}

impl Place {
    /// Builds the path.
    pub fn build(scenario: &Scenario, bitcost: &Path) -> Result<Place> {
        let topology = match scenario.between {
            Between::Line(_) => with_line(scenario.mtu_bytes),
            Between::Lab(text) => model::topology::parse(scenario.name, text)?,
            _ => Topology::wire(scenario.mtu_bytes, Napi::Threaded),
        };
        let cpus = match sys::thread::allowed_cpus()?[..] {
            [first, second, ..] => [first, second],
            _ => bail!("the scenarios need two CPUs"),
        };
        let lab = Arc::new(Lab::up(Path::new("/proc/self/exe"), &topology)?);
        let (between, lines) = (lab.nodes_but(&["h1", "h2"]), lab.lines_file());
        let quota = scenario.quota.map(|(role, percent)| Quota::new(role, percent)).transpose()?;
        let mut place = Place { lab, cpus, between, lines, line: None, quota, bitcost: bitcost.to_owned() };
        match scenario.between {
            Between::Wire | Between::Lab(_) => {}
            Between::Queue(text) => place.run_in("w1", &["node-qdisc", "w1-eth2", text])?,
            Between::Line(line) => place.line = Some(place.start_line(line)?),
        }
        Ok(place)
    }

    fn command_in(&self, node: &str, words: &[&str]) -> Result<Command> {
        let (_, path) = self.between.iter().find(|(name, _)| name == node).context("no such node")?;
        let net = std::fs::File::open(path)?.into();
        let mut command = Command::new("/proc/self/exe");
        command.args(words).stdin(Stdio::null());
        enter_before_exec(&mut command, NamespaceEntry { user: None, net });
        Ok(command)
    }

    fn run_in(&self, node: &str, words: &[&str]) -> Result<()> {
        let status = self.command_in(node, words)?.status()?;
        if status.success() { Ok(()) } else { bail!("{} in {node} failed", words.join(" ")) }
    }

    fn start_line(&self, line: Line) -> Result<Child> {
        let settings = serde_json::to_string(&settings(line))?;
        let mut command = self.command_in(LINE_NODE, &["delay-node", "m1-eth1", "m1-eth2", &settings])?;
        let mut child = command.stdout(Stdio::piped()).spawn().context("start the delay line")?;
        let mut ready = [0; 1];
        let output = child.stdout.as_mut().context("its output")?;
        std::io::Read::read_exact(output, &mut ready).context("the delay line did not begin")?;
        Ok(child)
    }

    /// The ways to both ends.
    pub fn ends(&self) -> Result<Ends> {
        Ok(Ends { sender: self.way(Role::Sender)?, receiver: self.way(Role::Receiver)? })
    }

    fn way(&self, role: Role) -> Result<Way> {
        let (name, cpu) = if role == Role::Sender { ("h1", self.cpus[0]) } else { ("h2", self.cpus[1]) };
        let place = self.lab.host(name)?;
        let (device, addresses) = (place.device.clone(), place.addresses.clone());
        let (lab, bitcost) = (self.lab.clone(), self.bitcost.clone());
        let is_sender = role == Role::Sender;
        let between = if is_sender { self.between.clone() } else { Vec::new() };
        let lines = self.lines.clone().filter(|_| is_sender);
        let group = self.quota.as_ref().filter(|quota| quota.role == role).map(|quota| quota.group.clone());
        let command = move |_: Option<&str>| {
            let mut command = match &group {
                Some(group) => {
                    let mut shell = Command::new("sh");
                    shell.args(["-c", "echo $$ > \"$0/cgroup.procs\" && exec \"$@\""]).arg(group).arg(&bitcost);
                    shell
                }
                None => Command::new(&bitcost),
            };
            command.args(["agent", "--in-lab"]);
            for (node, namespace) in &between {
                command.arg(format!("--between={node}={}", namespace.display()));
            }
            if let Some(lines) = &lines {
                command.arg("--lines").arg(lines);
            }
            lab.command_in(name, &mut command).map_err(|error| error.to_string())?;
            Ok(command)
        };
        Ok(Way { device, addresses, cpus: vec![cpu], ..Way::new(format!("netns:{name}"), command) })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(line) = &mut self.line {
            // Both fail only for a process that has ended.
            let _ = line.kill();
            let _ = line.wait();
        }
    }
}

/// Two hosts with a node between them that has a device towards each.
fn with_line(mtu_bytes: u32) -> Topology {
    let mut topology = Topology::wire(mtu_bytes, Napi::Threaded);
    topology.nodes.retain(|node| node.kind == NodeKind::Host);
    topology.nodes.push(Node { name: LINE_NODE.to_owned(), kind: NodeKind::Host, routes: Vec::new() });
    for (number, link) in (1_u8..).zip(&mut topology.links) {
        // A host of a lab has an address; nobody speaks with these.
        let address = Address { ip: std::net::Ipv4Addr::new(192, 0, 2, number).into(), prefix_length: 32 };
        let [host, port] = &mut link.ends;
        let device = format!("{LINE_NODE}-eth{number}");
        *port = End { node: LINE_NODE.to_owned(), device, addresses: vec![address], ..host.clone() };
    }
    topology
}

fn settings(line: Line) -> [delay::Settings; 2] {
    let half = delay::Settings { delay_ns: line.rtt_ms * 500_000, ..delay::Settings::default() };
    let there = delay::Settings { loss: line.loss_pct / 100.0, rate_bps: line.rate_bps, ..half.clone() };
    [there, half]
}

/// Carries packets between two devices of this network namespace until it is killed.
///
/// # Errors
/// When the settings cannot be read or a device cannot be opened.
pub fn delay_node(devices: [&str; 2], settings: &str) -> Result<()> {
    let settings: [delay::Settings; 2] = serde_json::from_str(settings)?;
    let mut rtnl = netlink::Rtnl::open()?;
    let mut device = |name: &str| -> Result<delay::Device> {
        let link = rtnl.link(name)?;
        Ok(delay::Device { index: link.index, mtu_bytes: link.mtu_bytes })
    };
    let line = delay::Line::open([device(devices[0])?, device(devices[1])?], settings, 7)?;
    rustix::io::write(std::io::stdout().as_fd(), b"+")?;
    Err(anyhow!("the delay line ended: {:?}", line.run()))
}

/// Makes a queueing discipline, written as in studies, the root of a device of this network namespace.
///
/// # Errors
/// When it cannot be read or made.
pub fn node_qdisc(device: &str, text: &str) -> Result<()> {
    let wishes = model::knobs::QDISC.read(text).map_err(|why| anyhow!(why))?;
    let wish = wishes.into_iter().next().context("nothing is asked")?;
    let before = RootQdisc.observe(device)?;
    let asked = RootQdisc.plan(device, &before, &wish.values)?;
    Ok(RootQdisc.write(device, &before, &asked)?)
}

/// A control group with a quota, for root and version 1 or 2 of control groups.
struct Quota {
    role: Role,
    group: PathBuf,
}

impl Quota {
    fn new(role: Role, percent: u32) -> Result<Quota> {
        let (period, quota) = (20_000, 200 * percent);
        let first = Path::new("/sys/fs/cgroup/cpu").exists();
        let root = if first { "/sys/fs/cgroup/cpu" } else { "/sys/fs/cgroup" };
        let group = Path::new(root).join(format!("bitcost-confusion-{}", std::process::id()));
        std::fs::create_dir(&group).with_context(|| format!("a quota needs root: make {}", group.display()))?;
        let held = Quota { role, group };
        let write = |name: &str, text: String| std::fs::write(held.group.join(name), text).context("set the quota");
        if first {
            write("cpu.cfs_period_us", period.to_string())?;
            write("cpu.cfs_quota_us", quota.to_string())?;
        } else {
            write("cpu.max", format!("{quota} {period}"))?;
        }
        Ok(held)
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // Its processes may need a moment to end.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.group).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}
