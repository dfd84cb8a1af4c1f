//! Meaning of `comm` and `messages`: who sends how many bytes to whom.
//!
//! The patterns of the paper "Durango" (section 2.3) and of the reference's `mpigen`, and those that its text
//! names besides.

use crate::error::{AspenError, suggestion};
use crate::exchange::StepExchange;
use crate::grid::Grid;
use crate::random::SplitMix64;
use crate::source::SourceSpan;
use crate::tree::Use;
use crate::usage::Usage;
use std::fmt;

/// A collective operation of all ranks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Collective {
    /// `MPI_Allreduce`
    Allreduce,
    /// `MPI_Reduce` to rank 0.
    Reduce,
    /// `MPI_Scan`
    Scan,
    /// `MPI_Bcast` from rank 0.
    Bcast,
    /// `MPI_Barrier`
    Barrier,
    /// `MPI_Allgather`; the bytes are what each rank gives.
    Allgather,
    /// `MPI_Alltoall`; the bytes are what each rank gives each.
    Alltoall,
    /// `MPI_Scatter` from rank 0; the bytes are what each rank gets.
    Scatter,
    /// `MPI_Gather` to rank 0; the bytes are what each rank gives.
    Gather,
}

impl Collective {
    const ALL: [(&'static str, Collective); 9] = [
        ("allreduce", Collective::Allreduce),
        ("reduce", Collective::Reduce),
        ("scan", Collective::Scan),
        ("bcast", Collective::Bcast),
        ("barrier", Collective::Barrier),
        ("allgather", Collective::Allgather),
        ("alltoall", Collective::Alltoall),
        ("scatter", Collective::Scatter),
        ("gather", Collective::Gather),
    ];

    /// Returns its name as a trait.
    pub fn name(self) -> &'static str {
        Collective::ALL.iter().find(|(_, one)| *one == self).map_or("", |(name, _)| name)
    }

    /// Returns `true` if it takes an operation.
    pub fn reduces(self) -> bool {
        matches!(self, Collective::Allreduce | Collective::Reduce | Collective::Scan)
    }
}

/// The operation of a reduction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Operation {
    /// `MPI_SUM`, where none is given.
    #[default]
    Sum,
    /// `MPI_MIN`
    Min,
    /// `MPI_MAX`
    Max,
    /// `MPI_PROD`
    Prod,
}

impl Operation {
    const ALL: [(&'static str, Operation); 4] = [
        ("sum", Operation::Sum),
        ("min", Operation::Min),
        ("max", Operation::Max),
        ("prod", Operation::Prod),
    ];

    /// Returns its name as a trait.
    pub fn name(self) -> &'static str {
        Operation::ALL.iter().find(|(_, one)| *one == self).map_or("", |(name, _)| name)
    }
}

/// Towards which ranks a one-directional pattern sends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Wave {
    /// `pwave`: to higher ranks only.
    Up,
    /// `nwave`: to lower ranks only, as LULESH does in its last phase.
    Down,
}

/// Neighbours with which a rank exchanges messages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Neighbors {
    /// 1, 2 or 3.
    pub dimensions: u32,
    /// Only those at the faces; else those at edges and corners too.
    pub faces: bool,
    /// `true` if values belong to nodes, of which an element of a face has four, one of an edge two.
    pub nodal: bool,
    /// `true` if the grid's ends meet.
    pub periodic: bool,
    /// One direction only.
    pub wave: Option<Wave>,
}

/// Communication pattern: the ranks that send, and their destinations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CommunicationPattern {
    /// All ranks together.
    Collective(Collective, Operation),
    /// Neighbours on a grid.
    Neighbors(Neighbors),
    /// A wave over a square grid: each rank waits for its lower neighbours (with `nwave` the upper ones),
    /// then sends to the others.
    Sweep(Wave),
    /// One message of each rank to a rank that is drawn; who draws itself sends none.
    Random,
    /// One message of each rank along an axis of a cube of ranks.
    Shift {
        /// 0, 1 or 2 for x, y or z.
        axis: usize,
        /// `true` if it goes to higher coordinates.
        up: bool,
        /// `true` if the grid's ends meet.
        periodic: bool,
    },
    /// Bytes of which the model does not say where they go.
    Unaddressed,
}

/// A communication step of all ranks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Step {
    /// Communication pattern.
    pub pattern: CommunicationPattern,
    /// Number of items; for neighbours the items along a side.
    pub count: u64,
    /// Bytes of an item.
    pub size: u64,
    /// Number of repetitions, side by side.
    pub times: u64,
}

/// A message of a step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Message {
    /// The other rank.
    pub peer: u64,
    /// Length in bytes.
    pub bytes: u64,
}

/// Returns the error about a trait that is no modifier of its pattern; `known` are those that are.
fn modifier(tree: &Use, at: usize, known: &[&str]) -> AspenError {
    let one = &tree.traits[at];
    let pattern = &tree.traits[0].name.text;
    let hint = suggestion(&one.name.text, known.iter().copied());
    let list = if known.is_empty() {
        "takes no further traits".to_owned()
    } else {
        format!("takes {}", known.join(", "))
    };
    AspenError::at(
        one.name.span,
        format!("what the trait '{}' means for '{pattern}' is not known{hint} ({list})", one.name.text),
    )
}

impl CommunicationPattern {
    /// Returns the pattern of a use of `comm` or `messages`, `None` for other resources.
    ///
    /// # Errors
    /// A trait of `comm` is not known, or two contradict each other.
    pub fn of(tree: &Use) -> Result<Option<CommunicationPattern>, AspenError> {
        let is_comm = tree.resource.text == "comm";
        if !is_comm && tree.resource.text != "messages" {
            return Ok(None);
        }
        let Some(first) = tree.traits.first() else {
            if is_comm {
                return Err(AspenError::at(
                    tree.resource.span,
                    "a trait must say how ranks communicate, such as 'as allreduce, sum'",
                ));
            }
            return Ok(Some(CommunicationPattern::Unaddressed));
        };
        let name = first.name.text.as_str();
        let rest = 1..tree.traits.len();
        let text = |at: usize| tree.traits[at].name.text.as_str();
        if let Some(&(_, collective)) = Collective::ALL.iter().find(|(known, _)| *known == name) {
            return CommunicationPattern::collective(tree, collective).map(Some);
        }
        match name {
            "nn1d" | "nn2d" | "nn3d" => {
                CommunicationPattern::neighbors(tree, u32::from(name.as_bytes()[2] - b'0')).map(Some)
            }
            "sweep" => {
                let mut wave = Wave::Up;
                for at in rest {
                    wave = match text(at) {
                        "pwave" => Wave::Up,
                        "nwave" => Wave::Down,
                        _ => return Err(modifier(tree, at, &["pwave", "nwave"])),
                    };
                }
                Ok(Some(CommunicationPattern::Sweep(wave)))
            }
            "random" => match rest.start < rest.end {
                true => Err(modifier(tree, 1, &[])),
                false => Ok(Some(CommunicationPattern::Random)),
            },
            "positive" | "negative" => CommunicationPattern::shift(tree, name == "positive").map(Some),
            _ if is_comm => {
                let known = Collective::ALL.iter().map(|(name, _)| *name);
                let known: Vec<&str> = known
                    .chain(["nn1d", "nn2d", "nn3d", "sweep", "random", "positive", "negative"])
                    .collect();
                let hint = suggestion(name, known.iter().copied());
                let sentence = format!(
                    "'{name}' is no pattern of communication that is known{hint} (known are {})",
                    known.join(", ")
                );
                Err(AspenError::at(first.name.span, sentence))
            }
            // Other traits of messages are a machine's, and change what they cost.
            _ => Ok(Some(CommunicationPattern::Unaddressed)),
        }
    }

    fn collective(tree: &Use, collective: Collective) -> Result<CommunicationPattern, AspenError> {
        let mut operation = Operation::default();
        for (at, one) in tree.traits.iter().enumerate().skip(1) {
            let found = Operation::ALL.iter().find(|(known, _)| *known == one.name.text);
            match found {
                Some(&(_, known)) if collective.reduces() && at == 1 => operation = known,
                _ if collective.reduces() => return Err(modifier(tree, at, &["min", "max", "sum", "prod"])),
                _ => return Err(modifier(tree, at, &[])),
            }
        }
        Ok(CommunicationPattern::Collective(collective, operation))
    }

    fn neighbors(tree: &Use, dimensions: u32) -> Result<CommunicationPattern, AspenError> {
        if tree.size.is_none() {
            let sentence = format!(
                "{} counts items along a side: 'of size [BYTES]' must say how large one is",
                tree.traits[0].name.text
            );
            return Err(AspenError::at(tree.resource.span, sentence));
        }
        let mut neighbors = Neighbors { dimensions, faces: false, nodal: false, periodic: false, wave: None };
        for (at, one) in tree.traits.iter().enumerate().skip(1) {
            let wave = match one.name.text.as_str() {
                "face" => {
                    neighbors.faces = true;
                    continue;
                }
                "nodal" => {
                    neighbors.nodal = true;
                    continue;
                }
                "periodic" => {
                    neighbors.periodic = true;
                    continue;
                }
                "pwave" => Wave::Up,
                "nwave" => Wave::Down,
                _ => return Err(modifier(tree, at, &["face", "nodal", "periodic", "pwave", "nwave"])),
            };
            if neighbors.wave.is_some_and(|other| other != wave) {
                return Err(AspenError::at(one.name.span, "with pwave and nwave nobody would send"));
            }
            neighbors.wave = Some(wave);
        }
        Ok(CommunicationPattern::Neighbors(neighbors))
    }

    fn shift(tree: &Use, up: bool) -> Result<CommunicationPattern, AspenError> {
        let (mut axis, mut periodic) = (None, false);
        for (at, one) in tree.traits.iter().enumerate().skip(1) {
            match one.name.text.as_str() {
                "periodic" => periodic = true,
                name => match ["x", "y", "z"].iter().position(|known| *known == name) {
                    Some(found) if axis.is_none() => axis = Some(found),
                    _ => return Err(modifier(tree, at, &["x, y or z", "periodic"])),
                },
            }
        }
        let axis = axis.ok_or_else(|| {
            AspenError::at(tree.traits[0].name.span, "the axis is missing: 'as positive, x'")
        })?;
        Ok(CommunicationPattern::Shift { axis, up, periodic })
    }

    /// Returns the dimensions of the grid that it needs.
    pub fn dimensions(self) -> Option<u32> {
        match self {
            CommunicationPattern::Neighbors(neighbors) => Some(neighbors.dimensions),
            CommunicationPattern::Sweep(_) => Some(2),
            CommunicationPattern::Shift { .. } => Some(3),
            CommunicationPattern::Collective(..)
            | CommunicationPattern::Random
            | CommunicationPattern::Unaddressed => None,
        }
    }
}

impl fmt::Display for CommunicationPattern {
    /// Writes it as the traits say it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wave = |wave: Wave| if wave == Wave::Up { "pwave" } else { "nwave" };
        match self {
            CommunicationPattern::Collective(collective, operation) if collective.reduces() => {
                write!(f, "{}, {}", collective.name(), operation.name())
            }
            CommunicationPattern::Collective(collective, _) => f.write_str(collective.name()),
            CommunicationPattern::Neighbors(neighbors) => {
                write!(f, "nn{}d", neighbors.dimensions)?;
                for (is, name) in
                    [(neighbors.faces, "face"), (neighbors.nodal, "nodal"), (neighbors.periodic, "periodic")]
                {
                    if is {
                        write!(f, ", {name}")?;
                    }
                }
                neighbors.wave.map_or(Ok(()), |one| write!(f, ", {}", wave(one)))
            }
            CommunicationPattern::Sweep(one) => write!(f, "sweep, {}", wave(*one)),
            CommunicationPattern::Random => f.write_str("random"),
            CommunicationPattern::Shift { axis, up, periodic } => {
                let (sign, ends) =
                    (if *up { "positive" } else { "negative" }, if *periodic { ", periodic" } else { "" });
                write!(f, "{sign}, {}{ends}", ["x", "y", "z"][*axis])
            }
            CommunicationPattern::Unaddressed => f.write_str("to nobody in particular"),
        }
    }
}

impl Neighbors {
    /// Returns the directions in which ranks send, in the order of the reference: faces, edges, corners.
    pub fn directions(&self) -> Vec<[i64; 3]> {
        let (mut all, span) = (Vec::new(), |axis: u32| if axis < self.dimensions { -1..=1 } else { 0..=0 });
        // The first coordinate is the slowest here, and minus comes before plus.
        for x in span(0) {
            for y in span(1) {
                for z in span(2) {
                    let moved = [x, y, z].iter().filter(|&&step| step != 0).count();
                    if moved > 0 && (moved == 1 || !self.faces) {
                        all.push([x, y, z]);
                    }
                }
            }
        }
        let axes = |step: &[i64; 3]| step.map(|one| one == 0);
        // A stable sort keeps minus before plus among those that move along one set of axes.
        all.sort_by_key(|step| (step.iter().filter(|&&one| one != 0).count(), axes(step)));
        all
    }

    /// Items that are sent in a direction: those of a face, an edge or a corner of a cube with `count` along
    /// a side.
    pub fn items(&self, step: [i64; 3], count: u64) -> Option<u64> {
        let moved = step.iter().filter(|&&one| one != 0).count() as u32;
        let free = self.dimensions - moved;
        // Twice as many nodes along each free axis.
        let side = if self.nodal { count.checked_mul(2)? } else { count };
        side.checked_pow(free)
    }
}

impl Step {
    /// Returns the step of a use of `comm` or `messages`, `None` for other resources.
    ///
    /// Without `of size` the amount is in bytes, in the reference rounded up to words of four.
    ///
    /// # Errors
    /// A trait is not known, or a message would be longer than 2^63 bytes.
    pub fn of(usage: &Usage<'_, f64>, parallelism: f64) -> Result<Option<Step>, AspenError> {
        let Some(pattern) = CommunicationPattern::of(usage.tree)? else { return Ok(None) };
        let span = usage.tree.resource.span;
        let (count, size) = match usage.size {
            Some(size) => (whole(usage.count, span)?, whole(size, span)?),
            None => (whole(usage.quantity, span)?, 1),
        };
        let step = Step { pattern, count, size, times: whole(parallelism, span)? };
        let longest = match pattern {
            CommunicationPattern::Neighbors(neighbors) => neighbors.items([1, 0, 0], count),
            _ => Some(count),
        };
        match longest.and_then(|items| items.checked_mul(size)).filter(|&bytes| bytes <= i64::MAX as u64) {
            Some(_) => Ok(Some(step)),
            None => Err(AspenError::at(span, "a message would be longer than 2^63 bytes")),
        }
    }

    /// Returns the bytes of one message, or of what each rank gives to a collective operation.
    pub fn bytes(&self) -> u64 {
        self.count * self.size
    }

    /// Returns the grid for so many ranks, if the pattern needs one.
    ///
    /// # Errors
    /// So many ranks make no grid; the sentence has the nearest numbers that do.
    pub fn grid(&self, ranks: u64) -> Result<Option<Grid>, AspenError> {
        let Some(dimensions) = self.pattern.dimensions() else { return Ok(None) };
        Grid::new(ranks, dimensions).map(Some).ok_or_else(|| {
            let (below, above) = Grid::near(ranks, dimensions);
            let below = below.map_or(String::new(), |below| format!("{below} or "));
            AspenError::new(format!(
                "{ranks} ranks make no grid of {dimensions} dimensions for '{}'; {below}{above} do",
                self.pattern
            ))
        })
    }

    /// Returns `true` if a rank sends only when it has received.
    pub fn waits(&self) -> bool {
        matches!(self.pattern, CommunicationPattern::Sweep(_))
    }

    /// Returns what a rank sends, in order. `grid` is that of [`Step::grid`], `draw` a number that differs
    /// from step to step. O(neighbours).
    pub fn sends(&self, rank: u64, ranks: u64, grid: Option<&Grid>, draw: u64) -> Vec<Message> {
        self.exchange(rank, ranks, grid, draw, false)
    }

    /// Returns what a rank receives, in the order of the directions from which it comes. O(neighbours), for
    /// random messages O(ranks).
    pub fn receives(&self, rank: u64, ranks: u64, grid: Option<&Grid>, draw: u64) -> Vec<Message> {
        self.exchange(rank, ranks, grid, draw, true)
    }

    fn exchange(
        &self,
        rank: u64,
        ranks: u64,
        grid: Option<&Grid>,
        draw: u64,
        receives: bool,
    ) -> Vec<Message> {
        let message = |peer: u64| Message { peer, bytes: self.bytes() };
        match self.pattern {
            CommunicationPattern::Neighbors(_)
            | CommunicationPattern::Sweep(_)
            | CommunicationPattern::Shift { .. } => {
                let exchange = StepExchange::on(self, grid.copied());
                (0..exchange.len())
                    .filter_map(
                        |at| if receives { exchange.receives(rank, at) } else { exchange.sends(rank, at) },
                    )
                    .collect()
            }
            CommunicationPattern::Random if receives => {
                let sources =
                    (0..ranks).filter(|&source| source != rank && drawn(draw, source, ranks) == rank);
                sources.map(message).collect()
            }
            CommunicationPattern::Random => {
                Some(drawn(draw, rank, ranks)).filter(|&peer| peer != rank).map(message).into_iter().collect()
            }
            CommunicationPattern::Collective(..) | CommunicationPattern::Unaddressed => Vec::new(),
        }
    }
}

/// Returns to whom a rank sends in a random step.
fn drawn(draw: u64, rank: u64, ranks: u64) -> u64 {
    SplitMix64::new(draw.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ rank).below(ranks)
}

fn whole(value: f64, span: SourceSpan) -> Result<u64, AspenError> {
    if value.ceil() <= i64::MAX as f64 {
        return Ok(value.ceil() as u64);
    }
    Err(AspenError::at(span, format!("{value} is more than can be sent")))
}
