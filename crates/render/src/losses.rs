//! The loss ledger of a run: its sentence, its table, and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write;

use bitcost_analysis::ledger::{Drops, LossLedger, loss_ledger};
use bitcost_analysis::metrics::RunView;
use serde_json::{Value, json};

use crate::lines::Lines;
use crate::number;

/// Columns of the table of a terminal.
const WIDTH: u16 = 100;

/// What became of the lost and retransmitted packets of a run, in a sentence; absent where there are
/// none, or where that is not known.
pub(crate) fn sentence(run: &RunView) -> Option<String> {
    let ledger = loss_ledger(run).ok()?;
    ledger.has_any().then(|| ledger.to_string())
}

/// The table of a run for a terminal, or why there is none; empty where nothing was lost or
/// retransmitted.
pub(crate) fn text(run: &RunView) -> String {
    let ledger = match loss_ledger(run) {
        Ok(ledger) if ledger.has_any() => ledger,
        Ok(_) => return String::new(),
        Err(reason) => return format!("no loss ledger: {reason}\n"),
    };
    let mut text = String::from("losses, in packets:\n");
    text += &table(&ledger).text(WIDTH);
    if !ledger.recovery.is_empty() {
        let words = ledger.recovery.iter();
        let words: Vec<String> = words
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        let _ = writeln!(text, "recovery of the sender: {}", words.join(", "));
    }
    text
}

fn table(ledger: &LossLedger) -> Lines {
    let header = ["", "counter", "packets", "segments or datagrams"];
    let plain =
        |words: &str, count: String| vec![words.to_owned(), String::new(), String::new(), count];
    let mut rows = vec![plain("sent", ledger.sent.to_string())];
    if ledger.copies > 0 {
        rows.push(plain(
            "copies made by a link emulator",
            ledger.copies.to_string(),
        ));
    }
    rows.push(plain("delivered", ledger.delivered.to_string()));
    rows.extend(ledger.drops.iter().map(row));
    rows.push(plain("unexplained", ledger.unexplained().to_string()));
    if let Some(count) = ledger.retransmitted {
        rows.push(plain("retransmitted", count.to_string()));
    }
    if let Some(spurious) = &ledger.spurious {
        rows.push(plain("of these spurious", spurious.segments.to_string()));
        let reported = spurious.reported.map(|count| count.to_string());
        rows.extend(reported.map(|count| plain("reported as duplicates (DSACK)", count)));
    }
    Lines::new(header, rows)
}

fn row(drops: &Drops) -> Vec<String> {
    let converted = |each| format!("{} (× {})", drops.segments, number::plain(each));
    vec![
        format!("dropped by {}", drops.by),
        drops.counter.to_owned(),
        drops.packets.to_string(),
        drops.each.map_or(drops.segments.to_string(), converted),
    ]
}

/// The ledger with its sums; `absent` says why there is none.
pub(crate) fn json(run: &RunView) -> Value {
    let ledger = match loss_ledger(run) {
        Ok(ledger) => ledger,
        Err(reason) => return json!({ "absent": reason }),
    };
    let recovery: BTreeMap<&str, u64> = ledger.recovery.iter().copied().collect();
    let spurious = ledger.spurious.as_ref();
    json!({
        "sent": ledger.sent,
        "copies": ledger.copies,
        "delivered": ledger.delivered,
        "lost_segments": ledger.lost_segments,
        "lost_datagrams": ledger.lost_datagrams,
        "dropped": ledger.drops,
        "unexplained": ledger.unexplained(),
        "tolerance": ledger.tolerance(),
        "closes": ledger.closes(),
        "retransmitted": ledger.retransmitted,
        "spurious": spurious.map(|found| found.segments),
        "spurious_reported": spurious.and_then(|found| found.reported),
        "spurious_because": spurious.and_then(|found| found.why),
        "recovery": recovery,
        "sentence": ledger.has_any().then(|| ledger.to_string()),
    })
}
