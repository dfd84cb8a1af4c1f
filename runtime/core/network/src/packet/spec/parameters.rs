//! The options of a packet network's specification.

use crate::bandwidth::Bandwidth;
use crate::machine::{MachineError, MachineText};
use crate::spec::did_you_mean;
use crate::spec::text::{Item, Level, Piece};
use engine::Span;
use std::collections::BTreeMap;

/// An error in a specification: a sentence, and the position of the wrong part if it is not the whole.
#[derive(Clone, Debug)]
pub(crate) struct Wrong {
    at: Option<usize>,
    sentence: String,
}

impl From<String> for Wrong {
    fn from(sentence: String) -> Wrong {
        Wrong { at: None, sentence }
    }
}

/// A value and its offset in the text.
#[derive(Clone, Debug)]
struct GivenValue {
    text: String,
    at: usize,
}

/// Keys with their values; a size such as `8x8` may stand first without a key.
#[derive(Clone, Debug)]
pub(crate) struct KeyedValues {
    source: MachineText,
    values: Vec<(&'static str, GivenValue)>,
    size: Option<GivenValue>,
}

impl PartialEq for KeyedValues {
    /// In whatever order, and whatever they were read from.
    fn eq(&self, other: &KeyedValues) -> bool {
        fn texts(this: &KeyedValues) -> BTreeMap<&str, &str> {
            let size = this.size.iter().map(|size| ("", size.text.as_str()));
            size.chain(this.values.iter().map(|(key, given)| (*key, given.text.as_str()))).collect()
        }
        texts(self) == texts(other)
    }
}

impl KeyedValues {
    /// Every key must be in `known`, and appear once.
    pub(super) fn read(
        level: &Level<'_>,
        source: MachineText,
        known: &[&'static str],
    ) -> Result<KeyedValues, MachineError> {
        let given = |piece: Piece<'_>| GivenValue { text: piece.text.to_owned(), at: piece.at };
        let mut this = KeyedValues { source, values: Vec::new(), size: level.size.map(given) };
        for &Item { name, value } in &level.items {
            let network = level.name.text;
            let Some(key) = known.iter().find(|&&key| key == name.text) else {
                let meant = did_you_mean(name.text, known.iter().copied());
                let why = format!(
                    "'{}' is not an option of '{network}'; its options are: {}{meant}",
                    name.text,
                    known.join(", ")
                );
                return Err(this.source.error(name.at, why));
            };
            if this.text(key).is_some() {
                return Err(this.source.error(name.at, format!("'{key}' is given twice for '{network}'")));
            }
            this.values.push((key, given(value)));
        }
        Ok(this)
    }

    /// Returns an error about the value of `key`, or about the whole if it has none.
    pub(crate) fn wrong(&self, key: &str, sentence: impl Into<String>) -> Wrong {
        Wrong { at: self.given(key).map(|given| given.at), sentence: sentence.into() }
    }

    /// Shows where that is.
    pub(crate) fn error(&self, wrong: Wrong) -> MachineError {
        match wrong.at {
            Some(at) => self.source.error(at, wrong.sentence),
            None => MachineError::new(wrong.sentence),
        }
    }

    fn given(&self, key: &str) -> Option<&GivenValue> {
        self.values.iter().find(|(k, _)| *k == key).map(|(_, given)| given)
    }

    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.given(key).map(|given| given.text.as_str())
    }

    pub(crate) fn number(&self, key: &str) -> Result<Option<u32>, Wrong> {
        let parse = |text: &str| {
            text.parse()
                .map_err(|_| self.wrong(key, format!("{key}={text} is not a whole number below 2^32")))
        };
        self.text(key).map(parse).transpose()
    }

    /// Refuses a network of this name without the keys that are `required`, and names all of them. `keys` has
    /// their meanings.
    pub(super) fn check_required(
        &self,
        name: &str,
        keys: &[(&str, &str)],
        required: &[&str],
    ) -> Result<(), Wrong> {
        let meaning =
            |key: &str| keys.iter().find(|(name, _)| *name == key).map_or("", |(_, meaning)| meaning);
        let missing = required.iter().filter(|key| self.text(key).is_none());
        let missing: Vec<String> = missing.map(|key| format!("{key}= ({})", meaning(key))).collect();
        match &missing[..] {
            [] => Ok(()),
            [one] => Err(format!("'{name}' needs {one}").into()),
            [most @ .., last] => Err(format!("'{name}' needs {} and {last}", most.join(", ")).into()),
        }
    }

    /// Returns a number that must be there and at least 1.
    pub(crate) fn required(&self, key: &str, what: &str) -> Result<u32, Wrong> {
        match self.number(key)? {
            None => Err(self.wrong(key, format!("{key}= is missing: {what}"))),
            Some(0) => Err(self.wrong(key, format!("{key}=0 is impossible: {what}, at least 1"))),
            Some(number) => Ok(number),
        }
    }

    /// Returns a number that is at least 1 if it is there.
    pub(crate) fn positive(&self, key: &str, default: u32) -> Result<u32, Wrong> {
        match self.number(key)? {
            Some(0) => Err(self.wrong(key, format!("{key}=0 is impossible: at least 1"))),
            number => Ok(number.unwrap_or(default)),
        }
    }

    pub(crate) fn span(&self, key: &str) -> Result<Option<Span>, Wrong> {
        self.text(key)
            .map(|text| text.parse().map_err(|e| self.wrong(key, format!("{key}={text}: {e}"))))
            .transpose()
    }

    pub(crate) fn bandwidth(&self, key: &str) -> Result<Option<Bandwidth>, Wrong> {
        self.text(key)
            .map(|text| text.parse().map_err(|e| self.wrong(key, format!("{key}={text}: {e}"))))
            .transpose()
    }

    pub(crate) fn bytes(&self, key: &str, default: u32, least: u32) -> Result<u32, Wrong> {
        let Some(text) = self.text(key) else { return Ok(default) };
        let bytes = parse_bytes(text).ok_or_else(|| {
            self.wrong(key, format!("{key}={text} is not a number of bytes such as 512, 64KiB or 1MB"))
        })?;
        u32::try_from(bytes)
            .ok()
            .filter(|&b| b >= least && b < 1 << 31)
            .ok_or_else(|| self.wrong(key, format!("{key}={text} is not between {least} and 2^31 bytes")))
    }

    /// Returns the sides, such as `8x8x4`: first without a key, or as `sides=`.
    pub(crate) fn sides(&self) -> Result<Vec<u32>, Wrong> {
        let given = self.given("sides").or(self.size.as_ref());
        let GivenValue { text, at } =
            given.ok_or_else(|| "the sides are missing; write for example torus:8x8x4".to_owned())?;
        let error = || Wrong {
            at: Some(*at),
            sentence: format!("'{text}' is not a list of sides such as 8x8x4, each from 1 to 16777216"),
        };
        let sides: Vec<u32> =
            text.split('x').map(|side| side.parse().map_err(|_| error())).collect::<Result<_, _>>()?;
        if sides.iter().any(|&s| s == 0 || s > 1 << 24) || sides.len() > 16 {
            Err(error())
        } else {
            Ok(sides)
        }
    }

    /// Returns a list such as `16x8`.
    pub(crate) fn list(&self, key: &str, what: &str) -> Result<Vec<u32>, Wrong> {
        let text = self.text(key).ok_or_else(|| self.wrong(key, format!("{key}= is missing: {what}")))?;
        let error = || self.wrong(key, format!("{key}={text} is not a list such as 16x8: {what}"));
        let list: Vec<u32> =
            text.split('x').map(|n| n.parse().map_err(|_| error())).collect::<Result<_, _>>()?;
        if list.iter().any(|&n| n == 0 || n > 1 << 20) { Err(error()) } else { Ok(list) }
    }

    /// Refuses sides where a topology has none.
    pub(crate) fn no_sides(&self) -> Result<(), Wrong> {
        match &self.size {
            None => Ok(()),
            Some(GivenValue { text, at }) => Err(Wrong {
                at: Some(*at),
                sentence: format!("'{text}' is not key=value; this topology has no sides"),
            }),
        }
    }
}

/// Reads a number of bytes: `512`, `64KiB`, `1MB`.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let scale = match text[split..].trim() {
        "" | "B" => 1,
        "KiB" | "K" => 1 << 10,
        "MiB" | "M" => 1 << 20,
        "GiB" | "G" => 1 << 30,
        "kB" | "KB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return None,
    };
    text[..split].parse::<u64>().ok()?.checked_mul(scale)
}
