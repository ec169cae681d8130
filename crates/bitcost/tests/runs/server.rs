//! A server of bitcost that a test starts and stops.

use crate::bench::*;
use std::io::{BufRead, BufReader};
use std::process::ChildStdout;

/// A process that is killed when this is dropped.
pub struct Owned(pub Child);

pub struct Server {
    process: Owned,
    output: BufReader<ChildStdout>,
}

impl Server {
    pub fn start(command: &mut Command) -> Server {
        let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = piped.spawn().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        Server {
            process: Owned(process),
            output,
        }
    }

    /// The next line that it prints on standard output.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    pub fn id(&self) -> u32 {
        self.process.0.id()
    }

    /// Stops it with a signal; returns its standard output and standard error.
    pub fn stop(&mut self, signal: Signal) -> (String, String) {
        kill_process(Pid::from_child(&self.process.0), signal).unwrap();
        let (mut printed, mut said) = (String::new(), String::new());
        self.output.read_to_string(&mut printed).unwrap();
        let mut stderr = self.process.0.stderr.take().unwrap();
        stderr.read_to_string(&mut said).unwrap();
        assert!(self.process.0.wait().unwrap().success(), "{printed}{said}");
        (printed, said)
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // It has ended, unless the test failed before.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
