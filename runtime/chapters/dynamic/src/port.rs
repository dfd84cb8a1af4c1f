//! Ports: their names, and who waits at them.

use crate::ask::IntercommSide;
use objects::error::{ErrorClass, Failure, Result};
use std::collections::VecDeque;
use std::fmt;

/// A port's name: who opened it, and which of its ports it is.
// All that is needed to find the place where both sides meet, so that no table of ports is kept anywhere.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct PortName {
    /// The rank that opened it (world number), at whose process both sides ask.
    pub(crate) owner: u32,
    pub(crate) number: u32,
}

const PREFIX: &str = "xsim-port:";

impl fmt::Display for PortName {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{PREFIX}{}.{}", self.owner, self.number)
    }
}

impl PortName {
    /// Returns the port that a text names, if it can be one of a run with ranks up to `ranks`.
    ///
    /// # Errors
    /// `MPI_ERR_PORT`.
    pub(crate) fn parse(text: &str, ranks: u32) -> Result<PortName> {
        let name = text.strip_prefix(PREFIX).and_then(|rest| rest.split_once('.'));
        let name = name.and_then(|(owner, number)| {
            Some(PortName { owner: owner.parse().ok()?, number: number.parse().ok()? })
        });
        // Written again, because "+1" and "01" are numbers as well, and no names of ours.
        name.filter(|name| name.owner < ranks && name.to_string() == text).ok_or_else(|| {
            Failure::new(
                ErrorClass::PORT,
                format!(
                    "'{text}' is not the name of a port: use what MPI_Open_port gave, or MPI_Lookup_name \
                     found"
                ),
            )
        })
    }

    /// Returns the failure of a port that is not open.
    pub(crate) fn not_open(self) -> Box<Failure> {
        let text = format!(
            "port '{self}' is not open: rank {} of MPI_COMM_WORLD has closed it, or never opened it",
            self.owner
        );
        Failure::new(ErrorClass::PORT, text)
    }
}

/// Somebody who waits at a port.
pub(crate) struct PortWaiter {
    /// World rank.
    pub(crate) origin: u32,
    pub(crate) operation: u32,
    pub(crate) side: IntercommSide,
}

/// An open port, and who waits there. At most one of the two is not empty.
#[derive(Default)]
pub(crate) struct OpenPort {
    /// The owner has closed it, which happens in the order of time.
    pub(crate) closing: bool,
    pub(crate) accepting: VecDeque<PortWaiter>,
    pub(crate) connecting: VecDeque<PortWaiter>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_found_by_its_name_alone() {
        let name = PortName { owner: 7, number: 3 };
        assert_eq!(PortName::parse(&name.to_string(), 8).unwrap(), name);
        for text in
            ["", "7.3", "xsim-port:8.0", "xsim-port:7", "xsim-port:07.3", "xsim-port:7.+3", "xsim-port:7.3 "]
        {
            assert_eq!(PortName::parse(text, 8).unwrap_err().class, ErrorClass::PORT, "{text}");
        }
    }
}
