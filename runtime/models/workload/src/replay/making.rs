//! Calls of a recording that make a communicator, as a replay has them.
//!
//! A process topology is made as the program made it, because neighbourhood collectives go by it. Of other
//! calls the trace says who is together, and in which order, so that all of them are splits.

use super::arguments::{Arguments, Comm, Refused, request};
use super::operation::Operation;
use super::{Cursor, Refusal, Replay};
use crate::call::{Call, Neighborhood};
use crate::workload::Caller;
use mpi::request::UNDEFINED;
use std::rc::Rc;
use trace::template::Position;
use trace::trace::{Cell, Instance};

/// A call that makes a communicator, with its arguments.
#[derive(Clone, Debug)]
pub(super) enum Make {
    Dup,
    /// Without waiting: the number of the new communicator, if that is known, and of the request.
    Idup(Option<Cell>, Cell),
    Split {
        color: Cell,
        key: Cell,
    },
    /// A split by the members that the trace has in the communicator with this number.
    Among(Cell),
    /// The rank gets none.
    Nothing,
    /// By those alone that the trace has in the communicator with this number, with this tag.
    Group(Cell, Cell),
    Cart(Box<[Cell]>, Box<[Cell]>),
    Graph(Box<[Cell]>, Box<[Cell]>),
    Adjacent(Box<[Cell]>, Box<[Cell]>),
    /// Sources, how many edges each has, and where they go.
    Edges([Box<[Cell]>; 3]),
    /// A part of a grid: the dimensions that remain.
    Part(Box<[Cell]>),
}

/// Returns what a function is that makes a communicator; `None` of another.
pub(super) fn making(call: &Arguments, name: &str) -> Result<Option<Operation>, Refused> {
    let list = |name: &str| call.numbers(name).map(Vec::into_boxed_slice);
    let among = |made: &str| Ok::<_, Refused>(call.made(made)?.map_or(Make::Nothing, Make::Among));
    let (parent, how) = match name {
        "Comm_dup" | "Comm_dup_with_info" => ("comm", Make::Dup),
        "Comm_idup" | "Comm_idup_with_info" => {
            // Where the trace cannot tell which communicator it makes, whoever uses that one is refused.
            let made = call.made("newcomm").ok().flatten();
            let request = request(call)?.ok_or("its request is not in the trace")?;
            ("comm", Make::Idup(made, request))
        }
        "Comm_split" => ("comm", Make::Split { color: call.known("color")?, key: call.known("key")? }),
        "Comm_split_type" | "Comm_create" => ("comm", among("newcomm")?),
        "Comm_create_group" | "Comm_create_from_group" => {
            // Who is not in the group gets nothing, and asks nobody.
            let Some(made) = call.made("newcomm")? else { return Ok(Some(Operation::Local)) };
            if name == "Comm_create_from_group" {
                let Some(tag) = call.text_index("stringtag") else {
                    return Err("its argument stringtag is not in the trace".to_owned());
                };
                return Ok(Some(Operation::Make {
                    comm: None,
                    how: Make::Group(made, Cell::Same(tag.into())),
                }));
            }
            ("comm", Make::Group(made, call.known("tag")?))
        }
        // Traces of before these lists were recorded have none.
        "Cart_create" => match (list("dims"), list("periods")) {
            (Ok(dims), Ok(periods)) => ("comm_old", Make::Cart(dims, periods)),
            _ => ("comm_old", among("comm_cart")?),
        },
        "Cart_sub" => match list("remain_dims") {
            Ok(remain) => ("comm", Make::Part(remain)),
            Err(_) => ("comm", among("newcomm")?),
        },
        "Graph_create" => match (list("index"), list("edges")) {
            (Ok(index), Ok(edges)) => ("comm_old", Make::Graph(index, edges)),
            _ => ("comm_old", among("comm_graph")?),
        },
        "Dist_graph_create_adjacent" => match (list("sources"), list("destinations")) {
            (Ok(sources), Ok(destinations)) => ("comm_old", Make::Adjacent(sources, destinations)),
            _ => ("comm_old", among("comm_dist_graph")?),
        },
        "Dist_graph_create" => match (list("sources"), list("degrees"), list("destinations")) {
            (Ok(sources), Ok(degrees), Ok(destinations)) => {
                ("comm_old", Make::Edges([sources, degrees, destinations]))
            }
            _ => ("comm_old", among("comm_dist_graph")?),
        },
        _ => return Ok(None),
    };
    Ok(Some(Operation::Make { comm: Some(call.comm(parent)?), how }))
}

impl Replay<'_> {
    /// Returns a call that makes a communicator.
    pub(super) fn make(
        &self,
        caller: &Caller,
        cursor: &Cursor,
        comm: Option<Comm>,
        how: &Make,
    ) -> Result<Call, Refusal> {
        let number = |cell: Cell| self.number(cursor, cell) as i32;
        let numbers = |cells: &[Cell]| cells.iter().map(|&cell| number(cell)).collect::<Box<[i32]>>();
        let flags = |cells: &[Cell]| cells.iter().map(|&cell| number(cell) != 0).collect::<Box<[bool]>>();
        let comm = comm.map(|comm| self.comm(caller, cursor, comm)).transpose()?;
        let Some(parent) = comm else {
            let Make::Group(made, tag) = how else {
                return Err("nothing says what the communicator is made of".into());
            };
            return Ok(Call::Group(None, self.members(caller, cursor, *made)?, number(*tag)));
        };
        let ranks = |cells: &[Cell]| -> Result<Box<[i32]>, Refusal> {
            cells.iter().map(|&cell| self.rank(caller, parent, self.number(cursor, cell))).collect()
        };
        let nodes = |cells: &[Cell]| {
            Ok::<Box<[u32]>, Refusal>(ranks(cells)?.iter().map(|&rank| rank as u32).collect())
        };
        let neighborhood = match how {
            Make::Dup => return Ok(Call::Dup(parent)),
            Make::Idup(made, request) => {
                let number = made.map(|made| u32::try_from(self.number(cursor, made)).unwrap_or(0));
                if let Some(number) =
                    number.filter(|&made| !(1..=self.trace.comms.len()).contains(&(made as usize)))
                {
                    return Err(format!("the trace does not say who is in comm#{number}").into());
                }
                let made = number.map(|number| number + Call::SELF);
                return Ok(Call::Idup(parent, made, self.slot(cursor, *request)));
            }
            Make::Split { color, key } => return Ok(Call::Split(parent, number(*color), number(*key))),
            Make::Nothing => return Ok(Call::Split(parent, UNDEFINED, 0)),
            Make::Among(cell) => {
                let (number, remote, me) = self.instance(caller, cursor, *cell)?;
                // Both groups of an intercommunicator name the same color.
                let color = number.leader.min(remote.leader);
                return Ok(Call::Split(parent, color as i32, me.rank as i32));
            }
            Make::Group(made, tag) => {
                return Ok(Call::Group(Some(parent), self.members(caller, cursor, *made)?, number(*tag)));
            }
            Make::Cart(dims, periods) => Neighborhood::Cart(numbers(dims), flags(periods)),
            Make::Graph(index, edges) => Neighborhood::Graph(numbers(index), ranks(edges)?),
            Make::Adjacent(sources, destinations) => {
                Neighborhood::Adjacent(nodes(sources)?, nodes(destinations)?)
            }
            Make::Edges([sources, degrees, destinations]) => {
                let (sources, degrees, destinations) =
                    (nodes(sources)?, numbers(degrees), nodes(destinations)?);
                let froms = sources
                    .iter()
                    .zip(&degrees)
                    .flat_map(|(&source, &degree)| std::iter::repeat_n(source, degree.max(0) as usize));
                Neighborhood::Edges(froms.zip(destinations).collect())
            }
            Make::Part(remain) => Neighborhood::Part(flags(remain)),
        };
        Ok(Call::Neighborhood(parent, Box::new(neighborhood)))
    }

    /// Returns which communicator a rank's number says, the one of the group that messages go to, and the
    /// rank's position in it.
    pub(super) fn instance(
        &self,
        caller: &Caller,
        cursor: &Cursor,
        cell: Cell,
    ) -> Result<(Instance, Instance, Position), Refusal> {
        let number = u32::try_from(self.number(cursor, cell)).unwrap_or(0);
        let found =
            self.trace.comms.member(caller.rank, number).zip(self.trace.comms.instance(caller.rank, number));
        let Some((member, (instance, remote, _))) = found else {
            return Err(format!("the trace does not say who is in comm#{number}").into());
        };
        Ok((instance, remote, Position { rank: member.rank, peers: member.peers }))
    }

    /// Returns who is in the communicator that a rank makes, all ranks of the run counted.
    pub(super) fn members(&self, caller: &Caller, cursor: &Cursor, made: Cell) -> Result<Rc<[u32]>, Refusal> {
        let (instance, ..) = self.instance(caller, cursor, made)?;
        let members = self.plan.groups.get(&instance).filter(|members| members.contains(&caller.rank));
        let members = members.ok_or("the trace does not say who is in the communicator")?;
        Ok(if caller.first == 0 {
            members.clone()
        } else {
            members.iter().map(|rank| rank + caller.first).collect()
        })
    }
}
