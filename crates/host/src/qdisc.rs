//! The knob "qdisc": the queueing discipline at the root of a device.
//!
//! A qdisc is restored from the options that the kernel listed. One that could not be restored,
//! such as a tree of classes, is not replaced in the first place.

use std::collections::BTreeMap;

use bitcost_model::host_settings::{self as request, HostSetting, QDISC};
use bitcost_model::near::did_you_mean;
use bitcost_sys::netlink::{Discipline, Qdisc, ROOT, Rtnl, agrees, discipline, usual_burst_bytes};

use crate::HostError;
use crate::knob::Knob;
use crate::values::Values;

pub struct RootQdisc;

/// The handle of our root qdisc; the next one if it is taken.
const OUR_HANDLE: u32 = 0xb17c_0000;
const MAJOR: u32 = 0x1_0000;
const INGRESS: [&str; 2] = ["ingress", "clsact"];
const ENOENT: i32 = 2;
/// `TCA_FQ_CODEL_TARGET`, `_INTERVAL` and `_CE_THRESHOLD`.
const FQ_CODEL_TIMES: [u16; 3] = [1, 3, 7];

impl Knob for RootQdisc {
    fn name(&self) -> &'static str {
        QDISC.setting
    }

    fn observe(&self, device: &str) -> Result<Values, HostError> {
        let mut rtnl = Rtnl::open()?;
        let index = rtnl.link(device)?.index;
        let root = root(&mut rtnl, index)?;
        let mut values = Values::from([
            ("kind".to_owned(), root.kind.clone()),
            ("handle".to_owned(), format!("{:x}:", root.handle >> 16)),
        ]);
        let parameters = root.parameters().into_iter();
        values.extend(parameters.map(|(name, value)| (name.to_owned(), value.to_string())));
        if root.handle != 0 {
            values.insert("options".to_owned(), hex(&root.options));
        }
        Ok(values)
    }

    fn plan(&self, device: &str, now: &Values, request: &HostSetting) -> Result<Values, HostError> {
        let HostSetting::Qdisc(asked) = request else {
            return Err(self.not_its(request));
        };
        let kind = &asked.kind;
        let what = format!("make {kind} the root qdisc of {device}");
        if kind == request::Qdisc::DEFAULT {
            if now.get("handle").is_some_and(|handle| handle == "0:") {
                return Ok(Values::new());
            }
            check_restorable(device, now, &what)?;
            return Ok(Values::from([("handle".to_owned(), "0:".to_owned())]));
        }
        discipline(kind).ok_or_else(|| unknown(kind, device))?;
        let mut parameters = asked.parameters.clone();
        if kind == "tbf" {
            let rate = parameters.get("rate_bps").copied();
            let rate = rate.ok_or_else(|| HostError::cannot(&*what, "tbf needs rate_bps"));
            add_burst(rate?, &mut parameters);
        }
        check_restorable(device, now, &what)?;
        let parameters = parameters.into_iter();
        let values = parameters.map(|(name, value)| (name, value.to_string()));
        Ok(values.chain([("kind".to_owned(), kind.clone())]).collect())
    }

    fn write(&self, device: &str, _now: &Values, values: &Values) -> Result<(), HostError> {
        let mut rtnl = Rtnl::open()?;
        let index = rtnl.link(device)?.index;
        if values.get("handle").is_some_and(|handle| handle == "0:") {
            return Ok(rtnl.delete_root(index)?);
        }
        let kind = values.get("kind").map(String::as_str).unwrap_or_default();
        let known = discipline(kind).ok_or_else(|| unknown(kind, device))?;
        let former = values
            .get("handle")
            .and_then(|handle| u32::from_str_radix(handle.trim_end_matches(':'), 16).ok());
        let handle = match former {
            Some(major) => major << 16,
            None => free_handle(&rtnl.qdiscs(index)?),
        };
        let requested = |name: &str| values.get(name)?.parse().ok();
        let saved = values.get("options").and_then(|text| unhex(text));
        let options = saved.map_or_else(
            || (known.encode)(&requested),
            |saved| for_the_same(kind, saved),
        );
        let made = rtnl.put_qdisc((index, ROOT), handle, kind, &options);
        made.map_err(|error| lacking(error, kind, device))
    }

    fn agrees(&self, name: &str, asked: &str, actual: &str) -> bool {
        match (asked.parse(), actual.parse()) {
            (Ok(asked), Ok(actual)) => agrees(name, asked, actual),
            _ => asked == actual,
        }
    }

    fn is_whole(&self) -> bool {
        true
    }
}

/// What to write so that the kernel lists these options again: fq_codel rounds times down to steps of
/// 1024 ns when it takes them, and to µs when it lists them.
fn for_the_same(kind: &str, mut listed: Vec<u8>) -> Vec<u8> {
    if kind == "fq_codel" {
        // Each attribute has 8 bytes.
        for [_, _, low, high, word @ ..] in listed.as_chunks_mut::<8>().0 {
            if FQ_CODEL_TIMES.contains(&u16::from_ne_bytes([*low, *high])) {
                *word = u32::from_ne_bytes(*word).saturating_add(1).to_ne_bytes();
            }
        }
    }
    listed
}

/// The qdisc at the root; a device that is down may have none.
fn root(rtnl: &mut Rtnl, index: u32) -> Result<Qdisc, HostError> {
    let found = rtnl
        .qdiscs(index)?
        .into_iter()
        .find(|qdisc| qdisc.parent == ROOT);
    let none = Qdisc {
        kind: "noop".to_owned(),
        parent: ROOT,
        ..Qdisc::default()
    };
    Ok(found.unwrap_or(none))
}

fn check_restorable(device: &str, now: &Values, asked: &str) -> Result<(), HostError> {
    let mut rtnl = Rtnl::open()?;
    let index = rtnl.link(device)?.index;
    let (qdiscs, filters) = (rtnl.qdiscs(index)?, rtnl.root_filters(index)?);
    match what_would_be_lost(now, &qdiscs, filters, default_kind().as_deref()) {
        None => Ok(()),
        Some(what) => {
            let why = format!(
                "the device has {what}, which could not be restored; remove it first (tc qdisc del dev {device} root)"
            );
            Err(HostError::cannot(asked, why))
        }
    }
}

/// The parts of a device's qdiscs that could not be restored with its root qdisc.
fn what_would_be_lost(
    now: &Values,
    qdiscs: &[Qdisc],
    filters: usize,
    default_kind: Option<&str>,
) -> Option<String> {
    let kind = now.get("kind").map(String::as_str).unwrap_or_default();
    let is_default = now.get("handle").is_some_and(|handle| handle == "0:");
    let is_below = |qdisc: &&Qdisc| qdisc.parent != ROOT && !INGRESS.contains(&qdisc.kind.as_str());
    if let Some(child) = qdiscs
        .iter()
        .filter(is_below)
        .find(|qdisc| qdisc.handle != 0)
    {
        return Some(format!(
            "a tree with {} {:x}:",
            child.kind,
            child.handle >> 16
        ));
    }
    if filters > 0 {
        return Some(format!("a qdisc {kind} with filters"));
    }
    let root = qdiscs.iter().find(|qdisc| qdisc.parent == ROOT);
    if let Some(extra) = root.and_then(|root| root.extras.first()) {
        return Some(format!("a qdisc {kind} with {extra}"));
    }
    if !is_default && discipline(kind).is_none() {
        return Some(format!("a qdisc {kind}"));
    }
    if kind == "netem" && now.get("jitter_us").is_some_and(|us| us != "0") {
        let what = "a qdisc netem with jitter, whose distribution the kernel does not list";
        return Some(what.to_owned());
    }
    // The kernel creates its default again, of the kind that is the default at that time.
    let of_kernel = qdiscs
        .iter()
        .filter(|qdisc| qdisc.parent == ROOT || is_below(qdisc))
        .filter(|qdisc| qdisc.handle == 0);
    let mut kinds = of_kernel
        .map(|qdisc| qdisc.kind.as_str())
        .filter(|kind| !WITHOUT_CHOICE.contains(kind));
    let other = default_kind.and_then(|default| {
        kinds
            .find(|kind| *kind != default)
            .map(|kind| (kind, default))
    });
    other.filter(|_| is_default).map(|(kind, default)| {
        format!("a qdisc {kind} from when it was the kernel's default, which now is {default},")
    })
}

/// Kinds that the kernel uses regardless of its default: for a device without a queue, that is
/// down, with several queues.
const WITHOUT_CHOICE: [&str; 3] = ["noqueue", "noop", "mq"];

/// The kernel's default kind; `None` when this network namespace does not show it.
fn default_kind() -> Option<String> {
    let kind = std::fs::read_to_string("/proc/sys/net/core/default_qdisc").ok()?;
    Some(kind.trim().to_owned())
}

fn unknown(kind: &str, device: &str) -> HostError {
    let hint = did_you_mean(kind, Discipline::kinds());
    HostError::cannot(
        format!("make {kind} the root qdisc of {device}"),
        format!("this kind is unknown{hint}"),
    )
}

/// Adds what tbf needs in addition to a rate: a burst, and a queue of 50 ms.
fn add_burst(rate_bps: u64, parameters: &mut BTreeMap<String, u64>) {
    let burst = parameters.entry("burst_bytes".to_owned());
    let burst = *burst.or_insert(usual_burst_bytes(rate_bps));
    let limit = parameters.entry("limit_bytes".to_owned());
    limit.or_insert((rate_bps / 8 / 20).max(burst));
}

fn free_handle(taken: &[Qdisc]) -> u32 {
    let candidates = (0..64).map(|step| OUR_HANDLE + step * MAJOR);
    let is_free = |handle: &u32| taken.iter().all(|qdisc| qdisc.handle != *handle);
    candidates.into_iter().find(is_free).unwrap_or(OUR_HANDLE)
}

fn lacking(error: bitcost_sys::netlink::Error, kind: &str, device: &str) -> HostError {
    if error.errno() != Some(ENOENT) {
        return error.into();
    }
    let option = kind.to_uppercase();
    HostError::cannot(
        format!("make {kind} the root qdisc of {device}"),
        format!(
            "this kernel has no {kind}: it needs the module sch_{kind} (modprobe sch_{kind}), or a kernel with CONFIG_NET_SCH_{option}"
        ),
    )
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    digits
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn qdisc(kind: &str, handle: u32, parent: u32, extras: Vec<&'static str>) -> Qdisc {
        Qdisc {
            kind: kind.to_owned(),
            handle: handle << 16,
            parent,
            extras,
            ..Qdisc::default()
        }
    }

    #[test]
    fn times_of_fq_codel_are_kept_when_written_again() {
        let known = discipline("fq_codel").expect("a row");
        for kept in [0u64, 1, 125, 4882, 97_656, 976_562] {
            let listed = (kept << 10) / 1000;
            let options = for_the_same("fq_codel", (known.encode)(&|_| Some(listed)));
            let written = (known.decode)(&options);
            assert_eq!((written["target_us"] * 1000) >> 10, kept);
            assert_eq!((written["interval_us"] * 1000) >> 10, kept);
            assert_eq!(written["limit_packets"], listed);
        }
    }

    #[test]
    fn unrestorable_qdisc_is_not_replaced() {
        let root = |kind: &str, handle: u32| qdisc(kind, handle, ROOT, Vec::new());
        let child = |kind: &str, handle: u32| qdisc(kind, handle, 0x7_0001, Vec::new());
        let stab = qdisc("tbf", 7, ROOT, vec!["a size table (stab)"]);
        let netem_is_lost = |jitter_us: &str| {
            let now = [
                ("kind", "netem"),
                ("handle", "7:"),
                ("jitter_us", jitter_us),
            ];
            let now = now.map(|(name, value)| (name.to_owned(), value.to_owned()));
            what_would_be_lost(&Values::from(now), &[root("netem", 7)], 0, None).is_some()
        };
        assert!(netem_is_lost("10") && !netem_is_lost("0"));
        let rows: &[(&[Qdisc], usize, Option<&str>)] = &[
            (&[root("fq_codel", 0)], 0, None),
            (
                &[root("fq_codel", 0)],
                1,
                Some("a qdisc fq_codel with filters"),
            ),
            (&[root("fq_codel", 8)], 0, None),
            (
                &[root("mq", 0), child("fq_codel", 0), child("fq_codel", 0)],
                0,
                None,
            ),
            (
                &[root("mq", 0), child("fq_codel", 0), child("tbf", 9)],
                0,
                Some("a tree with tbf 9:"),
            ),
            (
                &[root("pfifo_fast", 0)],
                0,
                Some("a qdisc pfifo_fast from when"),
            ),
            (&[root("noqueue", 0)], 0, None),
            (&[root("prio", 7)], 0, Some("a qdisc prio")),
            (&[stab], 0, Some("a size table")),
        ];
        for (qdiscs, filters, wanted) in rows {
            let handle = format!("{:x}:", qdiscs[0].handle >> 16);
            let now = Values::from([
                ("kind".to_owned(), qdiscs[0].kind.clone()),
                ("handle".to_owned(), handle),
            ]);
            let lost = what_would_be_lost(&now, qdiscs, *filters, Some("fq_codel"));
            match wanted {
                None => assert_eq!(lost, None, "{qdiscs:?}"),
                Some(wanted) => {
                    assert!(
                        lost.as_ref().is_some_and(|lost| lost.contains(wanted)),
                        "{qdiscs:?}: {lost:?}"
                    )
                }
            }
        }
    }
}
