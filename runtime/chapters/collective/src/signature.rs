//! Arguments on which the members of one collective call must agree.

use schedule::Kind;

/// Properties that must agree between the members of one collective call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallSignature {
    /// The MPI function, for messages.
    pub function: u16,
    /// `true` if it is the blocking form: blocking and nonblocking calls do not match.
    pub blocking: bool,
    /// `true` if it is a v or w form.
    pub irregular: bool,
    /// Kind of the collective.
    pub kind: Kind,
    /// The root as a member number; `None` where there is none, or it is not known to this member.
    pub root: Option<u32>,
}

impl CallSignature {
    pub(crate) fn agrees(&self, other: &CallSignature) -> bool {
        self.blocking == other.blocking
            && self.kind == other.kind
            && self.irregular == other.irregular
            && (self.root.is_none() || other.root.is_none() || self.root == other.root)
    }
    pub(crate) fn describe(&self, names: &[&'static str]) -> String {
        let name = names.get(usize::from(self.function)).copied().unwrap_or("a collective");
        match self.root {
            Some(root) => format!("{name}(root={root})"),
            None => name.to_owned(),
        }
    }
}
