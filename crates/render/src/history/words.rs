//! The sentences of a history: what changed, when, and what else changed at that time.

use bitcost_analysis::compare::Verdict;
use bitcost_analysis::history::{History, Point, Series, Shifted};
use bitcost_model::units::counted;
use jiff::civil::DateTime;

use crate::number;

/// The most series of a point, and the most differences between two executions, that are named.
const NAMED: usize = 8;

/// The longest values of a difference that are shown.
const VALUES: usize = 40;

/// What is said about a point.
pub(crate) struct Said {
    /// The sentence on it.
    pub head: String,
    /// A sentence on each series, where there are several.
    pub series: Vec<String>,
}

/// What changed: the points at which most series change first; one sentence where nothing did.
pub(crate) fn answer(history: &History) -> Vec<Said> {
    let all = history.points.iter();
    let (common, others): (Vec<&Point>, Vec<&Point>) =
        all.partition(|point| history.is_common(point));
    let said = common.into_iter().chain(others);
    let said: Vec<Said> = said.map(|point| of_point(history, point)).collect();
    match said.is_empty() {
        true => vec![Said {
            head: nothing(history),
            series: Vec::new(),
        }],
        false => said,
    }
}

fn nothing(history: &History) -> String {
    let (judged, used) = (history.judged(), history.used());
    if judged == 0 {
        return format!(
            "No change point can be found: a series needs at least 4 executions in one state of the machine, with values above 0; {used} of {} can be used",
            history.executions.len()
        );
    }
    format!(
        "No change point of {} % or more in {judged} series of {}",
        history.threshold_pct,
        counted(used, "execution")
    )
}

fn of_point(history: &History, point: &Point) -> Said {
    let (when, cause) = (when(history, point.between[1]), cause(point));
    let changes = history.changes(point);
    if let [(series, change)] = changes[..] {
        return Said {
            head: format!("{} {when}; {cause}", changed(series, change)),
            series: Vec::new(),
        };
    }
    let worse = changes
        .iter()
        .filter(|(_, change)| change.verdict == Verdict::Worse);
    let ways = match (worse.count(), changes.len()) {
        (0, _) => "all improved".to_owned(),
        (worse, all) if worse == all => "all got worse".to_owned(),
        (worse, all) => format!("{worse} got worse and {} improved", all - worse),
    };
    let (count, judged) = (changes.len(), history.judged());
    let named = changes.iter().take(NAMED);
    let mut series: Vec<String> = named
        .map(|(series, change)| changed(series, change))
        .collect();
    let more = count.saturating_sub(NAMED);
    series.extend((more > 0).then(|| format!("{more} more series")));
    Said {
        head: format!("{count} of {judged} series changed {when}, {ways}; {cause}"),
        series,
    }
}

/// `Throughput of 1024 · TCP fell by 9 % [7, 11]`.
fn changed(series: &Series, change: &Shifted) -> String {
    let (how, size) = match change.pct.value < 0.0 {
        true => ("fell", change.pct.map(|pct| -pct)),
        false => ("rose", change.pct),
    };
    format!(
        "{} of {} {how} by {} % {}",
        series.metric.title,
        series.cell(),
        number::known(&size),
        number::known_bounds(&size)
    )
}

/// `between the two executions: kernel 6.12.41 → 6.12.44, tcp_wmem; not the machine's state`.
fn cause(point: &Point) -> String {
    let [before, after] = point.between;
    let mut differences: Vec<String> = point
        .differences
        .iter()
        .take(NAMED)
        .map(|words| short(words))
        .collect();
    let more = point.differences.len().saturating_sub(NAMED);
    differences.extend((more > 0).then(|| format!("{more} more")));
    let what = match differences.is_empty() {
        true => "no difference that the logs record".to_owned(),
        false => differences.join(", "),
    };
    let machine = match &point.machine {
        None => "the machine's state is not known".to_owned(),
        Some(none) if none.is_empty() => "not the machine's state".to_owned(),
        Some(said) => format!("the machine's state: {}", said.join("; ")),
    };
    let skipped = match after - before - 1 {
        0 => String::new(),
        count => format!(", with {count} between them left out"),
    };
    format!("between the two executions{skipped}: {what}; {machine}")
}

/// `kernel 6.12.41 → 6.12.44` of `kernel: was 6.12.41 #1 SMP, is 6.12.44 #1 SMP`; the name alone where other values are long.
fn short(difference: &str) -> String {
    let parts = difference
        .split_once(": was ")
        .and_then(|(name, values)| Some((name, values.split_once(", is ")?)));
    let Some((name, (was, is))) = parts else {
        return difference.to_owned();
    };
    let release = |words: &'_ str| words.split(' ').next().unwrap_or_default().to_owned();
    let releases = (release(was), release(is));
    if name.ends_with("kernel") && releases.0 != releases.1 {
        return format!("{name} {} → {}", releases.0, releases.1);
    }
    match was.chars().count() + is.chars().count() <= VALUES {
        true => format!("{name} {was} → {is}"),
        false => name.to_owned(),
    }
}

/// `on 3 October`; with the year where the executions are of several, and the time where they are of one day.
pub(crate) fn when(history: &History, number: usize) -> String {
    let began: Vec<&str> = history
        .executions
        .iter()
        .map(|one| one.began_at.as_str())
        .collect();
    let all_have = |length: usize| {
        began
            .iter()
            .all(|at| at.get(..length) == began[0].get(..length))
    };
    let form = match (all_have("2026-10-03".len()), all_have("2026".len())) {
        (true, _) => "on %-d %B at %H:%M",
        (_, true) => "on %-d %B",
        _ => "on %-d %B %Y",
    };
    let at = began[number];
    let local: Option<DateTime> = at.get(..19).and_then(|local| local.parse().ok());
    local.map_or_else(
        || format!("at {at}"),
        |local| local.strftime(form).to_string(),
    )
}

/// What limits the history, and which executions are left out.
pub(crate) fn remarks(history: &History) -> Vec<String> {
    let left_out = history.executions.iter().filter_map(|one| {
        let why = one.left_out.as_ref()?;
        Some(format!("{} is not used for change points: {why}", one.name))
    });
    let unjudged = history.series.len() - history.judged();
    let unjudged = (unjudged > 0 && history.judged() > 0).then(|| {
        format!(
            "change points were not searched in {unjudged} of {} series, which have fewer than 4 usable values, a value of 0, or a metric without a better side",
            history.series.len()
        )
    });
    history
        .remarks
        .iter()
        .cloned()
        .chain(left_out)
        .chain(unjudged)
        .collect()
}

/// The method of the change points.
pub(crate) fn method(history: &History) -> String {
    let slopes = history.slopes.iter().filter(|(_, slope)| *slope != 0.0);
    let slopes: Vec<String> = slopes
        .map(|(metric, slope)| format!("{} {slope:+.2}", metric.title))
        .collect();
    let speed = match slopes.is_empty() {
        true => String::new(),
        false => format!(
            " Values are divided by the CPUs' relative speed as far as it explains them (slope over the time of a fixed loop: {}).",
            slopes.join(", ")
        ),
    };
    if history.judged() == 0 {
        return "Values are medians of executions as measured.".to_owned();
    }
    format!(
        "Values are medians of executions as measured. A change point has at least 2 executions on each side, stays clear without any one of them, and is at least {} %; the probability of any false one among {} series is at most 5 % (likelihood-ratio test, binary segmentation, Holm).{speed}",
        history.threshold_pct,
        history.judged()
    )
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn differences_are_short() {
        assert_eq!(
            short("kernel: was 6.12.41 #1 SMP PREEMPT_DYNAMIC, is 6.12.44 #1 SMP PREEMPT_DYNAMIC"),
            "kernel 6.12.41 → 6.12.44"
        );
        assert_eq!(
            short("kernel: was 6.1.0-50-cloud-amd64 #1 SMP, is 6.12.117+deb13-cloud-amd64 #1 SMP"),
            "kernel 6.1.0-50-cloud-amd64 → 6.12.117+deb13-cloud-amd64"
        );
        assert_eq!(short("MTU: was 1500, is 9000"), "MTU 1500 → 9000");
        let long =
            "sysctl net.ipv4.tcp_wmem: was 4096 16384 4194304 and more, is 4096 16384 8388608";
        assert_eq!(short(long), "sysctl net.ipv4.tcp_wmem");
        assert_eq!(short("the machine was slower"), "the machine was slower");
    }
}
