//! Making shapes of what is found to differ.

use super::{LONGEST_WAIT, SHAPED, Templates};
use crate::shape::{NONE, TemplateMask};

/// Shapes of one length.
const SHAPES: usize = 64;

impl Templates {
    /// Finds or makes a shape for what was found to differ from the template; its bytes.
    #[inline(never)]
    pub(super) fn shape_of_found(&mut self, lines: usize) -> Option<usize> {
        let template = self.number;
        let last = self.shapes.get(self.all[template as usize].shape as usize);
        let most = self.lengths[lines].good;
        let (number, bytes) = match last {
            Some(shape) if shape.bytes() <= most && shape.has(&self.found) => {
                (self.all[template as usize].shape, shape.bytes())
            }
            _ => {
                let length = &mut self.lengths[lines];
                if length.shape_wait != 0 {
                    length.shape_wait -= 1;
                    return None;
                }
                let mut masks = TemplateMask::with(last, &self.found, lines);
                if TemplateMask::bytes_of(&masks) > most {
                    masks = TemplateMask::with(None, &self.found, lines);
                }
                let number = self.free_shape(lines)?;
                self.all[template as usize].shape = number;
                let length = &mut self.lengths[lines];
                (length.shape_wait, length.next_shape_wait) =
                    (length.next_shape_wait, (length.next_shape_wait * 2 + 1).min(LONGEST_WAIT));
                for &number in &length.shapes {
                    if let Some(shape) = self.shapes.get_mut(number as usize) {
                        shape.forget_changes();
                    }
                }
                let shape = TemplateMask::new(template, masks, &self.own);
                let bytes = shape.bytes();
                match self.shapes.get_mut(number as usize) {
                    Some(place) => *place = shape,
                    None => self.shapes.push(shape),
                }
                (number, bytes)
            }
        };
        self.lengths[lines].prefer_shape(number);
        self.shape = number;
        Some(bytes)
    }

    /// Learns that memory of a shape came after that of shape `self.shape`, of the same length, and will do
    /// so again.
    #[cold]
    pub(super) fn learn_change(&mut self, number: u16) {
        let (Some(from), shape) = (self.shapes.get(self.shape as usize), &self.shapes[number as usize])
        else {
            return;
        };
        if shape.can_learn() {
            let templates = [from, shape].map(|shape| &*self.all[shape.template as usize].stack);
            let change = from.change_to(templates, &self.own);
            self.shapes[number as usize].learn(self.shape, change);
        }
    }

    /// Returns the number of a shape of this length that can be made anew.
    fn free_shape(&mut self, lines: usize) -> Option<u16> {
        let length = &mut self.lengths[lines];
        let unused = |number: &&u16| self.shapes[**number as usize].users == 0 && **number != length.shape;
        if let Some(&number) = length.shapes.iter().find(unused) {
            let template = self.shapes[number as usize].template as usize;
            if self.all[template].shape == number {
                self.all[template].shape = NONE;
            }
            return Some(number);
        }
        if length.shapes.len() == SHAPES || self.shapes.len() == SHAPED as usize {
            return None;
        }
        length.shapes.push(self.shapes.len() as u16);
        length.shapes.last().copied()
    }
}
