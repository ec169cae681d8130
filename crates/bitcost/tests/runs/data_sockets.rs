//! Datagrams that do not belong to the run, at the port of a real run: no figure counts them.

use crate::bench::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

bitcost_testkit::trials! {
    PrivateNetwork: foreign_datagrams_change_no_figure;
}

fn bitcost(folder: &std::path::Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bitcost"))
        .args(words)
        .current_dir(folder)
        .output()
        .unwrap()
}

/// A message with the header of the warm-up and a number far ahead, or of the window with numbers
/// from 0 on, and without the token of any run.
fn message(first: u8, from: u64, number: u64) -> Vec<u8> {
    let mut message = (from + number).to_be_bytes().to_vec();
    message[0] = first;
    message.resize(1024, 0);
    message
}

fn foreign_datagrams_change_no_figure() {
    let place = tempfile::tempdir().unwrap();
    let over: Arc<AtomicBool> = Arc::default();
    let is_over = over.clone();
    let foreign_sender = thread::spawn(move || {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        for number in 0.. {
            for (first, from) in [(0xB0, 1 << 39), (0xB1, 0)] {
                // The port may not be open yet, or not any more.
                let _ = socket.send_to(&message(first, from, number), "127.0.0.1:5300");
            }
            if is_over.load(Relaxed) {
                return;
            }
            thread::sleep(Duration::from_micros(50));
        }
    });
    let words = "test udp -t 300ms -b 4M -l 1024 --receiver local -p 5300 --json";
    let output = bitcost(place.path(), &words.split(' ').collect::<Vec<_>>());
    over.store(true, Relaxed);
    foreign_sender.join().unwrap();
    assert!(output.status.success(), "{output:?}");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let figure = |name: &str| {
        document["cells"][0][name]["median"]
            .as_f64()
            .unwrap_or_else(|| panic!("{name}: {document:#}"))
    };
    let [received, sent] = ["throughput_mbps", "send_throughput_mbps"].map(figure);
    assert!(
        received > 0.0 && received <= sent,
        "{received} of {sent} Mbit/s"
    );
    let marred = ["late_pct", "reordered_pct", "duplicated_pct"];
    assert_eq!(marred.map(figure), [0.0; 3]);
}
