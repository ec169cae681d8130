//! The columns of netperf's outputs and of tables made from them, by name, and the figures and
//! settings that their values become.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use crate::run::{Run, mbps, measured};

/// Units that a name may end with, as netperf writes them.
const UNITS: [(&str, &str); 5] = [
    ("_mbps", "10^6bits/s"),
    ("_us_per_kib", "usec/KB"),
    ("_pct", "%"),
    ("_usec", "usec"),
    ("_bytes", "bytes"),
];

/// A known column: its selector, what is taken of it, and the units that its name contains.
#[derive(Clone, Copy)]
pub(super) struct Column {
    selector: &'static str,
    taken: &'static str,
    units: Option<&'static str>,
}

/// By every name that the file has; of a name that is there twice the first.
static COLUMNS: LazyLock<HashMap<&str, Column>> = LazyLock::new(|| {
    let mut columns = HashMap::new();
    let lines = include_str!("names.txt").lines();
    for line in lines.filter(|line| !line.starts_with('#')) {
        let (names, taken) = line.split_once(" = ").unwrap_or((line, ""));
        let selector = names.split(' ').next().unwrap_or_default();
        for name in names.split(' ') {
            let column = Column {
                selector,
                taken,
                units: None,
            };
            columns.entry(name).or_insert(column);
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
        let of_units = |(end, units)| {
            let column = *COLUMNS.get(name.strip_suffix(end)?)?;
            let units = Some(units);
            Some(Column { units, ..column })
        };
        let known = COLUMNS.get(name.as_str()).copied();
        known.or_else(|| UNITS.into_iter().find_map(of_units))
    }

    pub(super) fn is_size(&self) -> bool {
        ["local_send_size", "remote_send_size", "transport_mss"].contains(&self.selector)
    }

    pub(super) fn is_throughput(&self) -> bool {
        self.selector.ends_with("throughput")
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
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has(&self, column: &Column) -> bool {
        self.0.contains_key(column.selector)
    }

    /// Takes a value, unless it is empty or the column has one.
    pub(super) fn put(&mut self, column: Column, value: &str) {
        let value = value.trim().trim_matches('"');
        if !value.is_empty() {
            let own = self.0.entry(column.selector);
            own.or_insert_with(|| (column, value.to_owned()));
        }
    }

    /// Takes the values of a line; those of unknown columns are none.
    pub(super) fn put_all<'a>(
        &mut self,
        columns: &[Option<Column>],
        values: impl IntoIterator<Item = &'a str>,
    ) {
        for (column, value) in columns.iter().zip(values) {
            column.iter().for_each(|column| self.put(*column, value));
        }
    }

    pub(super) fn put_named(&mut self, selector: &str, value: &str) {
        if let Some(column) = COLUMNS.get(selector) {
            self.put(*column, value);
        }
    }

    /// Takes what another row has and this one does not.
    pub(super) fn join(&mut self, other: Row) {
        for (selector, value) in other.0 {
            self.0.entry(selector).or_insert(value);
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
        self.get("(test)").unwrap_or_default()
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

    /// The units of its rates: those of the file, or those that netperf uses by itself.
    fn rate_units(&self) -> &str {
        let assumed = match self.is_transactions() {
            Some(true) => "Trans/s",
            _ => "10^6bits/s",
        };
        self.get("throughput_units").unwrap_or(assumed)
    }

    /// Its columns become metrics and levels.
    pub(super) fn take(&self, run: &mut Run) {
        for (column, value) in self.0.values() {
            self.set(run, column, value);
        }
        let is_rate = |column: &Column| column.is_throughput() && column.units.is_none();
        let mut values = self.0.values();
        let has_rate = values.any(|(column, value)| is_rate(column) && measured(value).is_some());
        if has_rate && self.get("throughput_units").is_none() {
            let units = self.rate_units();
            run.note(format!("the file does not state the units of its rates; netperf's default units are assumed ({units})"));
        }
        match self.is_transactions() {
            Some(true) => self.of_bits(run),
            is_transactions => {
                if is_transactions.is_some() && self.get("direction").is_some() {
                    let way = ["reverse", "forward"][usize::from(self.is_sending())];
                    run.level("direction", way.to_owned());
                }
                self.loss(run);
            }
        }
        self.confidence(run);
    }

    fn set(&self, run: &mut Run, column: &Column, value: &str) {
        let Some((is, target)) = column.target(self.is_sending()) else {
            return;
        };
        let (number, units, of_row) = (measured(value), column.units, self.rate_units());
        let is_transactions = self.is_transactions();
        let figure = match is {
            "throughput" => return self.throughput(run, number, units.unwrap_or(of_row)),
            "setting" => return run.setting(target, number),
            "word" if target == "protocol" => {
                return run.level(target, value.to_ascii_lowercase());
            }
            "word" => return run.level(target, value.to_owned()),
            "switch" => return run.level(target, (value == "1").then(|| "on".to_owned())),
            "rate" => {
                // Bits also where the test counts transactions.
                let of_row = Some(of_row).filter(|units| !units.starts_with("Trans"));
                let units = units.or(of_row).unwrap_or("10^6bits/s");
                number.and_then(|rate| mbps(rate, units))
            }
            "demand" => {
                let is_count = is_transactions == Some(true);
                let units = units.or(self.get("sd_units"));
                number.filter(|_| units.map_or(!is_count, |units| units.starts_with("usec/K")))
            }
            // netperf prints a busiest CPU of 0 for an endpoint that it did not measure.
            "peak" => number.filter(|peak| *peak > 0.0),
            "transaction" => number.filter(|_| is_transactions != Some(false)),
            _ => number,
        };
        run.figure(target, figure);
    }

    /// The general figure: the received bits of a stream, or transactions. Where the row has the
    /// receiver's own figure, that is taken.
    fn throughput(&self, run: &mut Run, rate: Option<f64>, units: &str) {
        if units.starts_with("Trans") {
            return run.figure("transactions_per_second", rate);
        }
        let end = ["local", "remote"][usize::from(self.is_sending())];
        let received = self.number(&format!("{end}_recv_throughput"));
        if self.is_transactions() != Some(true) && received.is_none() {
            run.figure("throughput_mbps", rate.and_then(|rate| mbps(rate, units)));
        }
    }

    /// Transactions per second of a test of transactions that reports bits, which are those of
    /// requests and responses.
    fn of_bits(&self, run: &mut Run) {
        let bytes = ["request_size", "response_size"].map(|size| self.number(size));
        let rate = self.number("throughput");
        let rate = rate.and_then(|rate| mbps(rate, self.rate_units()));
        if let ([Some(request), Some(response)], Some(mbps)) = (bytes, rate) {
            let per_second = mbps * 1e6 / 8.0 / (request + response);
            run.figure("transactions_per_second", Some(per_second));
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
        // `+/-2.500% @ 99%`
        let requested = self.get("(confidence)").unwrap_or_default();
        let parts = requested.split(['/', '-', '%', '@', ' ']);
        let mut parts = parts.filter_map(|part| part.parse::<f64>().ok());
        let (half, level) = (parts.next(), parts.next());
        run.imported.level_pct = of("confidence_level").or(level);
        let mut note = format!("netperf's confidence interval (-I): {width} % wide");
        if let Some(iterations) = of("confidence_iteration") {
            note += &format!(", after {iterations} iterations");
        }
        if !requested.is_empty() {
            note += &format!("; requested: {requested}");
        }
        if half.is_some_and(|half| width > 2.0 * half) {
            note += ", which was not reached";
        }
        run.note(note);
    }
}
