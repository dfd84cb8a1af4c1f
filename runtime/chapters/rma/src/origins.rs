//! All ranks that have a part in a window as origins.

use crate::origin::Origin;
use objects::slab::Slab;
use rustc_hash::FxHashMap;
use std::cell::Cell;

/// A window, by its index, and a rank of `MPI_COMM_WORLD`.
pub(crate) type Place = (u32, u32);

/// Origins, by window and rank.
// In places of their own, so that what an answer finds at its origin is an index away.
#[derive(Default)]
pub(crate) struct Origins {
    places: FxHashMap<Place, u32>,
    all: Slab<Origin>,
    /// The one that was asked for last: a rank that accesses a window mostly does so more than once.
    recent: Cell<Option<(Place, u32)>>,
}

impl Origins {
    /// Returns the index of an origin, which it has until it is removed. O(1).
    #[inline]
    pub(crate) fn find(&self, place: Place) -> Option<u32> {
        match self.recent.get() {
            Some((recent, index)) if recent == place => Some(index),
            _ => self.search(place),
        }
    }

    fn search(&self, place: Place) -> Option<u32> {
        let index = *self.places.get(&place)?;
        self.recent.set(Some((place, index)));
        Some(index)
    }

    #[inline]
    pub(crate) fn get(&self, place: Place) -> Option<&Origin> {
        self.find(place).map(|index| &self.all[index])
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, place: Place) -> Option<&mut Origin> {
        self.find(place).map(|index| &mut self.all[index])
    }

    /// Returns the index of an origin, made if there is none.
    pub(crate) fn make(&mut self, place: Place) -> u32 {
        *self.places.entry(place).or_insert_with(|| self.all.insert(Origin::default()))
    }

    /// Returns an origin, made if there is none.
    pub(crate) fn get_or_make(&mut self, place: Place) -> &mut Origin {
        let index = self.make(place);
        &mut self.all[index]
    }

    #[inline]
    pub(crate) fn at_mut(&mut self, index: u32) -> &mut Origin {
        &mut self.all[index]
    }

    pub(crate) fn remove(&mut self, place: Place) {
        self.recent.set(None);
        if let Some(index) = self.places.remove(&place) {
            self.all.remove(index);
        }
    }

    /// Forgets all origins of a window.
    pub(crate) fn forget(&mut self, win: u32) {
        self.recent.set(None);
        let all = &mut self.all;
        self.places.retain(|place, index| {
            let stays = place.0 != win;
            if !stays {
                all.remove(*index);
            }
            stays
        });
    }
}
