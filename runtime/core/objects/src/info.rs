//! Info objects (MPI 5.0 chapter 10): ordered pairs of strings.

use crate::abi;
use crate::error::{ErrorClass, Failure, Result};
use crate::handles::{Naming, Owned};

/// `MPI_INFO_NULL`
pub const INFO_NULL: usize = abi::MPI_INFO_NULL;
/// `MPI_INFO_ENV`
pub const INFO_ENV: usize = abi::MPI_INFO_ENV;
/// `MPI_MAX_INFO_KEY` of the standard ABI, the terminating zero included.
pub const MAX_INFO_KEY: usize = 256;
/// `MPI_MAX_INFO_VAL` of the standard ABI, the terminating zero included.
pub const MAX_INFO_VAL: usize = 1024;

/// Keys and values in the order in which the keys were first set.
// A list and not a map: order is observable (`MPI_Info_get_nthkey`), and a handful of keys is found faster by
// looking.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    pairs: Vec<(Box<str>, Box<str>)>,
}

fn check_key(key: &str) -> Result {
    if key.is_empty() || key.len() >= MAX_INFO_KEY {
        return Err(Failure::new(
            ErrorClass::INFO_KEY,
            format!("the info key has {} bytes; it must have 1 to {}", key.len(), MAX_INFO_KEY - 1),
        ));
    }
    Ok(())
}

impl Info {
    /// Implements `MPI_Info_set`.
    ///
    /// # Errors
    /// `MPI_ERR_INFO_KEY` and `MPI_ERR_INFO_VALUE` for an empty key and what is too long.
    pub fn set(&mut self, key: &str, value: &str) -> Result {
        check_key(key)?;
        if value.len() >= MAX_INFO_VAL {
            return Err(Failure::new(
                ErrorClass::INFO_VALUE,
                format!(
                    "the value of info key \"{key}\" has {} bytes; it may have up to {}",
                    value.len(),
                    MAX_INFO_VAL - 1
                ),
            ));
        }
        match self.pairs.iter_mut().find(|pair| &*pair.0 == key) {
            Some(pair) => pair.1 = value.into(),
            None => self.pairs.push((key.into(), value.into())),
        }
        Ok(())
    }

    /// Implements `MPI_Info_get_string`. Returns `None` where the key is not set.
    ///
    /// # Errors
    /// `MPI_ERR_INFO_KEY` for an empty or too long key.
    pub fn get(&self, key: &str) -> Result<Option<&str>> {
        check_key(key)?;
        Ok(self.pairs.iter().find(|pair| &*pair.0 == key).map(|pair| &*pair.1))
    }

    /// Implements `MPI_Info_delete`.
    ///
    /// # Errors
    /// `MPI_ERR_INFO_NOKEY` where the key is not set.
    pub fn delete(&mut self, key: &str) -> Result {
        check_key(key)?;
        match self.pairs.iter().position(|pair| &*pair.0 == key) {
            Some(at) => {
                self.pairs.remove(at);
                Ok(())
            }
            None => Err(Failure::new(
                ErrorClass::INFO_NOKEY,
                format!("the info object has no key \"{key}\"; nothing to delete"),
            )),
        }
    }

    /// Implements `MPI_Info_get_nkeys`.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Returns `true` if no key is set.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Implements `MPI_Info_get_nthkey`.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for an index that is not below the number of keys.
    pub fn nth_key(&self, index: i32) -> Result<&str> {
        usize::try_from(index).ok().and_then(|index| self.pairs.get(index)).map(|pair| &*pair.0).ok_or_else(
            || {
                Failure::new(
                    ErrorClass::ARG,
                    format!(
                        "n is {index}; it must be from 0 to the number of keys, {}, less 1",
                        self.pairs.len()
                    ),
                )
            },
        )
    }

    /// Returns all pairs in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.pairs.iter().map(|pair| (&*pair.0, &*pair.1))
    }
}

/// Every info object of this process.
pub struct Infos {
    table: Owned<Info>,
    env: Info,
}

impl Default for Infos {
    fn default() -> Self {
        Self::new(Info::default())
    }
}

impl Infos {
    /// Returns a table with the contents of `MPI_INFO_ENV`.
    pub fn new(env: Info) -> Infos {
        Infos {
            table: Owned::new(Naming { noun: "info object", class: ErrorClass::INFO, null: INFO_NULL }),
            env,
        }
    }

    /// Sets the contents of `MPI_INFO_ENV`.
    pub fn set_env(&mut self, env: Info) {
        self.env = env;
    }

    /// Inserts a new object and returns the handle of `rank` to it: empty for `MPI_Info_create`, filled for
    /// `MPI_Info_dup`, `MPI_Info_create_env` and the `get_info` calls.
    pub fn insert(&mut self, rank: u32, info: Info) -> Result<usize> {
        self.table.insert(rank, info)
    }

    /// Returns the object behind a handle, `MPI_INFO_ENV` included.
    ///
    /// # Errors
    /// `MPI_ERR_INFO` for a null, unknown, freed or foreign handle.
    pub fn get(&self, rank: u32, handle: usize) -> Result<&Info> {
        if handle == INFO_ENV { Ok(&self.env) } else { self.table.get(rank, handle) }
    }

    /// Behaves as [`get`](Self::get) for an argument that may be `MPI_INFO_NULL`.
    pub fn get_optional(&self, rank: u32, handle: usize) -> Result<Option<&Info>> {
        if handle == INFO_NULL { Ok(None) } else { self.get(rank, handle).map(Some) }
    }

    /// Returns the object to change; `MPI_INFO_ENV` cannot be changed.
    pub fn get_mut(&mut self, rank: u32, handle: usize) -> Result<&mut Info> {
        self.refuse_env(handle, "changed; change a copy made with MPI_Info_dup")?;
        self.table.get_mut(rank, handle)
    }

    /// Implements `MPI_Info_free`.
    pub fn free(&mut self, rank: u32, handle: usize) -> Result {
        self.refuse_env(handle, "freed; remove the call")?;
        self.table.remove(rank, handle).map(|_| ())
    }

    /// Returns how many info objects are live.
    pub fn live(&self) -> usize {
        self.table.live()
    }

    // One object for all ranks: what one of them changed the others would see.
    fn refuse_env(&self, handle: usize, what: &str) -> Result {
        if handle == INFO_ENV {
            return Err(Failure::new(ErrorClass::INFO, format!("MPI_INFO_ENV cannot be {what}")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_the_order_in_which_they_came() {
        let mut info = Info::default();
        for (key, value) in [("b", "1"), ("a", "2"), ("b", "3")] {
            info.set(key, value).unwrap();
        }
        assert_eq!(info.iter().collect::<Vec<_>>(), [("b", "3"), ("a", "2")]);
        assert_eq!(
            (info.nth_key(1).unwrap(), info.get("b").unwrap(), info.get("c").unwrap()),
            ("a", Some("3"), None)
        );
        info.delete("b").unwrap();
        assert_eq!(info.delete("b").unwrap_err().class, ErrorClass::INFO_NOKEY);
        assert_eq!(info.nth_key(1).unwrap_err().class, ErrorClass::ARG);
    }

    #[test]
    fn limits_are_those_of_the_abi() {
        let mut info = Info::default();
        assert!(info.set(&"k".repeat(255), &"v".repeat(1023)).is_ok());
        assert_eq!(info.set(&"k".repeat(256), "v").unwrap_err().class, ErrorClass::INFO_KEY);
        assert_eq!(info.set("", "v").unwrap_err().class, ErrorClass::INFO_KEY);
        assert_eq!(info.set("k", &"v".repeat(1024)).unwrap_err().class, ErrorClass::INFO_VALUE);
    }

    #[test]
    fn an_object_belongs_to_its_rank_until_it_is_freed() {
        let mut infos = Infos::new(Info::default());
        let handle = infos.insert(3, Info::default()).unwrap();
        assert!(infos.get(3, handle).is_ok());
        assert!(infos.get(4, handle).is_err());
        infos.free(3, handle).unwrap();
        assert!(infos.get(3, handle).is_err());
        assert_ne!(infos.insert(3, Info::default()).unwrap(), handle);
        assert!(infos.get(0, INFO_ENV).is_ok());
        assert!(infos.get_mut(0, INFO_ENV).is_err());
        assert!(infos.get_optional(0, INFO_NULL).unwrap().is_none());
        assert!(infos.get(0, INFO_NULL).unwrap_err().text.contains("null"));
    }
}
