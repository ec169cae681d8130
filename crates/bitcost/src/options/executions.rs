//! Several executions of a study, one after the other.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use bitcost_model::units::{parse_duration, show_duration};

use super::whole::whole;
use crate::output;

const EXECUTIONS_MOST: u32 = 1000;

/// Time between two looks at whether the user stopped a pause.
const LOOK: Duration = Duration::from_millis(50);

/// How often a study is executed.
#[derive(clap::Args)]
pub struct Executions {
    /// Run the whole study N times, each with its own folder and order, for `bitcost compare --old
    /// … --new …`
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=EXECUTIONS_MOST), conflicts_with = "resume")]
    executions: Option<u32>,
    /// With --executions: time to wait between them, such as 10m [default: none]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, requires = "executions")]
    pause: Option<Duration>,
}

impl Executions {
    /// How many there are to be, where several are requested.
    pub fn several(&self) -> Option<u32> {
        self.executions.filter(|executions| *executions > 1)
    }

    /// Waits before the execution of this number, from 1, and says that it starts. Returns whether
    /// the user stopped it.
    pub fn is_stopped_before(&self, number: u32, stop: &AtomicBool) -> bool {
        if let Some(pause) = self.pause.filter(|_| number > 1) {
            output::say(&format!("pause of {}", show_duration(pause)));
            let start = Instant::now();
            while start.elapsed() < pause && !stop.load(Ordering::Relaxed) {
                sleep(LOOK.min(pause.saturating_sub(start.elapsed())));
            }
        }
        let is_stopped = stop.load(Ordering::Relaxed);
        if !is_stopped {
            let all = self.executions.unwrap_or(1);
            output::say(&format!("execution {number} of {all}"));
        }
        is_stopped
    }
}

/// Prints on standard error the folders of executions.
pub fn say_folders(folders: &[PathBuf]) {
    for folder in folders {
        output::say_whole(&format!("execution: {}", output::shell_word(folder)));
    }
}
