//! Members of the communicators that a run made.
//!
//! A file has its rank's arguments and results: a number of its own for the new communicator, which it may
//! use again, and of a split colour and key. So the calls of all ranks that make communicators are read
//! before all others, and gone through together. A communicator is known when all members of the one that it
//! is made from have come to that call.

use super::file::Record;
use super::layout::Function;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::rc::Rc;

/// Numbers of communicators that all have, and of none.
pub const NULL: i64 = 1;
pub const WORLD: i64 = 2;
pub const SELF: i64 = 3;
/// A group without members.
const EMPTY: i64 = 2;
/// The colour of who gets nothing.
const COLORLESS: i64 = 0;

/// A call that says who is with whom.
#[derive(Clone, Debug)]
enum Made {
    Dup,
    Split {
        color: i64,
        key: i64,
    },
    /// Creation from the group with this number.
    Group(i64),
    Cart(Vec<i64>),
    /// The dimensions of a grid that remain.
    Part(Vec<i64>),
}

#[derive(Clone, Debug)]
enum Step {
    /// Creation of a communicator: number of the parent, the call, and number of the new one.
    Make(i64, Made, i64),
    /// The group of a communicator.
    GroupOf(i64, i64),
    /// A group of these places of another, or of all but these.
    Choose { from: i64, places: Vec<i64>, leaves_out: bool, new: i64 },
    /// A group that is made in another way.
    Unknown(i64),
}

/// Functions that make communicators or groups.
pub const MAKERS: [&str; 14] = [
    "Comm_dup",
    "Comm_split",
    "Comm_create",
    "Cart_create",
    "Cart_sub",
    "Comm_group",
    "Group_incl",
    "Group_excl",
    "Group_range_incl",
    "Group_range_excl",
    "Group_union",
    "Group_intersection",
    "Group_difference",
    "Comm_remote_group",
];

/// The calls of one rank that make communicators.
#[derive(Clone, Default, Debug)]
pub struct Steps(VecDeque<Step>);

impl Steps {
    /// Adds the next call of the rank.
    pub fn add(&mut self, function: &Function, record: &Record) {
        let number = |name: &str| record.number(function, name);
        let list = |name: &str| record.numbers(function, name).to_vec();
        let step = match function.name {
            "Comm_dup" => Step::Make(number("oldcomm"), Made::Dup, number("newcomm")),
            "Comm_split" => Step::Make(
                number("oldcomm"),
                Made::Split { color: number("color"), key: number("key") },
                number("newcomm"),
            ),
            "Comm_create" => Step::Make(number("oldcomm"), Made::Group(number("group")), number("newcomm")),
            "Cart_create" => Step::Make(number("oldcomm"), Made::Cart(list("dims")), number("newcomm")),
            "Cart_sub" => Step::Make(number("oldcomm"), Made::Part(list("remain_dims")), number("newcomm")),
            "Comm_group" => Step::GroupOf(number("comm"), number("group")),
            name @ ("Group_incl" | "Group_excl") => {
                let leaves_out = name == "Group_excl";
                Step::Choose {
                    from: number("group"),
                    places: list("ranks"),
                    leaves_out,
                    new: number("newgroup"),
                }
            }
            "Group_range_incl" | "Group_range_excl" | "Group_union" | "Group_intersection"
            | "Group_difference" | "Comm_remote_group" => {
                let last = function
                    .fields
                    .as_deref()
                    .and_then(|fields| fields.last())
                    .map_or("", |field| field.name);
                Step::Unknown(number(last))
            }
            _ => return,
        };
        self.0.push_back(step);
    }
}

/// A communicator.
#[derive(Clone, Debug)]
pub struct Comm {
    /// The members, all ranks counted.
    pub members: Rc<[u32]>,
    /// The dimensions of its grid.
    dims: Rc<[i64]>,
}

/// All that ranks made.
pub struct Comms {
    /// By number; the first is `MPI_COMM_WORLD`.
    pub all: Vec<Comm>,
    /// For each rank what its calls made, in their order: `None` where it got nothing.
    pub made: Vec<VecDeque<Option<usize>>>,
}

/// State of a rank: its next steps, and the meaning of its numbers there.
struct Rank {
    steps: VecDeque<Step>,
    comms: FxHashMap<i64, usize>,
    groups: FxHashMap<i64, Option<Rc<[u32]>>>,
}

impl Comms {
    /// Creates the communicators that the steps of the ranks make; O(members of all communicators).
    ///
    /// # Errors
    /// A sentence with a rank: what it made cannot be known.
    pub fn of(steps: Vec<Steps>) -> Result<Comms, String> {
        let ranks = steps.len() as u32;
        let world = Comm { members: (0..ranks).collect(), dims: Rc::from([]) };
        let mut comms = Comms { all: vec![world], made: vec![VecDeque::new(); ranks as usize] };
        let mut state: Vec<Rank> = steps
            .into_iter()
            .map(|Steps(steps)| Rank {
                steps,
                comms: FxHashMap::from_iter([(WORLD, 0)]),
                groups: FxHashMap::default(),
            })
            .collect();
        // How many members of a communicator have come to a call that makes another of it.
        let mut there: FxHashMap<usize, u32> = FxHashMap::default();
        let mut moved: VecDeque<u32> = (0..ranks).collect();
        while let Some(rank) = moved.pop_front() {
            let Some(parent) = comms.next(&mut state[rank as usize], rank)? else { continue };
            let count = there.entry(parent).or_default();
            *count += 1;
            if *count as usize == comms.all[parent].members.len() {
                *count = 0;
                comms.make(parent, &mut state).map_err(|why| format!("rank {rank}: {why}"))?;
                moved.extend(comms.all[parent].members.iter());
            }
        }
        match (0..).zip(&state).find(|(_, rank): &(u32, &Rank)| !rank.steps.is_empty()) {
            Some((rank, _)) => Err(format!(
                "rank {rank} makes a communicator that other members of the one before do not make"
            )),
            None => Ok(comms),
        }
    }

    /// Goes through what a rank can do alone: the communicator of which it makes another next.
    fn next(&mut self, state: &mut Rank, rank: u32) -> Result<Option<usize>, String> {
        let unknown =
            |number: i64| format!("rank {rank} uses communicator {number}, and nothing says who is in it");
        while let Some(step) = state.steps.front() {
            match step {
                &Step::Make(SELF, ..) => {
                    return Err(format!(
                        "rank {rank} makes a communicator of MPI_COMM_SELF, which is not read"
                    ));
                }
                &Step::Make(parent, ..) => {
                    return state.comms.get(&parent).copied().map(Some).ok_or_else(|| unknown(parent));
                }
                &Step::GroupOf(comm, group) => {
                    let members = match comm {
                        SELF => Rc::from([rank]),
                        comm => {
                            self.all[*state.comms.get(&comm).ok_or_else(|| unknown(comm))?].members.clone()
                        }
                    };
                    state.groups.insert(group, Some(members));
                }
                Step::Choose { from, places, leaves_out, new } => {
                    let chosen = state.groups.get(from).cloned().flatten().map(|from| -> Rc<[u32]> {
                        let at = |&place: &i64| usize::try_from(place).ok();
                        if *leaves_out {
                            let left: rustc_hash::FxHashSet<usize> = places.iter().filter_map(at).collect();
                            return from
                                .iter()
                                .enumerate()
                                .filter(|(place, _)| !left.contains(place))
                                .map(|(_, &rank)| rank)
                                .collect();
                        }
                        places.iter().filter_map(at).filter_map(|place| from.get(place).copied()).collect()
                    });
                    state.groups.insert(*new, chosen);
                }
                &Step::Unknown(new) => drop(state.groups.insert(new, None)),
            }
            state.steps.pop_front();
        }
        Ok(None)
    }

    /// Makes other communicators of one, by all its members.
    fn make(&mut self, parent: usize, state: &mut [Rank]) -> Result<(), String> {
        let Comm { members, dims } = self.all[parent].clone();
        let mut calls = Vec::with_capacity(members.len());
        for &rank in members.iter() {
            let step = state[rank as usize].steps.pop_front();
            let Some(Step::Make(_, how, number)) = step else { unreachable!("it has come to such a call") };
            calls.push((rank, how, number));
        }
        // Who goes where: by colour, in the order of keys and then of ranks.
        let mut places: Vec<(i64, i64, usize)> = Vec::with_capacity(calls.len());
        let mut grid: Rc<[i64]> = Rc::from([]);
        for (place, (rank, how, number)) in calls.iter().enumerate() {
            let told = match how {
                Made::Dup => {
                    grid = dims.clone();
                    Some((COLORLESS, 0))
                }
                Made::Split { color, key } => Some((*color, *key)),
                Made::Cart(dims) => {
                    grid = dims.as_slice().into();
                    let nodes = dims.iter().try_fold(1i64, |all, &dim| all.checked_mul(dim.max(0)));
                    nodes.is_none_or(|nodes| (place as i64) < nodes).then_some((COLORLESS, 0))
                }
                Made::Part(remain) => {
                    let (color, kept) = part(&dims, remain, place as i64);
                    grid = kept.into();
                    Some((color, 0))
                }
                Made::Group(EMPTY) => None,
                Made::Group(group) => {
                    let members = state[*rank as usize].groups.get(group).cloned().flatten();
                    let members =
                        members.ok_or("a communicator of a group that was made in a way that is not read")?;
                    let first = members.first().copied().map_or(0, i64::from);
                    members.iter().position(|member| member == rank).map(|place| (first, place as i64))
                }
            };
            // A null handle says it as well: of a split without colour nothing else does.
            if let Some((color, key)) = told.filter(|_| *number > NULL) {
                places.push((color, key, place));
            }
        }
        places.sort_unstable();
        let mut made: Vec<Option<usize>> = vec![None; calls.len()];
        for group in places.chunk_by(|one, other| one.0 == other.0) {
            let members = group.iter().map(|&(.., place)| calls[place].0).collect();
            group.iter().for_each(|&(.., place)| made[place] = Some(self.all.len()));
            self.all.push(Comm { members, dims: grid.clone() });
        }
        for ((rank, _, number), made) in calls.into_iter().zip(made) {
            self.made[rank as usize].push_back(made);
            if let Some(made) = made {
                state[rank as usize].comms.insert(number, made);
            }
        }
        Ok(())
    }
}

/// Returns a node's place in the dimensions of a grid that go, as one number, and the dimensions that remain.
fn part(dims: &[i64], remain: &[i64], node: i64) -> (i64, Vec<i64>) {
    let (mut left, mut color, mut scale) = (node, 0i64, 1i64);
    // The last dimension changes fastest.
    for (place, &dim) in dims.iter().enumerate().rev() {
        let dim = dim.max(1);
        let coordinate = left % dim;
        left /= dim;
        if remain.get(place).copied().unwrap_or(0) == 0 {
            color = color.saturating_add(coordinate.saturating_mul(scale));
            scale = scale.saturating_mul(dim);
        }
    }
    let kept = dims.iter().zip(remain).filter(|(_, remains)| **remains != 0).map(|(&dim, _)| dim).collect();
    (color, kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(of: &[&[Step]]) -> Vec<Steps> {
        of.iter().map(|steps| Steps(steps.iter().cloned().collect())).collect()
    }

    fn members(comms: &Comms) -> Vec<Vec<u32>> {
        comms.all.iter().map(|comm| comm.members.to_vec()).collect()
    }

    #[test]
    fn colours_and_keys_say_who_is_where() {
        let split = |color, key, new| Step::Make(WORLD, Made::Split { color, key }, new);
        let dup = |of, new| Step::Make(of, Made::Dup, new);
        let comms = Comms::of(ranks(&[
            &[split(7, 1, 4), dup(4, 5)],
            &[split(7, 0, 9), dup(9, 9)],
            &[split(-1, 0, NULL)],
        ]));
        let comms = comms.unwrap();
        assert_eq!(members(&comms), [vec![0, 1, 2], vec![1, 0], vec![1, 0]]);
        assert_eq!(comms.made[0], [Some(1), Some(2)]);
        assert_eq!(comms.made[2], [None]);
    }

    #[test]
    fn grids_have_rows_and_groups_those_that_were_chosen() {
        let grid = |_| {
            vec![
                Step::Make(WORLD, Made::Cart(vec![2, 2]), 4),
                Step::Make(4, Made::Part(vec![0, 1]), 5),
                Step::GroupOf(WORLD, 3),
                Step::Choose { from: 3, places: vec![3, 0], leaves_out: false, new: 4 },
            ]
        };
        let mut all: Vec<Vec<Step>> = (0..5).map(grid).collect();
        all[4] = vec![Step::Make(WORLD, Made::Cart(vec![2, 2]), NULL), Step::GroupOf(WORLD, 4)];
        for (rank, steps) in all.iter_mut().enumerate() {
            steps.push(Step::Make(WORLD, Made::Group(4), if rank == 0 || rank == 3 { 6 } else { NULL }));
        }
        let all: Vec<&[Step]> = all.iter().map(Vec::as_slice).collect();
        let comms = Comms::of(ranks(&all)).unwrap();
        assert_eq!(
            members(&comms),
            [vec![0, 1, 2, 3, 4], vec![0, 1, 2, 3], vec![0, 1], vec![2, 3], vec![3, 0]]
        );
    }

    #[test]
    fn calls_that_do_not_meet_are_refused() {
        let error = Comms::of(ranks(&[&[Step::Make(WORLD, Made::Dup, 4)], &[]])).err().unwrap();
        assert!(error.contains("rank 0 makes a communicator"), "{error}");
        let error = Comms::of(ranks(&[&[Step::Make(8, Made::Dup, 4)]])).err().unwrap();
        assert!(error.contains("communicator 8"), "{error}");
    }
}
