//! Basic elements: what one entry of a type map is in memory.

/// A basic element of a type map, by machine representation (x86-64 Linux, gfortran's Fortran).
///
/// The pairs of `MPI_MAXLOC` are no kinds of their own here: each is two entries of a type
/// map. [`Element`] names what a reduction works on.
// `long` and `unsigned long` are kinds of their own for one reason: `external32` narrows them, and nothing
// else that has 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// Packed or raw bytes: `MPI_PACKED`, `MPI_BYTE`.
    Byte,
    /// A character that is no number: `MPI_CHAR`, `MPI_CHARACTER`.
    Char,
    /// `wchar_t`.
    WideChar,
    /// Signed integers of 1 to 16 bytes.
    I8,
    /// See [`I8`](Self::I8).
    I16,
    /// See [`I8`](Self::I8).
    I32,
    /// See [`I8`](Self::I8).
    I64,
    /// See [`I8`](Self::I8).
    I128,
    /// C's `long`: 8 bytes here, 4 in `external32`.
    Long,
    /// Unsigned integers of 1 to 8 bytes.
    U8,
    /// See [`U8`](Self::U8).
    U16,
    /// See [`U8`](Self::U8).
    U32,
    /// See [`U8`](Self::U8).
    U64,
    /// C's `unsigned long`: 8 bytes here, 4 in `external32`.
    UnsignedLong,
    /// IEEE floats of 2, 4, 8 and 16 bytes.
    F16,
    /// See [`F16`](Self::F16).
    F32,
    /// See [`F16`](Self::F16).
    F64,
    /// x87 extended precision in 16 bytes: `long double`.
    F80,
    /// See [`F16`](Self::F16).
    F128,
    /// Complex numbers of two floats of the same name.
    ComplexF16,
    /// See [`ComplexF16`](Self::ComplexF16).
    ComplexF32,
    /// See [`ComplexF16`](Self::ComplexF16).
    ComplexF64,
    /// See [`ComplexF16`](Self::ComplexF16).
    ComplexF80,
    /// See [`ComplexF16`](Self::ComplexF16).
    ComplexF128,
    /// C's and C++'s truth values, one byte.
    Bool,
    /// Fortran logicals of 1 to 16 bytes; gfortran's `.true.` is 1.
    Logical1,
    /// See [`Logical1`](Self::Logical1).
    Logical2,
    /// See [`Logical1`](Self::Logical1).
    Logical4,
    /// See [`Logical1`](Self::Logical1).
    Logical8,
    /// See [`Logical1`](Self::Logical1).
    Logical16,
}

impl Kind {
    /// All of them, each at the place of its number.
    #[rustfmt::skip]
    pub const ALL: [Kind; 30] = {
        use Kind::*;
        [
            Byte, Char, WideChar, I8, I16, I32, I64, I128, Long, U8, U16, U32, U64, UnsignedLong, F16, F32,
            F64, F80, F128, ComplexF16, ComplexF32, ComplexF64, ComplexF80, ComplexF128, Bool, Logical1,
            Logical2, Logical4, Logical8, Logical16,
        ]
    };

    /// Bytes in memory; the alignment is that of C and gfortran on x86-64.
    pub const fn size(self) -> u64 {
        use Kind::*;
        match self {
            Byte | Char | I8 | U8 | Bool | Logical1 => 1,
            I16 | U16 | F16 | Logical2 => 2,
            WideChar | I32 | U32 | F32 | ComplexF16 | Logical4 => 4,
            I64 | Long | U64 | UnsignedLong | F64 | ComplexF32 | Logical8 => 8,
            I128 | F80 | F128 | ComplexF64 | Logical16 => 16,
            ComplexF80 | ComplexF128 => 32,
        }
    }

    /// Alignment in memory, bytes.
    // Of the parts and not of the whole: C aligns a complex number as its real part.
    pub const fn align(self) -> u64 {
        use Kind::*;
        match self {
            ComplexF16 => 2,
            ComplexF32 => 4,
            ComplexF64 => 8,
            ComplexF80 | ComplexF128 => 16,
            _ => self.size(),
        }
    }

    /// Returns `true` if it is an integer, which an index can be.
    pub const fn is_integer(self) -> bool {
        use Kind::*;
        matches!(self, I8 | I16 | I32 | I64 | I128 | Long | U8 | U16 | U32 | U64 | UnsignedLong)
    }

    /// Returns `true` if `MPI_Compare_and_swap` takes it (MPI 5.0 section 12.3.4): integers, logicals, bytes.
    pub const fn is_comparable(self) -> bool {
        use Kind::*;
        self.is_integer()
            || matches!(self, Byte | Char | Bool | Logical1 | Logical2 | Logical4 | Logical8 | Logical16)
    }

    /// Bytes in the `external32` representation (MPI 5.0 table 14.2).
    pub const fn external_size(self) -> u64 {
        match self {
            Kind::Long | Kind::UnsignedLong => 4,
            Kind::WideChar => 2,
            _ => self.size(),
        }
    }

    /// The kind that counts when signatures are compared: `long` is the same machine number
    /// as a 64-bit integer.
    pub const fn representation(self) -> Kind {
        match self {
            Kind::Long => Kind::I64,
            Kind::UnsignedLong => Kind::U64,
            other => other,
        }
    }

    /// Returns what it is, for messages.
    pub const fn noun(self) -> &'static str {
        use Kind::*;
        match self {
            Byte => "bytes",
            Char | WideChar => "characters",
            I8 | I16 | I32 | I64 | I128 | Long | U8 | U16 | U32 | U64 | UnsignedLong => "integers",
            F16 | F32 | F64 | F80 | F128 => "floating-point numbers",
            ComplexF16 | ComplexF32 | ComplexF64 | ComplexF80 | ComplexF128 => "complex numbers",
            Bool | Logical1 | Logical2 | Logical4 | Logical8 | Logical16 => "logicals",
        }
    }
}

/// One element of a packed buffer in a predefined reduction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Element {
    /// One value.
    One(Kind),
    /// A value and its index, packed without padding (`MPI_DOUBLE_INT` is 12 bytes).
    Pair(Kind, Kind),
}

impl Element {
    /// Packed bytes of one element.
    pub const fn size(self) -> u64 {
        match self {
            Element::One(kind) => kind.size(),
            Element::Pair(value, index) => value.size() + index.size(),
        }
    }
}
