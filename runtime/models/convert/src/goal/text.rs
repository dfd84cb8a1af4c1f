//! Writes the text.

use super::export::Output;
use ::goal::{ANY_TAG, Operations, Work};
use std::io::{Result, Write};

/// A text under way.
pub struct Text<W> {
    out: W,
}

impl<W: Write> Text<W> {
    /// Writes the first line.
    pub fn begin(mut out: W, ranks: u32) -> Result<Text<W>> {
        writeln!(out, "num_ranks {ranks}")?;
        Ok(Text { out })
    }
}

impl<W: Write> Output for Text<W> {
    fn block(&mut self, rank: u32, operations: &Operations) -> Result<()> {
        writeln!(self.out, "\nrank {rank} {{")?;
        let mut edges = operations.edges.iter().peekable();
        for (number, work) in (0..).zip(&operations.works) {
            // Labels count from 1.
            let label = number + 1;
            match *work {
                Work::Send { bytes, to, tag } => {
                    writeln!(self.out, "l{label}: send {bytes}b to {to} tag {tag}")?
                }
                Work::Receive { bytes, from, tag } => {
                    let tag = if tag == ANY_TAG { -1 } else { tag };
                    writeln!(self.out, "l{label}: recv {bytes}b from {from} tag {tag}")?;
                }
                Work::Calculate(time) => writeln!(self.out, "l{label}: calc {time}")?,
            }
            while let Some((_, other, starts)) = edges.next_if(|(later, ..)| *later == number) {
                writeln!(
                    self.out,
                    "l{label} {} l{}",
                    if *starts { "irequires" } else { "requires" },
                    other + 1
                )?;
            }
        }
        writeln!(self.out, "}}")
    }

    fn end(&mut self) -> Result<()> {
        self.out.flush()
    }
}
