//! Calls as text, as `-xsim-log` has them: arguments by name, constants by theirs.

use crate::printable::printable;
use crate::template::{Field, Peer, Position, Template};
use crate::trace::{RankCall, RankView, Trace};
use recorder::Class;
use std::fmt::Write;

/// Elements of an array that are shown.
const SHOWN: u64 = 16;

/// Texts of a call's numbers: those of one rank, or those of all ranks of a shape.
pub trait Numbers {
    /// Returns the text of a number that is no rank.
    fn plain(&self, at: usize) -> String;
    /// Returns the text of a rank.
    fn peer(&self, at: usize) -> String;
    /// Returns the number itself, if it is one.
    fn value(&self, at: usize) -> Option<i64>;
}

/// Objects of one rank: ranks are those that it named.
struct RankNumbers<'a> {
    numbers: &'a [i64],
    position: Position,
}

impl Numbers for RankNumbers<'_> {
    fn plain(&self, at: usize) -> String {
        self.numbers[at].to_string()
    }
    fn peer(&self, at: usize) -> String {
        rank(Peer::of(self.numbers[at]).rank(self.position))
    }
    fn value(&self, at: usize) -> Option<i64> {
        Some(self.numbers[at])
    }
}

/// Returns the text of a rank, or the name of what stands for one.
pub fn rank(rank: i32) -> String {
    match rank {
        -1 => "MPI_ANY_SOURCE".into(),
        -3 => "MPI_PROC_NULL".into(),
        -4 => "MPI_ROOT".into(),
        -32766 => "MPI_UNDEFINED".into(),
        rank => rank.to_string(),
    }
}

/// Returns the text of a rank as it is told: `+1` is the next.
pub fn peer(peer: Peer) -> String {
    match peer {
        Peer::Relative(distance) => format!("{distance:+}"),
        Peer::Absolute(absolute) => rank(absolute),
    }
}

/// Returns the text of a call of a rank: `MPI_Send(buf=..., count=4, ...)`.
pub fn event(view: &RankView, event: &RankCall) -> String {
    call(view.trace, event.template, &RankNumbers { numbers: event.numbers, position: view.position(event) })
}

/// Returns the text of a call with these numbers.
pub fn call(trace: &Trace, template: &Template, numbers: &impl Numbers) -> String {
    let function = &trace.functions[template.function as usize];
    let mut writer = CallFormatter { trace, numbers, at: 0, text: format!("{}(", function.name) };
    for (index, (name, field)) in function.arguments.iter().zip(&template.fields).enumerate() {
        let _ = write!(writer.text, "{}{name}=", if index == 0 { "" } else { ", " });
        writer.field(field);
    }
    writer.text.push(')');
    if template.code != 0 {
        let _ = write!(writer.text, " = error {}", template.code);
    }
    printable(&writer.text).into_owned()
}

struct CallFormatter<'a, N> {
    trace: &'a Trace,
    numbers: &'a N,
    at: usize,
    text: String,
}

impl<N: Numbers> CallFormatter<'_, N> {
    fn plain(&mut self) {
        self.at += 1;
        self.text += &self.numbers.plain(self.at - 1);
    }

    fn named(&mut self, known: &[(i64, &str)]) {
        match known.iter().find(|(value, _)| self.numbers.value(self.at) == Some(*value)) {
            Some((_, name)) => {
                self.at += 1;
                self.text += name;
            }
            None => self.plain(),
        }
    }

    fn object(&mut self, class: Class, name: Option<u32>) {
        match name {
            Some(name) => self.text += &self.trace.names[name as usize],
            None => {
                self.text += class.name();
                self.text.push('#');
                self.plain();
            }
        }
    }

    fn field(&mut self, field: &Field) {
        match field {
            Field::Unknown => self.text.push('?'),
            Field::Null => self.text += "null",
            Field::InPlace => self.text += "MPI_IN_PLACE",
            Field::Buffer => self.text += "...",
            Field::Address => {
                self.at += 1;
                self.text += "...";
            }
            Field::Count => self.plain(),
            Field::Integer => self.named(&[(-32766, "MPI_UNDEFINED")]),
            Field::Logical => self.named(&[(0, "false"), (1, "true")]),
            Field::Tag => self.named(&[(-2, "MPI_ANY_TAG")]),
            Field::Rank => {
                self.at += 1;
                self.text += &self.numbers.peer(self.at - 1);
            }
            Field::Comm(name) => self.object(Class::Comm, *name),
            Field::Handle(class, name) => self.object(*class, *name),
            Field::Datatype(Some(place)) => {
                self.text += &self.trace.names[self.trace.types[*place as usize].name as usize]
            }
            Field::Datatype(None) => {
                self.object(Class::Datatype, None);
                self.at += 2;
            }
            Field::Status => self.status(),
            Field::Text(text) => {
                let _ = write!(self.text, "\"{}\"", self.trace.names[*text as usize].escape_default());
            }
            Field::List(runs) => self.list(runs),
        }
    }

    fn status(&mut self) {
        let (source, cancelled) =
            (self.numbers.value(self.at).map(Peer::of), self.numbers.value(self.at + 3));
        if source == Some(Peer::Absolute(-1)) && cancelled == Some(0) {
            // Of a send, or of no operation.
            self.text += "{}";
            self.at += 4;
            return;
        }
        self.text += "{source=";
        self.field(&Field::Rank);
        self.text += ", tag=";
        self.field(&Field::Tag);
        self.text += ", bytes=";
        self.plain();
        if cancelled != Some(0) {
            self.text += ", cancelled";
        }
        self.at += 1;
        self.text.push('}');
    }

    fn list(&mut self, runs: &[(u64, Field)]) {
        self.text.push('[');
        let (mut shown, mut all) = (0, 0u64);
        for (length, field) in runs {
            let here = (*length).min(SHOWN - shown);
            for _ in 0..here {
                self.text += if shown == 0 { "" } else { ", " };
                shown += 1;
                self.field(field);
            }
            all = all.saturating_add(*length);
            self.at += (field.numbers().unwrap_or(0) * (length - here)) as usize;
        }
        if all > shown {
            let _ = write!(self.text, ", ... {all} in all");
        }
        self.text.push(']');
    }
}
