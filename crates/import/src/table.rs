//! Tables of runs as CSV: netperf's omni output, with its own column names or those of the seed data.

use std::collections::BTreeMap;

use model::near::did_you_mean;

/// One line of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForeignRun {
    /// Its line in the file, from 1.
    pub line: u64,
    /// Bytes that one send call handed over.
    pub message_size_bytes: Option<u32>,
    /// User data per TCP segment, in bytes.
    pub segment_size_bytes: Option<u32>,
    /// Send calls and receive calls of the whole run.
    pub calls: [Option<u64>; 2],
    /// Figures by the names of our metrics.
    pub figures: BTreeMap<&'static str, f64>,
    /// All other columns, by the names that the file uses.
    pub facts: BTreeMap<String, String>,
}

/// Why a text is no table of runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// It cannot be read as CSV.
    #[error("line {line}: {why}")]
    NotCsv {
        /// The line, from 1.
        line: u64,
        /// What is wrong.
        why: String,
    },
    /// A value is not what its column holds.
    #[error("line {line}, column `{column}`: `{text}` is not {wanted}")]
    NoNumber {
        /// The line, from 1.
        line: u64,
        /// The column's name.
        column: String,
        /// What stands there.
        text: String,
        /// What should.
        wanted: &'static str,
    },
    /// A column that must be there is not.
    #[error("no column with {wanted} in its first line{hint}; allowed: {allowed}")]
    NoColumn {
        /// What is wanted.
        wanted: &'static str,
        /// A name that is near, if there is one.
        hint: String,
        /// Names that would do.
        allowed: String,
    },
}

/// Where the value of a column goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    MessageSize,
    SegmentSize,
    /// Of the sender, of the receiver.
    Calls(usize),
    /// The name of our metric.
    Figure(&'static str),
}

/// The columns that are known. netperf's service demand is that of the whole host, by bytes sent at both ends.
const COLUMNS: &[(&str, Place)] = &[
    ("local_send_size", Place::MessageSize),
    ("message_size_bytes", Place::MessageSize),
    ("transport_mss", Place::SegmentSize),
    ("local_send_throughput_mbps", Place::Figure("send_throughput_mbps")),
    ("local_send_throughput", Place::Figure("send_throughput_mbps")),
    ("remote_recv_throughput_mbps", Place::Figure("throughput_mbps")),
    ("remote_recv_throughput", Place::Figure("throughput_mbps")),
    ("throughput_mbps", Place::Figure("throughput_mbps")),
    ("throughput", Place::Figure("throughput_mbps")),
    ("local_send_calls", Place::Calls(0)),
    ("remote_recv_calls", Place::Calls(1)),
    ("local_cpu_util_pct", Place::Figure("sender_cpu_util_pct")),
    ("local_cpu_util", Place::Figure("sender_cpu_util_pct")),
    ("local_peak_cpu_pct", Place::Figure("sender_peak_cpu_pct")),
    ("local_cpu_peak_util", Place::Figure("sender_peak_cpu_pct")),
    ("local_sd_us_per_kib", Place::Figure("netperf_send_service_demand_us_per_kib")),
    ("local_sd", Place::Figure("netperf_send_service_demand_us_per_kib")),
    ("remote_cpu_util_pct", Place::Figure("receiver_cpu_util_pct")),
    ("remote_cpu_util", Place::Figure("receiver_cpu_util_pct")),
    ("remote_peak_cpu_pct", Place::Figure("receiver_peak_cpu_pct")),
    ("remote_cpu_peak_util", Place::Figure("receiver_peak_cpu_pct")),
    ("remote_sd_us_per_kib", Place::Figure("netperf_receive_service_demand_us_per_kib")),
    ("remote_sd", Place::Figure("netperf_receive_service_demand_us_per_kib")),
];

impl ForeignRun {
    /// The size that its cost depends on: of a segment where it says one, else of a message, in bytes.
    pub fn size_bytes(&self) -> Option<u32> {
        self.segment_size_bytes.or(self.message_size_bytes)
    }

    fn set(&mut self, place: Place, value: f64) {
        match place {
            Place::MessageSize => self.message_size_bytes = Some(value as u32),
            Place::SegmentSize => self.segment_size_bytes = Some(value as u32),
            Place::Calls(end) => self.calls[end] = Some(value as u64),
            Place::Figure(name) => {
                self.figures.insert(name, value);
            }
        }
    }

    /// Datagrams lost, where both ends say how much.
    fn derive(&mut self) {
        let sent = self.figures.get("send_throughput_mbps").copied().filter(|sent| *sent > 0.0);
        if let Some((sent, received)) = sent.zip(self.figures.get("throughput_mbps").copied()) {
            self.figures.insert("loss_pct", 100.0 * (1.0 - received / sent).max(0.0));
        }
    }
}

/// Reads a table whose first line names its columns. Columns that are not known stay facts; empty fields are absent.
///
/// # Errors
/// The line, the column and what is wrong with it.
pub fn read_table(text: &str) -> Result<Vec<ForeignRun>, TableError> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let names: Vec<String> = reader.headers().map_err(not_csv)?.iter().map(str::to_owned).collect();
    must_have(&names, "the size of messages or segments", |place| {
        matches!(place, Place::MessageSize | Place::SegmentSize)
    })?;
    must_have(&names, "a throughput", |place| {
        matches!(place, Place::Figure("throughput_mbps" | "send_throughput_mbps"))
    })?;
    let records = reader.records();
    records.map(|record| read_run(&names, &record.map_err(not_csv)?)).collect()
}

fn not_csv(error: csv::Error) -> TableError {
    let line = error.position().map_or(1, csv::Position::line);
    TableError::NotCsv { line, why: error.to_string() }
}

fn place_of(name: &str) -> Option<Place> {
    COLUMNS.iter().find(|(known, _)| *known == name).map(|(_, place)| *place)
}

fn must_have(names: &[String], wanted: &'static str, is_it: fn(&Place) -> bool) -> Result<(), TableError> {
    if names.iter().filter_map(|name| place_of(name)).any(|place| is_it(&place)) {
        return Ok(());
    }
    let known = || COLUMNS.iter().filter(|(_, place)| is_it(place)).map(|(name, _)| *name);
    let hint = names.iter().map(|name| did_you_mean(name, known())).find(|hint| !hint.is_empty()).unwrap_or_default();
    Err(TableError::NoColumn { wanted, hint, allowed: known().collect::<Vec<_>>().join(", ") })
}

fn read_run(names: &[String], record: &csv::StringRecord) -> Result<ForeignRun, TableError> {
    let line = record.position().map_or(0, csv::Position::line);
    let mut run = ForeignRun { line, ..ForeignRun::default() };
    for (name, text) in names.iter().zip(record).filter(|(_, text)| !text.is_empty()) {
        let Some(place) = place_of(name) else {
            run.facts.insert(name.clone(), text.to_owned());
            continue;
        };
        let wanted = if matches!(place, Place::Figure(_)) { "a number" } else { "a whole number" };
        let value = text.parse::<f64>().ok().filter(|value| match place {
            Place::Figure(_) => value.is_finite(),
            Place::Calls(_) => value.fract() == 0.0 && (0.0..9e15).contains(value),
            Place::MessageSize | Place::SegmentSize => value.fract() == 0.0 && (1.0..4e9).contains(value),
        });
        let error = || TableError::NoNumber { line, column: name.clone(), text: text.to_owned(), wanted };
        run.set(place, value.ok_or_else(error)?);
    }
    run.derive();
    Ok(run)
}
