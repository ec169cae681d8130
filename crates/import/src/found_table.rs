//! Tables of comma-separated values with the columns of netperf's omni output as runs.

use model::study::Label;

use crate::table::{ForeignRun, read_table};
use crate::{Found, netperf};

pub(crate) fn is(text: &str) -> bool {
    read_table(text).is_ok()
}

pub(crate) fn read(file: &str, text: &str) -> Result<Vec<Found>, String> {
    Ok(read_table(text).map_err(|error| error.to_string())?.into_iter().map(|run| found(file, run)).collect())
}

fn found(file: &str, run: ForeignRun) -> Found {
    let mut found = Found::of("netperf", file);
    found.run.place = Some(format!("line {}", run.line));
    for (factor, bytes) in [("message_size_bytes", run.message_size_bytes), ("mss_bytes", run.segment_size_bytes)] {
        if let Some(bytes) = bytes {
            found.level(factor, Label::Number(bytes.into()));
        }
    }
    for (name, calls) in ["local_send_calls", "remote_recv_calls"].into_iter().zip(run.calls) {
        if let Some(calls) = calls {
            found.fact(name, calls);
        }
    }
    // Below 0 stands for what netperf did not measure.
    for (name, value) in run.figures {
        found.figure(name, Some(value).filter(|value| *value >= 0.0));
    }
    found.run.facts.extend(run.facts);
    netperf::note(&mut found);
    found
}
