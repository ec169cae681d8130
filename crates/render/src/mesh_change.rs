//! What changed between two executions of a mesh, as text and JSON.

use bitcost_analysis::mesh::{MeshChange, Named, Outlier, Worse};
use bitcost_model::units::counted;
use serde_json::{Value, json};

use crate::layout::paragraph;
use crate::mesh::outlier_json;
use crate::number;

/// How changes are found, below them.
const METHOD: &str = "Changes are of the ratio new ÷ old of each pair, in the robust two-way model of a mesh, in comparison with the median change; what is named is significant at 1 % for all hosts and pairs together (Holm).";

/// `host n07 as receiver: -31 % [-35, -27] against the others; now limited by CPU quota (12 of 14 pairs)`
fn words(of: &MeshChange, outlier: &Outlier) -> String {
    let Worse::Slow { pct, interval } = outlier.worse else {
        return of.ratios.name(outlier.named);
    };
    let interval = interval.map_or_else(String::new, |(low, high)| {
        format!(" [{}, {}]", number::plain(low), number::plain(high))
    });
    let others = match outlier.named {
        Named::Pair(..) => "against its hosts with others",
        _ => "against the others",
    };
    let limiter = outlier
        .limiter
        .as_ref()
        .map_or_else(String::new, |limiter| {
            let pairs = counted(outlier.runs, "pair");
            format!(
                "; now limited by {limiter} ({} of {pairs})",
                outlier.limited
            )
        });
    format!(
        "{}: {} %{interval} {others}{limiter}",
        of.ratios.name(outlier.named),
        number::plain(pct)
    )
}

/// The changes in a text of this width.
pub fn mesh_change_text(of: &MeshChange, [old, new]: [&str; 2], width: usize) -> String {
    let line = |mark: &str, words: &str| paragraph(mark, words, width);
    let mut text = line("", &format!("{old} → {new}"));
    text += &line(
        "",
        &format!(
            "{} of {}: the median changed by {} %.",
            of.ratios.metric.title,
            counted(of.ratios.runs.len(), "pair"),
            number::plain(of.median_pct)
        ),
    );
    for outlier in &of.ratios.outliers {
        text += &line("worse    ", &words(of, outlier));
    }
    for outlier in &of.better {
        text += &line("better   ", &words(of, outlier));
    }
    if of.ratios.outliers.is_empty() && of.better.is_empty() {
        text += &line("", "No host or pair changed differently from the others.");
    }
    for (side, names) in [old, new].iter().zip(&of.named_once) {
        if !names.is_empty() {
            text += &line("- ", &format!("named only in {side}: {}", names.join("; ")));
        }
    }
    text + "\n" + &line("", METHOD)
}

/// The changes as a document.
pub fn mesh_change_json(of: &MeshChange, [old, new]: [&str; 2]) -> Value {
    let all = |outliers: &[Outlier]| -> Vec<Value> {
        let outliers = outliers.iter();
        outliers.map(|one| outlier_json(&of.ratios, one)).collect()
    };
    json!({
        "old": old,
        "new": new,
        "metric": of.ratios.metric.name,
        "pairs": of.ratios.runs.len(),
        "median_change_pct": of.median_pct,
        "worse": all(&of.ratios.outliers),
        "better": all(&of.better),
        "named_only_in_old": of.named_once[0],
        "named_only_in_new": of.named_once[1],
    })
}
