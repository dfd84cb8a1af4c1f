//! Open MPI's decisions by version.

mod early;

use super::pick::Pick;
use crate::algorithm::Parameters;
use crate::{Kind, Shape, tuned};

pub(super) use early::pick as pick_3_1;

fn by_tables(shape: &Shape, chains: u32) -> Pick {
    let (name, fanout) = tuned::decide(shape, chains);
    Pick { name, parameters: Parameters { segment: 0, fanout } }
}

/// Returns the choice of the main branch.
pub(super) fn pick(shape: &Shape) -> Pick {
    by_tables(shape, 2)
}

/// Returns the choice of 4.1, whose tables are the main branch's.
pub(super) fn pick_4_1(shape: &Shape) -> Pick {
    by_tables(shape, 1)
}

/// Returns the choice of 5.0: its han component on several nodes, else the tables of 4.1.
// The component leaves nodes with different numbers of ranks to the tables, but for barrier and allreduce.
pub(super) fn pick_5(shape: &Shape) -> Pick {
    let nodes = shape.spans_nodes() && shape.sides.is_none();
    let balanced = shape.size.is_multiple_of(shape.node);
    match shape.kind {
        Kind::Barrier if nodes => "han".into(),
        Kind::Allreduce if nodes && shape.commutative => "han".into(),
        Kind::Bcast | Kind::Reduce if nodes && balanced && shape.commutative => "han".into(),
        Kind::Allgather if nodes && balanced && !shape.irregular => "han".into(),
        Kind::Gather | Kind::Scatter if nodes && balanced && !shape.irregular => "two-level".into(),
        _ => pick_4_1(shape),
    }
}
