//! Choice buffers of module `mpi_f08`, which come as the C descriptors of Fortran 2018 (18.5):
//! an array section need not lie side by side in memory.

use super::sentinel;
use crate::args::Handle;
use crate::call::Object;
use crate::constants::{MPI_BYTE, MPI_ERR_BUFFER, MPI_ERR_TYPE, MPI_SUCCESS};
use crate::edge;
use crate::exports;
use crate::function::Function;
use crate::recording;
use rank::Addr;
use rank::memory::{self, load};

/// One dimension as the descriptor gives it.
#[derive(Clone, Copy, Debug)]
struct DescriptorDimension {
    extent: i64,
    /// Bytes from one element to the next.
    stride: i64,
}

/// The contents of a descriptor. `CFI_cdesc_t` begins with base address, element length and version (`int`).
/// Then come rank, type and attribute (one byte each; a 16-bit type behind them for gfortran). Each dimension
/// has lower bound, extent and byte stride.
#[derive(Debug)]
struct DescriptorShape {
    base: Addr,
    element: i64,
    dimensions: Vec<DescriptorDimension>,
}

const RANK: i64 = 20;
const DIMENSIONS: i64 = 24;

impl DescriptorShape {
    fn read(at: Addr) -> DescriptorShape {
        let rank: u8 = load(at.offset(RANK));
        let dimensions = (0..i64::from(rank))
            .map(|d| {
                let dimension = at.offset(DIMENSIONS + 24 * d);
                DescriptorDimension { extent: load(dimension.offset(8)), stride: load(dimension.offset(16)) }
            })
            .collect();
        DescriptorShape { base: Addr(load(at)), element: load(at.offset(8)), dimensions }
    }

    /// Returns `true` if the elements lie side by side; an assumed-size array does by definition.
    fn contiguous(&self) -> bool {
        let mut expected = self.element;
        for dimension in &self.dimensions {
            if dimension.extent == -1 || dimension.extent == 0 {
                return true;
            }
            if dimension.extent != 1 && dimension.stride != expected {
                return false;
            }
            expected *= dimension.extent;
        }
        true
    }

    fn elements(&self) -> i64 {
        self.dimensions.iter().map(|d| d.extent).product()
    }

    /// Calls `visit` with the address of each element in array element order.
    fn each(&self, mut visit: impl FnMut(Addr)) {
        let mut index = vec![0i64; self.dimensions.len()];
        for _ in 0..self.elements() {
            let offset: i64 = index.iter().zip(&self.dimensions).map(|(i, d)| i * d.stride).sum();
            visit(self.base.offset(offset));
            for (i, d) in index.iter_mut().zip(&self.dimensions) {
                *i += 1;
                if *i < d.extent {
                    break;
                }
                *i = 0;
            }
        }
    }
}

/// Returns the buffer that a descriptor is of.
pub fn base(at: Addr) -> Addr {
    sentinel::buffer(Addr(load(at)))
}

/// Returns a text in a descriptor: its address and length.
pub fn text(at: Addr) -> (Addr, usize) {
    (Addr(load(at)), load::<usize>(at.offset(8)))
}

/// Returns the element length that `MPI_SIZEOF` gives.
pub fn element_length(at: Addr) -> i64 {
    load(at.offset(8))
}

/// A buffer of a blocking call: the memory itself, or a copy that lies side by side.
pub struct Contiguous {
    at: Addr,
    copy: Option<(DescriptorShape, Vec<u8>)>,
    write: bool,
}

impl Contiguous {
    /// `read` the section before the call, `write` it back after.
    #[inline]
    pub fn new(descriptor: Addr, read: bool, write: bool) -> Contiguous {
        let at = base(descriptor);
        let rank: u8 = load(descriptor.offset(RANK));
        if rank == 0 || at.0 < 16 {
            return Contiguous { at, copy: None, write };
        }
        Contiguous::of_array(at, descriptor, read, write)
    }

    fn of_array(at: Addr, descriptor: Addr, read: bool, write: bool) -> Contiguous {
        let shape = DescriptorShape::read(descriptor);
        if shape.contiguous() {
            return Contiguous { at, copy: None, write };
        }
        let mut bytes = Vec::with_capacity((shape.element * shape.elements()) as usize);
        if read {
            shape.each(|element| memory::append(element, shape.element as usize, &mut bytes));
        }
        Contiguous { at: Addr(bytes.as_ptr() as usize), copy: Some((shape, bytes)), write }
    }

    /// Returns where C finds it.
    #[inline]
    pub fn at(&self) -> Addr {
        self.at
    }

    /// Writes a copy back.
    #[inline]
    pub fn finish(&self) {
        if let Some((shape, bytes)) = &self.copy
            && self.write
        {
            let mut pieces = bytes.chunks_exact(shape.element.max(1) as usize);
            shape.each(|element| memory::write(element, pieces.next().unwrap_or(&[])));
        }
    }
}

/// The buffer arguments that a nonblocking call gets.
pub enum ArgumentLayout {
    /// As the program said.
    Same,
    /// One element of this datatype.
    One(Handle),
    /// Not at all: the error code.
    Failed(i32),
}

/// A buffer of a nonblocking call, which must stay where it is.
pub struct PinnedBuffer {
    base: Addr,
    strided: Option<DescriptorShape>,
    made: Vec<usize>,
}

impl PinnedBuffer {
    /// Reads the buffer from its descriptor.
    pub fn new(descriptor: Addr) -> PinnedBuffer {
        let base = base(descriptor);
        let rank: u8 = load(descriptor.offset(RANK));
        let strided =
            (rank > 0 && base.0 >= 16).then(|| DescriptorShape::read(descriptor)).filter(|s| !s.contiguous());
        PinnedBuffer { base, strided, made: Vec::new() }
    }

    /// Returns where it begins.
    pub fn at(&self) -> Addr {
        self.base
    }

    /// Returns an error if the section does not lie side by side, for calls that need it to.
    pub fn refused(&self, function: Function, object: Object, index: usize) -> Option<i32> {
        self.strided.as_ref()?;
        Some(edge::call(function, object, |c| {
            Err(c.wrong(
                index,
                MPI_ERR_BUFFER,
                "the array section's elements do not lie side by side, which this call needs; pass a \
                 contiguous array",
            ))
        }))
    }

    /// Returns a datatype for the first `count` elements of `datatype` laid over the section.
    pub fn layout(
        &mut self,
        function: Function,
        object: Object,
        count: i64,
        datatype: Handle,
    ) -> ArgumentLayout {
        let Some(shape) = self.strided.take() else { return ArgumentLayout::Same };
        if count <= 0 {
            return ArgumentLayout::Same;
        }
        let (mut lower, mut extent, mut size) = (0i64, 0i64, 0i64);
        let (lower_at, extent_at, size_at) = (address(&mut lower), address(&mut extent), address(&mut size));
        let code = recording::unheard(|| exports::PMPI_Type_get_extent_c(datatype, lower_at, extent_at));
        if code != MPI_SUCCESS {
            return ArgumentLayout::Failed(code);
        }
        let code = recording::unheard(|| exports::PMPI_Type_size_c(datatype, size_at));
        if code != MPI_SUCCESS {
            return ArgumentLayout::Failed(code);
        }
        let fits = lower == 0 && size == extent && extent > 0 && shape.element % extent == 0;
        let each = if fits { shape.element / extent } else { 1 };
        if !fits || count % each != 0 || count / each > shape.elements() {
            return ArgumentLayout::Failed(edge::call(function, object, |_| {
                Err(mpi::error::Failure::new(
                    mpi::error::ErrorClass(MPI_ERR_TYPE),
                    format!(
                        "the array section's elements do not lie side by side, and {count} of the datatype \
                         do not cover whole elements of it; pass a contiguous array"
                    ),
                ))
            }));
        }
        match self.build(&shape, count / each, each, datatype) {
            Ok(made) => ArgumentLayout::One(made),
            Err(code) => ArgumentLayout::Failed(code),
        }
    }

    fn build(
        &mut self,
        shape: &DescriptorShape,
        elements: i64,
        each: i64,
        datatype: Handle,
    ) -> Result<Handle, i32> {
        let mut of = self.made(|new| exports::PMPI_Type_contiguous_c(each, datatype, new))?;
        if elements == shape.elements() {
            for dimension in &shape.dimensions {
                of = self.made(|new| {
                    exports::PMPI_Type_create_hvector_c(dimension.extent, 1, dimension.stride, of, new)
                })?;
            }
        } else {
            let mut displacements: Vec<i64> = Vec::new();
            shape.each(|element| displacements.push(element.0 as i64 - self.base.0 as i64));
            let list = Addr(displacements.as_ptr() as usize);
            of = self.made(|new| exports::PMPI_Type_create_hindexed_block_c(elements, 1, list, of, new))?;
        }
        let mut handle = of.0;
        match recording::unheard(|| exports::PMPI_Type_commit(Addr(&raw mut handle as usize))) {
            MPI_SUCCESS => Ok(of),
            code => Err(code),
        }
    }

    fn made(&mut self, make: impl FnOnce(Addr) -> i32) -> Result<Handle, i32> {
        let mut new = MPI_BYTE;
        match recording::unheard(|| make(Addr(&raw mut new as usize))) {
            MPI_SUCCESS => {
                self.made.push(new);
                Ok(Handle(new))
            }
            code => Err(code),
        }
    }

    /// Frees the datatypes; the operation keeps what it needs.
    pub fn finish(&mut self) {
        for mut made in self.made.drain(..) {
            recording::unheard(|| exports::PMPI_Type_free(Addr(&raw mut made as usize)));
        }
    }
}

impl Drop for PinnedBuffer {
    fn drop(&mut self) {
        self.finish();
    }
}

fn address<T>(value: &mut T) -> Addr {
    Addr(&raw mut *value as usize)
}
