//! The answer of a study on the last screen of a terminal: one table, one sentence, the
//! bottlenecks, caveats, and the commands for more.

use bitcost_analysis::caveat::Caveat;
use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::findings::Findings;
use bitcost_analysis::metrics::{Metric, metric};
use bitcost_analysis::summary::{Summary, measured};
use bitcost_model::harmless;
use bitcost_model::units::counted;
use bitcost_study::check::Levels;

use crate::answer::{Answer, stacked};
use crate::figure::{figure, figure_alone, figure_marked};
use crate::layout::{WIDTH, labelled, paragraph};

/// Lines of a terminal that nobody has widened, less the line of the next prompt.
const LINES: usize = 23;

/// The fewest and the most columns of a cell's name.
const NAME: std::ops::RangeInclusive<usize> = 8..=32;

/// The most figures of a cell.
const FIGURES: usize = 3;

/// The lines next to the table, which give way step by step until every cell has its row.
struct Around<'a> {
    question: &'a str,
    said: String,
    bottlenecks: String,
    caveats: Vec<String>,
    folder: &'a str,
}

/// What gives way, the least important first; each step includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Giving {
    Nothing,
    /// Caveats and bottlenecks have one line each; `show` and `explain` have the rest.
    LongCaveats,
    /// The commands for more are in one line.
    Commands,
    /// The first of the caveats has a line, with their number.
    Caveats,
    /// No line is empty, and the question, which was asked before the runs, is not repeated.
    Question,
    /// Units are next to short titles of their columns, or in their place.
    Units,
}

impl Giving {
    const ALL: [Giving; 6] = [
        Giving::Nothing,
        Giving::LongCaveats,
        Giving::Commands,
        Giving::Caveats,
        Giving::Question,
        Giving::Units,
    ];
}

/// The answer in at most as many lines as a terminal has; `folder` is where the log is.
pub fn study_answer(execution: &Findings, folder: &str) -> String {
    let summary = &execution.summary;
    let answer = Answer::of(execution);
    let around = Around {
        question: &summary.study.question,
        caveats: caveats(summary, &answer),
        bottlenecks: answer.bottleneck,
        said: answer.sentence,
        folder,
    };
    // A run that is missing is a line of the error after it.
    let is_whole = summary.excluded.is_empty() && summary.incomplete.is_empty();
    let room = |giving: Giving| {
        let others = [around.head(giving), around.tail(giving)].concat();
        let used = others.lines().count() + usize::from(!is_whole) + blank(giving).len();
        LINES.saturating_sub(used)
    };
    let table = Table::of(summary);
    let fits = |giving: &Giving| room(*giving) >= table.others(*giving) + summary.cells.len();
    // Cells that no terminal has room for leave the caveats their lines.
    let last = match summary.cells.len() < LINES - ROWS {
        true => Giving::Units,
        false => Giving::LongCaveats,
    };
    let giving = Giving::ALL.into_iter().find(fits).unwrap_or(last);
    let table = table.text(giving, room(giving).max(table.others(giving) + ROWS + 1));
    format!("{}{table}{}", around.head(giving), around.tail(giving))
}

impl Around<'_> {
    fn head(&self, giving: Giving) -> String {
        match giving < Giving::Question {
            true => format!("{}\n", paragraph("", self.question, WIDTH)),
            false => String::new(),
        }
    }

    fn tail(&self, giving: Giving) -> String {
        let line = |label: &str, words: &str| match giving {
            Giving::Nothing => labelled(label, words),
            _ => first_line(&labelled(label, words)),
        };
        let mut text = format!("{}{}", blank(giving), paragraph("", &self.said, WIDTH));
        text += &line("bottleneck", &self.bottlenecks);
        let count = self.caveats.len();
        if giving >= Giving::Caveats && count > 1 {
            text += &line(&format!("caveat 1/{count}"), &self.caveats[0]);
        } else {
            let lines = self.caveats.iter().map(|caveat| line("caveat", caveat));
            text.extend(lines);
        }
        text + &self.commands(giving)
    }

    fn commands(&self, giving: Giving) -> String {
        let folder = self.folder;
        if giving >= Giving::Commands {
            let all = format!("bitcost show, explain or report {folder}");
            return paragraph("", &all, WIDTH);
        }
        let verbs = [
            ("pictures", "report"),
            ("why", "explain"),
            ("all tables", "show"),
        ];
        let line = |(label, verb)| labelled(label, &format!("bitcost {verb} {folder}"));
        verbs.map(line).concat()
    }
}

/// An empty line, where there is room for any.
fn blank(giving: Giving) -> &'static str {
    if giving < Giving::Question { "\n" } else { "" }
}

/// The first line of a paragraph; what it leaves out shows as `…`.
fn first_line(paragraph: &str) -> String {
    let mut lines = paragraph.lines();
    let (Some(first), more) = (lines.next(), lines.next()) else {
        return String::new();
    };
    if more.is_none() {
        return format!("{first}\n");
    }
    let whole = match first.chars().count() + 2 > WIDTH {
        true => first.rsplit_once(' ').map_or(first, |(before, _)| before),
        false => first,
    };
    format!("{} …\n", whole.trim_end_matches([',', ';', ':']))
}

/// The metrics of the table: throughput, those of the study's sentences, and the cost at both
/// endpoints; without these, the first that the study shows.
fn columns(summary: &Summary) -> Vec<&'static Metric> {
    let mut found: Vec<&'static Metric> = Vec::new();
    let throughput = metric("throughput_mbps").filter(|metric| has(summary, metric));
    let sentences = summary.study.sentences.iter();
    let said = sentences.flat_map(|sentence| &sentence.metrics);
    let said = said.filter_map(|name| metric(name));
    let all = throughput.into_iter().chain(said);
    let all = all.filter(|metric| has(summary, metric));
    for metric in all.chain(stacked(summary)).chain(measured(summary)) {
        if found.len() < FIGURES && !found.iter().any(|known| known.name == metric.name) {
            found.push(metric);
        }
    }
    found
}

fn has(summary: &Summary, metric: &Metric) -> bool {
    let mut cells = summary.cells.iter();
    cells.any(|cell| cell.figure(metric.name).is_some())
}

/// The table: a row per cell, the first figure with its interval, the others without.
struct Table<'a> {
    summary: &'a Summary,
    metrics: Vec<&'static Metric>,
    /// How the other figures are written: where the number of their runs would leave no room for a
    /// column, an asterisk stands for it.
    others: fn(&CellSummary, &str) -> Option<String>,
    /// What the asterisk means; empty where there is none.
    note: &'static str,
}

impl<'a> Table<'a> {
    fn of(summary: &'a Summary) -> Table<'a> {
        let table = Table {
            summary,
            metrics: columns(summary),
            others: figure_alone,
            note: "",
        };
        let rows = table.rows(2, &table.cells());
        if widths(&rows).1.len() == table.metrics.len() {
            return table;
        }
        let marked = Table {
            others: figure_marked,
            ..table
        };
        let has_mark = marked
            .rows(2, &marked.cells())
            .iter()
            .flatten()
            .any(|text| text.ends_with('*'));
        Table {
            note: if has_mark { FEWER_RUNS } else { "" },
            ..marked
        }
    }

    fn cells(&self) -> Vec<&'a CellSummary> {
        self.summary.cells.iter().collect()
    }

    /// Lines that are no rows of cells.
    fn others(&self, giving: Giving) -> usize {
        titles(giving) + self.note.lines().count()
    }

    /// The table in at most this many lines.
    fn text(&self, giving: Giving, most: usize) -> String {
        let all = self.summary.cells.len();
        let others = self.others(giving);
        let shown = match all + others <= most {
            true => all,
            false => most.saturating_sub(others + 1),
        };
        let cells = first_cells(self.summary, shown);
        let mut text = aligned(&self.rows(titles(giving), &cells));
        if all > shown {
            text += &format!("… and {}\n", counted(all - shown, "more cell"));
        }
        text + self.note
    }

    /// The head of this many lines, and the rows of cells.
    fn rows(&self, titles: usize, cells: &[&CellSummary]) -> Vec<Vec<String>> {
        let row = |cell: &&CellSummary| {
            let figures = self.metrics.iter().enumerate().map(|(place, metric)| {
                let shown = match place {
                    0 => figure(cell, metric.name),
                    _ => (self.others)(cell, metric.name),
                };
                shown.unwrap_or("-".to_owned())
            });
            std::iter::once(harmless(&cell.name()))
                .chain(figures)
                .collect()
        };
        let mut rows = head(&self.metrics, titles);
        rows.extend(cells.iter().map(row));
        rows
    }
}

/// This many cells in their order: those that the study's sentences are about before all others.
fn first_cells(summary: &Summary, count: usize) -> Vec<&CellSummary> {
    let sentences = summary.study.sentences.iter();
    let named: Vec<&Levels> = sentences
        .flat_map(|sentence| std::iter::once(&sentence.of).chain(&sentence.to))
        .collect();
    let is_other = |cell: &&CellSummary| {
        let has = |levels: &&Levels| levels.iter().all(|level| cell.levels.contains(level));
        !named.iter().any(has)
    };
    let mut cells: Vec<&CellSummary> = summary.cells.iter().collect();
    cells.sort_by_key(is_other);
    cells.truncate(count);
    let place = |cell: &&CellSummary| {
        summary
            .cells
            .iter()
            .position(|known| known.levels == cell.levels)
    };
    cells.sort_by_key(place);
    cells
}

/// The line below a table with asterisks.
const FEWER_RUNS: &str = "* from fewer runs than the cell has; `bitcost show` prints how many\n";

/// Cells that have a row also where the other lines leave no room.
const ROWS: usize = 3;

/// Lines of the table's head.
fn titles(giving: Giving) -> usize {
    if giving < Giving::Units { 2 } else { 1 }
}

/// What the columns are: their titles, and the units in a line below them or next to them.
fn head(metrics: &[&Metric], lines: usize) -> Vec<Vec<String>> {
    let title = |metric: &&Metric| match metric.name {
        name if name.starts_with("send_service_demand") => "send cost".to_owned(),
        name if name.starts_with("receive_service_demand") => "receive cost".to_owned(),
        _ => metric.title.to_lowercase(),
    };
    let named = |words: &mut dyn Iterator<Item = String>| {
        std::iter::once(String::new()).chain(words).collect()
    };
    if lines == 1 {
        let both = |metric: &&Metric| match metric.name {
            "throughput_mbps" => metric.unit.to_owned(),
            _ => format!(
                "{} {}",
                title(metric).trim_end_matches(" cost"),
                metric.unit
            ),
        };
        return vec![named(&mut metrics.iter().map(both))];
    }
    vec![
        named(&mut metrics.iter().map(title)),
        named(&mut metrics.iter().map(|metric| metric.unit.to_owned())),
    ]
}

/// The columns of names, and of the figures for which there is room.
fn widths(rows: &[Vec<String>]) -> (usize, Vec<usize>) {
    let width = |column: usize| {
        let lengths = rows.iter().map(|row| row[column].chars().count());
        lengths.max().unwrap_or(0)
    };
    let name = width(0).clamp(*NAME.start(), *NAME.end());
    let mut widths = Vec::new();
    let mut used = name;
    for column in 1..rows.first().map_or(1, Vec::len) {
        used += 2 + width(column);
        if used <= WIDTH {
            widths.push(width(column));
        }
    }
    (name, widths)
}

/// The rows with their columns aligned, without those for which there is no room.
fn aligned(rows: &[Vec<String>]) -> String {
    let (name, widths) = widths(rows);
    let line = |row: &Vec<String>| {
        let mut line = format!("{:<name$}", cut(&row[0], name));
        for (text, width) in row[1..].iter().zip(&widths) {
            line += &format!("  {text:<width$}");
        }
        format!("{}\n", line.trim_end())
    };
    rows.iter().map(line).collect()
}

/// A name of at most this many letters.
fn cut(name: &str, most: usize) -> String {
    if name.chars().count() <= most {
        return name.to_owned();
    }
    let kept: String = name.chars().take(most - 1).collect();
    format!("{kept}…")
}

/// What changes the answer, the most first: runs that are not in it, costs that are not known,
/// warnings; and how many other warnings there are.
fn caveats(summary: &Summary, answer: &Answer) -> Vec<String> {
    let mut found = answer.caveats.clone();
    let planned = summary.blocks as usize * summary.cells.len();
    let mut missing = |count: usize, how: &str| {
        if count > 0 {
            let words = format!("{} of {planned} {how}", counted(count, "run"));
            found.push(Caveat::new(count as f64 / planned.max(1) as f64, words));
        }
    };
    missing(summary.excluded.len(), "left out");
    missing(summary.incomplete.len(), "not made");
    let more = match answer.caveats.is_empty() {
        true => "warning",
        false => "more warning",
    };
    let mut found = Caveat::by_weight(found);
    if answer.other_warnings > 0 {
        found.push(format!(
            "{}; see `bitcost explain`",
            counted(answer.other_warnings, more)
        ));
    }
    found
}
