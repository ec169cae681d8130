//! A log of many runs between all pairs of many hosts, whose results are those of a few real runs.

use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use bitcost_execute::store::Chain;
use bitcost_model::plan::Lengths;
use bitcost_study::Study;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use serde_json::{Value, json};

const SEED: u64 = 1;

/// In place of the number of a run.
const NUMBER: u32 = u32::MAX;

/// Writes the log of about this number of runs into a folder; returns their number.
pub fn write(of: &Path, (hosts, count): (u32, u32), into: &Path) -> Result<usize> {
    let blocks = (count / (hosts * (hosts - 1))).max(1);
    let names: Vec<String> = (1..=hosts).map(|host| format!("\"n{host}\"")).collect();
    let text = format!(
        "title = \"Many runs\"\nquestion = \"What does its log need?\"\n[mesh]\nhosts = [{}]\npattern = \"all-pairs\"\n[workload]\nduration_s = 1\nwarmup_s = 0.2\n[run]\nblocks = {blocks}\n",
        names.join(", ")
    );
    let study = Study::parse("mesh.toml", &text).map_err(|error| anyhow::anyhow!("{error}"))?;
    let plan = study.plan(SEED, Lengths::default());
    let mut log = Log {
        file: BufWriter::new(std::fs::File::create(into.join("events.jsonl"))?),
        chain: Chain::default(),
    };
    let mut results = Vec::new();
    for line in BufReader::new(std::fs::File::open(of)?).lines() {
        let mut event: Value = serde_json::from_str(&line?)?;
        event
            .as_object_mut()
            .context("an event")?
            .remove("checksum");
        match event["event"].as_str() {
            Some("execution_began") => event["study_text"] = json!(text),
            Some("planned") => event["plan"] = serde_json::to_value(&plan)?,
            Some("prepared") => {}
            Some("run_ended") => {
                results.push(shortened(event)?.to_string());
                continue;
            }
            _ => continue,
        }
        log.put(&event.to_string())?;
    }
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let (number, began) = (NUMBER.to_string(), "2026-01-01T00:00:00.000+00:00");
    for run in &plan.runs {
        let index = run.index;
        log.put(&json!({ "event": "run_began", "run": index, "at": began }).to_string())?;
        let result = &results[random.next_u32() as usize % results.len()];
        log.put(&result.replace(&number, &index.to_string()))?;
    }
    log.put(&json!({ "event": "execution_ended", "at": began }).to_string())?;
    log.file.flush()?;
    Ok(plan.runs.len())
}

/// A result with the first and the last sample of each end, and without what the kernel's tables say.
fn shortened(mut event: Value) -> Result<Value> {
    event["run"] = json!(NUMBER);
    for role in ["sender", "receiver"] {
        let end = event[role].as_object_mut().context("an end")?;
        end.remove("whole");
        let samples = end.get_mut("samples").and_then(Value::as_array_mut);
        let samples = samples.context("samples")?;
        let count = samples.len();
        if count > 2 {
            samples.drain(1..count - 1);
        }
        for sample in samples {
            sample
                .as_object_mut()
                .context("a sample")?
                .remove("protocols");
        }
    }
    Ok(event)
}

/// The lines of a log, each with its checksum.
struct Log {
    file: BufWriter<std::fs::File>,
    chain: Chain,
}

impl Log {
    fn put(&mut self, line: &str) -> Result<()> {
        let mut line = line.as_bytes().to_vec();
        self.chain.seal(&mut line);
        Ok(self.file.write_all(&line)?)
    }
}
