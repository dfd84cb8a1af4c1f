//! The options of a packet network's specification.

use super::COMMON_KEYS;
use crate::bandwidth::Bandwidth;
use crate::machine::{MachineError, MachineText};
use crate::spec::did_you_mean;
use crate::spec::text::Item;
use crate::topology::{OptionKey, Wrong};
use engine::Span;
use std::collections::BTreeMap;

/// A value and its offset in the text.
#[derive(Clone, Debug)]
struct GivenValue {
    text: String,
    at: usize,
}

/// Keys with their values.
#[derive(Clone, Debug)]
pub(crate) struct KeyedValues {
    source: MachineText,
    values: Vec<(&'static str, GivenValue)>,
}

impl PartialEq for KeyedValues {
    /// In whatever order, and whatever they were read from.
    fn eq(&self, other: &KeyedValues) -> bool {
        fn texts(this: &KeyedValues) -> BTreeMap<&str, &str> {
            this.values.iter().map(|(key, given)| (*key, given.text.as_str())).collect()
        }
        texts(self) == texts(other)
    }
}

impl KeyedValues {
    /// Every key must be one of `COMMON_KEYS`, and appear once. `own` are the network's beside them.
    pub(super) fn read(
        network: &str,
        items: &[Item<'_>],
        source: MachineText,
        own: &[OptionKey],
    ) -> Result<KeyedValues, MachineError> {
        let mut this = KeyedValues { source, values: Vec::new() };
        for &Item { name, value } in items {
            let Some((key, _)) = COMMON_KEYS.iter().find(|(key, _)| *key == name.text) else {
                let known = COMMON_KEYS.iter().map(|(key, _)| *key).chain(own.iter().map(|key| key.name));
                let known: Vec<&str> = known.collect();
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
            this.values.push((key, GivenValue { text: value.text.to_owned(), at: value.at }));
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
}

/// Reads a number of bytes: `512`, `64KiB`, `1MB`.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let scale = match text[split..].trim() {
        "" | "B" => 1,
        "KiB" | "K" => 1 << 10,
        "MiB" | "M" => 1 << 20,
        "GiB" | "G" => 1 << 30,
        "TiB" | "T" => 1 << 40,
        "kB" | "KB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        _ => return None,
    };
    text[..split].parse::<u64>().ok()?.checked_mul(scale)
}
