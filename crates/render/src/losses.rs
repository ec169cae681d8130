//! The loss ledger of a run: its sentence, its table, and as it is in the document.

use bitcost_analysis::ledger::{Drops, LossLedger, Spurious, loss_ledger};
use bitcost_analysis::metrics::{RunView, parts};
use bitcost_model::units::counted;
use serde_json::{Value, json};

use crate::block::Block;
use crate::lines::Lines;
use crate::number;

/// What became of the lost and retransmitted packets of a run, in a sentence; absent where there are
/// none; of datagrams also why that is not known.
pub(crate) fn sentence(run: &RunView) -> Option<String> {
    let ledger = match loss_ledger(run) {
        Ok(ledger) => ledger,
        Err(reason) => return lost_somewhere(run, reason),
    };
    let words = || format!("{ledger}; warm-up and cooldown are included");
    ledger.has_any().then(words)
}

fn lost_somewhere(run: &RunView, reason: &str) -> Option<String> {
    let parts = parts(run);
    let sequences = parts.iter().filter_map(|part| part.receiver.sequence);
    let lost = sequences.fold(0, |sum: u64, one| sum.saturating_add(one.total_lost));
    let count = counted(lost as usize, "datagram");
    (lost > 0)
        .then(|| format!("{count} lost with warm-up and cooldown; where is not known: {reason}"))
}

/// The table of a run, or why there is none; empty where nothing was lost or retransmitted.
pub(crate) fn losses(run: &RunView) -> Vec<Block> {
    let ledger = match loss_ledger(run) {
        Ok(ledger) if ledger.has_any() => ledger,
        Ok(_) => return Vec::new(),
        Err(reason) => return vec![Block::words(format!("no loss ledger: {reason}"))],
    };
    vec![Block::Table(
        "losses, in packets:".to_owned(),
        table(&ledger),
    )]
}

fn table(ledger: &LossLedger) -> Lines {
    let header = ["", "counter", "packets", "segments or datagrams"];
    let plain = |words: &str, count: u64| {
        let empty = String::new;
        vec![words.to_owned(), empty(), empty(), count.to_string()]
    };
    let mut rows = vec![plain("sent", ledger.sent)];
    if ledger.copies > 0 {
        rows.push(plain("copies made on the way", ledger.copies));
    }
    rows.push(plain("delivered", ledger.delivered));
    rows.extend(ledger.drops.iter().map(row));
    let mut unexplained = plain("unexplained", 0);
    unexplained[3] = ledger.unexplained().to_string();
    rows.push(unexplained);
    rows.extend(
        ledger
            .retransmitted
            .map(|count| plain("retransmitted", count)),
    );
    if let Some(Spurious {
        segments, reported, ..
    }) = ledger.spurious
    {
        rows.push(plain("of these spurious", segments));
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

/// The ledger with its sums, or why there is none, as JSON.
pub(crate) fn document(run: &RunView) -> Value {
    let ledger = match loss_ledger(run) {
        Ok(ledger) => ledger,
        Err(reason) => return json!({ "absent": reason }),
    };
    let mut document = json!(ledger);
    document["unexplained"] = json!(ledger.unexplained());
    document["tolerance"] = json!(ledger.tolerance());
    document["closes"] = json!(ledger.closes());
    document["sentence"] = json!(ledger.has_any().then(|| ledger.to_string()));
    document
}
