//! Every setting of hosts on the card for the data: alone, then all that work in a run, and in one whose agents are killed.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use bitcost_host::{ChangeSet, NoJournal, await_link, knob_named};
use bitcost_model::settings::{Kind, find};

use super::hosts::{differences, eventually, settings, sh};
use super::tested::{OVER_SSH, carried, run, started};
use crate::vm::inside::guest::{Outcome, command};
use crate::vm::inside::port::{Role, tell};

/// The settings with values that differ from those of a machine that has just been started; of each name the first value that
/// works is that of the runs.
const SETTINGS: &str = "
offloads tso off|offloads gso off|offloads gro off|offloads lro on|offloads tx off|offloads rx off|offloads sg off
offloads tx-udp-segmentation off|offloads rx-gro-list on|offloads rxvlan off|offloads rxhash off|offloads ntuple on
mtu_bytes 9000|mtu_bytes 16000|gso_max_segs 8|gso_max_size 16384|gro_max_size 16384|rings rx 128|rings rx 512|rings tx 512|rings rx 500
channels combined 1|channels combined 64|channels rx 1
coalesce rx_usecs 100|coalesce tx_usecs 100|coalesce rx_frames 8|coalesce tx_frames 8|coalesce adaptive_rx on
threaded_napi on|rps_cpus 1|qdisc fq|qdisc netem delay 5ms|sysctl net.ipv4.tcp_slow_start_after_idle=0";

/// Of what bitcost says of a setting that the driver does not have.
const ABSENT: [&str; 3] = ["cannot read", "does not support it", "[fixed]"];

const LINK_RETURNS: Duration = Duration::from_secs(10);

/// By this name this program prints what this host makes of each: a line `OUTCOME|NAME|VALUE|WORDS`.
pub const PROGRAM: &str = "/bin/vm-table";

pub fn print() -> Result<()> {
    for setting in SETTINGS.trim().split(['|', '\n']) {
        let (name, value) = setting.split_once(' ').context(setting)?;
        let (outcome, words) = outcome(name, value)?;
        println!("{outcome}|{name}|{value}|{words}");
    }
    Ok(())
}

/// Whether a setting works, and what bitcost says where it does not.
fn outcome(name: &str, value: &str) -> Result<(&'static str, String)> {
    let Some(Kind::Host(grammar)) = find(name).map(|setting| setting.kind) else {
        bail!("{name} is no setting of hosts");
    };
    let (knob, request) = (knob_named(name), grammar.read(value)?.remove(0).setting);
    let knob = knob.with_context(|| name.to_owned())?;
    let subject = &knob.subjects_of("eth1", &request)?[0];
    let mut held = ChangeSet::new(Box::new(NoJournal));
    let made = held.set(knob, subject, &request);
    await_link("eth1", LINK_RETURNS)?;
    if let Err(error) = made {
        let words = error.to_string();
        let is_absent = ABSENT.iter().any(|part| words.contains(part));
        return Ok((["refused", "absent"][usize::from(is_absent)], words));
    }
    let mut wrong = held.restore();
    await_link("eth1", LINK_RETURNS)?;
    wrong.retain(|outcome| !outcome.is_clean());
    ensure!(wrong.is_empty(), "{name} {value}: {wrong:?}");
    Ok(("works", String::new()))
}

/// What both hosts print, once.
fn rows() -> Result<&'static [String; 2]> {
    static ROWS: OnceLock<[String; 2]> = OnceLock::new();
    if ROWS.get().is_none() {
        let _ = ROWS.set([sh(Role::Near, PROGRAM)?, sh(Role::Far, PROGRAM)?]);
    }
    ROWS.get().context("no rows")
}

pub(super) fn one_by_one() -> Result<String> {
    for (name, rows) in ["near", "far"].iter().zip(rows()?) {
        for row in rows.lines() {
            tell(&format!("{name} {row}"))?;
        }
    }
    Ok("as before after each".to_owned())
}

/// Makes a test of so many seconds with the first value of each name that works at both hosts.
fn with_all<T>(seconds: &str, test: fn(&[&str]) -> Result<T>) -> Result<T> {
    let [near, far] = rows()?;
    let mut settings = BTreeMap::new();
    for row in near.lines().filter(|row| far.contains(row)) {
        if let ["works", name, value, _] = row.split('|').collect::<Vec<_>>()[..] {
            let setting = || format!("--set={name}={value}");
            settings.entry(name).or_insert_with(setting);
        }
    }
    let words = settings.values().map(String::as_str);
    test(
        &["tcp", "-t", seconds]
            .into_iter()
            .chain(words)
            .collect::<Vec<_>>(),
    )
}

pub(super) fn together() -> Result<String> {
    with_all("2", |words| {
        let all = words[3..].join(" ");
        Ok(format!("{all}: {}", carried(&run(words, OVER_SSH)?)?))
    })
}

const KILL: &str = "for p in /proc/[0-9]*; do case \"$(cat $p/cmdline)\" in *bitcostagent*) kill -9 ${p#/proc/};; esac; done 2>&-";

pub(super) fn killed() -> Result<String> {
    let before = settings()?;
    let run = with_all("30", started)?;
    let during = differences(&before, &settings()?).len();
    for role in [Role::Near, Role::Far] {
        // The last process that it looks at may have ended.
        let _ = sh(role, KILL);
    }
    run.ended()?.refused(None, "")?;
    eventually(Duration::from_secs(30), || {
        let left = differences(&before, &settings()?);
        ensure!(left.is_empty(), "left: {}", left.join("; "));
        Ok(format!(
            "{during} lines of other programs differed, none after it"
        ))
    })
}

/// The study of interrupt moderation, where the card has it.
pub(super) fn moderation() -> Result<String> {
    if !rows()?[0].contains("works|coalesce|rx_usecs") {
        return Ok("this card does not moderate its interrupts".to_owned());
    }
    let outcome = Outcome::of(&mut command(
        &[&["run", "moderation", "--ci"], OVER_SSH].concat(),
    ))?;
    ensure!(outcome.code == Some(0), "{outcome:?}");
    for line in outcome.out.lines() {
        tell(line)?;
    }
    Ok(String::new())
}
