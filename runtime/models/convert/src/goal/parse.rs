//! The text: words, and what they say.
//!
//! The words are those of LogGOPSim's `txt2bin`: `num_ranks N`, and for each rank `rank R {`, a line for each
//! operation or dependency, `}`.

use crate::lines::{Lines, at};
use ::goal::{ANY_TAG, ExecutionUnit, Work};
use std::collections::VecDeque;
use std::io::BufRead;

/// One line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Statement {
    /// Number of ranks.
    Ranks(u32),
    /// The operations of a rank begin.
    Begin(u32),
    /// They end.
    End,
    /// An operation, with its label if it has one, and its processor and interface.
    Operation(Option<String>, Work, ExecutionUnit),
    /// An operation begins when the other is over or, if `starts`, when that has begun.
    Requires {
        /// The later one.
        label: String,
        /// The earlier one.
        other: String,
        /// `true` if the beginning of that is enough.
        starts: bool,
    },
}

/// Reads statements, each with the number of its line.
pub struct Parser<R> {
    lines: Lines<R>,
    /// Words of a line that were not taken yet.
    words: VecDeque<String>,
    number: u64,
    in_comment: bool,
}

impl<R: BufRead> Parser<R> {
    /// Returns a parser at the beginning.
    pub fn new(from: R) -> Parser<R> {
        Parser { lines: Lines::new(from), words: VecDeque::new(), number: 0, in_comment: false }
    }

    /// Reads the next statement, and the number of its line; `None` behind the last.
    ///
    /// # Errors
    /// A sentence with the line.
    pub fn next(&mut self) -> Result<Option<(u64, Statement)>, String> {
        while self.words.is_empty() {
            let Some((number, line)) = self.lines.next()? else {
                return if self.in_comment { Err(at(self.number, "a comment has no end")) } else { Ok(None) };
            };
            self.number = number;
            words(line, &mut self.in_comment, &mut self.words).map_err(|why| at(number, &why))?;
        }
        let statement = self.statement().map_err(|why| at(self.number, &why))?;
        Ok(Some((self.number, statement)))
    }

    fn statement(&mut self) -> Result<Statement, String> {
        let first = self.word("a statement")?;
        match first.as_str() {
            "}" => return Ok(Statement::End),
            "num_ranks" => return self.number_below("ranks", 1 << 31).map(Statement::Ranks),
            "rank" => {
                let rank = self.number_below("the rank", 1 << 31)?;
                self.expect("{")?;
                return Ok(Statement::Begin(rank));
            }
            "send" | "recv" | "calc" => {
                return self.work(&first).map(|(work, unit)| Statement::Operation(None, work, unit));
            }
            _ => {}
        }
        if !first.starts_with(|first: char| first.is_ascii_alphabetic()) {
            return Err(format!(
                "'{first}' begins no statement: num_ranks, rank, a label, send, recv, calc or a brace do"
            ));
        }
        match self.word("a colon or requires")?.as_str() {
            ":" => {
                let what = self.word("send, recv or calc")?;
                self.work(&what).map(|(work, unit)| Statement::Operation(Some(first), work, unit))
            }
            word @ ("requires" | "irequires") => Ok(Statement::Requires {
                label: first,
                other: self.word("a label")?,
                starts: word == "irequires",
            }),
            other => Err(format!("'{other}' stands where a colon, requires or irequires should")),
        }
    }

    fn work(&mut self, what: &str) -> Result<(Work, ExecutionUnit), String> {
        if what == "calc" {
            let time = self.number_below("the time", u64::MAX)?;
            return Ok((Work::Calculate(time), self.unit()?));
        }
        let sends = match what {
            "send" => true,
            "recv" => false,
            other => return Err(format!("'{other}' is no operation: send, recv or calc")),
        };
        let bytes = self.number_below("the size", 1u64 << 62)?;
        self.expect("b")?;
        self.expect(if sends { "to" } else { "from" })?;
        let peer = if !sends && self.takes("-1") { -1 } else { self.number_below("the rank", 1 << 31)? };
        let mut tag = 0;
        if self.takes("tag") {
            tag = if self.takes("-1") { ANY_TAG } else { self.number_below("the tag", 1 << 31)? };
        }
        let unit = self.unit()?;
        if sends && tag < 0 {
            return Err("a message that is sent has a tag".to_owned());
        }
        let work = if sends {
            Work::Send { bytes, to: peer, tag }
        } else {
            Work::Receive { bytes, from: peer, tag }
        };
        Ok((work, unit))
    }

    /// Takes an operation's processor and interface: number 0 unless they are there.
    fn unit(&mut self) -> Result<ExecutionUnit, String> {
        let mut unit = ExecutionUnit::default();
        for (word, what, number) in
            [("cpu", "the processor", &mut unit.cpu), ("nic", "the interface", &mut unit.nic)]
        {
            if self.takes(word) {
                *number = self.number_below(what, 1 << 8)?;
            }
        }
        Ok(unit)
    }

    fn word(&mut self, wanted: &str) -> Result<String, String> {
        self.words.pop_front().ok_or_else(|| format!("the line ends where {wanted} should be"))
    }

    fn takes(&mut self, word: &str) -> bool {
        self.words.pop_front_if(|first| first == word).is_some()
    }

    fn expect(&mut self, wanted: &str) -> Result<(), String> {
        let word = self.word(&format!("'{wanted}'"))?;
        if word == wanted { Ok(()) } else { Err(format!("'{word}' stands where '{wanted}' should")) }
    }

    fn number_below<T: TryFrom<u64>>(&mut self, what: &str, end: u64) -> Result<T, String> {
        let word = self.word(what)?;
        let number = word
            .parse::<u64>()
            .ok()
            .filter(|&number| number < end)
            .and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| format!("'{word}' stands where {what} should, a number below {end}"))
    }
}

/// Splits a line into words, without comments.
fn words(line: &str, in_comment: &mut bool, words: &mut VecDeque<String>) -> Result<(), String> {
    let mut rest = line;
    loop {
        if *in_comment {
            let Some(end) = rest.find("*/") else { return Ok(()) };
            (rest, *in_comment) = (&rest[end + 2..], false);
        }
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { return Ok(()) };
        if rest.starts_with("//") {
            return Ok(());
        }
        if rest.starts_with("/*") {
            (rest, *in_comment) = (&rest[2..], true);
            continue;
        }
        let end = |is_part: fn(char) -> bool| {
            rest[first.len_utf8()..].find(|c| !is_part(c)).map_or(rest.len(), |end| end + first.len_utf8())
        };
        let length = match first {
            '{' | '}' | ':' => 1,
            '-' | '0'..='9' => end(|c| c.is_ascii_digit()),
            _ if first.is_ascii_alphabetic() => end(|c| c.is_ascii_alphanumeric() || c == '_'),
            _ => return Err(format!("'{first}' is nothing of this language")),
        };
        let (word, behind) = rest.split_at(length);
        words.push_back(word.to_owned());
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Result<Vec<Statement>, String> {
        let mut parser = Parser::new(text.as_bytes());
        let mut found = Vec::new();
        while let Some((_, statement)) = parser.next()? {
            found.push(statement);
        }
        Ok(found)
    }

    #[test]
    fn statements_are_those_of_the_text() {
        let text = "num_ranks 2\n\n\
            rank 1 { // the first\n\
            l1: recv 10b from 0 tag 3 cpu 2 nic 1\n\
            /* not\n\
            this */ l2: calc 5 cpu 255\n\
            l2 irequires l1\n\
            send 7b to 0 }\n";
        let requires = Statement::Requires { label: "l2".into(), other: "l1".into(), starts: true };
        let expected = [
            Statement::Ranks(2),
            Statement::Begin(1),
            Statement::Operation(
                Some("l1".into()),
                Work::Receive { bytes: 10, from: 0, tag: 3 },
                ExecutionUnit { cpu: 2, nic: 1 },
            ),
            Statement::Operation(Some("l2".into()), Work::Calculate(5), ExecutionUnit { cpu: 255, nic: 0 }),
            requires,
            Statement::Operation(None, Work::Send { bytes: 7, to: 0, tag: 0 }, ExecutionUnit::default()),
            Statement::End,
        ];
        assert_eq!(all(text).unwrap(), expected);
    }

    #[test]
    fn errors_name_the_line_and_what_is_wrong_there() {
        for (text, line, why) in [
            ("num_ranks x", 1, "'x'"),
            ("num_ranks 1\nrank 0 {\nl1: send 10 to 1\n", 3, "'to' stands where 'b' should"),
            ("num_ranks 1\nrank 0 {\nl1 follows l2\n", 3, "'follows'"),
            ("l1: calc 5 cpu 256", 1, "'256' stands where the processor should, a number below 256"),
            ("l1: recv 5b from 1 nic 18446744073709551616", 1, "the interface"),
            ("l1: send 5b from 1", 1, "'from' stands where 'to' should"),
            ("l1: send 5b to", 1, "the line ends"),
            ("\n\n%", 3, "'%'"),
            ("/* never\nclosed", 2, "comment"),
            ("l1: calc 99999999999999999999999", 1, "99999999999999999999999"),
        ] {
            let error = all(text).unwrap_err();
            assert!(error.starts_with(&format!("line {line}: ")) && error.contains(why), "{error}");
        }
    }
}
