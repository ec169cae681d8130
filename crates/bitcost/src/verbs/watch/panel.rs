//! The panel of `watch` on a terminal: the list of connections, and one of them in depth.

use std::io::{self, stdin, stdout};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};

use bitcost_agent::{Held, Sought, Watcher, observe};
use bitcost_analysis::explain::{Listed, Watched, watched};
use bitcost_execute::Connection;
use bitcost_model::record::Role;
use bitcost_model::{harmless, harmless_page};
use bitcost_render::block::{Block, text};
use bitcost_render::explained::{
    columns_of, evidence_blocks, explanation_blocks, watched_row, watched_words,
};
use bitcost_sys::process::wait_readable;
use ratatui::crossterm::{cursor::Show, execute};
use ratatui::layout::Constraint::{Fill, Length};
use ratatui::layout::Layout;
use ratatui::style::{Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Row, Table, TableState};
use ratatui::{DefaultTerminal, Frame};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::failure::Failure;
use crate::signals::stop_on;

/// How often connections are listed, here and as lines.
pub const STEP: Duration = Duration::from_secs(1);

/// For how long a connection in depth is read.
const READ: Duration = Duration::from_secs(5);

/// How often it is drawn, and looked whether a signal came.
const LOOK: Duration = Duration::from_millis(200);

/// Keys, as a terminal sends them.
const UP: &str = "\u{1b}[A";
const DOWN: &str = "\u{1b}[B";
const ESCAPE: &str = "\u{1b}";
const INTERRUPT: &str = "\u{3}";

/// Shows the connections until the user leaves; the terminal is then as it was.
pub fn show(watcher: Watcher) -> Result<(), Failure> {
    let stop = stop_on(&[SIGINT, SIGTERM, SIGHUP])?;
    let shown = ratatui::try_init().map_err(undrawn).and_then(|terminal| {
        // Dropped, it would panic where the terminal is gone.
        let mut terminal = ManuallyDrop::new(terminal);
        let mut panel = Panel {
            listed: watched(Vec::new(), 0, watcher.datagrams()),
            watcher,
            status: "reading the first second".to_owned(),
            order: 0,
            chosen: None,
            depth: None,
            reading: None,
            above: 0,
        };
        panel.run(&mut terminal, &stop)
    });
    let restored = ratatui::try_restore().and_then(|()| execute!(stdout(), Show));
    shown.and(restored.map_err(undrawn))
}

fn undrawn(error: io::Error) -> Failure {
    Failure::Environment(format!(
        "cannot draw on this terminal: {error}; `bitcost watch | cat` prints lines"
    ))
}

struct Panel {
    watcher: Watcher,
    listed: Listed,
    /// How many connections there are, and what is not seen of them.
    status: String,
    /// The figure that the list is sorted by.
    order: usize,
    chosen: Option<Watched>,
    /// What is said of the chosen connection in depth.
    depth: Option<Vec<Block>>,
    reading: Option<JoinHandle<Vec<Block>>>,
    /// Lines of it above the screen.
    above: u16,
}

impl Panel {
    fn run(&mut self, terminal: &mut DefaultTerminal, stop: &AtomicBool) -> Result<(), Failure> {
        self.watcher.read()?;
        let mut next = Instant::now() + STEP;
        while !stop.load(Ordering::Relaxed) {
            if next <= Instant::now() {
                next = Instant::now() + STEP;
                let rest = self.watcher.read()?;
                self.listed = watched(self.watcher.busiest(), rest, self.watcher.datagrams());
                self.status = watched_words(&self.listed);
                self.sort();
                self.choose(self.place());
            }
            let drawn = terminal.draw(|frame| self.draw(frame));
            match &*drawn.and_then(|_| typed(next)).map_err(undrawn)? {
                "q" | INTERRUPT => return Ok(()),
                key => self.press(key),
            }
        }
        Err(Failure::InterruptedUnlogged)
    }

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
                self.order = order.unwrap_or(self.order);
                self.sort();
            }
        }
    }

    /// Says what the list shows of the chosen connection, until it is read as `explain` does.
    fn explain(&mut self) {
        let Some(of) = self.chosen.clone() else {
            return;
        };
        let words = format!("reading it for {} s; by the list:", READ.as_secs());
        let first = [Block::words(words)].into_iter();
        self.depth = Some(first.chain(evidence_blocks(&of.verdict)).collect());
        let read = move || explained(&of).unwrap_or_else(|why| vec![Block::words(why)]);
        self.reading = Some(spawn(read));
        self.above = 0;
    }

    /// The headings of figures, with the keys that sort by them.
    fn sorts(&self) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
        let columns = columns_of(&self.listed).iter();
        let columns = columns.filter(|(_, key, _)| !key.is_empty());
        columns.map(|(heading, key, _)| (*heading, *key))
    }

    /// The largest figures first.
    fn sort(&mut self) {
        let size = |of: &Watched| of.figures[self.order].1.unwrap_or(-1.0);
        let all = &mut self.listed.connections;
        all.sort_by(|one, other| size(other).total_cmp(&size(one)));
    }

    /// Where the chosen connection is in the list.
    fn place(&self) -> Option<usize> {
        let ends = &self.chosen.as_ref()?.program.connections;
        let mut all = self.listed.connections.iter();
        all.position(|of| of.program.connections == *ends)
    }

    /// Chooses a place of the list; the first where that connection is not there any more, but for one in depth.
    fn choose(&mut self, place: Option<usize>) {
        if place.is_some() || self.depth.is_none() {
            let all = &self.listed.connections;
            let place = place.unwrap_or(0).min(all.len().saturating_sub(1));
            self.chosen = all.get(place).cloned();
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
        let foot = chosen.into_iter().chain([self.status.clone(), keys]);
        let foot: Vec<Block> = foot.map(Block::words).collect();
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
        let columns = columns_of(&self.listed);
        let cell = |(words, (.., parts)): (String, &(_, _, u16))| match parts {
            0 => Line::from(words).right_aligned(),
            _ => Line::from(harmless(&words)),
        };
        let row = |words: Vec<String>| Row::new(words.into_iter().zip(columns).map(cell));
        // Figures are as wide as their headings.
        let width = |(heading, _, parts): &(&str, _, u16)| match parts {
            0 => Length(heading.chars().count() as u16),
            parts => Fill(*parts),
        };
        let headings = columns.iter().map(|(heading, ..)| (*heading).to_owned());
        let rows = self.listed.connections.iter();
        let rows = rows.map(|of| row(watched_row(of)));
        Table::new(rows, columns.iter().map(width))
            .header(row(headings.collect()).bold())
            .row_highlight_style(Style::new().reversed())
    }
}

/// The key that was pressed until then, of which a look is waited for at most; empty: none.
fn typed(next: Instant) -> io::Result<String> {
    let left = next.saturating_duration_since(Instant::now());
    if !wait_readable(stdin(), left.min(LOOK))? {
        return Ok(String::new());
    }
    // As long as the sequence of one key.
    let mut bytes = [0; 3];
    match rustix::io::read(stdin(), &mut bytes)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        count => Ok(String::from_utf8_lossy(&bytes[..count]).into_owned()),
    }
}

/// Reads a connection as `explain` does.
fn explained(of: &Watched) -> Result<Vec<Block>, String> {
    let ends = of.program.connections.iter().map(|ends| ends.join("-"));
    let sought: Sought = ends.collect::<String>().parse()?;
    // Of a socket that drops, what it receives.
    let drops = of.figures[0].1.filter(|drops| *drops > 0.0);
    let held = Held::find(&sought, of.role.or(drops.map(|_| Role::Receiver)));
    let read = held.and_then(|held| observe(&held, READ, &|| false));
    let (record, host) = read.map_err(|refusal| refusal.reason)?;
    let found = Connection { record, host }.execution(None, None, Vec::new());
    let found = found.map_err(|error| error.to_string())?;
    let blocks = explanation_blocks(&found.explanation, false).into_iter();
    Ok(blocks.skip(2).collect())
}
