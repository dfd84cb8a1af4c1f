//! Calls: what a program asks for, as begin and end, on the parts of the world.
//!
//! What a blocked rank has on its stack is what a rank costs, and who resumes a rank has to know where its
//! call goes on. So there is one convention: `begin(arguments) -> Option<Wait>` does what can be done at once
//! and arranges to be woken; the generated entry point blocks; and `end(wait, results)` does the rest.
//!
//! `Wait` is one word. Both are functions of their own, generated from the call's row, so that nothing of the
//! first half is on the stack during the wait.
//!
//! | calls | the word | the second half |
//! |---|---|---|
//! | `MPI_Recv`, `MPI_Sendrecv`(`_replace`), `MPI_Mrecv` | the receive's node | `Mpi::end_receive` |
//! | `MPI_Wait`, `MPI_Waitall` | all were completed, with no status asked for | completes the requests |
//! | `MPI_Waitany`, `MPI_Waitsome`, `MPI_Probe`, `MPI_Mprobe` | nothing | looks again for what is there |
//! | collectives | instance and member (`Ticket`), and if there is a result | `Mpi::end_collective` |
//! | collectives with lists of blocks | instance and member | reads its arguments again (`Mode::Leaving`) |
//!
//! Some calls still wait within their first half:
//!
//! - a send that waits for its match (`MPI_Ssend`, rendezvous; ranks without a stack use `Mpi::begin_pause`
//!   and `end_send`), and both halves of an `MPI_Sendrecv` with one;
//! - calls that make communicators (`begin_comm_dup`, `begin_comm_split` and `end_comm` do not);
//! - a collective whose result is not side by side or of a size of its own;
//! - polls that sleep;
//! - a rank that steps back because too much waits for its receivers.

pub(crate) mod abort;
pub(crate) mod arrivals;
pub(crate) mod buffered;
pub(crate) mod charging;
pub(crate) mod collective;
pub(crate) mod complete;
pub mod dynamic;
pub mod failure;
pub mod file;
pub(crate) mod land;
pub(crate) mod partitioned;
pub(crate) mod persistent;
mod quick;
pub(crate) mod receive;
pub(crate) mod request;
pub(crate) mod rma;
pub(crate) mod send;
