//! Comparison of the types that members of a collective call give and take. Each block is compared with the
//! reference: the root's, or that of rank 0 of the communicator where there is no root (MPI 5.0 section 6.1).
//!
//! Calls are told apart by their number on a communicator, which is the same for all members. The reference
//! is told to the processes that have other members, in a record because of which no rank does anything.

use super::comparing::party;
use super::{Unit, Use};
use crate::peers::Peers;
use crate::ranks::Ranks;
use crate::remote::record::{Put, Take};
use crate::remote::stream::Kind;
use crate::waits::gatherings;
use crate::watch::Watch;
use engine::Time;
use objects::Objects;
use objects::datatype::Signature;
use objects::op::{Op, Predefined};
use recorder::Finding;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A block of elements that a member gives or takes.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// The datatype's handle.
    pub datatype: usize,
    /// Number of elements; `None` where members may have different numbers, so that elements alone are
    /// compared.
    pub elements: Option<u64>,
    /// The handle of the operation of a reduction.
    pub operation: Option<usize>,
    /// `true` if the others are compared with it.
    pub is_reference: bool,
}

/// A block that a member has named.
#[derive(Clone, Copy, Debug)]
struct Said {
    what: Use,
    bytes: Option<u64>,
    /// The number of the operation of a reduction ([`operation_number`]); 0: none.
    operation: u32,
}

/// A call that not all members of this process have entered, or of which the reference is not known.
#[derive(Default)]
struct Open {
    entered: u32,
    reference: Option<(Unit, Said)>,
    /// Blocks that members named before the reference was known.
    waiting: Vec<Said>,
}

/// The collective calls of a process.
#[derive(Default)]
pub(super) struct Members {
    /// By context.
    comms: FxHashMap<u32, gatherings::Members>,
    /// Calls so far, by rank and context.
    calls: FxHashMap<(u32, u32), u32>,
    /// By context and number.
    open: FxHashMap<(u32, u32), Open>,
}

/// Bytes of a record.
const RECORD: usize = 1 + 2 * 4 + 4 * 8 + 1 + 5 * 4;
/// First byte of a record that carries a reference and not entries ([`crate::waits`]).
pub(crate) const REFERENCE: u8 = 2;
/// Added to the number of an operation that the program made.
const MADE: u32 = 1 << 31;
/// Instead of a number of bytes: it is not compared.
const ANY: u64 = u64::MAX;

impl Watch {
    /// Compares these blocks with other members': the mounted rank is about to enter a collective call of
    /// `function` on a communicator (handle).
    pub(crate) fn compare_members(
        &mut self,
        (ranks, peers): (&Ranks, &mut Peers),
        objects: &Objects,
        function: u16,
        comm: usize,
        blocks: &[Block],
    ) {
        let Ok(comm) = objects.comms.get(comm) else { return };
        if self.types.is_none() || comm.is_inter() || comm.size() < 2 {
            return;
        }
        let said: SmallVec<[(Said, bool); 2]> = blocks
            .iter()
            .filter_map(|block| {
                let what = Use { function, ..self.use_of(ranks, objects, block.datatype)? };
                let size = objects.types.get(block.datatype).ok()?.size;
                let operation = match block.operation {
                    Some(operation) => operation_number(objects, ranks.me(), operation, !peers.exist()),
                    None => 0,
                };
                let bytes = block.elements.map(|elements| elements.saturating_mul(size));
                Some((Said { what, bytes, operation }, block.is_reference))
            })
            .collect();
        let (me, context, own) = (ranks.me(), comm.context, ranks.own());
        let Some(types) = &mut self.types else { return };
        let members = &mut types.members;
        let of_comm =
            members.comms.entry(context).or_insert_with(|| gatherings::members(comm, &own, peers.remote()));
        let here = of_comm.here;
        let others: SmallVec<[u32; 4]> =
            of_comm.processes.iter().copied().filter(|_| here < comm.size()).collect();
        let number = members.calls.entry((me, context)).or_default();
        let id = (context, *number);
        *number += 1;
        let open = members.open.entry(id).or_default();
        open.entered += 1;
        if let Some(&(reference, _)) = said.iter().find(|(_, is_reference)| *is_reference)
            && let Some(unit) = types.units.get((reference.what.unit as usize).wrapping_sub(1))
        {
            open.reference = Some((*unit, reference));
            self.send_reference(peers, id, &others, reference);
        }
        let Some(types) = &mut self.types else { return };
        if let Some(open) = types.members.open.get_mut(&id) {
            open.waiting.extend(said.iter().map(|(said, _)| said));
        }
        self.compare_open((ranks, peers), id, here);
    }

    /// Compares what is known of a call, and forgets it when all is.
    fn compare_open(&mut self, (ranks, peers): (&Ranks, &Peers), id: (u32, u32), here: u32) {
        let Some(types) = &mut self.types else { return };
        let Some(open) = types.members.open.get_mut(&id) else { return };
        let Some((unit, reference)) = open.reference else { return };
        let waiting = std::mem::take(&mut open.waiting);
        if open.entered == here {
            types.members.open.remove(&id);
        }
        for said in waiting {
            self.compare_said((ranks, peers), said, &unit, reference);
        }
    }

    fn compare_said(&mut self, (ranks, peers): (&Ranks, &Peers), said: Said, unit: &Unit, reference: Said) {
        let Some(types) = &self.types else { return };
        let Some(&own) = types.units.get((said.what.unit as usize).wrapping_sub(1)) else { return };
        // Members that call different functions are the collective chapter's to tell of.
        if said.what.function != reference.what.function {
            return;
        }
        let first = party(ranks, peers, reference.what);
        let mut found: SmallVec<[Finding; 2]> = SmallVec::new();
        if said.operation != reference.operation {
            found.push(Finding::Collective {
                member: (party(ranks, peers, said.what), operation_called(said.operation)),
                first: (first, operation_called(reference.operation)),
            });
        }
        let fits = match (said.bytes, reference.bytes) {
            (Some(one), Some(other)) => one == other && (one == 0 || own.matches(unit, one)),
            // So many bytes that both have a whole number of elements.
            _ => {
                own.size == 0
                    || unit.size == 0
                    || own.size.checked_mul(unit.size).is_none_or(|bytes| own.matches(unit, bytes))
            }
        };
        let called = |unit: &Unit, said: &Said| match said.bytes {
            Some(bytes) if unit.size != 0 => format!("{} elements of {}", bytes / unit.size, unit.called()),
            _ => unit.called(),
        };
        if !fits {
            found.push(Finding::Collective {
                member: (party(ranks, peers, said.what), called(&own, &said)),
                first: (first, called(unit, &reference)),
            });
        }
        if let Some(types) = &mut self.types {
            types.found.extend(found);
        }
    }

    fn send_reference(&self, peers: &mut Peers, id: (u32, u32), processes: &[u32], reference: Said) {
        let Some(types) = &self.types else { return };
        let Some(&unit) = types.units.get((reference.what.unit as usize).wrapping_sub(1)) else { return };
        for &process in processes {
            let others = peers.others();
            if process == others.me {
                continue;
            }
            // No rank acts because of it.
            let out = others.streams.begin(process, Kind::Entries, Time::MAX, RECORD);
            out.u8(REFERENCE);
            out.u32(id.0);
            out.u32(id.1);
            let (hash, power, raw) = unit.signature.parts();
            for number in [hash, power, unit.size, reference.bytes.unwrap_or(ANY)] {
                out.u64(number);
            }
            out.u8(raw.into());
            out.i32(unit.name);
            out.u32(reference.what.rank);
            out.u32(reference.what.site);
            out.u32(reference.what.function.into());
            out.u32(reference.operation);
            others.streams.end();
        }
    }

    /// Another process tells of the reference of a call.
    pub(crate) fn reference_arrived(
        &mut self,
        (ranks, peers): (&Ranks, &Peers),
        id: (u32, u32),
        record: &mut Take,
    ) {
        let Some(types) = &mut self.types else { return };
        let (hash, power, size, bytes) = (record.u64(), record.u64(), record.u64(), record.u64());
        let raw = record.u8() != 0;
        let (name, rank, site, function) = (record.i32(), record.u32(), record.u32(), record.u32() as u16);
        let unit = Unit { signature: Signature::from_parts(hash, power, raw), size, name };
        let what = Use { unit: types.number(unit), rank, site, number: 0, function };
        let reference = Said { what, bytes: (bytes != ANY).then_some(bytes), operation: record.u32() };
        types.members.open.entry(id).or_default().reference = Some((unit, reference));
        // Until a member of this process has entered, its number is not known, and none waits.
        let here = types.members.comms.get(&id.0).map_or(u32::MAX, |members| members.here);
        self.compare_open((ranks, peers), id, here);
    }
}

/// Returns the number by which operations of reductions are compared. Operations that the program made differ
/// by their functions where all ranks are `here`.
// Elsewhere a function has another address in each process.
fn operation_number(objects: &Objects, rank: u32, operation: usize, here: bool) -> u32 {
    match objects.ops.get(rank, operation).map(|op| &**op) {
        Ok(Op::Predefined(op)) => op.handle() as u32,
        Ok(Op::User(_)) if here => MADE | operation as u32,
        Ok(Op::User(made)) => MADE | u32::from(made.commute),
        // The call fails because of it.
        Err(_) => 0,
    }
}

fn operation_called(number: u32) -> String {
    let predefined = Predefined::ALL.iter().find(|op| op.handle() as u32 == number);
    predefined.map_or_else(|| "an operation of MPI_Op_create".to_owned(), |op| op.name().to_owned())
}
