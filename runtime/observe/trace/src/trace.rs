//! A trace as it was read from a file: still folded, whatever it unfolds to.

mod comms;
mod read;
mod walk;
mod write;

pub use comms::{Comms, Instance};
pub(crate) use read::{DEEPEST, MAX_ITERATIONS, MAX_VALUES, MAX_VARYING_CALLS, RANKS, write_kinds};
pub use walk::{Act, Calls, Made, RankCall, RankView};

use crate::codec::{Malformed, Put, zigzag};
use crate::column::Column;
use crate::file::{self, TraceFileKind};
use crate::histogram::Summary;
use crate::part::{NamedDatatype, Path, Place};
use crate::saved::{self, Saved};
use crate::template::{Position, Template, Whose};
use rustc_hash::FxHashMap;

/// Numbers that encode the steps of a shape in a file.
pub(crate) mod step {
    /// A loop ends.
    pub const END: u64 = 0;
    /// A loop begins, and its count follows.
    pub const BEGIN: u64 = 1;
    /// So does one that varies.
    pub const VARYING: u64 = 2;
    /// And the place of a call.
    pub const STEPS: u64 = 3;
}

/// A function with the names of its arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// `MPI_Send`.
    pub name: String,
    /// `buf`, `count` and so on.
    pub arguments: Vec<String>,
}

impl Function {
    /// Returns the function as dictionaries have it: the name and those of the arguments, with spaces
    /// between.
    pub fn text(&self) -> String {
        [std::slice::from_ref(&self.name), &self.arguments].concat().join(" ")
    }
}

/// A number of a shape.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cell {
    /// One for all ranks.
    Same(i64),
    /// From this column, by the rank's place among those of the shape, and by turn in a loop that varies.
    Column(u32),
}

impl Cell {
    /// Appends it.
    pub(crate) fn write(self, bytes: &mut Vec<u8>) {
        match self {
            Cell::Same(value) => bytes.wide(u128::from(zigzag(value)) * 2),
            Cell::Column(column) => bytes.number(u64::from(column) * 2 + 1),
        }
    }
}

/// A step of a shape: a call, or a loop of steps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Node {
    /// A call, by its place in [`Trace::calls`].
    Call(u32),
    /// A loop.
    Loop {
        /// Number of iterations.
        count: Cell,
        /// Steps of one iteration.
        body: Vec<Node>,
        /// `true` if the calls of the body itself, not of loops within it, may say other numbers in each
        /// turn. All ranks go through it as often, and the columns of these calls have a number for each rank
        /// and turn, those of a rank side by side.
        varies: bool,
    },
}

/// A trace.
#[derive(Clone, PartialEq, Debug)]
pub struct Trace {
    /// Ranks of the run.
    pub ranks: u32,
    /// Functions that were called.
    pub functions: Vec<Function>,
    /// Call sites.
    pub sites: Vec<String>,
    /// Names of objects, and texts.
    pub names: Vec<String>,
    /// Datatypes of the standard.
    pub types: Vec<NamedDatatype>,
    /// Calls without their numbers: function, call site, error code and kinds of arguments.
    pub templates: Vec<Template>,
    /// Calls that differ: template and numbers.
    pub calls: Vec<(u32, Vec<Cell>)>,
    /// Vectors of the numbers that differ between ranks, or between ranks and iterations.
    pub columns: Vec<Column>,
    /// Steps of each shape. The ranks of one shape differ in numbers alone.
    pub shapes: Vec<Vec<Node>>,
    /// Ranks of each shape.
    pub sizes: Vec<u64>,
    /// The shape of each rank.
    pub shape_of: Column,
    /// Communicators that the program made.
    pub comms: Comms,
    /// Computation between calls of two places.
    pub histograms: Vec<(Path, Summary)>,
    /// The kind, among those of its place, that each call is of, from 0: calls of other kinds may follow
    /// other work. None if all are of one.
    pub kinds: Vec<u32>,
    /// Exact times ([`crate::times`]) by rank.
    pub times: FxHashMap<u32, Vec<u8>>,
}

impl Trace {
    /// Reads the bytes of a file: of a whole trace, or of what one process saved, in which the ranks of the
    /// others do nothing.
    ///
    /// # Errors
    /// A sentence with the place, if it is no trace or damaged.
    pub fn read(file: &[u8]) -> Result<Trace, String> {
        let (kind, version, contents) = crate::file::unpack(file).map_err(|why| why.to_string())?;
        let wrong = |why: Malformed| format!("its contents, at {why}");
        match kind {
            TraceFileKind::Trace => Trace::read_contents(&contents, version).map_err(wrong),
            TraceFileKind::Part => {
                let joined = saved::join(vec![Saved::read(&contents).map_err(wrong)?])?;
                Trace::read_contents(&joined.contents, file::VERSION)
                    .map_err(|why| format!("the trace that it makes, at {why}"))
            }
        }
    }

    /// Reads the contents of a file of this version, as they are before they are compressed.
    ///
    /// # Errors
    /// The byte and the reason, if they are not those of a trace.
    pub fn read_contents(contents: &[u8], version: u8) -> crate::codec::Result<Trace> {
        read::contents(contents, version)
    }

    /// Opens a file.
    ///
    /// # Errors
    /// A sentence with the file's name.
    pub fn open(path: &std::path::Path) -> Result<Trace, String> {
        let file =
            std::fs::read(path).map_err(|why| format!("cannot read the trace {}: {why}", path.display()))?;
        Trace::read(&file).map_err(|why| format!("cannot read the trace {}: {why}", path.display()))
    }

    /// Returns the bytes of a file: those that it was read from, if a recorder wrote them. O(its size).
    pub fn write(&self) -> Vec<u8> {
        file::pack(TraceFileKind::Trace, &write::contents(self))
    }

    /// Returns what a rank does; O(bytes of the column of shapes).
    ///
    /// # Panics
    /// If there is no such rank.
    pub fn rank(&self, rank: u32) -> RankView<'_> {
        RankView::new(self, rank)
    }

    /// Returns the place of a call, by its place in [`Trace::calls`].
    pub fn place(&self, call: u32) -> Place {
        let template = &self.templates[self.calls[call as usize].0 as usize];
        (template.function, template.site, self.kinds.get(call as usize).copied().unwrap_or(0))
    }

    /// Returns the name of a call site; `?` if it is not known.
    pub fn site(&self, site: u32) -> &str {
        site.checked_sub(1).map_or("?", |site| &self.sites[site as usize])
    }

    /// Returns what ranks in a call are relative to.
    pub fn position(&self, rank: u32, template: &Template, numbers: &[i64]) -> Position {
        let world = Position { rank, peers: self.ranks };
        match template.whose() {
            Whose::Named(name) if self.names[name as usize] == "MPI_COMM_SELF" => {
                Position { rank: 0, peers: 1 }
            }
            Whose::World | Whose::Named(_) => world,
            Whose::Made(place) => {
                let number = u32::try_from(numbers[place]).unwrap_or(0);
                self.comms
                    .member(rank, number)
                    .map_or(world, |member| Position { rank: member.rank, peers: member.peers })
            }
        }
    }

    /// Calls of all ranks; `None` if there are more than 2^64.
    pub fn length(&self) -> Option<u64> {
        let mut sum = 0u64;
        for (shape, nodes) in self.shapes.iter().enumerate() {
            sum = sum.checked_add(self.length_of(nodes, self.sizes[shape])?)?;
        }
        Some(sum)
    }

    /// Calls of so many ranks of a shape.
    fn length_of(&self, nodes: &[Node], ranks: u64) -> Option<u64> {
        nodes.iter().try_fold(0u64, |sum, node| {
            sum.checked_add(match node {
                Node::Call(_) => ranks,
                Node::Loop { count: Cell::Same(count), body, .. } => {
                    self.length_of(body, ranks)?.checked_mul(*count as u64)?
                }
                Node::Loop { count: Cell::Column(column), body, .. } => {
                    let once = self.length_of(body, 1)?;
                    let mut turns = 0u64;
                    self.columns[*column as usize].each(|count| turns = turns.saturating_add(count as u64));
                    once.checked_mul(turns)?
                }
            })
        })
    }
}
