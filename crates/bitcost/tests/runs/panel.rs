//! The panel of `watch` and of tests, on a terminal that the test reads.

use crate::bench::*;
use crate::foreign::Pair;
use bitcost_testkit::process::terminal;
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};
use std::fs::File;
use std::sync::{Arc, Mutex};

bitcost_testkit::trials! {
    QuietHost: panel_sorts_and_explains;
    Host: panel_leaves_the_terminal_as_it_was, panel_shows_a_test_until_it_is_stopped;
}

/// A command, such as `watch` of this process's connections, on a terminal of its own.
struct Panel {
    outer: File,
    inner: File,
    running: Child,
    sent: Arc<Mutex<Vec<u8>>>,
}

impl Panel {
    fn start() -> Panel {
        Panel::of(&["watch", "--pid", &std::process::id().to_string()])
    }

    fn of(words: &[&str]) -> Panel {
        let [outer, inner] = terminal();
        let end = || Stdio::from(inner.try_clone().unwrap());
        let mut command = Command::new("setsid");
        let command = command.arg("--ctty").arg(program());
        let command = command.args(words).env("TERM", "xterm");
        let command = command.stdin(end()).stdout(end()).stderr(end());
        let sent = Arc::<Mutex<Vec<u8>>>::default();
        let (mut from, to) = (outer.try_clone().unwrap(), sent.clone());
        let panel = Panel {
            outer,
            running: command.spawn().unwrap(),
            inner,
            sent,
        };
        panel.resize(80, 24);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut bytes) {
                to.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        });
        panel
    }

    fn resize(&self, ws_col: u16, ws_row: u16) {
        let size = Winsize {
            ws_row,
            ws_col,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&self.outer, size).unwrap();
    }

    fn types(&self, keys: &str) {
        (&self.outer).write_all(keys.as_bytes()).unwrap();
    }

    /// The lines of the screen.
    fn screen(&self) -> Vec<String> {
        let sent = self.sent.lock().unwrap();
        let mut cells = vec![vec![' '; 200]; 60];
        let (mut row, mut column) = (0, 0);
        // Each part is a sequence that ends in a letter, and words.
        for part in String::from_utf8_lossy(&sent).split('\u{1b}').skip(1) {
            let end = part.find(|letter: char| letter.is_ascii_alphabetic());
            let (sequence, words) = part.split_at(end.map_or(part.len(), |end| end + 1));
            let place = sequence.trim_start_matches('[').split_once(';');
            match (sequence, place) {
                ("[2J", _) => cells = vec![vec![' '; 200]; 60],
                (_, Some((to, rest))) if rest.ends_with('H') => {
                    row = to.parse::<usize>().unwrap() - 1;
                    column = rest.trim_end_matches('H').parse::<usize>().unwrap() - 1;
                }
                _ => {}
            }
            for letter in words.chars().filter(|letter| !letter.is_control()) {
                cells[row][column] = letter;
                column += 1;
            }
        }
        let lines = cells.into_iter().map(String::from_iter);
        lines
            .map(|line: String| line.trim_end().to_owned())
            .collect()
    }

    /// Waits until the lines of the screen are so.
    fn shows(&self, what: &str, is_so: impl Fn(&[String]) -> bool) {
        let found = within(PATIENCE, || is_so(&self.screen()).then_some(()));
        found.unwrap_or_else(|| panic!("{what}: {}", self.screen().join("\n")));
    }
}

fn panel_sorts_and_explains() {
    let (fast, _slow) = (Pair::slow(), Pair::of_writes(2000));
    let mut panel = Panel::start();
    let is_fast = |line: &String| fast.ends.iter().any(|end| line.contains(&end.to_string()));
    panel.shows("the fastest first", |lines| {
        let fast: Vec<bool> = lines[1..5].iter().map(is_fast).collect();
        fast == [true, true, false, false] && lines[22].starts_with("4 connections with data")
    });
    panel.types("r");
    panel.shows("those that send first", |lines| {
        let send = lines[1..5].iter().map(|line| line.contains('→'));
        send.eq([true, true, false, false])
    });
    panel.resize(120, 40);
    panel.shows("more lines", |lines| lines[39].starts_with("q quit"));
    panel.types("\u{1b}[A\u{1b}[A\u{1b}[A\r");
    panel.shows("the connection in depth", |lines| {
        let words = ["sender's program (1 run, likely)", "evidence: ", "remedy: "];
        let mut words = words.iter();
        words.all(|words| lines.iter().any(|line| line.contains(words)))
    });
    panel.types("\u{1b}");
    panel.shows("the list", |lines| lines[0].contains("limited by"));
    panel.types("q");
    assert!(panel.running.wait().unwrap().success());
}

fn panel_leaves_the_terminal_as_it_was() {
    let _pair = Pair::slow();
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let mut panel = Panel::start();
        let modes = || {
            let modes = tcgetattr(&panel.inner).unwrap();
            (modes.input_modes, modes.output_modes, modes.local_modes)
        };
        let before = modes();
        panel.shows("the list", |lines| lines[1].contains("127.0.0.1"));
        assert_ne!(modes(), before);
        for _ in 0..2 {
            kill_process(Pid::from_child(&panel.running), signal).unwrap();
        }
        assert_eq!(panel.running.wait().unwrap().code(), Some(130));
        assert_eq!(modes(), before);
        let is_left = || {
            let sent = panel.sent.lock().unwrap();
            let sent = String::from_utf8_lossy(&sent).into_owned();
            // The screen as it was before, and the cursor.
            let mut ends = ["\u{1b}[?1049l", "\u{1b}[?25h", "stopped"].iter();
            ends.all(|end| sent.contains(*end)).then_some(())
        };
        eventually(PATIENCE, "what was there before", is_left);
    }
    let mut panel = Panel::start();
    panel.shows("the list", |lines| lines[1].contains("127.0.0.1"));
    panel.types("\u{3}");
    assert_eq!(panel.running.wait().unwrap().code(), Some(130));
}

fn panel_shows_a_test_until_it_is_stopped() {
    let words = "test tcp -t 60s --topology lab15 --no-log --live";
    let words: Vec<&str> = words.split(' ').collect();
    let mut panel = Panel::of(&words);
    panel.shows("both ends, queues and seconds", |lines| {
        let ends = [&lines[1], &lines[2]];
        let ends = ends.map(|line| {
            line.split_whitespace()
                .take(2)
                .collect::<Vec<_>>()
                .join(" ")
        });
        let words =
            ["s2-eth2", "2 s sender"].map(|words| lines.iter().any(|line| line.contains(words)));
        ends == ["sender →", "receiver ←"] && words == [true; 2]
    });
    panel.types("q");
    assert_eq!(panel.running.wait().unwrap().code(), Some(130));
    let sent = || String::from_utf8_lossy(&panel.sent.lock().unwrap()).into_owned();
    let result = || sent().split("\u{1b}[?1049l").nth(1).map(str::to_owned);
    let is_printed = || result()?.contains("throughput").then_some(());
    eventually(PATIENCE, "the result after the panel", is_printed);
    let done = Bench::new().bitcost(&words);
    done.assert_code(2);
    done.assert_says("--live needs a terminal");
}
