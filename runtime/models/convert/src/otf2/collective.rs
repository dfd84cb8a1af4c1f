//! Collectives by the bytes that OTF2 tells of them: a sum of what a rank sends to all and of what it
//! receives from all, itself among them, as Score-P counts them (`SCOREP_Mpi_Coll.c`). Who works in place
//! leaves out itself.
//!
//! What differs from member to member (`MPI_Alltoallv` and its kin) is told as a sum alone. It is spread
//! evenly, the rest over the first.

use crate::place::Place;
use crate::writer::{BYTE, blocks_of, buffer, count, counts, displacements, given};
use ::otf2::{Collective, operation};
use recorder::{ArgumentValue, Class, ObjectArgument, Value};

/// Returns the function of an operation, whether with a request, and its arguments but for the communicator.
///
/// # Errors
/// If there is no such operation.
pub fn call(
    collective: &Collective,
    place: &Place,
) -> Result<([&'static str; 2], Vec<ArgumentValue>), String> {
    let &Collective { operation, root, sent, received, .. } = collective;
    let size = u64::from(place.size);
    let root = match operation {
        operation::BCAST
        | operation::GATHER
        | operation::GATHERV
        | operation::SCATTER
        | operation::SCATTERV
        | operation::REDUCE => {
            if root >= place.size {
                return Err(format!("rank {root} is the root in a communicator of {size}"));
            }
            Some(root)
        }
        _ => None,
    };
    let is_root = root == Some(place.rank);
    let list = |name, of: &[u64]| counts(name, of);
    let (names, mut arguments) = match operation {
        operation::BARRIER => (["MPI_Barrier", "MPI_Ibarrier"], Vec::new()),
        operation::BCAST => (
            ["MPI_Bcast", "MPI_Ibcast"],
            vec![buffer("buffer"), count("count", received), BYTE.of("datatype")],
        ),
        operation::REDUCE => {
            let bytes = if sent > 0 || !is_root { sent } else { of_each(received, size) };
            (["MPI_Reduce", "MPI_Ireduce"], reduced(bytes))
        }
        operation::ALLREDUCE => (["MPI_Allreduce", "MPI_Iallreduce"], reduced(of_each(sent, size))),
        operation::SCAN => (["MPI_Scan", "MPI_Iscan"], reduced(received / u64::from(place.rank + 1))),
        operation::EXSCAN => {
            let bytes = if place.rank > 0 {
                received / u64::from(place.rank)
            } else {
                sent.checked_div(size - 1).unwrap_or(0)
            };
            (["MPI_Exscan", "MPI_Iexscan"], reduced(bytes))
        }
        operation::ALLGATHER => (["MPI_Allgather", "MPI_Iallgather"], blocks_of(of_each(received, size))),
        operation::ALLTOALL => (["MPI_Alltoall", "MPI_Ialltoall"], blocks_of(of_each(received, size))),
        operation::GATHER => {
            let bytes = if sent > 0 || !is_root { sent } else { of_each(received, size) };
            (["MPI_Gather", "MPI_Igather"], blocks_of(bytes))
        }
        operation::SCATTER => {
            let bytes = if received > 0 || !is_root { received } else { of_each(sent, size) };
            (["MPI_Scatter", "MPI_Iscatter"], blocks_of(bytes))
        }
        operation::REDUCE_SCATTER_BLOCK => {
            let bytes = count("recvcount", of_each(sent, size));
            let arguments = vec![buffer("sendbuf"), buffer("recvbuf"), bytes, BYTE.of("datatype"), bits()];
            (["MPI_Reduce_scatter_block", "MPI_Ireduce_scatter_block"], arguments)
        }
        operation::REDUCE_SCATTER => {
            let all = list("recvcounts", &spread(sent, size));
            (
                ["MPI_Reduce_scatter", "MPI_Ireduce_scatter"],
                vec![buffer("sendbuf"), buffer("recvbuf"), all, BYTE.of("datatype"), bits()],
            )
        }
        operation::GATHERV => {
            let all = spread(if is_root { received } else { 0 }, size);
            let own = if is_root && sent == 0 { all[place.rank as usize] } else { sent };
            let mut arguments =
                vec![buffer("sendbuf"), count("sendcount", own), BYTE.of("sendtype"), buffer("recvbuf")];
            arguments.extend([list("recvcounts", &all), displacements("displs", &all), BYTE.of("recvtype")]);
            (["MPI_Gatherv", "MPI_Igatherv"], arguments)
        }
        operation::SCATTERV => {
            let all = spread(if is_root { sent } else { 0 }, size);
            let own = if is_root && received == 0 { all[place.rank as usize] } else { received };
            let mut arguments = vec![
                buffer("sendbuf"),
                list("sendcounts", &all),
                displacements("displs", &all),
                BYTE.of("sendtype"),
            ];
            arguments.extend([buffer("recvbuf"), count("recvcount", own), BYTE.of("recvtype")]);
            (["MPI_Scatterv", "MPI_Iscatterv"], arguments)
        }
        operation::ALLGATHERV => {
            let all = spread(received, size);
            let own = count("sendcount", all[place.rank as usize]);
            let mut arguments = vec![buffer("sendbuf"), own, BYTE.of("sendtype"), buffer("recvbuf")];
            arguments.extend([list("recvcounts", &all), displacements("displs", &all), BYTE.of("recvtype")]);
            (["MPI_Allgatherv", "MPI_Iallgatherv"], arguments)
        }
        operation::ALLTOALLV | operation::ALLTOALLW => {
            let (to, from) = (spread(sent, size), spread(received, size));
            let mut arguments = vec![
                buffer("sendbuf"),
                list("sendcounts", &to),
                displacements("sdispls", &to),
                BYTE.of("sendtype"),
            ];
            arguments.extend([
                buffer("recvbuf"),
                list("recvcounts", &from),
                displacements("rdispls", &from),
                BYTE.of("recvtype"),
            ]);
            (["MPI_Alltoallv", "MPI_Ialltoallv"], arguments)
        }
        other => return Err(format!("a collective of a kind that is not known ({other})")),
    };
    arguments.extend(root.map(|root| given("root", Value::Rank(root as i32))));
    Ok((names, arguments))
}

/// Returns what each of so many has of a sum, or each of the others where one works in place. Where both are
/// possible, nobody does.
fn of_each(sum: u64, size: u64) -> u64 {
    if size > 1 && !sum.is_multiple_of(size) && sum.is_multiple_of(size - 1) {
        sum / (size - 1)
    } else {
        sum / size
    }
}

fn spread(sum: u64, size: u64) -> Vec<u64> {
    (0..size).map(|place| sum / size + u64::from(place < sum % size)).collect()
}

/// Returns what is reduced: bytes, because nobody says what they are, by an operation that is defined for
/// these.
fn reduced(bytes: u64) -> Vec<ArgumentValue> {
    vec![buffer("sendbuf"), buffer("recvbuf"), count("count", bytes), BYTE.of("datatype"), bits()]
}

fn bits() -> ArgumentValue {
    given("op", Value::Handle(Class::Op, ObjectArgument::Named("MPI_BOR")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_of_all_or_of_all_others() {
        assert_eq!((of_each(12, 4), of_each(9, 4), of_each(7, 1), of_each(0, 5)), (3, 3, 7, 0));
        assert_eq!(of_each(12, 4), of_each(12, 4));
        assert_eq!(spread(10, 4), [3, 3, 2, 2]);
    }
}
