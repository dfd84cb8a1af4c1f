//! Arguments of a call that say what it sends, for whoever counts bytes: one table for profiles, timelines
//! and traces.
//!
//! Of blocks that are all alike the call names one, and one is counted; of blocks with counts of their own
//! all are. What MPI ignores is never read: counts of a scatter elsewhere than at the root, of the sending
//! side where the buffer is `MPI_IN_PLACE`.

/// Whose arguments count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Giver {
    /// Every caller's.
    All,
    /// The root's: `MPI_Bcast`, `MPI_Scatter`.
    Root,
    /// Every caller's but, with an intercommunicator, those of the root's group: `MPI_Gather`, `MPI_Reduce`.
    ToRoot,
    /// The sender's, unless the destination is `MPI_PROC_NULL`.
    Sender,
}

/// The count, or the array of counts, and the datatype, or the array of datatypes, by the standard's names.
pub type Named = (&'static str, &'static str);

/// The bytes that calls of a function send, by its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendVolume {
    /// Whose arguments count.
    pub giver: Giver,
    /// The part that is sent.
    pub sent: Named,
    /// The argument that is sent instead where the send buffer is `MPI_IN_PLACE`; of an array for each member
    /// with [`SendVolume::own_block`] the caller's element.
    pub in_place: Named,
    /// `true` if of the counts in place only the caller's own says what it brings: `MPI_Allgatherv`,
    /// `MPI_Gatherv`.
    pub own_block: bool,
}

impl SendVolume {
    /// Returns the contribution of a function's calls; `None` of a function that sends nothing, or starts it
    /// later (`..._init`).
    pub fn of(function: &str) -> Option<SendVolume> {
        const PLAIN: Named = ("count", "datatype");
        const SENT: Named = ("sendcount", "sendtype");
        const SENT_EACH: Named = ("sendcounts", "sendtype");
        let name = function.strip_prefix("MPI_")?;
        if name.ends_with("_init") {
            return None;
        }
        let operation = name
            .strip_prefix('I')
            .filter(|rest| rest.starts_with(char::is_lowercase))
            .unwrap_or(name)
            .to_lowercase();
        let of = |giver, sent, in_place, own_block| Some(SendVolume { giver, sent, in_place, own_block });
        let same = |giver, sent| of(giver, sent, sent, false);
        match operation.as_str() {
            "send" | "ssend" | "bsend" | "rsend" | "sendrecv_replace" => same(Giver::Sender, PLAIN),
            "sendrecv" => same(Giver::Sender, SENT),
            "bcast" => same(Giver::Root, PLAIN),
            "scatter" => same(Giver::Root, SENT),
            "scatterv" => same(Giver::Root, SENT_EACH),
            "gather" => of(Giver::ToRoot, SENT, ("recvcount", "recvtype"), false),
            "gatherv" => of(Giver::ToRoot, SENT, ("recvcounts", "recvtype"), true),
            "allgather" | "alltoall" => of(Giver::All, SENT, ("recvcount", "recvtype"), false),
            "allgatherv" => of(Giver::All, SENT, ("recvcounts", "recvtype"), true),
            "alltoallv" => of(Giver::All, SENT_EACH, ("recvcounts", "recvtype"), false),
            "alltoallw" => of(Giver::All, ("sendcounts", "sendtypes"), ("recvcounts", "recvtypes"), false),
            "reduce" => same(Giver::ToRoot, PLAIN),
            "allreduce" | "scan" | "exscan" => same(Giver::All, PLAIN),
            "reduce_scatter" => same(Giver::All, ("recvcounts", "datatype")),
            "reduce_scatter_block" => same(Giver::All, ("recvcount", "datatype")),
            "neighbor_allgather" | "neighbor_allgatherv" | "neighbor_alltoall" => same(Giver::All, SENT),
            "neighbor_alltoallv" => same(Giver::All, SENT_EACH),
            "neighbor_alltoallw" => same(Giver::All, ("sendcounts", "sendtypes")),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Giver, SendVolume};

    #[test]
    fn a_nonblocking_call_brings_what_the_blocking_one_does_and_an_init_brings_nothing() {
        for name in ["send", "ssend", "gatherv", "alltoallw", "neighbor_alltoallv", "reduce_scatter", "bcast"]
        {
            let blocking = format!("MPI_{}{}", name[..1].to_uppercase(), &name[1..]);
            assert_eq!(SendVolume::of(&format!("MPI_I{name}")), SendVolume::of(&blocking), "{name}");
            assert!(
                SendVolume::of(&blocking).is_some() && SendVolume::of(&format!("{blocking}_init")).is_none(),
                "{name}"
            );
        }
    }

    #[test]
    fn only_the_root_of_a_scatter_names_what_is_sent() {
        assert_eq!(SendVolume::of("MPI_Scatterv").map(|contribution| contribution.giver), Some(Giver::Root));
        assert_eq!(SendVolume::of("MPI_Get_count"), None);
        assert_eq!(SendVolume::of("MPI_Type_contiguous"), None);
    }
}
