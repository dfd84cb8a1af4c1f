//! Attributes, functions of the program, and ranges of ranks as C has them.

use crate::call::{CallArgument, GeneratedCall, Refusal};
use crate::numbers::NumberByRank;
use crate::signature::{ParameterIntent, constant};
use crate::spelling::Speller;
use trace::template::Field;

/// Arguments that are keys of attributes.
pub const KEYS: [&str; 3] = ["comm_keyval", "type_keyval", "keyval"];
/// The standard's own keys.
const PREDEFINED: [&str; 8] = [
    "MPI_TAG_UB",
    "MPI_IO",
    "MPI_HOST",
    "MPI_WTIME_IS_GLOBAL",
    "MPI_APPNUM",
    "MPI_LASTUSEDCODE",
    "MPI_UNIVERSE_SIZE",
    "MPI_KEYVAL_INVALID",
];

/// Returns the constant that an address is, 0 for none; `None` of another address.
pub fn small(call: &GeneratedCall, argument: CallArgument) -> Option<i64> {
    match argument.field {
        Field::Null => Some(0),
        Field::Address => match call.number(argument.at) {
            NumberByRank::Same(number @ 0..4096) => Some(number),
            _ => None,
        },
        _ => None,
    }
}

/// Returns a function of this type: one of the standard by its number, or what stands for one of the program.
/// Attributes are copied, and error handlers return.
pub fn function(of: &str, number: Option<i64>) -> Option<&'static str> {
    Some(match (of, number) {
        ("MPI_Comm_copy_attr_function", Some(0)) => "MPI_COMM_NULL_COPY_FN",
        ("MPI_Comm_copy_attr_function", Some(1)) => "MPI_COMM_DUP_FN",
        ("MPI_Comm_copy_attr_function", _) => "copy_comm",
        ("MPI_Comm_delete_attr_function", Some(0)) => "MPI_COMM_NULL_DELETE_FN",
        ("MPI_Comm_delete_attr_function", _) => "forget_comm",
        // The same functions by their names of MPI 1.
        ("MPI_Copy_function", Some(0)) => "MPI_NULL_COPY_FN",
        ("MPI_Copy_function", Some(1)) => "MPI_DUP_FN",
        ("MPI_Copy_function", _) => "copy_comm",
        ("MPI_Delete_function", Some(0)) => "MPI_NULL_DELETE_FN",
        ("MPI_Delete_function", _) => "forget_comm",
        ("MPI_Type_copy_attr_function", Some(0)) => "MPI_TYPE_NULL_COPY_FN",
        ("MPI_Type_copy_attr_function", Some(1)) => "MPI_TYPE_DUP_FN",
        ("MPI_Type_copy_attr_function", _) => "copy_type",
        ("MPI_Type_delete_attr_function", Some(0)) => "MPI_TYPE_NULL_DELETE_FN",
        ("MPI_Type_delete_attr_function", _) => "forget_type",
        ("MPI_Comm_errhandler_function", None) => "go_on",
        _ => return None,
    })
}

impl Speller {
    /// Returns a key of attributes: a constant, or the one that had this number in the recording.
    pub fn key(&mut self, call: &GeneratedCall, argument: CallArgument) -> String {
        let value = call.number(argument.at);
        if let NumberByRank::Same(number) = value
            && argument.parameter.direction == ParameterIntent::In
            && let Some(known) = PREDEFINED.iter().find(|known| constant(known, number).is_some())
        {
            return (*known).to_owned();
        }
        let number = self.vectors.number(&value);
        match argument.parameter.direction {
            ParameterIntent::In => format!("key_of({number})"),
            ParameterIntent::Out | ParameterIntent::InOut => format!("made_key({number})"),
        }
    }

    /// Returns ranges of ranks.
    pub fn ranges(
        &mut self,
        call: &GeneratedCall,
        argument: CallArgument,
        form: usize,
    ) -> Result<String, Refusal> {
        let elements = call.elements(argument).unwrap_or_default();
        if elements.is_empty() {
            return Ok("NULL".to_owned());
        }
        if elements.iter().any(|(field, _)| **field != Field::Integer) {
            return Err("its ranges are not in the trace; record the program again".to_owned());
        }
        Ok(format!("(int (*)[3]){}", self.array(call, argument, form)?))
    }
}
