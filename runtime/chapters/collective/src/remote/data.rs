//! The data of a distributed collective: each process sends each other once what its members get.

use crate::gathering::{Data, Gathering};
use crate::remote::kind::CollectiveRecordKind;
use crate::remote::spread::Ident;
use engine::Time;
use p2p::Messages;
use schedule::segments::Segments;
use schedule::{Kind as Collective, Shape};

/// Sends each process what its members get of this one's.
// Who sends to whom follows from the kind and the segments: no process has to ask, and each knows how many to
// wait for.
pub(super) fn send_data(messages: &mut Messages, ident: Ident, shape: &Shape, gathering: &mut Gathering) {
    let remote = messages.peers_mut().remote_mut().expect("several processes");
    let me = remote.me;
    let segments = gathering.distributed().segments.clone();
    let root = segments.process(shape.root);
    let others = || segments.processes().filter(|&process| process != me);
    let (to, from): (Vec<u32>, Vec<u32>) = match shape.kind {
        Collective::Bcast | Collective::Scatter if root == me => (others().collect(), Vec::new()),
        Collective::Bcast | Collective::Scatter => (Vec::new(), vec![root]),
        Collective::Gather if root == me => (Vec::new(), others().collect()),
        Collective::Gather => (vec![root], Vec::new()),
        Collective::Allgather | Collective::Alltoall => (others().collect(), others().collect()),
        _ => return,
    };
    for process in to {
        let parts = gathering.data.parts(shape, segments.of_process(process));
        let bytes = parts.clone().map(<[u8]>::len).sum::<usize>();
        let out = remote.streams.begin(
            process,
            CollectiveRecordKind::Data.kind(),
            Time::ZERO,
            Ident::BYTES + bytes,
        );
        ident.put(out);
        parts.for_each(|part| out.extend_from_slice(part));
        remote.streams.end();
    }
    gathering.distributed_mut().awaited = from;
}

impl Data {
    /// Returns what members `theirs` of another process get of this one's, in pieces.
    fn parts<'a>(
        &'a self,
        shape: &Shape,
        theirs: std::ops::Range<u32>,
    ) -> impl Iterator<Item = &'a [u8]> + Clone {
        let (block, theirs) = (shape.bytes as usize, theirs.start as usize..theirs.end as usize);
        let (whole, row): (&[u8], usize) = match self {
            Data::Nothing => (&[], 1),
            Data::One(bytes) => (bytes, bytes.len().max(1)),
            Data::Each(bytes, stride) => (bytes, *stride),
        };
        // An alltoall's rows and a scatter's one have a block for each member. Only what the other process's
        // members get leaves: an all-to-all's whole matrix crosses once, and not once to each process.
        let columns = match shape.kind {
            Collective::Scatter | Collective::Alltoall => theirs.start * block..theirs.end * block,
            _ => 0..row.min(whole.len()),
        };
        whole.chunks(row).map(move |row| &row[columns.clone()])
    }

    /// Adds what the other processes sent: the result.
    pub(super) fn complete(
        &mut self,
        shape: &Shape,
        segments: &Segments,
        me: u32,
        mut parts: Vec<(u32, Vec<u8>)>,
    ) {
        let own = segments.of_process(me);
        let block = shape.bytes as usize;
        match shape.kind {
            Collective::Bcast | Collective::Scatter => match parts.pop() {
                Some((_, data)) => *self = Data::One(data),
                None if shape.kind == Collective::Scatter => {
                    let data: Vec<u8> = self.parts(shape, own).flatten().copied().collect();
                    *self = Data::One(data);
                }
                None => {}
            },
            Collective::Gather | Collective::Allgather if !parts.is_empty() => {
                let Data::Each(mine, stride) = std::mem::replace(self, Data::Nothing) else { return };
                // In the order of processes, which is that of members: side by side, parts then are the
                // result.
                let at = parts.partition_point(|(process, _)| *process < me);
                parts.insert(at, (me, mine));
                *self = Data::Each(parts.into_iter().flat_map(|(_, data)| data).collect(), stride);
            }
            Collective::Alltoall => {
                let Data::Each(mine, stride) = std::mem::replace(self, Data::Nothing) else { return };
                let mut result = vec![0; mine.len()];
                let at = parts.partition_point(|(process, _)| *process < me);
                let columns = own.len() * block;
                let kept: Vec<u8> = mine
                    .chunks(stride)
                    .flat_map(|row| &row[own.start as usize * block..][..columns])
                    .copied()
                    .collect();
                parts.insert(at, (me, kept));
                for (process, data) in parts {
                    for (sender, row) in segments.of_process(process).zip(data.chunks(columns)) {
                        for (receiver, part) in row.chunks(block).enumerate() {
                            result[receiver * stride + sender as usize * block..][..block]
                                .copy_from_slice(part);
                        }
                    }
                }
                *self = Data::Each(result, stride);
            }
            _ => {}
        }
    }
}
