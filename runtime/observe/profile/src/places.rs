//! The places that calls are made from: a site and a function.

use recorder::waiting::Returned;
use rustc_hash::FxHashMap;

/// Places, numbered from 0 in the order in which they are met.
#[derive(Default)]
pub struct SiteNumbers {
    numbers: FxHashMap<(u32, u16), u32>,
    /// By the number of a site, the function that was called from there last, and its place: the same one but
    /// where a pointer is called, so that calls are rarely hashed.
    latest: Vec<(u16, u32)>,
    /// Site and function, by place.
    met: Vec<(u32, &'static str)>,
}

impl SiteNumbers {
    /// Returns the number of the place of a call; O(1).
    #[inline]
    pub fn number(&mut self, call: &Returned) -> u32 {
        match self.latest.get(call.site as usize) {
            Some(&(function, place)) if function == call.function => place,
            _ => self.other(call),
        }
    }

    #[cold]
    fn other(&mut self, call: &Returned) -> u32 {
        let met = &mut self.met;
        let place = *self.numbers.entry((call.site, call.function)).or_insert_with(|| {
            met.push((call.site, call.name));
            met.len() as u32 - 1
        });
        let site = call.site as usize;
        if self.latest.len() <= site {
            self.latest.resize(site + 1, (u16::MAX, 0));
        }
        self.latest[site] = (call.function, place);
        place
    }

    /// Returns the number of a site and the name of the function that is called there, by place.
    pub fn met(&self) -> &[(u32, &'static str)] {
        &self.met
    }
}
