//! Attributes of a node by name. Writers of traces differ in the types of their numbers, so that any type
//! does.

use crate::fault::{ChakraFault, ChakraFaultKind};
use crate::message::{AttributeMessage, ChakraValue, NodeMessage};
use crate::node::MAX_BYTES;
use rustc_hash::FxHashMap;

/// Attributes of one node.
pub struct NodeAttributes<'m> {
    id: u64,
    byte: u64,
    values: FxHashMap<&'m str, &'m ChakraValue>,
}

impl<'m> NodeAttributes<'m> {
    /// Returns the attributes of a message at a byte. Of two with one name the last counts, as in Chakra's
    /// feeder.
    pub fn of(message: &'m NodeMessage, byte: u64) -> NodeAttributes<'m> {
        let value = |attribute: &'m AttributeMessage| Some((&*attribute.name, attribute.value.as_ref()?));
        NodeAttributes { id: message.id, byte, values: message.attributes.iter().filter_map(value).collect() }
    }

    /// Returns the fault that an attribute has a wrong value.
    pub fn wrong(&self, name: &str, found: &str) -> ChakraFault {
        let reason = format!("node {} has {name} {found}", self.id);
        ChakraFault::at(ChakraFaultKind::BadAttribute, self.byte, reason)
    }

    /// Returns the fault that an attribute is missing.
    pub fn missing(&self, name: &str) -> ChakraFault {
        let reason = format!("node {} has no attribute {name}, without which it cannot be replayed", self.id);
        ChakraFault::at(ChakraFaultKind::MissingAttribute, self.byte, reason)
    }

    /// Returns `true` if an attribute has a value.
    pub fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// Returns a number with its fraction.
    fn number(&self, name: &str) -> Result<Option<f64>, ChakraFault> {
        let Some(value) = self.values.get(name) else { return Ok(None) };
        let number = match **value {
            ChakraValue::Double(value) => value,
            ChakraValue::Float(value) => value.into(),
            ChakraValue::Text(_) | ChakraValue::Bool(_) | ChakraValue::BoolList(_) => {
                return Err(self.wrong(name, "that is no number"));
            }
            ref value => whole(value).map_or(f64::NAN, |whole| whole as f64),
        };
        if number.is_finite() { Ok(Some(number)) } else { Err(self.wrong(name, "that is not finite")) }
    }

    /// Returns a whole number.
    ///
    /// # Errors
    /// Another value.
    pub fn signed(&self, name: &str) -> Result<Option<i64>, ChakraFault> {
        let Some(value) = self.values.get(name) else { return Ok(None) };
        let whole = match whole(value) {
            Some(whole) => i64::try_from(whole).ok(),
            None => self
                .number(name)?
                .filter(|number| number.fract() == 0.0 && number.abs() < (1u64 << 53) as f64)
                .map(|number| number as i64),
        };
        whole.map(Some).ok_or_else(|| self.wrong(name, "that is no whole number of 64 bits"))
    }

    /// Returns a size in bytes, at most [`MAX_BYTES`].
    ///
    /// # Errors
    /// Another value.
    pub fn bytes(&self, name: &str) -> Result<Option<u64>, ChakraFault> {
        let Some(number) = self.signed(name)? else { return Ok(None) };
        match u64::try_from(number) {
            Ok(bytes) if bytes <= MAX_BYTES => Ok(Some(bytes)),
            _ => Err(self.wrong(name, &format!("{number}; sizes are 0 to 2^48 bytes"))),
        }
    }

    /// Returns a number that is not negative.
    ///
    /// # Errors
    /// Another value.
    pub fn amount(&self, name: &str) -> Result<Option<f64>, ChakraFault> {
        match self.number(name)? {
            Some(number) if number < 0.0 => Err(self.wrong(name, &format!("{number}, a negative number"))),
            number => Ok(number),
        }
    }

    /// Returns a truth value; of numbers all but 0 are true.
    ///
    /// # Errors
    /// Another value.
    pub fn flag(&self, name: &str) -> Result<Option<bool>, ChakraFault> {
        match self.values.get(name) {
            Some(ChakraValue::Bool(flag)) => Ok(Some(*flag)),
            _ => Ok(self.number(name)?.map(|number| number != 0.0)),
        }
    }

    /// Returns a text; a number is one.
    ///
    /// # Errors
    /// Another value.
    pub fn text(&self, name: &str) -> Result<Option<String>, ChakraFault> {
        match self.values.get(name) {
            Some(ChakraValue::Text(text)) => Ok(Some(text.clone())),
            _ => Ok(self.signed(name)?.map(|number| number.to_string())),
        }
    }

    /// Returns which dimensions of a network a collective takes; none for all.
    ///
    /// # Errors
    /// Another value than a list.
    pub fn dimensions(&self) -> Result<&[bool], ChakraFault> {
        match self.values.get("involved_dim") {
            None => Ok(&[]),
            Some(ChakraValue::BoolList(list)) => Ok(&list.values),
            Some(_) => Err(self.wrong("involved_dim", "that is no list of truth values")),
        }
    }
}

/// Returns the value of an integer type.
fn whole(value: &ChakraValue) -> Option<i128> {
    match *value {
        ChakraValue::Int32(value) | ChakraValue::Sint32(value) | ChakraValue::Sfixed32(value) => {
            Some(value.into())
        }
        ChakraValue::Int64(value) | ChakraValue::Sint64(value) | ChakraValue::Sfixed64(value) => {
            Some(value.into())
        }
        ChakraValue::Uint32(value) | ChakraValue::Fixed32(value) => Some(value.into()),
        ChakraValue::Uint64(value) | ChakraValue::Fixed64(value) => Some(value.into()),
        _ => None,
    }
}
