//! The ways to the far host.

use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::hosts::{FAR_ADDRESS, sh};
use super::tested::{Run, over, test};
use crate::vm::inside::port::{Port, Role};

pub(super) fn over_ssh(port: &mut Port) -> Result<String> {
    let mut said = Vec::new();
    let all = [&["tcp"][..], &["rr"], &["tcp", "-R"], &["udp", "-b", "5M"]];
    let wanted = if port.wanted.short { 1 } else { all.len() };
    for words in &all[..wanted] {
        let run = Run::over_ssh(&[*words, &["-t", "1"]].concat())?;
        said.push(format!("{}: {}", words.join(" "), run.text()?));
    }
    Ok(said.join("; "))
}

/// A service at the far host; it is ended when this is dropped.
pub(super) struct Service {
    pid: String,
    pub link: String,
}

impl Service {
    /// Starts a service at the address for the data.
    pub fn start() -> Result<Service> {
        let state = "/tmp/service";
        let pid = sh(
            Role::Far,
            &format!(
                "rm -rf {state}; bitcost serve {FAR_ADDRESS} --state {state} >{state}.txt 2>&1 </dev/null & echo $!"
            ),
        )?;
        let mut service = Service {
            pid: pid.trim().to_owned(),
            link: String::new(),
        };
        for _ in 0..100 {
            let said = sh(Role::Far, &format!("cat {state}.txt"))?;
            if let Some(at) = said.find("bitcost://") {
                let link = said[at..].split(['\'', '\n', ' ']).next();
                service.link = link.unwrap_or_default().to_owned();
                return Ok(service);
            }
            thread::sleep(Duration::from_millis(200));
        }
        anyhow::bail!(
            "the service prints no link: {}",
            sh(Role::Far, &format!("cat {state}.txt"))?
        )
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = sh(Role::Far, &format!("kill {}", self.pid));
    }
}

pub(super) fn over_the_service(_: &mut Port) -> Result<String> {
    let service = Service::start()?;
    let served = Run::of(&test(&["tcp", "-t", "1"], &over(&service.link))?)?;
    let refused = test(
        &["tcp", "-t", "1", "--offloads", "receiver: off"],
        &over(&service.link),
    )?;
    ensure!(
        refused.code != Some(0) && refused.err.contains("allow-settings"),
        "a client may set offloads: {:?} {}",
        refused.code,
        refused.err
    );
    Ok(format!(
        "by the link: {}; refused: {}",
        served.text()?,
        refused.err.trim()
    ))
}

pub(super) fn clocks(_: &mut Port) -> Result<String> {
    let now = |role| -> Result<i64> { Ok(sh(role, "date +%s")?.trim().parse()?) };
    let ahead = now(Role::Far)? - now(Role::Near)?;
    ensure!((3300..3900).contains(&ahead), "far is {ahead} s ahead");
    let words = ["udp", "-b", "2M", "-t", "1", "--delay-variation"];
    let run = Run::over_ssh(&words)?;
    let service = Service::start()?;
    let served = Run::of(&test(&["tcp", "-t", "1"], &over(&service.link))?)?;
    Ok(format!(
        "far is {ahead} s ahead; udp over ssh: {}; tcp over the service: {}",
        run.text()?,
        served.text()?
    ))
}
