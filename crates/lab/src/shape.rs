//! Queues and shapers of the kernel at a device, and netem if the kernel has it.

use bitcost_model::shaping::show_shaping;
use bitcost_model::shaping::{PPM, QueueLimit, Shaping};
use bitcost_model::topology::End;
use bitcost_sys::netlink::{self, Parameters, ROOT, Rtnl, agrees, discipline, usual_burst_bytes};

use crate::LabError;

/// Handles of the root qdisc and of the queue below its class 1.
const ROOT_HANDLE: u32 = 0x1_0000;
const QUEUE_HANDLE: u32 = 0x2_0000;
const CLASS: u32 = ROOT_HANDLE | 1;

/// netem's limit when none is requested: more packets than memory can hold.
const PACKETS_UNBOUNDED: u64 = 10_000_000;

/// Bytes of an Ethernet header, which the kernel's shapers count.
const ETHERNET_BYTES: u64 = 14;

/// A qdisc to create: its parent, its handle, its kind, its parameters.
struct Wanted {
    parent: u32,
    handle: u32,
    kind: &'static str,
    parameters: Parameters,
}

/// Whether this kernel has netem; tried on loopback in the calling thread's network namespace,
/// which is unused.
pub(crate) fn has_netem() -> Result<bool, LabError> {
    let mut rtnl = Rtnl::open()?;
    let loopback = rtnl.link("lo")?;
    let made = put(
        &mut rtnl,
        (loopback.index, ROOT),
        0,
        "netem",
        &Parameters::new(),
    );
    if made.is_ok() {
        rtnl.delete_root(loopback.index)?;
    }
    Ok(made.is_ok())
}

/// Puts a qdisc with these parameters there.
fn put(
    rtnl: &mut Rtnl,
    place: (u32, u32),
    handle: u32,
    kind: &str,
    parameters: &Parameters,
) -> Result<(), netlink::Error> {
    let requested = |name: &str| parameters.get(name).copied();
    let options = discipline(kind).map(|known| (known.encode)(&requested));
    rtnl.put_qdisc(place, handle, kind, &options.unwrap_or_default())
}

fn wanted(shaping: &Shaping, mtu_bytes: u32) -> Vec<Wanted> {
    if shaping.needs_emulator() {
        netem(shaping, mtu_bytes)
    } else {
        plain(shaping)
    }
}

/// Shapes what leaves by the device of `end`, where the kernel made the shaping `before`, and reads
/// the result back. The caller is in the device's network namespace.
///
/// Qdiscs of the same kinds are changed and keep their packets; others are replaced, and what waits
/// in them is dropped.
pub(crate) fn change(end: &End, before: &Shaping, mtu_bytes: u32) -> Result<(), LabError> {
    let kinds = |shaping: &Shaping| -> Vec<(u32, &str)> {
        let wanted = wanted(shaping, mtu_bytes);
        wanted.iter().map(|one| (one.parent, one.kind)).collect()
    };
    let now = kinds(&end.egress);
    if !now.is_empty() && now == kinds(before) && apply(end, mtu_bytes).is_ok() {
        return Ok(());
    }
    clear(&end.device)?;
    apply(end, mtu_bytes)
}

/// Removes what the kernel shapes at this device, and reads back that it is gone.
pub(crate) fn clear(device: &str) -> Result<(), LabError> {
    let mut rtnl = Rtnl::open()?;
    let index = rtnl.link(device)?.index;
    let own = |rtnl: &mut Rtnl| {
        let qdiscs = rtnl.qdiscs(index)?;
        let mut roots = qdiscs
            .into_iter()
            .filter(|qdisc| qdisc.handle == ROOT_HANDLE);
        Ok::<_, LabError>(roots.next().map(|qdisc| qdisc.kind))
    };
    if own(&mut rtnl)?.is_none() {
        return Ok(());
    }
    rtnl.delete_root(index)?;
    match own(&mut rtnl)? {
        None => Ok(()),
        Some(kind) => Err(LabError::happened(format!(
            "{device} keeps {kind} after it was removed"
        ))),
    }
}

/// Shapes what leaves by the device of `end`, in whose network namespace the caller is, and reads
/// the result back.
pub(crate) fn apply(end: &End, mtu_bytes: u32) -> Result<(), LabError> {
    let shaping = &end.egress;
    let wanted = wanted(shaping, mtu_bytes);
    let mut rtnl = Rtnl::open()?;
    let index = rtnl.link(&end.device)?.index;
    for Wanted {
        parent,
        handle,
        kind,
        parameters,
    } in &wanted
    {
        put(&mut rtnl, (index, *parent), *handle, kind, parameters)
            .map_err(|error| lacking(end, kind, &error.to_string()))?;
    }
    wanted
        .iter()
        .try_for_each(|wanted| check(&mut rtnl, index, end, wanted))
}

fn lacking(end: &End, kind: &str, why: &str) -> LabError {
    let (device, shaping) = (&end.device, show_shaping(&end.egress));
    LabError::happened(format!(
        "{device} ({shaping}) needs {kind}: {why}; load the module sch_{kind}, or leave this out of the lab"
    ))
}

/// Checks that a qdisc has the requested parameters, except for the rounding of the kernel's units.
fn check(rtnl: &mut Rtnl, index: u32, end: &End, wanted: &Wanted) -> Result<(), LabError> {
    let Wanted {
        handle,
        kind,
        parameters,
        ..
    } = wanted;
    let found = rtnl
        .qdiscs(index)?
        .into_iter()
        .find(|qdisc| qdisc.handle == *handle && qdisc.kind == *kind);
    let found = found.ok_or_else(|| lacking(end, kind, "it is missing after it was created"))?;
    let now = found.parameters();
    for (name, asked) in parameters {
        let actual = now.get(name).copied().unwrap_or_default();
        if !agrees(name, *asked, actual) {
            return Err(lacking(
                end,
                kind,
                &format!("{name}: requested {asked}, in effect {actual}"),
            ));
        }
    }
    Ok(())
}

fn plain(shaping: &Shaping) -> Vec<Wanted> {
    let queue = shaping.room().map(|room| match room {
        QueueLimit::Bytes(bytes) => ("bfifo", Parameters::from([("limit_bytes", bytes)])),
        QueueLimit::Packets(count) | QueueLimit::Segments(count) => (
            "pfifo",
            Parameters::from([("limit_packets", u64::from(count))]),
        ),
    });
    let root = |kind, parameters| Wanted {
        parent: ROOT,
        handle: ROOT_HANDLE,
        kind,
        parameters,
    };
    let Some(rate) = shaping.rate_bps else {
        return queue
            .into_iter()
            .map(|(kind, parameters)| root(kind, parameters))
            .collect();
    };
    let usual = usual_burst_bytes(rate);
    let burst = shaping.burst_bytes.map_or(usual, u64::from);
    let mut parameters = Parameters::from([("rate_bps", rate), ("burst_bytes", burst)]);
    let below = queue.map(|(kind, parameters)| Wanted {
        parent: CLASS,
        handle: QUEUE_HANDLE,
        kind,
        parameters,
    });
    match below
        .as_ref()
        .and_then(|queue| queue.parameters.get("limit_bytes"))
    {
        // The limit of a tbf is that of its queue, in bytes.
        Some(limit) => {
            parameters.insert("limit_bytes", *limit);
            vec![root("tbf", parameters)]
        }
        None => std::iter::once(root("tbf", parameters))
            .chain(below)
            .collect(),
    }
}

/// netem counts packets only: a limit in bytes or segments becomes one of full-size packets.
fn netem(shaping: &Shaping, mtu_bytes: u32) -> Vec<Wanted> {
    let packet_bytes = u64::from(mtu_bytes) + ETHERNET_BYTES;
    let limit = match shaping.room() {
        Some(QueueLimit::Packets(count) | QueueLimit::Segments(count)) => u64::from(count),
        Some(QueueLimit::Bytes(bytes)) => bytes.div_ceil(packet_bytes),
        None => PACKETS_UNBOUNDED,
    };
    let mut parameters = Parameters::from([
        ("delay_us", shaping.delay_us),
        ("jitter_us", shaping.jitter_us),
        ("limit_packets", limit),
    ]);
    // A netem that is changed keeps its rate unless it is told that there is none.
    parameters.insert("rate_bps", shaping.rate_bps.unwrap_or(0));
    let shares = [
        ("loss_ppm", shaping.loss_ppm),
        ("reorder_ppm", shaping.reorder_ppm),
        ("duplicate_ppm", shaping.duplicate_ppm),
    ];
    let asked = shares.into_iter().filter(|(_, ppm)| *ppm > 0);
    parameters.extend(asked.map(|(name, ppm)| (name, u64::from(ppm.min(PPM)))));
    vec![Wanted {
        parent: ROOT,
        handle: ROOT_HANDLE,
        kind: "netem",
        parameters,
    }]
}
