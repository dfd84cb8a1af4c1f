//! Data representations by their names: MPI's own and those of the program.

use crate::conversion::{Conversion, ConversionFunctions};
use crate::representation::Representation;
use crate::state::OpenFiles;
use objects::abi::MPI_MAX_DATAREP_STRING;
use objects::error::{ErrorClass, Failure, Result};
use p2p::Messages;
use std::rc::Rc;

impl OpenFiles {
    /// Implements `MPI_Register_datarep` for the mounted rank (MPI 5.0 section 14.5.3), with `functions` if
    /// it gives a conversion function.
    ///
    /// # Errors
    /// `MPI_ERR_DUP_DATAREP`; `MPI_ERR_ARG` for a name that is none.
    pub fn register(
        &mut self,
        messages: &Messages,
        name: &str,
        functions: Option<ConversionFunctions>,
    ) -> Result {
        if name.is_empty() || name.len() >= MPI_MAX_DATAREP_STRING as usize {
            let text =
                format!("datarep has {} bytes; it may have 1 to {}", name.len(), MPI_MAX_DATAREP_STRING - 1);
            return Err(Failure::new(ErrorClass::ARG, text));
        }
        let key = (messages.me(), Rc::from(name));
        if Representation::predefined(name).is_some() || self.registered.contains_key(&key) {
            return Err(Failure::new(
                ErrorClass::DUP_DATAREP,
                format!("there is a data representation \"{name}\" already: choose another name"),
            ));
        }
        let representation = match functions {
            Some(functions) => Representation::Converting(Rc::new(Conversion::new(key.1.clone(), functions))),
            None => Representation::Registered(key.1.clone()),
        };
        self.registered.insert(key, representation);
        Ok(())
    }

    /// Returns the mounted rank's representation of this name.
    ///
    /// # Errors
    /// `MPI_ERR_UNSUPPORTED_DATAREP`.
    pub(crate) fn representation(&self, messages: &Messages, name: &str) -> Result<Representation> {
        let unsupported = |text: String| Err(Failure::new(ErrorClass::UNSUPPORTED_DATAREP, text));
        if let Some(predefined) = Representation::predefined(name) {
            return Ok(predefined);
        }
        let key: (u32, Rc<str>) = (messages.me(), name.into());
        match self.registered.get(&key) {
            Some(representation) => Ok(representation.clone()),
            None => unsupported(format!(
                "there is no data representation \"{name}\": use \"native\", \"internal\", \"external32\", \
                 or register it with MPI_Register_datarep"
            )),
        }
    }
}
