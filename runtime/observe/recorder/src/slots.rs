//! The requests of one rank that are under way, by number: the least that no other had when it began
//! ([`ObjectArgument::Made`](crate::events::ObjectArgument::Made)).
//!
//! Most ranks have a dozen, which are looked for one by one: of a million ranks each keeps four bytes of a
//! request.

use rustc_hash::FxHashMap;

/// More are looked for by a table.
const MAX_SCANNED: usize = 32;

/// Handles by number, from 1 on.
#[derive(Debug)]
pub enum Slots {
    /// Each is kept as one more, or 0 of a number that is free.
    Few(Vec<u32>),
    /// There were more, or some do not fit.
    Many(Box<Many>),
}

/// Any number of any handles.
#[derive(Debug, Default)]
pub struct Many {
    handles: Vec<Option<usize>>,
    numbers: FxHashMap<usize, u32>,
    /// None below is free.
    least: usize,
}

impl Default for Slots {
    fn default() -> Slots {
        Slots::Few(Vec::new())
    }
}

/// Returns a handle as [`Slots::Few`] has it.
fn short(handle: usize) -> Option<u32> {
    u32::try_from(handle).ok()?.checked_add(1)
}

impl Slots {
    /// Returns the number of a request, which gets one if it has none; O(requests), or O(1) of many.
    #[inline]
    pub fn number(&mut self, handle: usize) -> u32 {
        if let (Slots::Few(handles), Some(wanted)) = (&mut *self, short(handle)) {
            let mut free = MAX_SCANNED;
            for (place, &known) in handles.iter().enumerate().rev() {
                if known == wanted {
                    return place as u32 + 1;
                }
                if known == 0 {
                    free = place;
                }
            }
            if let Some(place) = handles.get_mut(free) {
                *place = wanted;
                return free as u32 + 1;
            }
        }
        self.add(handle)
    }

    #[cold]
    fn add(&mut self, handle: usize) -> u32 {
        if let Slots::Few(handles) = self {
            // None is free, or the handle does not fit.
            if let Some(wanted) = short(handle).filter(|_| handles.len() < MAX_SCANNED) {
                if handles.len() == handles.capacity() {
                    // No room to grow: nobody knows that there will be more.
                    handles.reserve_exact(if handles.len() < 4 { 1 } else { 4 });
                }
                handles.push(wanted);
                return handles.len() as u32;
            }
            let handles: Vec<Option<usize>> =
                handles.iter().map(|&known| known.checked_sub(1).map(|handle| handle as usize)).collect();
            let numbers =
                (1..).zip(&handles).filter_map(|(number, handle)| Some(((*handle)?, number))).collect();
            *self = Slots::Many(Box::new(Many { handles, numbers, least: 0 }));
        }
        let Slots::Many(many) = self else { unreachable!("there are many") };
        many.number(handle)
    }

    /// Returns the request with this number.
    #[inline]
    pub fn handle(&self, number: u32) -> Option<usize> {
        let place = number as usize - 1;
        match self {
            Slots::Few(handles) => handles.get(place)?.checked_sub(1).map(|handle| handle as usize),
            Slots::Many(many) => *many.handles.get(place)?,
        }
    }

    /// Frees a number, whose request is no more.
    #[inline]
    pub fn free_slot(&mut self, number: u32) {
        if let Slots::Few(handles) = self {
            handles[number as usize - 1] = 0;
        } else if let Some(handle) = self.handle(number) {
            self.free(handle);
        }
    }

    /// Frees the number of a request that is no more.
    #[inline]
    pub fn free(&mut self, handle: usize) {
        match self {
            Slots::Few(handles) => {
                let Some(wanted) = short(handle) else { return };
                if let Some(place) = handles.iter().position(|&known| known == wanted) {
                    handles[place] = 0;
                }
            }
            Slots::Many(many) => many.free(handle),
        }
    }
}

impl Many {
    fn number(&mut self, handle: usize) -> u32 {
        if let Some(&number) = self.numbers.get(&handle) {
            return number;
        }
        let free = self.handles[self.least..]
            .iter()
            .position(Option::is_none)
            .map_or(self.handles.len(), |place| self.least + place);
        if free == self.handles.len() {
            self.handles.push(None);
        }
        self.handles[free] = Some(handle);
        self.least = free + 1;
        self.numbers.insert(handle, free as u32 + 1);
        free as u32 + 1
    }

    fn free(&mut self, handle: usize) {
        if let Some(number) = self.numbers.remove(&handle) {
            self.handles[number as usize - 1] = None;
            self.least = self.least.min(number as usize - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Model of [`Slots`]: the number of a handle is its index in a list, plus one.
    #[derive(Default)]
    struct SlotModel(Vec<Option<usize>>);

    impl SlotModel {
        fn number(&mut self, handle: usize) -> u32 {
            let known = self.0.iter().position(|&known| known == Some(handle));
            let place = known.or_else(|| self.0.iter().position(Option::is_none)).unwrap_or(self.0.len());
            self.0.resize(self.0.len().max(place + 1), None);
            self.0[place] = Some(handle);
            place as u32 + 1
        }
        fn free(&mut self, handle: usize) {
            self.0.iter_mut().filter(|known| **known == Some(handle)).for_each(|known| *known = None);
        }
    }

    #[test]
    fn numbers_are_the_least_that_are_free_however_many_there_are() {
        for (handles, wide) in [(6, false), (40, false), (6, true), (200, true)] {
            let (mut slots, mut model, mut state) = (Slots::default(), SlotModel::default(), 12345u64);
            for step in 0..5000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let mut handle = (state >> 33) as usize % handles * 16;
                if wide && step > 100 && handle.is_multiple_of(3) {
                    handle += 1 << 40;
                }
                if state >> 62 == 0
                    && let number = slots.number(handle)
                    && number == model.number(handle)
                {
                    slots.free_slot(number);
                    model.free(handle);
                } else if state >> 63 == 0 {
                    let number = slots.number(handle);
                    assert_eq!(number, model.number(handle));
                    assert_eq!(slots.handle(number), Some(handle));
                } else {
                    slots.free(handle);
                    model.free(handle);
                }
            }
            assert!(
                (1..=model.0.len() as u32).all(|number| slots.handle(number) == model.0[number as usize - 1])
            );
            assert_eq!(slots.handle(model.0.len() as u32 + 100), None);
        }
    }
}
