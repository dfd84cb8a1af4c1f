//! Destinations of results.

use p2p::packing::Packing;
use p2p::view::BufferView;
use rank::Addr;
use std::rc::Rc;

/// Destination of a member's packed result.
// Kept by the member and not by the instance: only its own rank can reach that memory, when it runs again.
#[derive(Default)]
pub enum Delivery {
    /// Nowhere.
    #[default]
    None,
    /// Into these views, one behind the other.
    To(Vec<BufferView>),
    /// A view for each source; where there is none (`NOBODY`), the program's memory stays as it is.
    From(Vec<BufferView>, Rc<[u32]>),
    /// The handle of a new communicator, to this address.
    Handle(Addr),
}

impl Delivery {
    /// Moves the result into the program's memory; the rank must be mounted.
    pub(crate) fn deliver(&self, output: &[u8]) {
        let (views, sources): (_, &[u32]) = match self {
            Delivery::To(views) => (views, &[]),
            Delivery::From(views, sources) => (views, sources),
            Delivery::None | Delivery::Handle(_) => return,
        };
        let mut rest = output;
        for (index, view) in views.iter().enumerate() {
            let (part, behind) = rest.split_at((view.bytes as usize).min(rest.len()));
            rest = behind;
            if sources.get(index) == Some(&schedule::NOBODY) {
                continue;
            }
            match &view.layout {
                None => rank::memory::write(view.buffer, part),
                Some((datatype, count)) => {
                    datatype.unpack(view.buffer, *count, part);
                }
            }
        }
    }
}
