//! The arguments of MPI calls, as implementations get them: each wraps an address the program
//! gave and reads or writes through `rank::memory`, so nothing here trusts a pointer more
//! than MPI itself does. `cabi/table/README.md` says which kind becomes which type.

use crate::call::Call;
use crate::constants::{
    MPI_ANY_SOURCE, MPI_ERR_ARG, MPI_ERR_COUNT, MPI_MAX_OBJECT_NAME, MPI_UNDEFINED, MPI_UNWEIGHTED,
    MPI_WEIGHTS_EMPTY,
};
use mpi::error::Result;
use rank::Addr;
use rank::memory::{self, load, store};
use std::marker::PhantomData;

/// An MPI handle of any kind in the standard ABI: predefined below 0x1000.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct Handle(pub usize);

/// A value that MPI writes to or reads from the program.
pub trait Value: Copy {
    /// Bytes it takes.
    const SIZE: i64;
    /// Reads one.
    fn get(at: Addr) -> Self;
    /// Writes one.
    fn put(at: Addr, value: Self);
}

impl Value for i32 {
    const SIZE: i64 = 4;
    #[inline]
    fn get(at: Addr) -> i32 {
        load(at)
    }
    #[inline]
    fn put(at: Addr, value: i32) {
        store(at, value);
    }
}
impl Value for i64 {
    const SIZE: i64 = 8;
    #[inline]
    fn get(at: Addr) -> i64 {
        load(at)
    }
    #[inline]
    fn put(at: Addr, value: i64) {
        store(at, value);
    }
}
/// A flag is a C `int`.
impl Value for bool {
    const SIZE: i64 = 4;
    #[inline]
    fn get(at: Addr) -> bool {
        load::<i32>(at) != 0
    }
    #[inline]
    fn put(at: Addr, value: bool) {
        store(at, i32::from(value));
    }
}
impl Value for Handle {
    const SIZE: i64 = 8;
    #[inline]
    fn get(at: Addr) -> Handle {
        Handle(load(at))
    }
    #[inline]
    fn put(at: Addr, value: Handle) {
        store(at, value.0);
    }
}
/// An address, for the calls that give one back.
impl Value for Addr {
    const SIZE: i64 = 8;
    #[inline]
    fn get(at: Addr) -> Addr {
        Addr(load(at))
    }
    #[inline]
    fn put(at: Addr, value: Addr) {
        store(at, value.0);
    }
}

/// A pointer through which one value is written. Setting through a null pointer does nothing: where null is
/// an error, the generated check has refused it before.
#[derive(Clone, Copy)]
pub struct Out<T>(Addr, PhantomData<T>);

impl<T: Value> Out<T> {
    /// Wraps the address.
    #[inline]
    pub fn new(at: Addr) -> Out<T> {
        Out(at, PhantomData)
    }
    /// Writes the value.
    #[inline]
    pub fn set(self, value: T) {
        if !self.0.is_null() {
            T::put(self.0, value);
        }
    }
    /// Returns the address itself.
    #[inline]
    pub fn at(self) -> Addr {
        self.0
    }
}

/// One value that the call reads and writes.
#[derive(Clone, Copy)]
pub struct InOut<T>(Addr, PhantomData<T>);

impl<T: Value> InOut<T> {
    /// Wraps the address.
    #[inline]
    pub fn new(at: Addr) -> InOut<T> {
        InOut(at, PhantomData)
    }
    /// Reads the value.
    #[inline]
    pub fn get(self) -> T {
        T::get(self.0)
    }
    /// Writes the value.
    #[inline]
    pub fn set(self, value: T) {
        T::put(self.0, value);
    }
    /// Returns the address itself.
    #[inline]
    pub fn at(self) -> Addr {
        self.0
    }
}

/// A pointer through which a count is written: to an `int`, or to 64 bits in the large-count variant.
#[derive(Clone, Copy)]
pub struct OutCount {
    /// The address.
    pub at: Addr,
    /// `true` if it takes 64 bits.
    pub wide: bool,
}

impl OutCount {
    /// Writes the count; `MPI_UNDEFINED` where an `int` cannot hold it (MPI 5.0 section 3.2.5).
    #[inline]
    pub fn set(self, value: i64) {
        if self.at.is_null() {
        } else if self.wide {
            store(self.at, value);
        } else {
            store(self.at, i32::try_from(value).unwrap_or(MPI_UNDEFINED));
        }
    }
    /// Reads it, for the parameters that go both ways.
    #[inline]
    pub fn get(self) -> i64 {
        if self.wide { load(self.at) } else { i64::from(load::<i32>(self.at)) }
    }
}

/// An array of counts, displacements or addresses, of 32 or 64 bits an element.
#[derive(Clone, Copy)]
pub struct Counts {
    /// The address of the first.
    pub at: Addr,
    /// `true` if an element takes 64 bits.
    pub wide: bool,
}

impl Counts {
    /// Returns the `i`th.
    #[inline]
    pub fn get(self, i: usize) -> i64 {
        if self.wide {
            load(self.at.offset(8 * i as i64))
        } else {
            i64::from(load::<i32>(self.at.offset(4 * i as i64)))
        }
    }
    /// Sets the `i`th; `MPI_UNDEFINED` where an `int` cannot hold it.
    #[inline]
    pub fn set(self, i: usize, value: i64) {
        if self.wide {
            store(self.at.offset(8 * i as i64), value);
        } else {
            store(self.at.offset(4 * i as i64), i32::try_from(value).unwrap_or(MPI_UNDEFINED));
        }
    }
    /// Returns `true` if the program passed a null pointer.
    #[inline]
    pub fn is_null(self) -> bool {
        self.at.is_null()
    }
    /// Returns the first `n`.
    // The width is looked at once: two loops that the compiler makes vector instructions of.
    pub fn to_vec(self, n: usize) -> Vec<i64> {
        if self.wide {
            return (0..n).map(|i| load::<i64>(self.at.offset(8 * i as i64))).collect();
        }
        (0..n).map(|i| i64::from(load::<i32>(self.at.offset(4 * i as i64)))).collect()
    }
}

macro_rules! array {
    ($(#[$doc:meta])* $name:ident of $element:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name(pub Addr);

        impl $name {
            /// Returns the `i`th element.
            #[inline]
            pub fn get(self, i: usize) -> $element {
                <$element>::get(self.0.offset(<$element>::SIZE * i as i64))
            }
            /// Sets the `i`th element.
            #[inline]
            pub fn set(self, i: usize, value: $element) {
                <$element>::put(self.0.offset(<$element>::SIZE * i as i64), value);
            }
            /// Returns `true` if the program passed a null pointer.
            #[inline]
            pub fn is_null(self) -> bool {
                self.0.is_null()
            }
            /// Returns the first `n` elements.
            pub fn to_vec(self, n: usize) -> Vec<$element> {
                (0..n).map(|i| self.get(i)).collect()
            }
        }
    };
}
array!(/// An array of C `int`.
    Ints of i32);
array!(/// An array of truth values, C `int` each.
    Flags of bool);

/// An array of handles: pointers in C, integers in Fortran.
#[derive(Clone, Copy)]
pub struct Handles {
    /// The address of the first.
    pub at: Addr,
    /// `true` if an element takes 64 bits.
    pub wide: bool,
}

impl Handles {
    /// Returns the `i`th.
    #[inline]
    pub fn get(self, i: usize) -> Handle {
        if self.wide {
            Handle(load(self.at.offset(8 * i as i64)))
        } else {
            Handle(load::<i32>(self.at.offset(4 * i as i64)) as usize)
        }
    }
    /// Sets the `i`th.
    #[inline]
    pub fn set(self, i: usize, value: Handle) {
        if self.wide {
            store(self.at.offset(8 * i as i64), value.0);
        } else {
            store(self.at.offset(4 * i as i64), value.0 as i32);
        }
    }
    /// Returns `true` if the program passed a null pointer.
    #[inline]
    pub fn is_null(self) -> bool {
        self.at.is_null()
    }
    /// Returns the first `n`.
    pub fn to_vec(self, n: usize) -> Vec<Handle> {
        (0..n).map(|i| self.get(i)).collect()
    }
}

/// Edge weights, which may be left out (MPI 5.0 section 8.5.4).
#[derive(Clone, Copy)]
pub struct Weights(pub Addr);

impl Weights {
    /// Returns the weights' array; `None` for `MPI_UNWEIGHTED`.
    pub fn given(self) -> Option<Ints> {
        (self.0.0 != MPI_UNWEIGHTED).then_some(Ints(self.0))
    }
    /// Returns `true` if it is `MPI_WEIGHTS_EMPTY`: weighted, but no edge here.
    pub fn is_empty(self) -> bool {
        self.0.0 == MPI_WEIGHTS_EMPTY
    }
}

/// Ranges of ranks: first, last, stride.
#[derive(Clone, Copy)]
pub struct Ranges(pub Addr);

impl Ranges {
    /// Returns the `i`th range.
    pub fn get(self, i: usize) -> [i32; 3] {
        let ints = Ints(self.0);
        [ints.get(3 * i), ints.get(3 * i + 1), ints.get(3 * i + 2)]
    }
}

/// Text of the program, up to its null byte. Checked not to be null, unless the table says
/// that it may be.
#[derive(Clone, Copy)]
pub struct CText(pub Addr);

impl CText {
    /// Returns the bytes.
    pub fn bytes(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self.0.is_null() {
            return bytes;
        }
        let mut at = self.0;
        loop {
            let byte: u8 = load(at);
            if byte == 0 {
                return bytes;
            }
            bytes.push(byte);
            at = at.offset(1);
        }
    }
    /// Returns the name of an object, of which as much is kept as fits with its end.
    pub fn name(self) -> Vec<u8> {
        let mut name = self.bytes();
        name.truncate(MPI_MAX_OBJECT_NAME as usize - 1);
        name
    }
    /// Returns the text; bytes that are not UTF-8 are replaced.
    pub fn text(self) -> String {
        String::from_utf8(self.bytes()).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
    }
}

/// An array of texts, ending in a null pointer or by its length.
#[derive(Clone, Copy)]
pub struct Texts(pub Addr);

impl Texts {
    /// Returns the `i`th; its address is null at the end of a list.
    pub fn get(self, i: usize) -> CText {
        CText(Addr(load(self.0.offset(8 * i as i64))))
    }
}

/// A pointer through which text is written.
#[derive(Clone, Copy)]
pub struct OutText(pub Addr);

impl OutText {
    /// Writes `text` and a null byte, cut so that both fit in `room` bytes; gives the length
    /// written without the null byte. Does nothing with no room or a null pointer.
    pub fn set(self, text: &[u8], room: usize) -> usize {
        if self.0.is_null() || room == 0 {
            return 0;
        }
        let len = text.len().min(room - 1);
        memory::write(self.0, &text[..len]);
        store(self.0.offset(len as i64), 0u8);
        len
    }
}

/// A pointer through which an attribute's value is written.
#[derive(Clone, Copy)]
pub struct OutAttribute {
    /// The address.
    pub at: Addr,
    /// `true` if it is a `void *` of C, or an integer of Fortran's address kind.
    pub in_c: bool,
}

impl OutAttribute {
    /// Writes the value as the language reads it.
    pub fn set(self, value: &mpi::attribute::AttributeValue) {
        if self.in_c {
            store(self.at, value.in_c());
        } else {
            store(self.at, value.in_fortran());
        }
    }
}

/// The contents of a status.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StatusFields {
    /// The source's rank.
    pub source: i32,
    /// The tag.
    pub tag: i32,
    /// The error code.
    pub error: i32,
    /// Bytes received, of the message's own signature.
    pub bytes: i64,
    /// `true` if the operation was cancelled.
    pub cancelled: bool,
}

/// A status of the program: 32 bytes; source, tag, error, then ours: cancelled,
/// bytes (64 bits at 16). Null is `MPI_STATUS_IGNORE`.
#[derive(Clone, Copy)]
pub struct StatusPointer(pub Addr);

impl StatusPointer {
    /// Returns `true` if the program ignores it.
    #[inline]
    pub fn is_ignored(self) -> bool {
        self.0.is_null()
    }
    /// Fills it, except for the error field, which single-completion calls leave alone
    /// (MPI 5.0 section 3.2.5); an empty status has one (section 3.7.3).
    #[inline]
    pub fn set(self, status: &StatusFields) {
        if !self.is_ignored() {
            if status.source == MPI_ANY_SOURCE {
                store(self.0.offset(8), status.error);
            }
            store(self.0, status.source);
            store(self.0.offset(4), status.tag);
            store(self.0.offset(12), i32::from(status.cancelled));
            store(self.0.offset(16), status.bytes);
        }
    }
    /// Fills it, the error field too.
    #[inline]
    pub fn set_all(self, status: &StatusFields) {
        if !self.is_ignored() {
            self.set(status);
            store(self.0.offset(8), status.error);
        }
    }
    /// Reads it.
    pub fn get(self) -> StatusFields {
        StatusFields {
            source: load(self.0),
            tag: load(self.0.offset(4)),
            error: load(self.0.offset(8)),
            cancelled: load::<i32>(self.0.offset(12)) != 0,
            bytes: load(self.0.offset(16)),
        }
    }
}

/// An array of statuses; null is `MPI_STATUSES_IGNORE`.
#[derive(Clone, Copy)]
pub struct OutStatuses(pub Addr);

impl OutStatuses {
    /// Returns `true` if the program ignores them.
    #[inline]
    pub fn is_ignored(self) -> bool {
        self.0.is_null()
    }
    /// Returns the `i`th.
    #[inline]
    pub fn get(self, i: usize) -> StatusPointer {
        if self.is_ignored() {
            StatusPointer(Addr::NULL)
        } else {
            StatusPointer(self.0.offset(32 * i as i64))
        }
    }
}

/// Refuses a negative count.
#[inline(always)]
pub fn check_count(c: &Call, index: usize, value: i64) -> Result {
    if value < 0 {
        return Err(c.wrong(
            index,
            MPI_ERR_COUNT,
            format_args!("it is {value}, and a count must not be negative"),
        ));
    }
    Ok(())
}

/// Refuses a negative array length.
#[inline(always)]
pub fn check_length(c: &Call, index: usize, value: i64) -> Result {
    if value < 0 {
        return Err(c.wrong(
            index,
            MPI_ERR_ARG,
            format_args!("it is {value}, and a length must not be negative"),
        ));
    }
    Ok(())
}

/// Refuses a null pointer where a result must go or a text must be.
#[inline(always)]
pub fn check_pointer(c: &Call, index: usize, at: Addr) -> Result {
    if at.is_null() {
        return Err(c.wrong(index, MPI_ERR_ARG, "it is a null pointer; pass the address of a variable"));
    }
    Ok(())
}

/// Refuses a null array that should have elements.
#[inline(always)]
pub fn check_array(c: &Call, index: usize, at: Addr, length: i64) -> Result {
    if at.is_null() && length > 0 {
        return Err(c.wrong(
            index,
            MPI_ERR_ARG,
            format_args!("it is a null pointer, but {length} elements are asked for"),
        ));
    }
    Ok(())
}
