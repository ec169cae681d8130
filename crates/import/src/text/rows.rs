//! The columns of netperf's outputs and of tables made from them, by name, and the figures and
//! settings that their values become.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use super::forms::Line;
use crate::run::{Run, mbps, measured};

/// A known column: its selector, and what is taken of it.
#[derive(Clone, Copy)]
pub(super) struct Column {
    selector: &'static str,
    taken: &'static str,
}

/// By every name that the file has; of a name that is there twice the first.
static COLUMNS: LazyLock<HashMap<&str, Column>> = LazyLock::new(|| {
    let mut columns = HashMap::new();
    let lines = include_str!("names.txt").lines();
    for line in lines.filter(|line| !line.starts_with('#')) {
        let (names, taken) = line.split_once(" = ").unwrap_or((line, ""));
        let selector = names.split(' ').next().unwrap_or_default();
        for name in names.split(' ') {
            columns.entry(name).or_insert(Column { selector, taken });
        }
    }
    columns
});

impl Column {
    /// The column of a name as a file has it: `Local CPU Util %` is `local_cpu_util`.
    pub(super) fn of(name: &str) -> Option<Column> {
        let words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let name = words.join("_").to_ascii_lowercase();
        COLUMNS.get(name.as_str()).copied()
    }

    /// What is taken of it, and as which figure or level; `is_sending` where netperf's local endpoint
    /// sends.
    fn target(&self, is_sending: bool) -> Option<(&'static str, &'static str)> {
        let (is, targets) = self.taken.split_once(' ').unwrap_or((self.taken, ""));
        let ends = [["local_", "ls"], ["remote_", "rs"]][usize::from(is_sending)];
        let receives = ends.iter().any(|end| self.selector.starts_with(end));
        let target = targets.split(' ').nth(usize::from(receives))?;
        (!is.is_empty() && target != "-").then_some((is, target))
    }
}

/// The values of a run by the selectors of their columns, whatever form the file has.
#[derive(Clone, Default)]
pub(super) struct Row(BTreeMap<&'static str, (Column, String)>);

impl Row {
    /// What netperf's banner says.
    pub(super) fn of_banner(line: &Line) -> Row {
        let mut row = Row::default();
        let test = line.word("banner_test").unwrap_or_default();
        let test = test.replace(['/', ' '], "_").to_ascii_lowercase();
        let test = test.replace("request_response", "rr");
        let test = test.replace("send|recv", "rr").replace('|', "_");
        row.put("banner_test", &test);
        let direction = match &*test {
            test if test.ends_with("rr") || test.contains("connect") => "Send|Recv",
            test if test.contains("maerts") || test.ends_with("receive") => "Receive",
            _ => "Send",
        };
        row.put("direction", direction);
        line.words().for_each(|(name, value)| row.put(name, value));
        row
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has(&self, column: &Column) -> bool {
        self.0.contains_key(column.selector)
    }

    /// Takes a value, unless it is empty or the column has one.
    pub(super) fn put_in(&mut self, column: Column, value: &str) {
        let value = value.trim().trim_matches('"');
        if !value.is_empty() {
            let own = self.0.entry(column.selector);
            own.or_insert_with(|| (column, value.to_owned()));
        }
    }

    pub(super) fn put(&mut self, name: &str, value: &str) {
        if let Some(column) = Column::of(name) {
            self.put_in(column, value);
        }
    }

    /// Takes what another row has and this one does not.
    pub(super) fn join(&mut self, other: &Row) {
        for (column, value) in other.0.values() {
            self.put_in(*column, value);
        }
    }

    pub(super) fn get(&self, selector: &str) -> Option<&str> {
        Some(self.0.get(selector)?.1.as_str())
    }

    fn number(&self, selector: &str) -> Option<f64> {
        measured(self.get(selector)?)
    }

    /// The name of the test; empty where nothing says it.
    pub(super) fn test(&self) -> &str {
        self.get("banner_test").unwrap_or_default()
    }

    /// True for a test of transactions; absent where nothing says it.
    pub(super) fn is_transactions(&self) -> Option<bool> {
        let by_direction = self
            .get("direction")
            .map(|direction| direction.contains('|'));
        let by_request = || Some(self.get("request_size")?.parse::<f64>().ok()? > 0.0);
        let by_units = || Some(self.get("throughput_units")?.starts_with("Trans"));
        by_direction.or_else(by_request).or_else(by_units)
    }

    /// True where netperf's local endpoint sends; in transactions, where it sends the requests.
    fn is_sending(&self) -> bool {
        let direction = self.get("direction").map(str::to_ascii_lowercase);
        direction.is_none_or(|direction| direction.starts_with("send"))
    }

    /// Its columns become metrics and levels.
    pub(super) fn take(&self, run: &mut Run) {
        for (column, value) in self.0.values() {
            self.set(run, column, value);
        }
        match run.imported.tool.as_str() {
            "netperf" => self.of_netperf(run),
            "nuttcp" => {
                let is_udp = self.get("datagrams").is_some();
                run.level("protocol", ["tcp", "udp"][usize::from(is_udp)].to_owned());
            }
            _ => {}
        }
        let lost = self.number("datagrams_lost").zip(self.number("datagrams"));
        let lost = lost.filter(|(_, of)| *of > 0.0);
        run.figure("loss_pct", lost.map(|(lost, of)| 100.0 * lost / of));
    }

    fn of_netperf(&self, run: &mut Run) {
        let is_transactions = self.is_transactions();
        if is_transactions != Some(true) {
            if is_transactions.is_some() && self.get("direction").is_some() {
                let way = ["reverse", "forward"][usize::from(self.is_sending())];
                run.level("direction", way.to_owned());
            }
            self.loss(run);
        }
        self.confidence(run);
    }

    fn set(&self, run: &mut Run, column: &Column, value: &str) {
        let Some((is, target)) = column.target(self.is_sending()) else {
            return;
        };
        let number = measured(value);
        let is_transactions = self.is_transactions();
        let figure = match is {
            "rate" => return self.rate(run, column, target, number),
            "setting" => return run.setting(target, number),
            "word" if target == "protocol" => {
                return run.level(target, value.to_ascii_lowercase());
            }
            "word" => return run.level(target, value.to_owned()),
            "switch" => {
                let is_on = ["1", "nodelay"].contains(&value);
                return run.level(target, is_on.then(|| "on".to_owned()));
            }
            "demand" => {
                let is_count = is_transactions == Some(true);
                let units = self.get("sd_units");
                number.filter(|_| units.map_or(!is_count, |units| units.starts_with("usec/K")))
            }
            // netperf prints a busiest CPU of 0 for an endpoint that it did not measure.
            "peak" => number.filter(|peak| *peak > 0.0),
            "transaction" => number.filter(|_| is_transactions != Some(false)),
            _ => number,
        };
        run.figure(target, figure);
    }

    /// A rate in the units of the file, or in those that netperf uses by itself. The general one is that
    /// of transactions, also where the file says their bits, or of what a stream received, unless the
    /// receiver's own rate was taken before.
    fn rate(&self, run: &mut Run, column: &Column, target: &str, rate: Option<f64>) {
        let Some(rate) = rate else { return };
        let is_of_transactions =
            column.selector == "throughput" && self.is_transactions() == Some(true);
        let assumed = ["10^6bits/s", "Trans/s"][usize::from(is_of_transactions)];
        let units = self.get("throughput_units");
        if units.is_none() {
            run.note(format!("the file does not state the units of its rates; netperf's default units are assumed ({assumed})"));
        }
        let units = units.unwrap_or(assumed);
        let is_count = units.starts_with("Trans");
        let rate_mbps = mbps(rate, if is_count { "10^6bits/s" } else { units });
        if column.selector != "throughput" {
            run.figure(target, rate_mbps);
        } else if is_count {
            run.figure("transactions_per_second", Some(rate));
        } else if is_of_transactions {
            let bytes = ["request_size", "response_size"].map(|size| self.number(size));
            if let ([Some(request), Some(response)], Some(mbps)) = (bytes, rate_mbps) {
                let per_second = mbps * 1e6 / 8.0 / (request + response);
                run.figure("transactions_per_second", Some(per_second));
            }
        } else if run.get(target).is_none() {
            run.figure(target, rate_mbps);
        }
    }

    /// The share of lost datagrams, where both endpoints report their rates; TCP streams lose none.
    fn loss(&self, run: &mut Run) {
        let tested = self.test().split('_').next();
        let tested = tested.filter(|name| !["", "omni"].contains(name));
        let is_udp = match self.get("protocol").or(tested) {
            Some(name) => name.to_ascii_lowercase().starts_with("udp"),
            None => !run.imported.levels.contains_key("mss_bytes"),
        };
        let sent = run.get("send_throughput_mbps");
        let sent = sent.filter(|sent| is_udp && *sent > 0.0);
        let rates = sent.zip(run.get("throughput_mbps"));
        let lost = |(sent, received): (f64, f64)| 100.0 * (1.0 - received / sent).max(0.0);
        run.figure("loss_pct", rates.map(lost));
    }

    /// The width that netperf itself gives the interval of its result (`-I`), and whether that is
    /// what was requested.
    fn confidence(&self, run: &mut Run) {
        let of = |selector| self.number(selector).filter(|value| *value > 0.0);
        let Some(width) = of("throughput_confid") else {
            return;
        };
        let rates = ["transactions_per_second", "throughput_mbps"];
        if let Some(rate) = rates.into_iter().find(|name| run.get(name).is_some()) {
            run.imported.widths_pct.insert(rate.to_owned(), width);
        }
        run.imported.level_pct = of("confidence_level");
        let mut note = format!("netperf's confidence interval (-I): {width} % wide");
        if let Some(iterations) = of("confidence_iteration") {
            note += &format!(", after {iterations} iterations");
        }
        if let Some(half) = of("banner_half_width") {
            note += &format!("; requested: ±{half} %");
            note += ["", ", which was not reached"][usize::from(width > 2.0 * half)];
        }
        run.note(note);
    }
}
