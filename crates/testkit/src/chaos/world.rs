//! The two hosts, their settings as other programs see them, and the processes of a run.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crate::process::{Family, new_network, within};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::chaos::step::Who;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The caller's network namespace, where the controller is too.
    Near,
    Far,
}

pub const SIDES: [Side; 2] = [Side::Near, Side::Far];

impl Side {
    pub fn device(self) -> &'static str {
        match self {
            Side::Near => "c0",
            Side::Far => "c1",
        }
    }

    fn address(self) -> &'static str {
        match self {
            Side::Near => "10.66.0.1",
            Side::Far => "10.66.0.2",
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.device())
    }
}

/// The settings requested of both hosts, as options of `bitcost test`.
const ASKED: &str = "--device-mtu 1400 --offloads off --set gso_max_segs=1 --set gso_max_size=20000 \
    --set gro_max_size=4000 --qdisc 'tbf rate 800M' \
    --sysctl 'net.ipv4.tcp_sack=0, net.ipv4.tcp_rmem=4096 65536 524288' --set 'channels=rx 1, tx 1'";
/// The number of changes of each host for these.
pub const CHANGES: usize = 9;
/// A device that is up, with an address and two queues.
const PLAIN: &str = r#"
ip link set lo up
ip address add ADDRESS/24 dev DEV
ip link set DEV mtu 3000 up
"#;
/// A device with settings that differ from every default, one of them a feature that is requested
/// and not active, and with everything that the kernel changes along with an MTU or a number of
/// queues.
const DEVICE: &str = r#"
ethtool -L DEV rx 2 tx 2
if ip link add link DEV name mDEV mtu 3000 type macvlan mode bridge; then
    ip link set mDEV up
    echo 2500 >/proc/sys/net/ipv6/conf/mDEV/mtu
fi
ip -6 address add fd66::ADDRESS/64 dev DEV nodad
ip -6 route add fd67::/64 dev DEV mtu 2000
echo 1300 >/proc/sys/net/ipv6/conf/DEV/mtu
# The kernel lets only root of the machine set the maps of queues; others go on without.
cd /sys/class/net/DEV/queues
(echo 1 >rx-0/rps_cpus && echo 1 >rx-1/rps_cpus && echo 64 >rx-1/rps_flow_cnt && echo 1 >tx-1/xps_cpus) ||
    [ "$(tr -s ' ' </proc/self/uid_map)" != " 0 0 4294967295" ]
cd /
tc qdisc replace dev DEV root handle 7: tbf rate 2gbit burst 256k limit 8m
ethtool -K DEV gro on >/dev/null
ethtool -K DEV tx-tcp-mangleid-segmentation off >/dev/null
ethtool -K DEV tx-checksum-ip-generic off >/dev/null
echo 4096 100000 5000000 >/proc/sys/net/ipv4/tcp_rmem
echo reno >/proc/sys/net/ipv4/tcp_congestion_control
"#;
/// Everything that a run could change here, and more, as other programs report it.
const SEEN: &str = r#"
if command -v ethtool >/dev/null; then
    ethtool -k DEV
    ethtool -l DEV 2>/dev/null || true
fi
ip -d -o link | sed -E 's/[a-z_]+_timer +[0-9.]+//g'
ip -o address | sed 's/ tentative//'
ip route
ip -6 route
tc qdisc show dev DEV | sed -E 's/direct_packets_stat [0-9]+//'
tc class show dev DEV
tc filter show dev DEV
cd /sys/class/net/DEV/queues
grep -sH . */rps_cpus */rps_flow_cnt */xps_cpus */xps_rxqs || true
cd /proc/sys/net
grep -sH . ipv4/tcp_* ipv4/ip_forward core/* ipv4/conf/*/* ipv6/conf/*/* || true
"#;
/// Waits until every link forwards packets and has the address that the kernel gives it.
const SETTLED: &str = r#"
for i in $(seq 100); do
    ip -o link | grep -q "NO-CARRIER" || break
    sleep 0.05
done
sleep 0.2
"#;
/// Before a script: `/sys` shows the devices of the host.
const OWN_SYS: &str = "mount -t sysfs sysfs /sys\n";
/// Stand-in for ssh: runs a command in the other network namespace. While the gate exists, it waits
/// there to be followed.
const SSH: &str = r#"#!/bin/sh
if [ "$1" = -G ]; then echo "hostname ADDRESS"; exit 0; fi
while [ "$1" != -- ]; do shift; done
shift
export BITCOST_STATE_DIR=FOLDER/far
if mv FOLDER/gate FOLDER/gate-used 2>/dev/null; then
    echo $$ >FOLDER/waits.new && mv FOLDER/waits.new FOLDER/waits
    read -r word <FOLDER/gate-used
fi
exec nsenter --net=NETWORK sh -c "$*"
"#;
/// Time limit of a program that changes nothing.
const PATIENCE: Duration = Duration::from_secs(30);

/// Two hosts with unusual settings, and a folder for what bitcost writes.
pub struct World {
    folder: tempfile::TempDir,
    program: PathBuf,
    pub family: Family,
    far: OwnedFd,
    before: [String; 2],
    /// The time within which a host must be as before.
    pub limit: Duration,
}

impl World {
    /// Makes the hosts in the caller's network namespace and in a new one, with settings that
    /// differ from every default.
    pub fn new(program: &Path, limit: Duration) -> Result<World, String> {
        World::with(program, limit, DEVICE)
    }

    /// The same, with this script at each host.
    pub fn with(program: &Path, limit: Duration, script: &str) -> Result<World, String> {
        let make = || -> io::Result<World> {
            Ok(World {
                folder: tempfile::tempdir()?,
                program: program.to_owned(),
                family: Family::new(),
                far: new_network()?,
                before: Default::default(),
                limit,
            })
        };
        let mut world = make().map_err(|error| format!("cannot make two hosts: {error}"))?;
        let installed = world.install_ssh();
        installed.map_err(|error| format!("cannot write the stand-in for ssh: {error}"))?;
        let (near, far) = (Side::Near.device(), Side::Far.device());
        let pair = format!(
            "ip link add {near} numtxqueues 2 numrxqueues 2 type veth peer name {far} numtxqueues 2 numrxqueues 2 netns {}",
            world.network()
        );
        world.shell(Side::Near, &pair)?;
        for side in SIDES {
            world.shell(side, PLAIN)?;
            world.shell(side, script)?;
        }
        world.shell(Side::Far, SETTLED)?;
        world.shell(Side::Near, SETTLED)?;
        world.before = [world.seen(Side::Near)?, world.seen(Side::Far)?];
        Ok(world)
    }

    fn install_ssh(&self) -> io::Result<()> {
        let folder = self.folder.path().to_string_lossy().into_owned();
        let script = SSH
            .replace("ADDRESS", Side::Far.address())
            .replace("NETWORK", &self.network());
        let path = self.folder.path().join("ssh");
        fs::write(&path, script.replace("FOLDER", &folder))?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))
    }

    fn network(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.far.as_raw_fd())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A command at a host, with the host's own folder for journals.
    fn command(&self, side: Side, words: &[&str]) -> Command {
        let network = format!("--net={}", self.network());
        let words = match side {
            Side::Near => words.to_vec(),
            Side::Far => [&["nsenter", &network], words].concat(),
        };
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).stdin(Stdio::null());
        command.env("BITCOST_STATE_DIR", self.state(side));
        self.family.adopt(&mut command);
        command
    }

    /// The folder of journals of a host.
    pub fn state(&self, side: Side) -> PathBuf {
        self.path(if side == Side::Near { "near" } else { "far" })
    }

    /// A shell at a host, whose `/sys` shows the host's devices.
    fn script(&self, side: Side, script: &str) -> Command {
        let script = script
            .replace("DEV", side.device())
            .replace("ADDRESS", side.address());
        let script = format!("{OWN_SYS}{script}");
        self.command(side, &["unshare", "--mount", "sh", "-ec", &script])
    }

    /// The output of a shell at a host; on failure its standard error.
    fn shell(&self, side: Side, script: &str) -> Result<String, String> {
        let output = self.script(side, script).output();
        let output = output.map_err(|error| format!("sh: {error}"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(format!(
            "{said}; ethtool, ip, tc, grep, nsenter and unshare are needed, and a veth with tbf, and htb"
        ))
    }

    /// The settings of a host as other programs report them.
    fn seen(&self, side: Side) -> Result<String, String> {
        self.shell(side, SEEN)
    }

    /// The lines that differ from before.
    pub fn differences(&self, side: Side) -> Result<Vec<String>, String> {
        let before = &self.before[usize::from(side == Side::Far)];
        let now = self.seen(side)?;
        let missing = |from: &str, of: &str, sign: char| -> Vec<String> {
            let is_missing = |line: &&str| !of.lines().any(|other| other == *line);
            let lines = from.lines().filter(is_missing);
            lines
                .map(|line| format!("{sign} {}", line.trim()))
                .collect()
        };
        Ok([missing(before, &now, '-'), missing(&now, before, '+')].concat())
    }

    /// bitcost with these words at a host, run to its end.
    pub fn bitcost(&self, side: Side, words: &[&str]) -> Result<Output, String> {
        let program = self.program.to_string_lossy();
        let output = self.command(side, &[&[&*program], words].concat()).output();
        output.map_err(|error| format!("cannot start {program}: {error}"))
    }

    /// Starts a run that changes both hosts, its sender at the near one.
    pub fn start(&self) -> Result<Child, String> {
        self.start_asking(&crate::split(ASKED))
    }

    /// Starts a run with these settings, its sender at the near host.
    pub fn start_asking(&self, asked: &[&str]) -> Result<Child, String> {
        let program = self.program.to_string_lossy();
        let run = format!(
            "test tcp --no-log -t 300ms -O 50ms -b 20M --outage-timeout 5s --receiver ssh:far --receiver-address {} --remote-program",
            Side::Far.address()
        );
        let run: Vec<&str> = run.split(' ').chain([&*program]).collect();
        let mut command = self.command(Side::Near, &[&[&*program], &run[..], asked].concat());
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.folder.path().display()));
        let started = File::create(self.path("said"))
            .and_then(|said| command.stdout(Stdio::null()).stderr(said).spawn());
        started.map_err(|error| format!("cannot start {program}: {error}"))
    }

    /// Starts a script at the near host that runs in the background of a run.
    pub fn start_script(&self, script: &str) -> Result<Child, String> {
        spawn_silent(&mut self.script(Side::Near, script))
    }

    /// The standard error of the run.
    pub fn said(&self) -> String {
        let said = fs::read_to_string(self.path("said")).unwrap_or_default();
        said.trim().to_owned()
    }

    /// Starts `bitcost host restore` at the far host, behind the gate.
    pub fn start_restore(&self) -> Result<Child, String> {
        let program = self.program.to_string_lossy().into_owned();
        let ssh = self.path("ssh").to_string_lossy().into_owned();
        let words = [&ssh, "--", &program, "host", "restore"];
        spawn_silent(&mut self.command(Side::Near, &words))
    }

    /// Creates the gate: the next command of the stand-in for ssh waits there.
    pub fn raise_gate(&self) -> Result<(), String> {
        let _ = fs::remove_file(self.path("waits"));
        let _ = fs::remove_file(self.path("gate-used"));
        let line = format!("mkfifo {}", self.path("gate").display());
        self.shell(Side::Near, &line).map(drop)
    }

    /// The process id of the process that waits at the gate.
    pub fn waits(&self) -> Result<Pid, String> {
        let pid = || {
            let text = fs::read_to_string(self.path("waits")).ok()?;
            text.trim().parse().ok().map(Pid::from_raw)
        };
        within(PATIENCE, pid).ok_or_else(|| format!("no process reached the gate: {}", self.said()))
    }

    /// Lets the waiting process continue; the file must stay open until it has.
    pub fn open_gate(&self) -> Result<File, String> {
        let mut options = File::options();
        let mut gate = options.read(true).write(true).open(self.path("gate-used"));
        let told = gate.as_mut().map_or(Ok(()), |gate| gate.write_all(b"go\n"));
        told.and(gate)
            .map_err(|error| format!("cannot open the gate: {error}"))
    }

    /// Waits until the journal of a host has this word `count` times.
    pub fn wait_for(&self, side: Side, word: &str, count: usize) -> Result<(), String> {
        let word = format!("{{\"{word}\"");
        let has = || (self.journal(side).matches(&word).count() >= count).then_some(());
        within(PATIENCE, has)
            .ok_or_else(|| format!("the journal of {side} never had {word}: {}", self.said()))
    }

    /// The text of the journals of a host.
    pub fn journal(&self, side: Side) -> String {
        let texts = self.journals(side).into_iter();
        texts.flat_map(fs::read_to_string).collect()
    }

    pub fn journals(&self, side: Side) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.state(side)).into_iter();
        let paths = entries.flatten().flatten().map(|entry| entry.path());
        let is_journal = |path: &PathBuf| path.extension().is_some_and(|end| end == "journal");
        paths.filter(is_journal).collect()
    }

    /// The processes of one kind at a host.
    pub fn find(&self, who: Who, side: Side) -> Vec<u32> {
        self.family.members_with(who.verb(), side.device())
    }

    /// Sends a signal to the processes of one kind at a host; returns their number.
    pub fn signal(&self, who: Who, side: Side, signal: Signal) -> usize {
        let is_told = |pid: &u32| kill(Pid::from_raw(*pid as i32), signal).is_ok();
        self.find(who, side)
            .iter()
            .filter(|pid| is_told(pid))
            .count()
    }

    /// Sends a signal to every process that was started here.
    pub fn signal_all(&self, signal: Signal) {
        for pid in self.family.members() {
            // This fails only for a process that has exited.
            let _ = kill(Pid::from_raw(pid as i32), signal);
        }
    }

    /// Restores the hosts for the next death if the last one left them changed.
    pub fn check_usable(&self) -> Result<(), String> {
        self.signal_all(Signal::SIGKILL);
        for side in SIDES {
            if self.differences(side)?.is_empty() && self.journals(side).is_empty() {
                continue;
            }
            self.bitcost(side, &["host", "restore"])?;
            let left = self.differences(side)?;
            if !left.is_empty() {
                return Err(format!(
                    "{side} stays changed, so no further death can be judged: {}",
                    left.join("; ")
                ));
            }
        }
        Ok(())
    }
}

fn spawn_silent(command: &mut Command) -> Result<Child, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let started = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    started.map_err(|error| format!("cannot start {program}: {error}"))
}
