//! One router, every endpoint at one of its ports.

use super::{Cabling, Neighbor, Paths};
use crate::packet::spec::parameters::{KeyedValues, Wrong};
use crate::packet::spec::specified::{Cabled, Setting, Specified};

/// A star of this many endpoints.
pub(crate) struct PacketStar(pub(crate) u32);

impl Specified for PacketStar {
    const NAME: &'static str = "star";
    const KEYS: &'static [(&'static str, &'static str)] = &[("n", "endpoints")];
    type Shape = PacketStar;

    fn cable(parameters: &KeyedValues, setting: &Setting) -> Result<Cabled<PacketStar>, Wrong> {
        parameters.no_sides()?;
        let n = match (parameters.number("n")?, setting.ranks) {
            (Some(0), _) => {
                return Err(parameters.wrong("n", "n=0 is impossible: a star has at least 1 endpoint"));
            }
            (Some(n), _) => n,
            (None, Some(ranks)) => u32::try_from(ranks).unwrap_or(u32::MAX).max(1),
            (None, None) => return Err(parameters.wrong("n", "n= is missing: endpoints of the star")),
        };
        if n > 1 << 28 {
            return Err(
                parameters.wrong("n", format!("n={n} is too large; a star has at most 2^28 endpoints"))
            );
        }
        Ok(Cabled::new(PacketStar(n), setting).with_paths())
    }
}

impl Cabling for PacketStar {
    fn describe(&self) -> String {
        format!("star of {} endpoints", self.0)
    }
    fn routers(&self) -> u32 {
        1
    }
    fn endpoints(&self) -> u32 {
        self.0
    }
    fn radix(&self) -> u32 {
        self.0
    }
    fn neighbor(&self, _router: u32, port: u32) -> Neighbor {
        Neighbor::Endpoint(port)
    }
    fn attachment(&self, endpoint: u32) -> (u32, u32) {
        (0, endpoint)
    }
}

impl Paths for PacketStar {
    fn distance(&self, _from: u32, _to: u32) -> u32 {
        0
    }
    fn diameter(&self) -> u32 {
        0
    }
}
