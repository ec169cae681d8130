//! Words escaped for Markdown, and for a cell of a table in it.

use bitcost_model::shown;

/// Words of our own in a cell of a table, in which backquotes mark code. Outside of code, `<` would
/// begin a tag.
pub fn cell(text: &str) -> String {
    let mut is_code = false;
    let mut line = String::new();
    for letter in text.trim().chars() {
        is_code ^= letter == '`';
        match letter {
            '|' => line += "\\|",
            '\n' => line.push(' '),
            '<' if !is_code => line += "&lt;",
            _ => line.push(letter),
        }
    }
    line
}

pub fn escape(words: &str) -> String {
    let mut text = String::new();
    let letters: Vec<char> = words.chars().collect();
    let in_word = |place: usize| {
        let neighbours = [
            place.checked_sub(1).and_then(|before| letters.get(before)),
            letters.get(place + 1),
        ];
        neighbours
            .iter()
            .all(|letter| letter.is_some_and(|letter| letter.is_alphanumeric()))
    };
    for (place, letter) in letters.iter().copied().enumerate() {
        match letter {
            '\n' | '\r' | '\t' => text.push(' '),
            letter if letter.is_control() || shown(letter).is_none() => {}
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '_' if in_word(place) => text.push('_'),
            // A `]` makes a link only with one of these after it.
            ']' if !matches!(letters.get(place + 1), Some('(' | '[' | ':')) => text.push(']'),
            '\\' | '|' | '`' | '*' | '_' | ']' | '~' | '#' | '@' => {
                text.push('\\');
                text.push(letter);
            }
            letter => text.push(letter),
        }
    }
    text
}
