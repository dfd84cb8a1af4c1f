//! The calls of a process that differ, by number; and how a call that comes again is known by its words
//! alone.

use crate::codec::Reader;
use crate::dictionary::Dictionary;
use crate::encode::Encoded;
use crate::part::Place;
use crate::template::Template;

/// A call that nobody has told of in words.
const NONE: u32 = u32::MAX;

/// Calls that differ.
#[derive(Default)]
pub struct Calls {
    bytes: Dictionary<Box<[u8]>>,
    facts: Vec<CallFacts>,
    places: Dictionary<Place>,
    /// Words that calls were told in ([`recorder::CallKey`]). Several may stand for one call.
    words: Dictionary<Box<[u64]>>,
    /// The call of each.
    of_words: Vec<u32>,
}

/// Facts about a call, besides its bytes.
#[derive(Clone, Copy)]
struct CallFacts {
    /// Length in bytes of the template, with which the call's bytes begin.
    template: u32,
    /// By number.
    place: u32,
    /// The latest words that it was told in.
    words: u32,
}

impl Calls {
    /// Returns the number of a call; O(its bytes).
    pub fn number(&mut self, call: &Encoded) -> u32 {
        let number = self.bytes.place_of(call.key);
        if number as usize == self.facts.len() {
            let (template, numbers) = decode(call.key, call.template, [u32::MAX as usize; 4]);
            let place = (template.function, template.site, template.size(&numbers));
            self.facts.push(CallFacts {
                template: call.template as u32,
                place: self.places.place(place),
                words: NONE,
            });
        }
        number
    }

    /// Returns the number of the call that was told in these words before; O(words). If it is the `expected`
    /// one they are only compared.
    #[inline]
    pub fn known(&self, words: &[u64], expected: Option<u32>) -> Option<u32> {
        if let Some(call) = expected
            && let latest = self.facts[call as usize].words
            && latest != NONE
            && **self.words.get(latest) == *words
        {
            return expected;
        }
        self.words.find(words).map(|place| self.of_words[place as usize])
    }

    /// Notes that the call with this number is told in these words.
    pub fn learn(&mut self, words: &[u64], call: u32) {
        let place = self.words.place_of(words);
        self.of_words.resize(self.words.len(), call);
        self.facts[call as usize].words = place;
    }

    /// Returns the number of the place that a call was made at.
    pub fn place(&self, call: u32) -> u32 {
        self.facts[call as usize].place
    }

    /// Returns the place with a number.
    pub fn place_of(&self, number: u32) -> Place {
        *self.places.get(number)
    }

    /// Returns the bytes of all calls, and how many of them are the templates'.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], usize)> {
        self.bytes.iter().zip(&self.facts).map(|(bytes, facts)| (&**bytes, facts.template as usize))
    }
}

/// Reads a call from its bytes, with dictionaries of these lengths.
pub fn decode(key: &[u8], template: usize, ends: [usize; 4]) -> (Template, Vec<i64>) {
    let (template, numbers) = key.split_at(template);
    let template = Template::read(&mut Reader::new(template), ends).expect("as the encoder wrote it");
    let mut reader = Reader::new(numbers);
    let mut all = Vec::new();
    while reader.left() > 0 {
        all.push(reader.signed().expect("as the encoder wrote it"));
    }
    (template, all)
}
