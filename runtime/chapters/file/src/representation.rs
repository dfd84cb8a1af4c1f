//! Data representations (MPI 5.0 section 14.5): how the values of a datatype lie in the file.

use crate::conversion::Conversion;
use objects::Objects;
use objects::datatype::predefined::BYTE;
use objects::datatype::{Constructor, Datatype};
use objects::error::Result;
use std::rc::Rc;

/// Layout of values in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Representation {
    /// Data as in memory. All ranks run on one kind of machine, so that `internal` is `native`.
    Native,
    /// Data as in `native`, by the name that the program gave.
    Internal,
    /// Big-endian, of the standard's sizes.
    External32,
    /// One that the program has registered without conversion functions, so that values lie as in memory; its
    /// name.
    Registered(Rc<str>),
    /// One that converts by functions of the program.
    Converting(Rc<Conversion>),
}

impl PartialEq for Conversion {
    fn eq(&self, other: &Conversion) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Conversion {}

impl Representation {
    /// Returns one of MPI's own by its name.
    pub(crate) fn predefined(name: &str) -> Option<Representation> {
        match name {
            "native" => Some(Representation::Native),
            "internal" => Some(Representation::Internal),
            "external32" => Some(Representation::External32),
            _ => None,
        }
    }

    /// Returns its name.
    pub(crate) fn name(&self) -> &str {
        match self {
            Representation::Native => "native",
            Representation::Internal => "internal",
            Representation::External32 => "external32",
            Representation::Registered(name) => name,
            Representation::Converting(conversion) => &conversion.name,
        }
    }

    /// Returns its functions, if the program has given any.
    pub(crate) fn conversion(&self) -> Option<&Rc<Conversion>> {
        if let Representation::Converting(conversion) = self { Some(conversion) } else { None }
    }

    /// Returns `true` if bytes of the file are those of memory.
    pub(crate) fn is_plain(&self) -> bool {
        !matches!(self, Representation::External32 | Representation::Converting(_))
    }

    /// Returns a datatype as it lies in the file: predefined types have the file's sizes, and displacements
    /// in bytes are the program's own (MPI 5.0 section 14.5.1).
    ///
    /// # Errors
    /// `MPI_ERR_TYPE`, `MPI_ERR_COUNT` for what is no datatype with these sizes.
    pub(crate) fn in_file(&self, objects: &Objects, datatype: &Rc<Datatype>) -> Result<Rc<Datatype>> {
        if self.is_plain() {
            return Ok(datatype.clone());
        }
        let Some(constructor) = datatype.constructor.try_map(&mut |old| self.in_file(objects, old))? else {
            let size = match self {
                Representation::Converting(conversion) => conversion.bytes_of(datatype)?,
                _ => datatype.external_size(),
            };
            if datatype.contiguous && size == datatype.size {
                return Ok(datatype.clone());
            }
            let byte = objects.types.get(BYTE)?.clone();
            return Datatype::new(Constructor::Contiguous {
                count: size as i64,
                old: byte.into(),
                large: true,
            });
        };
        Datatype::new(constructor)
    }

    /// Returns the bytes that instances of a datatype have in the file.
    ///
    /// # Errors
    /// As [`Representation::in_file`], of one of the program's own.
    pub(crate) fn in_file_bytes(
        &self,
        objects: &Objects,
        datatype: &Rc<Datatype>,
        count: u64,
    ) -> Result<u64> {
        let bytes = match self {
            Representation::External32 => datatype.external_size(),
            Representation::Converting(_) => self.in_file(objects, datatype)?.size,
            _ => datatype.size,
        };
        Ok(count.saturating_mul(bytes))
    }

    /// Converts the bytes of memory, packed, to what lies in the file; of a representation that converts
    /// where it has no function for that (MPI 5.0 section 14.5.3).
    ///
    /// # Errors
    /// `MPI_ERR_CONVERSION` for a value that the representation cannot hold.
    pub(crate) fn encode(&self, datatype: &Datatype, count: u64, packed: Vec<u8>) -> Result<Vec<u8>> {
        if *self == Representation::External32 { datatype.to_external(count, &packed) } else { Ok(packed) }
    }

    /// Converts the bytes of the file, the first of `count` instances, to those of memory, packed: as many as
    /// there is data for.
    pub(crate) fn decode(&self, datatype: &Datatype, count: u64, mut bytes: Vec<u8>) -> Vec<u8> {
        if *self != Representation::External32 {
            return bytes;
        }
        let (whole, have) = (datatype.external_size() * count, bytes.len() as u64);
        bytes.resize(whole as usize, 0);
        let mut packed = datatype.from_external(count, &bytes);
        if have < whole {
            // Where all elements are alike these can be cut, else whole instances.
            let pieces = if datatype.element.is_some() { datatype.element_count.max(1) } else { 1 };
            let (outer, inner) = (datatype.external_size() / pieces, datatype.size / pieces);
            packed.truncate((have / outer.max(1) * inner) as usize);
        }
        packed
    }
}
