//! Both hosts: their interfaces, commands on them, and their settings as other programs read them.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::vm::inside::port::Role;

/// The interface for ssh, and that for the data.
pub const SSH_DEVICE: &str = "eth0";
pub const DATA_DEVICE: &str = "eth1";
/// The address of the far host for the data.
pub const FAR_ADDRESS: &str = "10.0.0.2";

const DRIVERS: [&str; 2] = ["virtio_pci", "virtio_net"];

/// How long the far machine may take to boot.
const BOOTS: Duration = Duration::from_secs(180);

/// Gives a machine its addresses, and has sshd serve it. `program` is a command by path and name.
pub fn set_up(role: Role, program: impl Fn(&str, &str) -> Command) -> Result<()> {
    for driver in DRIVERS {
        // One that is built into the kernel has no module; if it is missing, so is the interface.
        let _ = program("/sbin/modprobe", "modprobe").arg(driver).status();
    }
    let number = role as u8 + 1;
    for words in [
        "link set lo up".to_owned(),
        format!("link set {SSH_DEVICE} up"),
        format!("link set {DATA_DEVICE} up"),
        format!("address add 10.9.0.{number}/24 dev {SSH_DEVICE}"),
        format!("address add 10.0.0.{number}/24 dev {DATA_DEVICE}"),
    ] {
        let status = program("/bin/ip", "ip").args(words.split(' ')).status()?;
        ensure!(status.success(), "ip {words}: {status}");
    }
    // As systemd sets it.
    fs::write("/proc/sys/net/ipv4/ping_group_range", "0 2147483647")?;
    // It executes itself for each connection.
    let sshd = "/bin/sshd";
    program(sshd, sshd)
        .args(["-D", "-e"])
        .spawn()
        .context(sshd)?;
    Ok(())
}

/// Waits until ssh reaches the far host.
pub fn wait_for_far() -> Result<()> {
    let end = Instant::now() + BOOTS;
    loop {
        match sh(Role::Far, "true") {
            Ok(_) => return Ok(()),
            Err(error) if Instant::now() > end => return Err(error),
            Err(_) => thread::sleep(Duration::from_millis(500)),
        }
    }
}

/// A command that a shell on a host runs. Those at the far host share a connection.
pub fn command(role: Role, script: &str) -> Command {
    let mut words = match role {
        Role::Far => "ssh -oControlMaster=auto -oControlPath=/tmp/far -oControlPersist=yes -oConnectTimeout=5 \
            -oServerAliveInterval=5 far",
        _ => "sh -c",
    }
    .split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command.arg(script).stdin(Stdio::null());
    command
}

/// What a script prints on a host.
pub fn sh(role: Role, script: &str) -> Result<String> {
    let output = command(role, script).output()?;
    if !output.status.success() {
        bail!(
            "`{script}` on {}: {}: {}",
            role.name(),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Has ssh forget the connection to a far machine that is off.
pub fn forget_far() {
    let _ = fs::remove_file("/tmp/far");
}

/// A command of a program of the near host as root.
pub fn near(program: &str, words: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(words).current_dir("/tmp").stdin(Stdio::null());
    command
}

/// What the near host's interface for the data counted, such as `tx_packets`.
pub fn counted(name: &str) -> Result<u64> {
    let path = format!("/sys/class/net/{DATA_DEVICE}/statistics/{name}");
    let text = fs::read_to_string(&path).with_context(|| path.clone())?;
    text.trim().parse().with_context(|| path)
}

/// All that other programs read of a host's settings, with a line for each.
pub fn settings(role: Role) -> Result<Vec<String>> {
    let script = [SSH_DEVICE, DATA_DEVICE].map(|device| {
        format!(
            "ethtool -k {device}; ethtool -l {device} 2>&1; ethtool -c {device} 2>&1; ethtool -g {device}; \
             ip -d link show {device}; ip address show {device}; tc qdisc show dev {device}; "
        )
    });
    let script = format!("{}ip route; sysctl -a 2>/dev/null", script.concat());
    let text = sh(role, &script)?;
    // Others than those of the network change by themselves: numbers of files, seeds.
    let is_setting = |line: &&str| !line.contains(" = ") || line.starts_with("net.");
    Ok(text.lines().filter(is_setting).map(str::to_owned).collect())
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
