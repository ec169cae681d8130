//! The two hosts, their settings as other programs see them, and the processes of a run.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sys::namespace::{Kind, current, unshare};
use testkit::process::Family;

use crate::step::Who;

/// A host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The caller's network namespace, where the controller is too.
    Near,
    /// The other one.
    Far,
}

impl Place {
    /// Its network device.
    pub fn device(self) -> &'static str {
        match self {
            Place::Near => "c0",
            Place::Far => "c1",
        }
    }

    fn address(self) -> &'static str {
        match self {
            Place::Near => "10.66.0.1",
            Place::Far => "10.66.0.2",
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.device())
    }
}

/// What is asked of both hosts, as `bitcost test` is told.
const ASKED: &[&str] = &[
    "--device-mtu",
    "1400",
    "--offloads",
    "off",
    "--qdisc",
    "htb rate 800M",
    "--sysctl",
    "net.ipv4.tcp_sack=0, net.ipv4.tcp_rmem=4096 65536 524288",
    "--channels",
    "rx 1, tx 1",
];
/// How many changes of each host that makes.
pub const CHANGES: usize = 6;
/// A device that is up, with an address and two queues.
const PLAIN: &str = r#"
ip link set lo up
ip address add ADDRESS/24 dev DEV
ip link set DEV mtu 3000 up
"#;
/// A device with settings that no default explains, one of them a feature that is wanted and not active, and with what the
/// kernel changes along with an MTU or a number of queues.
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
/// Everything that a run could change here, and more, as other programs tell it.
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
/// Waits until every link passes packets and has the address that the kernel gives it.
const SETTLED: &str = r#"
for i in $(seq 100); do
    ip -o link | grep -q "NO-CARRIER" || break
    sleep 0.05
done
sleep 0.2
"#;
/// Before a script: `/sys` shows the devices of the host.
const OWN_SYS: &str = "mount -t sysfs sysfs /sys\n";
/// Plays ssh: a command goes to the other network namespace. Where the gate is up it waits there to be followed.
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
/// How long a program may take that changes nothing.
const PATIENCE: Duration = Duration::from_secs(30);

/// Two hosts with settings of their own, and a place for what bitcost writes.
pub struct World {
    folder: tempfile::TempDir,
    program: PathBuf,
    /// The processes.
    pub family: Family,
    far: OwnedFd,
    before: [String; 2],
    /// Within what time a host must be as before.
    pub limit: Duration,
}

impl World {
    /// Makes the hosts in the caller's network namespace and in a new one, with settings that no default explains.
    pub fn new(program: &Path, limit: Duration) -> Result<World, String> {
        World::with(program, limit, DEVICE)
    }

    /// Makes the hosts in the caller's network namespace and in a new one, and runs a script at each.
    pub fn with(program: &Path, limit: Duration, script: &str) -> Result<World, String> {
        let make = || -> io::Result<World> {
            let far = std::thread::spawn(|| unshare(&[Kind::Net]).and_then(|()| current(Kind::Net)));
            let far = far.join().unwrap_or(Err(io::ErrorKind::Other.into()))?;
            let (folder, family) = (tempfile::tempdir()?, Family::new());
            let program = program.to_owned();
            Ok(World { folder, program, family, far, before: Default::default(), limit })
        };
        let mut world = make().map_err(|error| format!("cannot make two hosts: {error}"))?;
        world.install_ssh().map_err(|error| format!("cannot write the stand-in for ssh: {error}"))?;
        let (near, far) = (Place::Near.device(), Place::Far.device());
        let pair = format!(
            "ip link add {near} numtxqueues 2 numrxqueues 2 type veth peer name {far} numtxqueues 2 numrxqueues 2 netns {}",
            world.network()
        );
        world.shell(Place::Near, &pair)?;
        for place in [Place::Near, Place::Far] {
            world.shell(place, PLAIN)?;
            world.shell(place, script)?;
        }
        world.shell(Place::Far, SETTLED)?;
        world.shell(Place::Near, SETTLED)?;
        world.before = [world.seen(Place::Near)?, world.seen(Place::Far)?];
        Ok(world)
    }

    fn install_ssh(&self) -> io::Result<()> {
        let folder = self.folder.path().to_string_lossy().into_owned();
        let script = SSH.replace("ADDRESS", Place::Far.address()).replace("NETWORK", &self.network());
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
    fn command(&self, place: Place, words: &[&str]) -> Command {
        let network = format!("--net={}", self.network());
        let words = match place {
            Place::Near => words.to_vec(),
            Place::Far => [&["nsenter", &network], words].concat(),
        };
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).env("BITCOST_STATE_DIR", self.state(place));
        self.family.adopt(&mut command);
        command
    }

    /// The folder of journals of a host.
    pub fn state(&self, place: Place) -> PathBuf {
        self.path(if place == Place::Near { "near" } else { "far" })
    }

    /// A shell at a host, whose `/sys` shows the host's devices.
    fn script(&self, place: Place, script: &str) -> Command {
        let script = script.replace("DEV", place.device()).replace("ADDRESS", place.address());
        self.command(place, &["unshare", "--mount", "sh", "-ec", &format!("{OWN_SYS}{script}")])
    }

    /// What a shell prints at a host; the error is what it says went wrong.
    fn shell(&self, place: Place, script: &str) -> Result<String, String> {
        let output = self.script(place, script).output().map_err(|error| format!("sh: {error}"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(format!("{said}; ethtool, ip, tc, grep, nsenter and unshare are needed, and a veth with tbf and htb"))
    }

    /// The settings of a host as other programs tell them.
    fn seen(&self, place: Place) -> Result<String, String> {
        self.shell(place, SEEN)
    }

    /// What is not as before, line by line; empty where all is.
    pub fn differences(&self, place: Place) -> Result<Vec<String>, String> {
        let (before, now) = (&self.before[usize::from(place == Place::Far)], self.seen(place)?);
        let missing = |from: &str, of: &str, sign: char| {
            let lines = from.lines().filter(|line| !of.lines().any(|other| other == *line));
            lines.map(|line| format!("{sign} {}", line.trim())).collect::<Vec<_>>()
        };
        Ok([missing(before, &now, '-'), missing(&now, before, '+')].concat())
    }

    /// bitcost with these words at a host, run to its end.
    pub fn bitcost(&self, place: Place, words: &[&str]) -> Result<Output, String> {
        let program = self.program.to_string_lossy();
        let output = self.command(place, &[&[&*program], words].concat()).output();
        output.map_err(|error| format!("cannot start {program}: {error}"))
    }

    /// Starts a run that changes both hosts, its sender at the near one.
    pub fn start(&self) -> Result<Child, String> {
        self.start_asking(ASKED)
    }

    /// Starts a run that asks for these settings, its sender at the near host.
    pub fn start_asking(&self, asked: &[&str]) -> Result<Child, String> {
        let program = self.program.to_string_lossy();
        let run = ["test", "tcp", "-t", "300ms", "-O", "50ms", "-b", "20M", "--receiver", "ssh:far"];
        let there = ["--receiver-address", Place::Far.address(), "--remote-program", &program];
        let said = || File::create(self.path("said")).map(Stdio::from);
        let mut command = self.command(Place::Near, &[&[&*program], &run[..], &there, asked].concat());
        let path = format!("{}:{}", self.folder.path().display(), std::env::var("PATH").unwrap_or_default());
        let started = said().and_then(|said| command.env("PATH", path).stdout(Stdio::null()).stderr(said).spawn());
        started.map_err(|error| format!("cannot start {program}: {error}"))
    }

    /// Starts a script at the near host that goes on beside a run.
    pub fn start_script(&self, script: &str) -> Result<Child, String> {
        let mut command = self.script(Place::Near, script);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(|error| format!("sh: {error}"))
    }

    /// What the run said on standard error.
    pub fn said(&self) -> String {
        fs::read_to_string(self.path("said")).unwrap_or_default().trim().to_owned()
    }

    /// Starts `bitcost host restore` at the far host, behind the gate.
    pub fn start_restore(&self) -> Result<Child, String> {
        let program = self.program.to_string_lossy().into_owned();
        let ssh = self.path("ssh").to_string_lossy().into_owned();
        let mut command = self.command(Place::Near, &[&ssh, "--", &program, "host", "restore"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map_err(|error| format!("cannot start {ssh}: {error}"))
    }

    /// Puts the gate up: the next command of the stand-in for ssh waits there.
    pub fn raise_gate(&self) -> Result<(), String> {
        let _ = fs::remove_file(self.path("waits"));
        let _ = fs::remove_file(self.path("gate-used"));
        self.shell(Place::Near, &format!("mkfifo {}", self.path("gate").display())).map(drop)
    }

    /// The process id of who waits at the gate.
    pub fn waits(&self) -> Result<Pid, String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let text = fs::read_to_string(self.path("waits")).unwrap_or_default();
            if let Ok(pid) = text.trim().parse() {
                return Ok(Pid::from_raw(pid));
            }
            if Instant::now() > deadline {
                return Err(format!("nobody came to the gate: {}", self.said()));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Lets who waits go on, as soon as it looks; the file must stay open until it has.
    pub fn open_gate(&self) -> Result<File, String> {
        let mut gate = File::options().read(true).write(true).open(self.path("gate-used"));
        let told = gate.as_mut().map_or(Ok(()), |gate| gate.write_all(b"go\n"));
        told.and(gate).map_err(|error| format!("cannot open the gate: {error}"))
    }

    /// Waits until the journal of a host says this word so often.
    pub fn wait_for(&self, place: Place, word: &str, count: usize) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        while self.journal(place).matches(&format!("{{\"{word}\"")).count() < count {
            if Instant::now() > deadline {
                return Err(format!("the journal of {place} never said {word}: {}", self.said()));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// What the journals of a host say.
    pub fn journal(&self, place: Place) -> String {
        let texts = self.journals(place).into_iter().map(|path| fs::read_to_string(path).unwrap_or_default());
        texts.collect()
    }

    /// The journals of a host.
    pub fn journals(&self, place: Place) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.state(place)).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.filter(|path| path.extension().is_some_and(|end| end == "journal")).collect()
    }

    /// The processes of one kind at a host.
    pub fn find(&self, who: Who, place: Place) -> Vec<u32> {
        self.family.members_with(who.verb(), place.device())
    }

    /// Sends a signal to the processes of one kind at a host; how many heard it.
    pub fn signal(&self, who: Who, place: Place, signal: Signal) -> usize {
        let found = self.find(who, place).into_iter();
        found.filter(|pid| kill(Pid::from_raw(*pid as i32), signal).is_ok()).count()
    }

    /// Sends a signal to everything that was started here.
    pub fn signal_all(&self, signal: Signal) {
        for pid in self.family.members() {
            // One that has ended meanwhile needs none.
            let _ = kill(Pid::from_raw(pid as i32), signal);
        }
    }

    /// Brings the hosts back for the next death where the last one left them changed.
    pub fn check_usable(&self) -> Result<(), String> {
        self.signal_all(Signal::SIGKILL);
        for place in [Place::Near, Place::Far] {
            if self.differences(place)?.is_empty() && self.journals(place).is_empty() {
                continue;
            }
            self.bitcost(place, &["host", "restore"])?;
            let left = self.differences(place)?;
            if !left.is_empty() {
                return Err(format!("{place} stays changed, so no further death can be judged: {}", left.join("; ")));
            }
        }
        Ok(())
    }
}
