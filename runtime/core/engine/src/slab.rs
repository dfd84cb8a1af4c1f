//! Objects named by small indices that are reused.

/// A growable table with reuse of freed places, last freed first.
// No generation is kept: who hands indices to programs compares more than the index, others hold the only
// reference there is.
pub struct Slab<T> {
    items: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { items: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Puts `item` in, answers its index.
    pub fn insert(&mut self, item: T) -> u32 {
        match self.free.pop() {
            // The place freed last: its memory is warm.
            Some(index) => {
                self.items[index as usize] = Some(item);
                index
            }
            None => {
                self.items.push(Some(item));
                self.items.len() as u32 - 1
            }
        }
    }
    /// Takes the item out.
    pub fn remove(&mut self, index: u32) -> Option<T> {
        let item = self.items.get_mut(index as usize)?.take();
        if item.is_some() {
            self.free.push(index);
        }
        item
    }
    /// Prefetches an item that will be used soon.
    #[inline]
    pub fn prefetch(&self, index: u32) {
        prefetch_index::prefetch_index(&self.items, index as usize);
    }
    /// Returns the item.
    #[inline]
    pub fn get(&self, index: u32) -> Option<&T> {
        self.items.get(index as usize)?.as_ref()
    }
    /// Returns the item, to change.
    #[inline]
    pub fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.items.get_mut(index as usize)?.as_mut()
    }
    /// Returns the items with their indices, in the order of these. O(places that there ever were).
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..).zip(&self.items).filter_map(|(index, item)| Some((index, item.as_ref()?)))
    }
    /// Returns the items, to change. O(places that there ever were).
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.items.iter_mut().flatten()
    }
    /// Takes out what is not to be kept. O(places that there ever were).
    pub fn retain(&mut self, keeps: impl Fn(&T) -> bool) {
        for index in 0..self.items.len() as u32 {
            if self.get(index).is_some_and(|item| !keeps(item)) {
                self.remove(index);
            }
        }
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, index: u32) -> &T {
        self.get(index).expect("a live index")
    }
}
impl<T> std::ops::IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        self.get_mut(index).expect("a live index")
    }
}
