//! The results: every run of every contender, ratios of them within a regime, their tables, and the verdicts on the targets.

use std::collections::BTreeSet;

use bitcost_stats::{Interval, estimate_interval, median, median_interval, ratio_interval};

use super::figure::{Figure, Regime};
use super::table::{Case, DEFAULT, How, Target, Verdict, Which};

/// Seed of every interval, so that the same figures give the same interval.
const SEED: u64 = 1;

/// One contender in one case.
pub struct Entry {
    pub name: String,
    pub is_ours: bool,
    /// The round of each run and its figures.
    pub runs: Vec<(u32, Figure)>,
}

pub struct Compared {
    pub case: Case,
    /// All contenders, ours first.
    pub entries: Vec<Entry>,
}

/// A contender's runs of one regime.
type Side<'a> = (&'a str, Regime);

impl Which {
    fn of(self, figure: &Figure, case: &Case) -> Option<f64> {
        match self {
            Which::Rate => Some(figure.per_second),
            Which::Cpu => figure.cpu,
            Which::PacingCpuPct => figure.pacing_cpu_pct,
            Which::RateOffPct => {
                let requested = case.rate_bps? as f64 / 8.0 / f64::from(case.size);
                Some((figure.per_second / requested - 1.0).abs() * 100.0)
            }
        }
    }
}

impl Compared {
    fn runs(&self, (name, regime): Side) -> Vec<&(u32, Figure)> {
        let entry = self.entries.iter().find(|entry| entry.name == name);
        let runs = entry.into_iter().flat_map(|entry| &entry.runs);
        runs.filter(|(_, figure)| Regime::of(&self.case, figure) == regime)
            .collect()
    }

    /// One figure of these runs, each with its round.
    fn values(&self, side: Side, which: Which) -> Vec<(u32, f64)> {
        let runs = self.runs(side).into_iter();
        runs.filter_map(|(round, of)| Some((*round, which.of(of, &self.case)?)))
            .collect()
    }

    /// The median of one figure of these runs.
    fn middle(&self, side: Side, figure: impl Fn(&Figure) -> Option<f64>) -> Option<f64> {
        let runs = self.runs(side).into_iter();
        median(&runs.filter_map(|(_, of)| figure(of)).collect::<Vec<f64>>())
    }

    fn ratio(&self, a: Side, b: Side, which: Which) -> Option<Interval> {
        ratio_interval(&self.values(a, which), &self.values(b, which), SEED)
    }

    /// The contender and its regime with the highest median rate, of those with these names.
    fn fastest(&self, is_of: impl Fn(&str) -> bool) -> Option<Side<'_>> {
        let names = self.entries.iter().map(|entry| entry.name.as_str());
        let sides = names
            .filter(|name| is_of(name))
            .flat_map(|name| Regime::ALL.map(|regime| (name, regime)));
        let rate = |side| self.middle(side, |figure| Some(figure.per_second));
        let rated = sides.filter_map(|side| Some((side, rate(side)?)));
        let most = rated.max_by(|a, b| a.1.total_cmp(&b.1));
        most.map(|(side, _)| side)
    }

    /// Its table: each contender's medians in each regime in which it has runs, the ratio of ours to each rival, and
    /// that of our other contenders to our default; then the options that searches took.
    pub fn table(&self) -> String {
        let mut text = format!(
            "\n### {}\n\n| {COLUMNS} |\n|---|--:|--:|--:|--:|--:|--:|---|---|\n",
            self.case.name
        );
        let mut options = BTreeSet::new();
        for entry in &self.entries {
            for regime in Regime::ALL {
                if !self.runs((&entry.name, regime)).is_empty() {
                    text += &format!("| {} |\n", self.row(entry, regime).join(" | "));
                }
            }
            let runs = entry.runs.iter();
            let taken = runs.filter_map(|(_, run)| run.options.as_ref());
            options.extend(taken.map(|taken| format!("{} took {taken}\n", entry.name)));
        }
        options
            .iter()
            .for_each(|taken| text += &format!("\n{taken}"));
        text
    }

    fn row(&self, entry: &Entry, regime: Regime) -> [String; 9] {
        let name = entry.name.as_str();
        // The ratio is that of another of ours to the default, or that of the default to a rival.
        let [a, b] = if entry.is_ours {
            [name, DEFAULT]
        } else {
            [DEFAULT, name]
        };
        let ratio = |which| match self.ratio((a, regime), (b, regime), which) {
            Some(interval) if name != DEFAULT => shown(interval),
            _ => String::new(),
        };
        let side = (name, regime);
        let number = |digits: usize, figure: &dyn Fn(&Figure) -> Option<f64>| {
            let value = self.middle(side, figure);
            value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
        };
        [
            format!("{name}{}", regime.label()),
            format!("{} of {}", self.runs(side).len(), entry.runs.len()),
            number(0, &|figure| Some(figure.per_second)),
            number(1, &|figure| figure.lost.map(|share| 100.0 * share)),
            number(3, &|figure| figure.cpu),
            number(0, &|figure| figure.packet_bytes),
            number(0, &|figure| {
                figure.window_limited.map(|share| 100.0 * share)
            }),
            ratio(Which::Rate),
            ratio(Which::Cpu),
        ]
    }
}

const COLUMNS: &str = " | runs | rate 1/s | lost, % | CPU | packet, B | window, % | rate, ours ÷ theirs | CPU, ours ÷ theirs";

fn shown(interval: Interval) -> String {
    let digits = if interval.value.abs() < 10.0 { 3 } else { 1 };
    interval.with_places(digits)
}

/// The figures of a target, each with the name of its case.
fn figures(target: &Target, all: &[Compared]) -> Vec<(String, Interval)> {
    let (ours, which) = (target.ours.as_str(), target.figure);
    let cases = || all.iter().filter(|compared| target.is_of(&compared.case));
    let rivals = || target.rivals.iter().map(String::as_str);
    let mut found = Vec::new();
    match target.how {
        How::Mean => {
            for rival in rivals() {
                let of = |compared: &Compared, name| compared.values((name, Regime::Any), which);
                let pairs: Vec<_> = cases().map(|one| (of(one, ours), of(one, rival))).collect();
                let pairs = pairs.iter().filter(|(a, b)| !a.is_empty() && !b.is_empty());
                let sides: Vec<_> = pairs.flat_map(|(a, b)| [&a[..], &b[..]]).collect();
                let name = format!("{} sizes, {rival}", sides.len() / 2);
                // The geometric mean of the ratios.
                let mean = estimate_interval(&sides, SEED, |medians| {
                    let logs = medians.chunks(2).map(|pair| (pair[0] / pair[1]).ln());
                    let mean = logs.sum::<f64>() * 2.0 / medians.len() as f64;
                    mean.is_finite().then(|| mean.exp())
                });
                found.extend(mean.map(|mean| (name, mean)));
            }
        }
        How::Fastest => found.extend(cases().filter_map(|one| {
            let rival = one.fastest(|name| rivals().any(|rival| rival == name))?;
            let ratio = one.ratio(one.fastest(|name| name == ours)?, rival, which)?;
            let name = format!("{}, {}{}", one.case.name, rival.0, rival.1.label());
            Some((name, ratio))
        })),
        How::Each => {
            for (one, regime) in cases().flat_map(|one| Regime::ALL.map(|regime| (one, regime))) {
                let name = format!("{}{}", one.case.name, regime.label());
                let ratio = |rival| {
                    let ratio = one.ratio((ours, regime), (rival, regime), which);
                    ratio.map(|ratio| (format!("{name}, {rival}"), ratio))
                };
                found.extend(rivals().filter_map(ratio));
                if target.rivals.is_empty() {
                    let values = one.values((ours, regime), which);
                    let values: Vec<f64> = values.into_iter().map(|(_, value)| value).collect();
                    found.extend(median_interval(&values, SEED).map(|value| (name.clone(), value)));
                }
            }
        }
    }
    found
}

/// The targets that the measurements allow to judge, as text, and whether one is missed.
pub fn verdicts(targets: &[Target], all: &[Compared]) -> (String, bool) {
    let mut text = "\n## Targets\n\nMissed: the value is off, and so is its whole interval. Cannot tell: the value is off, its interval \
        reaches the bound.\n\n| target | case | wanted | found | verdict |\n|---|---|---|---|---|\n"
        .to_owned();
    let mut verdicts = Vec::new();
    for target in targets {
        for (case, found) in figures(target, all) {
            let (verdict, title, wanted) = (target.judge(found), &target.title, target.wanted());
            let (found, label) = (shown(found), verdict.label());
            text += &format!("| {title} | {case} | {wanted} | {found} | {label} |\n");
            verdicts.push(verdict);
        }
    }
    let count = |of: Verdict| verdicts.iter().filter(|verdict| **verdict == of).count();
    let counts = Verdict::ALL.map(|verdict| format!("{} {}", count(verdict), verdict.label()));
    text += &format!("\n{}\n", counts.join(", "));
    (text, count(Verdict::Missed) > 0)
}
