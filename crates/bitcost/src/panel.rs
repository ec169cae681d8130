//! A panel on a terminal: a list of connections or of ends of runs, and one of them in depth.

use std::io::{self, IsTerminal, stdin, stdout};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};

use bitcost_analysis::explain::Watched;
use bitcost_model::{harmless, harmless_page};
use bitcost_render::block::{Block, text};
use bitcost_render::explained::{Columns, evidence_blocks, watched_row};
use bitcost_sys::process::wait_readable;
use ratatui::Frame;
use ratatui::crossterm::{cursor::Show, execute};
use ratatui::layout::Constraint::{Fill, Length};
use ratatui::layout::Layout;
use ratatui::style::{Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Row, Table, TableState};

use crate::failure::Failure;

/// How often connections are listed, here and as lines.
pub const STEP: Duration = Duration::from_secs(1);

const READING: &str = "reading it for 5 s; by the list:";

/// How often it is drawn, and looked whether a signal came.
const LOOK: Duration = Duration::from_millis(200);

/// Keys, as a terminal sends them.
const UP: &str = "\u{1b}[A";
const DOWN: &str = "\u{1b}[B";
const ESCAPE: &str = "\u{1b}";
const INTERRUPT: &str = "\u{3}";

/// Rows, and what is said below them.
type Read = Result<(Vec<Watched>, Vec<Block>), Failure>;

/// Reads a row in depth, or says why it cannot.
type Explain = fn(&Watched) -> Result<Vec<Block>, String>;

/// Whether there is a terminal for a panel.
pub fn is_possible() -> bool {
    stdin().is_terminal() && stdout().is_terminal()
}

/// Shows what is read until the user leaves, which sets `stop`, or that is set; the terminal is then as it was.
pub fn show(
    columns: Columns,
    explain: Option<Explain>,
    stop: &AtomicBool,
    read: &mut dyn FnMut() -> Read,
) -> Result<(), Failure> {
    let shown = ratatui::try_init().map_err(undrawn).and_then(|terminal| {
        // Dropped, it would panic where the terminal is gone.
        let mut terminal = ManuallyDrop::new(terminal);
        let mut panel = Panel {
            columns,
            explain,
            words: vec![Block::words("reading the first second")],
            ..Panel::default()
        };
        read()?;
        let mut next = Instant::now() + STEP;
        while !stop.load(Ordering::Relaxed) {
            if next <= Instant::now() {
                next = Instant::now() + STEP;
                (panel.rows, panel.words) = read()?;
                panel.sort();
                panel.choose(panel.place());
            }
            let drawn = terminal.draw(|frame| panel.draw(frame));
            let typed = drawn.and_then(|_| typed(next)).map_err(undrawn)?;
            for key in keys(&typed) {
                match key {
                    "q" => {
                        stop.store(true, Ordering::Relaxed);
                        return Ok(());
                    }
                    INTERRUPT => stop.store(true, Ordering::Relaxed),
                    key => panel.press(key),
                }
            }
        }
        Err(Failure::InterruptedUnlogged)
    });
    let restored = ratatui::try_restore().and_then(|()| execute!(stdout(), Show));
    shown.and(restored.map_err(undrawn))
}

fn undrawn(error: io::Error) -> Failure {
    Failure::Environment(format!(
        "cannot draw on this terminal: {error}; `bitcost watch | cat`, and tests without --live, print lines"
    ))
}

#[derive(Default)]
struct Panel {
    columns: Columns,
    /// Absent where nobody knows more than the list.
    explain: Option<Explain>,
    rows: Vec<Watched>,
    words: Vec<Block>,
    /// The figure that the list is sorted by; absent: it is as it was read.
    order: Option<usize>,
    chosen: Option<Watched>,
    /// Where it was in the list.
    chosen_at: usize,
    /// What is said of the chosen row in depth.
    depth: Option<Vec<Block>>,
    reading: Option<JoinHandle<Vec<Block>>>,
    /// Lines of it above the screen.
    above: u16,
}

impl Panel {
    fn press(&mut self, key: &str) {
        match (key, &self.depth) {
            (ESCAPE, _) => (self.depth, self.reading) = (None, None),
            (DOWN, Some(_)) => self.above += 1,
            (UP, Some(_)) => self.above = self.above.saturating_sub(1),
            (_, Some(_)) => {}
            (DOWN, None) => self.choose(self.place().map(|place| place + 1)),
            (UP, None) => self.choose(self.place().map(|place| place.saturating_sub(1))),
            ("\r", None) => self.explain(),
            (key, None) => {
                let order = self.sorts().position(|(_, of)| of == key);
                self.order = order.or(self.order);
                self.sort();
            }
        }
    }

    /// Says what the list shows of the chosen row, until it is read in depth.
    fn explain(&mut self) {
        let Some(of) = self.chosen.clone() else {
            return;
        };
        let first = self.explain.map_or("by the list:", |_| READING);
        let first = [Block::words(first)].into_iter();
        self.depth = Some(first.chain(evidence_blocks(&of.verdict)).collect());
        let read = |explain: Explain| {
            spawn(move || explain(&of).unwrap_or_else(|why| vec![Block::words(why)]))
        };
        (self.reading, self.above) = (self.explain.map(read), 0);
    }

    /// The headings of figures, with the keys that sort by them.
    fn sorts(&self) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
        let columns = self.columns.iter().filter(|(_, key, _)| !key.is_empty());
        columns.map(|(heading, key, _)| (*heading, *key))
    }

    /// The largest figures first.
    fn sort(&mut self) {
        if let Some(order) = self.order {
            let size = |of: &Watched| of.figures[order].1.unwrap_or(-1.0);
            self.rows
                .sort_by(|one, other| size(other).total_cmp(&size(one)));
        }
    }

    /// Where the chosen row is in the list; of sockets with the same addresses the one nearest to where it was.
    fn place(&self) -> Option<usize> {
        let ends = &self.chosen.as_ref()?.program.connections;
        let all = 0..self.rows.len();
        let equal = all.filter(|at| self.rows[*at].program.connections == *ends);
        equal.min_by_key(|at| at.abs_diff(self.chosen_at))
    }

    /// Chooses a place of the list; the first where that row is not there any more, but for one in depth.
    fn choose(&mut self, place: Option<usize>) {
        if place.is_some() || self.depth.is_none() {
            let place = place.unwrap_or(0).min(self.rows.len().saturating_sub(1));
            (self.chosen, self.chosen_at) = (self.rows.get(place).cloned(), place);
        }
    }

    fn draw(&mut self, frame: &mut Frame) {
        // Whole, since columns may be too narrow for it.
        let chosen = self.chosen.as_ref().map(|of| watched_row(of).join(" "));
        let sorts = self
            .sorts()
            .map(|(heading, key)| format!("{key} {heading}"));
        let keys = match self.depth {
            Some(_) => "q quit | Esc back | ↑↓ scroll".to_owned(),
            None => {
                let sorts: Vec<String> = sorts.collect();
                format!("q quit | ↑↓ Enter explain | sort by {}", sorts.join(", "))
            }
        };
        let chosen = Vec::from_iter(chosen.map(Block::words));
        let foot = [chosen, self.words.clone(), vec![Block::words(keys)]].concat();
        let foot = harmless_page(&text(&foot, frame.area().width));
        let height = Length(foot.lines().count() as u16);
        let areas = Layout::vertical([Fill(1), height]);
        let [body, below] = areas.areas(frame.area());
        frame.render_widget(Paragraph::new(foot), below);
        if let Some(reading) = self.reading.take_if(|of| of.is_finished()) {
            self.depth = reading.join().ok();
        }
        match &self.depth {
            Some(blocks) => {
                let words = harmless_page(&text(blocks, body.width));
                let below = (words.lines().count() as u16).saturating_sub(body.height);
                self.above = self.above.min(below);
                frame.render_widget(Paragraph::new(words).scroll((self.above, 0)), body);
            }
            None => {
                let mut state = TableState::new().with_selected(self.place());
                frame.render_stateful_widget(self.table(), body, &mut state);
            }
        }
    }

    fn table(&self) -> Table<'static> {
        let columns = self.columns;
        let cell = |(words, (.., parts)): (String, &(_, _, u16))| match parts {
            0 => Line::from(words).right_aligned(),
            _ => Line::from(harmless(&words)),
        };
        let row = |words: Vec<String>| Row::new(words.into_iter().zip(columns).map(cell));
        let rows: Vec<Vec<String>> = self.rows.iter().map(watched_row).collect();
        // A figure of which a part is cut would be another one.
        let width = |(at, (heading, _, parts)): (usize, &(&str, _, u16))| match parts {
            0 => {
                let figures = rows.iter().filter_map(|row| row.get(at));
                let widths = figures.map(|figure| figure.chars().count());
                Length(widths.fold(heading.chars().count(), usize::max) as u16)
            }
            parts => Fill(*parts),
        };
        let widths: Vec<_> = columns.iter().enumerate().map(width).collect();
        let headings = columns.iter().map(|(heading, ..)| (*heading).to_owned());
        Table::new(rows.into_iter().map(row), widths)
            .header(row(headings.collect()).bold())
            .row_highlight_style(Style::new().reversed())
    }
}

/// The keys of what was typed.
fn keys(typed: &str) -> impl Iterator<Item = &str> {
    let mut left = typed;
    std::iter::from_fn(move || {
        let length = match left.starts_with("\u{1b}[") {
            true => 3,
            false => left.chars().next()?.len_utf8(),
        };
        let key;
        (key, left) = left.split_at_checked(length).unwrap_or((left, ""));
        Some(key)
    })
}

/// What is typed until then, of which a look is waited for at most; empty: nothing.
fn typed(next: Instant) -> io::Result<String> {
    let left = next.saturating_duration_since(Instant::now());
    if !wait_readable(stdin(), left.min(LOOK))? {
        return Ok(String::new());
    }
    let mut bytes = [0; 64];
    match rustix::io::read(stdin(), &mut bytes)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        count => Ok(String::from_utf8_lossy(&bytes[..count]).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn keys_that_arrive_together_are_each_pressed() {
        let keys: Vec<&str> = super::keys("m\u{1b}[Bé\u{3}").collect();
        assert_eq!(keys, ["m", super::DOWN, "é", super::INTERRUPT]);
    }
}
