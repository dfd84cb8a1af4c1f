//! Where results go.

use message::packing::Packing;
use message::view::Extent;
use rank::Addr;
use std::rc::Rc;

/// Where a member's packed result goes.
// Kept by the member and not by the instance: only its own rank can reach that memory, when it runs again.
#[derive(Default)]
pub enum Delivery {
    /// Nowhere.
    #[default]
    None,
    /// Into these extents, one behind the other.
    To(Vec<Extent>),
    /// An extent for each source; where there is none (`NOBODY`), the program's memory stays as it is.
    From(Vec<Extent>, Rc<[u32]>),
    /// The handle of a new communicator, to this address.
    Handle(Addr),
}

impl Delivery {
    /// Moves the result into the program's memory; the rank must be mounted.
    pub(crate) fn deliver(&self, output: &[u8]) {
        let (extents, sources): (_, &[u32]) = match self {
            Delivery::To(extents) => (extents, &[]),
            Delivery::From(extents, sources) => (extents, sources),
            Delivery::None | Delivery::Handle(_) => return,
        };
        let mut rest = output;
        for (index, extent) in extents.iter().enumerate() {
            let (part, behind) = rest.split_at((extent.bytes as usize).min(rest.len()));
            rest = behind;
            if sources.get(index) == Some(&schedule::NOBODY) {
                continue;
            }
            match &extent.layout {
                None => rank::memory::write(extent.buffer, part),
                Some((datatype, count)) => {
                    datatype.unpack(extent.buffer, *count, part);
                }
            }
        }
    }
}
