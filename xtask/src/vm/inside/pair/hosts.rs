//! Both hosts: their interfaces, commands on them, and their settings as other programs read them.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::vm::inside::guest::program;
use crate::vm::inside::port::Role;

/// The address of the far host for the data, which go over `eth1`; `eth0` is for ssh.
pub const FAR_ADDRESS: &str = "10.0.0.2";

/// How long the far machine may take to boot.
const BOOTS: Duration = Duration::from_secs(180);

/// Gives a machine its addresses, and has sshd serve it.
pub fn set_up(role: Role) -> Result<()> {
    let card = std::env::var("driver")?;
    for driver in ["virtio_pci", "virtio_net", &card] {
        // One that is built into the kernel has no module; if it is missing, so is the interface.
        let _ = program("/sbin/modprobe").arg(driver).status();
    }
    let number = role.number();
    for words in [
        "link set lo up".to_owned(),
        "link set eth0 up".to_owned(),
        "link set eth1 up".to_owned(),
        format!("address add 10.9.0.{number}/24 dev eth0"),
        format!("address add 10.0.0.{number}/24 dev eth1"),
    ] {
        let status = program("/bin/ip").args(words.split(' ')).status()?;
        ensure!(status.success(), "ip {words}: {status}");
    }
    // As systemd sets it.
    fs::write("/proc/sys/net/ipv4/ping_group_range", "0 2147483647")?;
    // It executes itself for each connection.
    program("/bin/sshd")
        .args(["-D", "-e"])
        .spawn()
        .context("sshd")?;
    Ok(())
}

/// What succeeds before so much time has passed.
pub fn eventually<T>(limit: Duration, make: impl Fn() -> Result<T>) -> Result<T> {
    let end = Instant::now() + limit;
    loop {
        match make() {
            Err(_) if Instant::now() < end => thread::sleep(Duration::from_millis(500)),
            made => return made,
        }
    }
}

/// Waits until ssh reaches the far host.
pub fn wait_for_far() -> Result<()> {
    eventually(BOOTS, || sh(Role::Far, "true")).map(drop)
}

/// What a script prints that a shell on a host runs. Those at the far host share a connection.
pub fn sh(role: Role, script: &str) -> Result<String> {
    let shell = match role {
        Role::Far => {
            "ssh -oControlMaster=auto -oControlPath=/tmp/far -oControlPersist=yes -oConnectTimeout=5 -oServerAliveInterval=5 far"
        }
        _ => "sh -c",
    };
    let mut words = shell.split(' ').chain([script]);
    let mut command = Command::new(words.next().unwrap_or_default());
    let output = command.args(words).stdin(Stdio::null()).output()?;
    let (name, errors) = (role.name(), String::from_utf8_lossy(&output.stderr));
    ensure!(
        output.status.success(),
        "`{script}` on {name}: {} {errors}",
        output.status
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Orders the far host's kernel to power off, and has ssh forget the connection to it.
pub fn power_off_far() {
    // It is off before it can answer.
    let _ = sh(Role::Far, "echo o > /proc/sysrq-trigger");
    let _ = fs::remove_file("/tmp/far");
}

/// Bytes that the near host's interface for the data has sent.
pub fn sent_bytes() -> Result<u64> {
    let path = "/sys/class/net/eth1/statistics/tx_bytes";
    let text = fs::read_to_string(path).context(path)?;
    text.trim().parse().context(path)
}

/// All that other programs read of both hosts' settings, with a line for each.
pub fn settings() -> Result<Vec<String>> {
    let script = ["eth0", "eth1"].map(|device| {
        format!(
            "ethtool -k {device}; ethtool -l {device} 2>&1; ethtool -c {device} 2>&1; ethtool -g {device}; \
             ip -d link show {device}; ip address show {device}; tc qdisc show dev {device}; \
             cd /sys/class/net/{device}; for file in threaded queues/rx-*/rps_cpus; do echo {device} $file $(cat $file); done; "
        )
    });
    let script = format!("{}ip route; sysctl -a 2>/dev/null", script.concat());
    // Others than those of the network change by themselves: numbers of files, seeds.
    let is_setting = |line: &&str| !line.contains(" = ") || line.starts_with("net.");
    let mut all = Vec::new();
    for role in [Role::Near, Role::Far] {
        // An address is tentative for a second after its link came up.
        let (name, text) = (role.name(), sh(role, &script)?.replace(" tentative", ""));
        let lines = text.lines().filter(is_setting);
        all.extend(lines.map(|line| format!("{name}: {line}")));
    }
    Ok(all)
}

pub fn differences(before: &[String], after: &[String]) -> Vec<String> {
    let missing = |of: &[String], from: &[String], sign: &str| -> Vec<String> {
        of.iter()
            .filter(|line| !from.contains(line))
            .map(|line| format!("{sign}{line}"))
            .collect()
    };
    [missing(before, after, "-"), missing(after, before, "+")].concat()
}
