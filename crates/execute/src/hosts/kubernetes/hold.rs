//! The first process of a container in which agents are started: it ends, and the container with it, when no agent
//! was there for some time, so that nothing stays in a cluster whose controller has ended.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const FIRST: Duration = Duration::from_secs(300);

const NEXT: Duration = Duration::from_secs(60);

const PERIOD: Duration = Duration::from_millis(500);

/// Waits until there are no agents any more, or a signal says so.
pub fn hold(stop: &AtomicBool) {
    let (mut seen, mut patience) = (Instant::now(), FIRST);
    while !stop.load(Ordering::Relaxed) && seen.elapsed() < patience {
        if has_agent() {
            (seen, patience) = (Instant::now(), NEXT);
        }
        std::thread::sleep(PERIOD);
    }
}

fn has_agent() -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .any(|line| is_agent(&line))
}

/// Whether a command line is that of an agent, and not of a process such as this one.
fn is_agent(line: &[u8]) -> bool {
    let mut words = line.split(|byte| *byte == 0).skip(1);
    words.next() == Some(b"agent") && !words.any(|word| word == b"--hold")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_known_by_its_command_line() {
        assert!(is_agent(b"bitcost\0agent\0"));
        for line in [
            &b"bitcost\0agent\0--hold\0"[..],
            b"sh\0-c\0agent\0",
            b"agent\0",
            b"",
        ] {
            assert!(!is_agent(line), "{line:?}");
        }
    }
}
