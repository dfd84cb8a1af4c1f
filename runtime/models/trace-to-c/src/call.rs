//! A call of a trace, made by ranks of several shapes: what its arguments are, rank by rank.

use crate::numbers::{NumberByRank, RanksByTemplate};
use crate::signature::{FunctionSignature, ParameterKind, SignatureParameter};
use crate::{Datatypes, Options};
use trace::Trace;
use trace::template::{Field, Peer, Position, Template, Whose};
use trace::trace::Cell;

/// The reason why a call cannot be written.
pub type Refusal = String;

/// An argument of a generated call.
#[derive(Clone, Copy)]
pub struct CallArgument<'a> {
    pub parameter: &'static SignatureParameter,
    pub field: &'a Field,
    /// The place of its first number.
    pub at: usize,
}

/// A call of the generated program.
pub struct GeneratedCall<'a> {
    pub ranks: &'a RanksByTemplate<'a>,
    pub options: &'a Options,
    pub template: &'a Template,
    pub signature: &'static FunctionSignature,
    pub arguments: Vec<CallArgument<'a>>,
    /// By shape: its place in [`Trace::calls`].
    variants: &'a [(u32, u32)],
    /// Number of iterations of the loop around that have numbers of their own, else 1.
    turns: usize,
}

impl<'a> GeneratedCall<'a> {
    /// Describes recorded calls with one template as one call.
    ///
    /// # Errors
    /// If it is no function of MPI.
    pub fn new(
        ranks: &'a RanksByTemplate<'a>,
        options: &'a Options,
        variants: &'a [(u32, u32)],
    ) -> Result<GeneratedCall<'a>, Refusal> {
        let trace = ranks.trace;
        let template = &trace.templates[trace.calls[variants[0].1 as usize].0 as usize];
        let function = &trace.functions[template.function as usize];
        let signature = FunctionSignature::of(&function.name).ok_or("it is no function of MPI")?;
        let mut at = 0usize;
        let mut arguments = Vec::new();
        for (name, field) in function.arguments.iter().zip(&template.fields) {
            let parameter = signature.parameters.iter().find(|parameter| parameter.name == name);
            arguments.push(CallArgument {
                parameter: parameter.ok_or_else(|| format!("it has no argument {name}"))?,
                field,
                at,
            });
            at += field.numbers().unwrap_or(0) as usize;
        }
        let cells: Vec<(u32, &[Cell])> =
            variants.iter().map(|&(shape, call)| (shape, trace.calls[call as usize].1.as_slice())).collect();
        Ok(GeneratedCall {
            ranks,
            options,
            template,
            signature,
            arguments,
            variants,
            turns: ranks.turns(&cells),
        })
    }

    /// Returns the trace.
    pub fn trace(&self) -> &'a Trace {
        self.ranks.trace
    }

    /// Returns the argument of this name.
    pub fn argument(&self, name: &str) -> Option<CallArgument<'a>> {
        self.arguments.iter().find(|argument| argument.parameter.name == name).copied()
    }

    /// Returns the first that there is of these.
    pub fn first(&self, names: &[&str]) -> Option<CallArgument<'a>> {
        names.iter().find_map(|name| self.argument(name))
    }

    /// Returns what `of` says of the numbers in these places ([`RanksByTemplate::map`]).
    pub fn map(&self, places: &[usize], by_rank: bool, of: impl Fn(u32, &[i64]) -> i64) -> NumberByRank {
        let cells: Vec<(u32, Vec<Cell>)> = self
            .variants
            .iter()
            .map(|&(shape, call)| {
                (shape, places.iter().map(|&place| self.trace().calls[call as usize].1[place]).collect())
            })
            .collect();
        self.ranks.map(&cells, self.turns, by_rank, of)
    }

    /// Returns the number in a place.
    pub fn number(&self, place: usize) -> NumberByRank {
        self.map(&[place], false, |_, numbers| numbers[0])
    }

    /// Returns the number of a scalar argument; `None` if the trace does not say it.
    pub fn scalar(&self, name: &str) -> Option<NumberByRank> {
        let argument = self.argument(name)?;
        (argument.field.numbers() == Some(1) && !matches!(argument.field, Field::List(_)))
            .then(|| self.number(argument.at))
    }

    /// Returns what `of` says of the numbers in these places, and of what the call's ranks are relative to.
    pub fn relative(&self, places: &[usize], of: impl Fn(Position, &[i64]) -> i64) -> NumberByRank {
        let comm = if let Whose::Made(place) = self.template.whose() { Some(place) } else { None };
        let places: Vec<usize> = places.iter().copied().chain(comm).collect();
        self.map(&places, true, |rank, numbers| {
            of(self.position(rank, comm.and(numbers.last().copied())), numbers)
        })
    }

    /// Returns the ranks that are told in a place, in the communicator that the call names.
    pub fn absolute(&self, place: usize) -> NumberByRank {
        self.relative(&[place], |position, numbers| Peer::of(numbers[0]).rank(position).into())
    }

    /// Returns what ranks are relative to, for a rank whose number for the communicator is this.
    fn position(&self, rank: u32, comm: Option<i64>) -> Position {
        let world = Position { rank, peers: self.trace().ranks };
        match (self.template.whose(), comm) {
            (Whose::Named(name), _) if self.trace().names[name as usize] == "MPI_COMM_SELF" => {
                Position { rank: 0, peers: 1 }
            }
            (Whose::Made(_), Some(number)) => {
                let member = self.trace().comms.member(rank, u32::try_from(number).unwrap_or(0));
                member.map_or(world, |member| Position { rank: member.rank, peers: member.peers })
            }
            _ => world,
        }
    }

    /// Returns how many ranks messages can go to, at most.
    pub fn peers(&self) -> i64 {
        match self.template.whose() {
            Whose::Made(_) => self.relative(&[], |position, _| position.peers.into()).most(),
            _ => self.position(0, None).peers.into(),
        }
    }

    /// Elements of an array with the places of their numbers; `None` if the trace does not say them.
    pub fn elements(&self, argument: CallArgument<'a>) -> Option<Vec<(&'a Field, usize)>> {
        let Field::List(runs) = argument.field else { return None };
        let mut at = argument.at;
        let mut elements = Vec::new();
        for (length, field) in runs {
            for _ in 0..*length {
                elements.push((field, at));
                at += field.numbers().unwrap_or(0) as usize;
            }
        }
        Some(elements)
    }

    /// Returns `true` if messages tell the datatype in bytes.
    pub fn is_told_in_bytes(&self, field: &Field) -> bool {
        self.options.datatypes == Datatypes::Size && matches!(field, Field::Datatype(None))
    }

    /// Returns size and extent of a datatype for each rank, as the greatest; `None` if the trace does not
    /// have them.
    pub fn extent(&self, field: &Field, at: usize) -> Option<i64> {
        match field {
            Field::Datatype(Some(place)) => {
                let known = self.trace().types[*place as usize];
                Some(known.extent.max(known.size as i64))
            }
            // Bytes lie side by side, but for what displacements in extents leave between them.
            Field::Datatype(None) => {
                Some(self.map(&[at + 1, at + 2], false, |_, numbers| numbers[0].max(numbers[1])).most())
            }
            _ => None,
        }
    }

    /// Returns the datatype of the elements that an argument counts.
    pub fn type_of(&self, counts: &str) -> Option<CallArgument<'a>> {
        match counts {
            "sendcount" | "sendcounts" | "sdispls" => self.first(&["sendtype", "sendtypes"]),
            "displs" if self.argument("sendcounts").is_some() => self.first(&["sendtype"]),
            "recvcount" | "recvcounts" | "rdispls" | "displs" => {
                self.first(&["recvtype", "recvtypes", "datatype"])
            }
            "count" | "incount" | "outcount" => self.argument("datatype"),
            _ => None,
        }
    }

    /// Returns the function without what tells nonblocking and persistent forms apart: `alltoallv`.
    pub fn base(&self) -> String {
        let name = self.signature.name.trim_start_matches("MPI_").trim_end_matches("_init");
        let lower = name.to_lowercase();
        let collective = ["all", "bar", "bca", "exs", "gat", "nei", "red", "sca"];
        match lower.strip_prefix('i') {
            Some(rest) if collective.iter().any(|begin| rest.starts_with(begin)) => rest.to_owned(),
            _ => lower,
        }
    }

    /// Returns `true` if a parameter of this kind and name counts, so that more than an `int` needs the large
    /// variant.
    pub fn is_large(&self) -> bool {
        let is_count = |argument: &&CallArgument| {
            argument.parameter.types[0] != argument.parameter.types[1]
                && argument.parameter.kind == ParameterKind::Number
        };
        self.signature.has_large
            && self.arguments.iter().filter(is_count).any(|argument| {
                let numbers = argument.at..argument.at + argument.field.numbers().unwrap_or(0) as usize;
                argument.parameter.types[0] == "int"
                    && numbers.into_iter().any(|at| self.number(at).most() > i64::from(i32::MAX))
            })
    }
}
