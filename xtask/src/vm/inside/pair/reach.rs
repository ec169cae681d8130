//! The ways to the far host.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::hosts::{FAR_ADDRESS, eventually, sh};
use super::tested::{OVER_SSH, carried, run, test};
use crate::programs::link_in;
use crate::vm::inside::port::{self, Role};

pub(super) fn over_ssh() -> Result<String> {
    let mut said = Vec::new();
    let all = ["tcp", "rr", "tcp -R", "udp -b 5M"];
    for test in &all[..if port::is("short") { 1 } else { all.len() }] {
        let words: Vec<&str> = test.split(' ').chain(["-t", "1"]).collect();
        said.push(format!("{test}: {}", carried(&run(&words, OVER_SSH)?)?));
    }
    Ok(said.join("; "))
}

/// A service at the far host; it is ended when this is dropped.
struct Service {
    pid: String,
    link: String,
}

impl Service {
    /// Starts a service at the address for the data.
    fn start() -> Result<Service> {
        let script = format!(
            "rm -rf /tmp/service; bitcost serve {FAR_ADDRESS} --state /tmp/service >/tmp/service.txt 2>&1 </dev/null & echo $!"
        );
        let mut service = Service {
            pid: sh(Role::Far, &script)?.trim().to_owned(),
            link: String::new(),
        };
        service.link = eventually(Duration::from_secs(20), || {
            let said = sh(Role::Far, "cat /tmp/service.txt")?;
            link_in(&said).with_context(|| format!("the service prints no link: {said}"))
        })?;
        Ok(service)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = sh(Role::Far, &format!("kill {}", self.pid));
    }
}

pub(super) fn over_the_service() -> Result<String> {
    let service = Service::start()?;
    let far = ["--receiver", &service.link];
    let served = run(&["tcp", "-t", "1"], &far)?;
    let words = ["tcp", "-t", "1", "--offloads", "receiver: off"];
    let refused = test(&words, &far)?.refused(None, "allow-settings")?;
    Ok(format!(
        "by the link: {}; refused: {refused}",
        carried(&served)?
    ))
}

pub(super) fn clocks() -> Result<String> {
    let now = |role| -> Result<i64> { Ok(sh(role, "date +%s")?.trim().parse()?) };
    let ahead = now(Role::Far)? - now(Role::Near)?;
    ensure!((3300..3900).contains(&ahead), "far is {ahead} s ahead");
    let words = ["udp", "-b", "2M", "-t", "1", "--delay-variation"];
    let by_ssh = run(&words, OVER_SSH)?;
    let service = Service::start()?;
    let served = run(&["tcp", "-t", "1"], &["--receiver", &service.link])?;
    Ok(format!(
        "far is {ahead} s ahead; udp over ssh: {}; tcp over the service: {}",
        carried(&by_ssh)?,
        carried(&served)?
    ))
}
