//! Datagrams that are not of the run, at the port of a real run: no figure has them.

use std::net::UdpSocket;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

fn main() {
    testkit::main(vec![("a_stranger_at_the_port_changes_no_figure", stranger)]);
}

fn bitcost(folder: &std::path::Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bitcost")).args(words).current_dir(folder).output().unwrap()
}

/// Headers of the warm-up far ahead, or of the window from 0 on, without bytes of any run's token.
fn message(first: u8, from: u64, number: u64) -> Vec<u8> {
    let mut message = (from + number).to_be_bytes().to_vec();
    message[0] = first;
    message.resize(1024, 0);
    message
}

fn stranger() {
    for (first, from) in [(0xB0, 1 << 39), (0xB1, 0)] {
        let over: Arc<AtomicBool> = Arc::default();
        let told = over.clone();
        let flood = thread::spawn(move || {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            for number in 0.. {
                // Nobody may be there yet, or any more.
                let _ = socket.send_to(&message(first, from, number), "127.0.0.1:5300");
                if told.load(Relaxed) {
                    return;
                }
            }
        });
        let words = "test udp -t 300ms -b 4M -l 1024 --receiver local -p 5300 --json";
        let output = bitcost(&std::env::temp_dir(), &words.split(' ').collect::<Vec<_>>());
        over.store(true, Relaxed);
        flood.join().unwrap();
        assert!(output.status.success(), "{output:?}");
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let figure = |name: &str| document["metrics"][name].as_f64().unwrap_or_else(|| panic!("{name}: {document:#}"));
        let [received, sent] = ["throughput_mbps", "send_throughput_mbps"].map(figure);
        assert!(received > 0.0 && received <= sent, "{received} of {sent} Mbit/s");
        assert_eq!([figure("late_pct"), figure("reordered_pct"), figure("duplicated_pct")], [0.0; 3]);
    }
}
