//! Texts broken into lines of a width, and how wide a terminal is.

use std::os::fd::AsFd;

/// Marks behind which a word that is too long is broken.
const MARKS: [char; 10] = [':', '/', '-', '_', '.', ',', '=', '<', '>', '+'];

/// Returns the text in lines of at most `width` characters, broken between words; only a longer word is
/// broken.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = vec![String::new()];
    let mut used = 0;
    // A number and its percent sign are one word.
    for word in text.replace(" %", "\u{a0}%").split(' ') {
        let mut letters: Vec<char> = word.chars().collect();
        let is_first = used == 0;
        if used > 0 && used + 1 + letters.len() > width {
            lines.push(String::new());
            used = 0;
        } else if !is_first {
            lines.last_mut().expect("there is a line").push(' ');
            used += 1;
        }
        while letters.len() > width {
            let at =
                letters[..width].iter().rposition(|letter| MARKS.contains(letter)).map_or(width, |at| at + 1);
            // A mark near the begin would leave lines of a few letters.
            let at = if at * 2 < width { width } else { at };
            let rest = letters.split_off(at);
            lines.last_mut().expect("there is a line").extend(letters);
            lines.push(String::new());
            letters = rest;
        }
        used += letters.len();
        lines.last_mut().expect("there is a line").extend(letters.iter());
    }
    lines.iter().map(|line| line.replace('\u{a0}', " ")).collect()
}

/// Returns the width of a terminal in characters; `None` if the stream is none, or does not know.
pub fn terminal_width(stream: impl AsFd) -> Option<usize> {
    rustix::termios::tcgetwinsize(stream)
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|&columns| columns > 0)
}

/// Returns the width of what is printed at the end of a run: that of the terminal. A log keeps whole lines,
/// which tools find words in.
pub fn summary_width() -> usize {
    terminal_width(std::io::stderr()).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_and_inside_those_that_are_too_long() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("one two", usize::MAX), ["one two"]);
        assert_eq!(wrapped("a directory/file.c:12 b", 12), ["a", "directory/", "file.c:12 b"]);
        assert_eq!(wrapped("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrapped("it is 18 % of", 8), ["it is", "18 % of"]);
        assert_eq!(wrapped("", 5), [""]);
    }
}
