//! Recordings of runs with their truth: a line of JSON for each, with what was requested and the record of each end. Of its
//! samples a line has the first one, and for each number that changes the differences from sample to sample.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use bitcost_analysis::explain::{Packet, PacketCost, Signals, Verdict};
use bitcost_analysis::metrics::{Figures, RunView};
use bitcost_analysis::statistics::LineFit;
use bitcost_model::conditions::Conditions;
use bitcost_model::record::{EndpointRecord, Sample};
use serde::Deserialize;
use serde_json::Value;

/// What packets cost in scenarios, by the number of the file that holds their runs and by their names.
pub type Lines = BTreeMap<(usize, String), LineFit>;

/// A run with its truth, as it is written.
#[derive(Deserialize)]
pub struct Line {
    scenario: String,
    right: Vec<String>,
    repeat: u32,
    sweep: Option<u32>,
    conditions: Conditions,
    sender: End,
    receiver: End,
}

#[derive(Deserialize)]
struct End {
    /// Without its samples.
    record: EndpointRecord,
    first: Value,
    /// By places in a sample (JSON pointers) how much each sample has more than the one before; differences of 0 at the
    /// end are left out.
    differences: BTreeMap<String, Vec<i64>>,
}

pub struct Trial {
    /// Its scenario; the name begins with the limiter.
    pub scenario: String,
    /// The limiters that it has by construction, by their names in JSON.
    pub right: Vec<String>,
    pub repeat: u32,
    /// The message size of a run that is made for the cost of packets.
    pub sweep: Option<u32>,
    /// The number of the file that it was read from.
    pub source: usize,
    conditions: Conditions,
    sender: EndpointRecord,
    receiver: EndpointRecord,
}

impl Line {
    /// The trial of a line; `source` is the number of its file.
    pub fn trial(self, source: usize) -> Result<Trial> {
        Ok(Trial {
            scenario: self.scenario,
            right: self.right,
            repeat: self.repeat,
            sweep: self.sweep,
            source,
            conditions: self.conditions,
            sender: self.sender.record()?,
            receiver: self.receiver.record()?,
        })
    }
}

impl End {
    fn record(self) -> Result<EndpointRecord> {
        let (mut record, mut sample) = (self.record, self.first);
        let more = self.differences.values().map(Vec::len).max();
        for index in 0..=more.unwrap_or(0) {
            let read: Sample = serde_json::from_value(sample.clone())?;
            if index == 0 {
                // A place that a sample no longer has would be read as 0.
                let known = serde_json::to_value(&read)?;
                for place in self.differences.keys() {
                    ensure!(known.pointer(place).is_some(), "a sample has no {place}");
                }
            }
            record.samples.push(read);
            for (place, differences) in &self.differences {
                let number = sample.pointer_mut(place);
                let number = number.with_context(|| format!("no {place} in the first sample"))?;
                let difference = differences.get(index).copied().unwrap_or(0);
                *number = match &*number {
                    Value::Bool(was) => (*was != (difference != 0)).into(),
                    was => {
                        let was = was
                            .as_u64()
                            .with_context(|| format!("no number at {place}"))?;
                        was.wrapping_add_signed(difference).into()
                    }
                };
            }
        }
        Ok(record)
    }
}

impl Trial {
    fn view(&self) -> RunView<'_> {
        RunView {
            interrupted: None,
            sender: &self.sender,
            receiver: &self.receiver,
            conditions: &self.conditions,
            shared_cpus: true,
            napi_threaded: true,
            shaped_bps: None,
        }
    }

    pub fn packet(&self) -> Option<Packet> {
        let view = self.view();
        Packet::of(view.conditions, &Figures::of(|one| (one.compute)(&view)))
    }

    /// What bitcost says of it, by what packets cost in its own file or in the last one before it that tells.
    pub fn verdict(&self, lines: &Lines) -> Verdict {
        let own = lines.iter();
        let own = own.filter(|((_, name), _)| *name == self.scenario);
        let before = own.clone().rfind(|((source, _), _)| *source <= self.source);
        let line = before.or_else(|| own.clone().next());
        let both = self.packet().zip(line);
        let cost = both.and_then(|(packet, (_, line))| PacketCost::of(packet, line));
        self.signals().verdict(cost)
    }

    pub fn signals(&self) -> Signals {
        Signals::of(&self.view())
    }
}
