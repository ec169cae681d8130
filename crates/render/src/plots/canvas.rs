//! A field of characters in which lines are drawn by Braille dots, eight to a character.

use super::look::paint;
use crate::layout::TextOptions;

/// The first of Unicode's Braille patterns; each dot adds a bit.
const BRAILLE: u32 = 0x2800;

/// The bits of a character's dots, by column and row (The Unicode Standard, Braille Patterns).
const DOTS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

/// The character for a place where two marks coincide.
const SEVERAL: char = '*';

#[derive(Clone, Copy, Default)]
struct Place {
    dots: u8,
    mark: Option<char>,
    colour: usize,
}

/// The field. Places are shares of its width from the left and of its height from below.
pub(super) struct Canvas {
    columns: usize,
    rows: usize,
    places: Vec<Place>,
}

impl Canvas {
    pub fn new(columns: usize, rows: usize) -> Canvas {
        Canvas {
            columns,
            rows,
            places: vec![Place::default(); columns * rows],
        }
    }

    /// A straight line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), colour: usize) {
        let dot = |(x, y): (f64, f64)| {
            (
                x * (2 * self.columns - 1) as f64,
                (1.0 - y) * (4 * self.rows - 1) as f64,
            )
        };
        let (from, to) = (dot(from), dot(to));
        let steps = (to.0 - from.0)
            .abs()
            .max((to.1 - from.1).abs())
            .ceil()
            .max(1.0);
        for step in 0..=steps as usize {
            let part = step as f64 / steps;
            let x = (from.0 + part * (to.0 - from.0)).round() as usize;
            let y = (from.1 + part * (to.1 - from.1)).round() as usize;
            let place = &mut self.places[y / 4 * self.columns + x / 2];
            place.dots |= DOTS[x % 2][y % 4];
            place.colour = colour;
        }
    }

    /// A letter at a place.
    pub fn mark(&mut self, (x, y): (f64, f64), letter: char, colour: usize) {
        let dot = |share: f64, dots: usize| (share * (dots - 1) as f64).round() as usize;
        let (column, row) = (
            dot(x, 2 * self.columns) / 2,
            dot(1.0 - y, 4 * self.rows) / 4,
        );
        let place = &mut self.places[row * self.columns + column];
        place.mark = Some(if place.mark.is_none_or(|known| known == letter) {
            letter
        } else {
            SEVERAL
        });
        place.colour = colour;
    }

    /// The row of a place, from above.
    pub fn row_of(&self, y: f64) -> usize {
        ((1.0 - y) * (4 * self.rows - 1) as f64).round() as usize / 4
    }

    /// Each row as text, from above.
    pub fn rows(&self, options: TextOptions) -> impl Iterator<Item = String> {
        self.places.chunks(self.columns).map(move |row| {
            let text = row.iter().map(|place| match (place.mark, place.dots) {
                (Some(letter), _) => paint(&letter.to_string(), place.colour, options),
                (None, 0) => " ".to_owned(),
                (None, dots) => {
                    let pattern = char::from_u32(BRAILLE + u32::from(dots)).unwrap_or(' ');
                    paint(&pattern.to_string(), place.colour, options)
                }
            });
            text.collect::<String>().trim_end().to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_dots_and_marks_stand_over_them() {
        let mut canvas = Canvas::new(4, 2);
        canvas.line((0.0, 0.0), (1.0, 1.0), 0);
        canvas.mark((1.0, 1.0), 'a', 0);
        canvas.mark((0.0, 0.0), 'a', 0);
        canvas.mark((0.0, 0.0), 'b', 1);
        let rows: Vec<String> = canvas.rows(TextOptions::default()).collect();
        assert_eq!(rows, ["  ⡠a", "*⠊"]);
        assert_eq!((canvas.row_of(0.0), canvas.row_of(1.0)), (1, 0));
    }
}
