//! Partitioned communication of a recording, as a replay has it.

use super::arguments::{Arguments, Partner, Refused, request};
use super::{Cursor, Refusal, Replay};
use crate::call::Call;
use crate::partitioned::{PartitionedAction, PartitionedCall};
use crate::workload::Caller;
use trace::trace::Cell;

/// Partitions that one operation may have.
const MAX_PARTITIONS: i64 = 1 << 24;

/// A call about a partitioned send or receive: its request, and what is done.
#[derive(Debug)]
pub(super) struct RecordedPartitions {
    request: Cell,
    does: RecordedPartitionedAction,
}

#[derive(Debug)]
enum RecordedPartitionedAction {
    /// Direction, `true` if it sends, number of partitions, and the message of each.
    Init(bool, Cell, Partner),
    Ready(Box<[Cell]>),
    Range(Cell, Cell),
    /// Flag and partition.
    Arrived(Cell, Cell),
    Nothing,
}

/// Returns what a function is that is about partitions; `None` of another.
pub(super) fn partitioned(call: &Arguments, name: &str) -> Result<Option<RecordedPartitions>, Refused> {
    let known = |name: &str| call.known(name);
    let does = match name {
        "Psend_init" => RecordedPartitionedAction::Init(true, known("partitions")?, partner(call, "dest")?),
        "Precv_init" => {
            RecordedPartitionedAction::Init(false, known("partitions")?, partner(call, "source")?)
        }
        "Pready" => RecordedPartitionedAction::Ready([known("partition")?].into()),
        "Pready_list" => RecordedPartitionedAction::Ready(call.numbers("array_of_partitions")?.into()),
        "Pready_range" => RecordedPartitionedAction::Range(known("partition_low")?, known("partition_high")?),
        "Parrived" => match request(call) {
            Ok(Some(_)) => RecordedPartitionedAction::Arrived(known("flag")?, known("partition")?),
            // Nothing is missing of a null request.
            _ => {
                let does = RecordedPartitionedAction::Nothing;
                return Ok(Some(RecordedPartitions { request: Cell::Same(0), does }));
            }
        },
        _ => return Ok(None),
    };
    let request = request(call)?.ok_or("its request is not in the trace")?;
    Ok(Some(RecordedPartitions { request, does }))
}

fn partner(call: &Arguments, rank: &str) -> Result<Partner, Refused> {
    call.partner([rank, "tag", "count", "datatype"])
}

impl RecordedPartitions {
    /// Returns what says whether it has found something, if it is a poll.
    pub(super) fn flag(&self) -> Option<Cell> {
        if let RecordedPartitionedAction::Arrived(flag, _) = self.does { Some(flag) } else { None }
    }
}

impl Replay<'_> {
    /// Returns a call about partitions.
    pub(super) fn partitioned(
        &self,
        caller: &Caller,
        cursor: &Cursor,
        call: &RecordedPartitions,
    ) -> Result<Call, Refusal> {
        let number = |cell: Cell| self.number(cursor, cell);
        let short = |cell: Cell| number(cell) as i32;
        let does = match &call.does {
            RecordedPartitionedAction::Init(sends, partitions, partner) => {
                let count = number(*partitions);
                if count > MAX_PARTITIONS {
                    return Err(
                        format!("it has {count} partitions, and {MAX_PARTITIONS} are followed").into()
                    );
                }
                let envelope = self.envelope(caller, cursor, partner)?;
                match sends {
                    true => PartitionedAction::Sends(count as i32, envelope),
                    false => PartitionedAction::Receives(count as i32, envelope),
                }
            }
            RecordedPartitionedAction::Ready(partitions) => {
                PartitionedAction::Ready(partitions.iter().map(|&cell| short(cell)).collect())
            }
            RecordedPartitionedAction::Range(first, last) => {
                PartitionedAction::Range(short(*first), short(*last))
            }
            RecordedPartitionedAction::Arrived(flag, _) if self.is_vain(cursor, Some(*flag)) => {
                return Ok(Call::Local);
            }
            RecordedPartitionedAction::Nothing => return Ok(Call::Local),
            RecordedPartitionedAction::Arrived(_, partition) => PartitionedAction::Arrived(short(*partition)),
        };
        let request = self.slot(cursor, call.request);
        Ok(Call::Partitioned(Box::new(PartitionedCall { request, does })))
    }
}
