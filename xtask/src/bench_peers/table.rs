//! The result for people: what was compared, each case with its ratios, and the targets; plain or
//! in Markdown.

use std::fmt::Write;
use std::path::Path;

use bitcost_stats::median;

use super::field::CONGESTION_CONTROL;
use super::flavours::FLAVOURS;
use super::load::Disturbed;
use super::peers::Rival;
use super::results::{Compared, Entry, shown};
use super::targets::{Finding, Verdict};

/// The facts in the head of the table.
pub struct Head<'a> {
    /// The rivals.
    pub rivals: &'a [Rival],
    /// Rounds of each case that is not paced.
    pub rounds: u32,
    /// Length of a run, in seconds.
    pub seconds: f64,
    /// The setups with their cases.
    pub setups: String,
}

/// The head as lines: what was compared, where, and how.
pub fn head(head: &Head) -> Vec<String> {
    let host = bitcost_probe::host::describe();
    let mut lines = vec![
        format!(
            "Linux {}, {}, {} CPUs",
            host.kernel,
            host.cpu_model.unwrap_or_default(),
            host.cpus.len()
        ),
        format!(
            "bare veth pair, {CONGESTION_CONTROL} for all; {}",
            head.setups
        ),
        format!(
            "{} rounds of {} s, interleaved (peers that count whole seconds: {} s; paced runs: see the targets)",
            head.rounds,
            head.seconds,
            head.seconds.ceil()
        ),
    ];
    lines.extend(
        FLAVOURS
            .iter()
            .map(|flavour| format!("{}: {}", flavour.name, flavour.about)),
    );
    lines.extend(
        head.rivals
            .iter()
            .map(|rival| format!("{}: {}", rival.name, rival.version())),
    );
    lines.extend(
        [
            "rate: messages or transactions per second at the sender; CPU: µs per KiB, or per transaction, of the whole machine (wall clock less idle, within the run)",
            "ratio: ours ÷ theirs, of medians, with its 95 % bootstrap interval over rounds",
            "ours: \"bitcost\"",
        ]
        .map(str::to_owned),
    );
    lines
}

/// The words of one contender's row.
fn words(compared: &Compared, entry: &Entry) -> [String; 5] {
    let is_it = entry.name == entry.counterpart;
    let is_ours = FLAVOURS.iter().any(|flavour| flavour.name == entry.name);
    // The ratio is that of another of ours to the default, or that of ours to a rival.
    let (a, b) = if is_ours {
        (entry.name, entry.counterpart)
    } else {
        (entry.counterpart, entry.name)
    };
    let ratio = |interval: Option<bitcost_stats::Interval>| match interval {
        Some(interval) if !is_it => shown(interval),
        _ => String::new(),
    };
    [
        entry.name.to_owned(),
        middle(&entry.series.rates).map_or("-".into(), |rate| format!("{rate:.0}")),
        middle(&entry.series.cpu).map_or("-".into(), |cpu| format!("{cpu:.3}")),
        ratio(compared.rate_ratio(a, b)),
        ratio(compared.cpu_ratio(a, b)),
    ]
}

fn middle(values: &[(u32, f64)]) -> Option<f64> {
    median(&values.iter().map(|(_, value)| *value).collect::<Vec<f64>>())
}

/// One case: each contender's median, the ratio of ours to each rival, and that of our other
/// contenders to our default.
pub fn plain(compared: &Compared) -> String {
    let [rate, cpu] = ["rate, ours ÷ theirs", "CPU, ours ÷ theirs"];
    let mut text = format!(
        "\n{:<22} {:>12} {:>10}  {rate:<24} {cpu:<24}\n",
        compared.case.name(),
        "rate 1/s",
        "CPU"
    );
    for entry in &compared.entries {
        let [name, rate, cpu, rates, cpus] = words(compared, entry);
        let _ = writeln!(
            text,
            "  {name:<20} {rate:>12} {cpu:>10}  {rates:<24} {cpus:<24}"
        );
    }
    text.trim_end().to_owned()
}

/// Targets by verdict, those not met on separate lines.
pub fn targets(findings: &[Finding]) -> Vec<String> {
    let of = |verdict| {
        findings
            .iter()
            .filter(move |finding| finding.verdict == verdict)
    };
    let mut lines = vec![format!(
        "targets: {} met, {} missed, {} cannot tell (the value misses the bound, its interval reaches it)",
        of(Verdict::Met).count(),
        of(Verdict::Missed).count(),
        of(Verdict::CannotTell).count()
    )];
    for verdict in [Verdict::Missed, Verdict::CannotTell] {
        lines.extend(of(verdict).map(|finding| {
            let Finding {
                target,
                case,
                found,
                ..
            } = finding;
            format!(
                "{}: {case}: {} is {}, wanted {}",
                verdict.says(),
                target.says,
                shown(*found),
                target.wanted.says()
            )
        }));
    }
    lines
}

/// The disturbances, each with its runs.
pub fn disturbances(disturbed: &[Disturbed], runs: u32) -> Vec<String> {
    let mut lines = vec![format!(
        "disturbed by other programs or the hypervisor: {} of {runs} runs",
        disturbed.len()
    )];
    lines.extend(disturbed.iter().map(Disturbed::says));
    lines
}

/// A word of the command; of an absolute path, which says something of one machine alone, its last
/// part.
fn without_folders(word: String) -> String {
    let path = Path::new(&word);
    match path.file_name().filter(|_| path.is_absolute()) {
        Some(name) => name.to_string_lossy().into_owned(),
        None => word,
    }
}

/// Everything as Markdown, with the date and the command.
pub fn markdown(
    head: &[String],
    all: &[Compared],
    findings: &[Finding],
    disturbances: &[String],
) -> String {
    let command: Vec<String> = std::env::args().skip(1).map(without_folders).collect();
    let mut text = format!(
        "# bitcost and its peers\n\nWritten by `cargo xtask {}` on {}.\n\n",
        command.join(" "),
        date()
    );
    head.iter().for_each(|line| _ = writeln!(text, "- {line}"));
    text += "\n## Targets\n\nMissed: the value is off, and so is its whole interval. Cannot tell: the value is off, its interval reaches the bound.\n\n";
    text += "| target | case | wanted | found | verdict |\n|---|---|---|---|---|\n";
    for Finding {
        target,
        case,
        found,
        verdict,
    } in findings
    {
        let (wanted, found, verdict) = (target.wanted.says(), shown(*found), verdict.says());
        let _ = writeln!(
            text,
            "| {} | {case} | {wanted} | {found} | {verdict} |",
            target.says
        );
    }
    let mut setup = None;
    for compared in all {
        if setup.replace(compared.setup) != Some(compared.setup) {
            let _ = writeln!(text, "\n## Figures: {}", compared.setup.says());
        }
        let _ = writeln!(
            text,
            "\n### {}\n\n| | rate 1/s | CPU | rate, ours ÷ theirs | CPU, ours ÷ theirs |\n|---|--:|--:|---|---|",
            compared.case.name()
        );
        for entry in &compared.entries {
            let _ = writeln!(text, "| {} |", words(compared, entry).join(" | "));
        }
    }
    text += "\n## Disturbances\n\n";
    disturbances
        .iter()
        .for_each(|line| _ = writeln!(text, "- {line}"));
    text
}

/// The present day and minute.
fn date() -> String {
    let output = std::process::Command::new("date")
        .arg("+%Y-%m-%d %H:%M %Z")
        .output();
    output
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_default()
}
