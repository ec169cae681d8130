//! The result for people: what was compared, each case with its ratios, and the targets; plain or
//! in Markdown.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use super::field::CONGESTION_CONTROL;
use super::figure::Figure;
use super::flavours::{DEFAULT, FLAVOURS};
use super::load::Disturbed;
use super::peers::Rival;
use super::regime::Regime;
use super::results::{Compared, Entry, shown};
use super::targets::{Finding, Verdict};

/// The facts in the head of the table.
pub struct Head<'a> {
    /// The rivals.
    pub rivals: &'a [Rival],
    /// Length of a run, in seconds.
    pub seconds: f64,
}

/// The head as lines: what was compared, where, and how.
pub fn head(head: &Head) -> Vec<String> {
    let host = bitcost_probe::host::describe();
    let mut lines = vec![
        format!(
            "Linux {}, {}, family {}, model {}, {} CPUs",
            host.kernel.split_whitespace().next().unwrap_or_default(),
            host.cpu_model.unwrap_or_default(),
            of_cpu("cpu family"),
            of_cpu("model"),
            host.cpus.len()
        ),
        format!("bare veth pair, {CONGESTION_CONTROL} for all"),
        format!(
            "runs of {} s, interleaved in rounds (peers that count whole seconds: {} s; paced runs are longer)",
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
            "rate: messages or transactions per second at the sender, of UDP streams datagrams that the receiving program took; lost: share of the datagrams sent that it did not take; CPU: µs per KiB, or per transaction, of the whole machine (wall clock less idle, within the run)",
            "packet: user data of a packet of the sender's interface; window: share of the connection's busy time that the receive window limited; runs: those of this regime",
            "ratio: \"bitcost\" ÷ theirs, of medians of the runs of one regime, with its 95 % bootstrap interval over rounds; of our other rows to \"bitcost\"",
        ]
        .map(str::to_owned),
    );
    lines
}

/// What the kernel says of the first CPU (`/proc/cpuinfo`); `?` where it does not.
fn of_cpu(key: &str) -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
    let value = pairs.find(|(name, _)| name.trim() == key);
    value.map_or("?".to_owned(), |(_, value)| value.trim().to_owned())
}

/// The columns.
const COLUMNS: [&str; 9] = [
    "",
    "runs",
    "rate 1/s",
    "lost, %",
    "CPU",
    "packet, B",
    "window, %",
    "rate, ours ÷ theirs",
    "CPU, ours ÷ theirs",
];

/// The words of one contender's row in a regime.
fn words(compared: &Compared, entry: &Entry, regime: Regime) -> [String; 9] {
    let name = entry.name.as_str();
    let is_ours = FLAVOURS.iter().any(|flavour| flavour.name == name);
    // The ratio is that of another of ours to the default, or that of the default to a rival.
    let [a, b] = match is_ours {
        true => [name, DEFAULT],
        false => [DEFAULT, name],
    }
    .map(|name| (name, regime));
    let ratio = |interval: Option<bitcost_stats::Interval>| match interval {
        Some(interval) if name != DEFAULT => shown(interval),
        _ => String::new(),
    };
    let side = (name, regime);
    let number = |value: Option<f64>, digits: usize| {
        value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
    };
    let limited = |figure: &Figure| figure.window_limited.map(|share| 100.0 * share);
    let lost = |figure: &Figure| figure.lost.map(|share| 100.0 * share);
    [
        format!("{name}{}", regime.says()),
        format!("{} of {}", compared.runs(side).len(), entry.runs.len()),
        number(compared.middle(side, |figure| Some(figure.per_second)), 0),
        number(compared.middle(side, lost), 1),
        number(compared.middle(side, |figure| figure.cpu), 3),
        number(compared.middle(side, |figure| figure.packet_bytes), 0),
        number(compared.middle(side, limited), 0),
        ratio(compared.rate_ratio(a, b)),
        ratio(compared.cpu_ratio(a, b)),
    ]
}

/// The rows of a case: each contender in each regime in which it has runs.
fn rows(compared: &Compared) -> impl Iterator<Item = [String; 9]> {
    compared.entries.iter().flat_map(|entry| {
        let regimes = compared.regimes(&entry.name).into_iter();
        regimes.map(|regime| words(compared, entry, regime))
    })
}

/// The options that searches of a case took, each once.
fn options(compared: &Compared) -> Vec<String> {
    let entries = compared.entries.iter();
    let runs = entries.flat_map(|entry| entry.runs.iter().map(move |(_, run)| (entry, run)));
    let taken = runs
        .filter_map(|(entry, run)| Some(format!("{} took {}", entry.name, run.options.as_ref()?)));
    taken.collect::<BTreeSet<_>>().into_iter().collect()
}

/// One case: each contender's medians in each regime, the ratio of ours to each rival, and that of our
/// other contenders to our default.
pub fn plain(compared: &Compared) -> String {
    let mut text = format!("\n{}\n", compared.case.name());
    let columns = COLUMNS.map(str::to_owned);
    for row in std::iter::once(columns).chain(rows(compared)) {
        let [name, runs, rate, lost, cpu, packet, window, rates, cpus] = row;
        let line = format!(
            "  {name:<34} {runs:>6} {rate:>10} {lost:>8} {cpu:>7} {packet:>9} {window:>9}  {rates:<24} {cpus}"
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    options(compared)
        .iter()
        .for_each(|line| _ = writeln!(text, "  {line}"));
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
        let _ = writeln!(text, "\n### {}\n", compared.case.name());
        let _ = writeln!(text, "| {} |", COLUMNS.join(" | "));
        let _ = writeln!(text, "|---|--:|--:|--:|--:|--:|--:|---|---|");
        rows(compared).for_each(|row| _ = writeln!(text, "| {} |", row.join(" | ")));
        let options = options(compared);
        if !options.is_empty() {
            let _ = writeln!(text, "\n{}.", options.join("; "));
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
