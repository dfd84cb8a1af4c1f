//! The datatype constructors (MPI 5.0 section 5.1). The last argument says whether the
//! large-count variant was called, which `MPI_Type_get_envelope` and `_contents` tell the program.

use crate::args::{Counts, Handle, Handles, Ints, Out};
use crate::call::Call;
use mpi::datatype::constructor::Darray;
use mpi::datatype::{Constructor, Distribution, Old, Order};
use mpi::error::Result;

fn old(c: &Call, datatype: Handle) -> Result<Old> {
    let world = c.mpi.world();
    Ok(world.objects.types.held(world.messages.me(), datatype.0)?.into())
}

fn make(c: &Call, newtype: Out<Handle>, constructor: Constructor) -> Result {
    let mut world = c.mpi.world();
    let me = world.messages.me();
    newtype.set(Handle(world.objects.types.create(me, constructor)?));
    Ok(())
}

fn list(values: Counts, count: i64) -> Box<[i64]> {
    values.to_vec(count as usize).into()
}

/// `MPI_Type_contiguous`.
pub fn contiguous(c: &Call, count: i64, oldtype: Handle, newtype: Out<Handle>, large: bool) -> Result {
    make(c, newtype, Constructor::Contiguous { count, old: old(c, oldtype)?, large })
}

/// `MPI_Type_vector`.
pub fn vector(
    c: &Call,
    count: i64,
    blocklength: i64,
    stride: i64,
    oldtype: Handle,
    newtype: Out<Handle>,
    large: bool,
) -> Result {
    make(c, newtype, Constructor::Vector { count, blocklength, stride, old: old(c, oldtype)?, large })
}

/// `MPI_Type_create_hvector`.
pub fn hvector(
    c: &Call,
    count: i64,
    blocklength: i64,
    stride: i64,
    oldtype: Handle,
    newtype: Out<Handle>,
    large: bool,
) -> Result {
    make(c, newtype, Constructor::Hvector { count, blocklength, stride, old: old(c, oldtype)?, large })
}

/// `MPI_Type_indexed`.
pub fn indexed(
    c: &Call,
    count: i64,
    blocklengths: Counts,
    displacements: Counts,
    oldtype: Handle,
    newtype: Out<Handle>,
    large: bool,
) -> Result {
    let (blocklengths, displacements) = (list(blocklengths, count), list(displacements, count));
    make(c, newtype, Constructor::Indexed { blocklengths, displacements, old: old(c, oldtype)?, large })
}

/// `MPI_Type_create_hindexed`.
pub fn hindexed(
    c: &Call,
    count: i64,
    blocklengths: Counts,
    displacements: Counts,
    oldtype: Handle,
    newtype: Out<Handle>,
    large: bool,
) -> Result {
    let (blocklengths, displacements) = (list(blocklengths, count), list(displacements, count));
    make(c, newtype, Constructor::Hindexed { blocklengths, displacements, old: old(c, oldtype)?, large })
}

/// `MPI_Type_create_indexed_block`.
pub fn indexed_block(
    c: &Call,
    count: i64,
    blocklength: i64,
    displacements: Counts,
    oldtype: Handle,
    newtype: Out<Handle>,
    large: bool,
) -> Result {
    let displacements = list(displacements, count);
    make(c, newtype, Constructor::IndexedBlock { blocklength, displacements, old: old(c, oldtype)?, large })
}

/// `MPI_Type_create_hindexed_block`.
pub fn hindexed_block(
    c: &Call,
    count: i64,
    blocklength: i64,
    displacements: Counts,
    oldtype: Handle,
    newtype: Out<Handle>,
    large: bool,
) -> Result {
    let displacements = list(displacements, count);
    make(c, newtype, Constructor::HindexedBlock { blocklength, displacements, old: old(c, oldtype)?, large })
}

/// `MPI_Type_create_struct`.
pub fn struct_(
    c: &Call,
    count: i64,
    blocklengths: Counts,
    displacements: Counts,
    types: Handles,
    newtype: Out<Handle>,
    large: bool,
) -> Result {
    let types = (0..count as usize).map(|i| old(c, types.get(i))).collect::<Result<_>>()?;
    let (blocklengths, displacements) = (list(blocklengths, count), list(displacements, count));
    make(c, newtype, Constructor::Struct { blocklengths, displacements, types, large })
}

/// `MPI_Type_create_subarray`.
pub fn subarray(
    c: &Call,
    ndims: i32,
    sizes: Counts,
    subsizes: Counts,
    starts: Counts,
    order: i32,
    oldtype: Handle,
    newtype: Out<Handle>,
    large: bool,
) -> Result {
    let ndims = i64::from(ndims);
    let (sizes, subsizes, starts) = (list(sizes, ndims), list(subsizes, ndims), list(starts, ndims));
    let order = Order::from_abi(order)?;
    make(c, newtype, Constructor::Subarray { sizes, subsizes, starts, order, old: old(c, oldtype)?, large })
}

/// `MPI_Type_create_darray`.
pub fn darray(
    c: &Call,
    size: i32,
    rank: i32,
    ndims: i32,
    gsizes: Counts,
    distribs: Ints,
    dargs: Ints,
    psizes: Ints,
    order: i32,
    oldtype: Handle,
    newtype: Out<Handle>,
    large: bool,
) -> Result {
    let dims = ndims as usize;
    let ints = |values: Ints| values.to_vec(dims).into_iter().map(i64::from).collect();
    let darray = Darray {
        size: size.into(),
        rank: rank.into(),
        gsizes: list(gsizes, ndims.into()),
        distribs: distribs.to_vec(dims).into_iter().map(Distribution::from_abi).collect::<Result<_>>()?,
        dargs: ints(dargs),
        psizes: ints(psizes),
        order: Order::from_abi(order)?,
        old: old(c, oldtype)?,
        large,
    };
    make(c, newtype, Constructor::Darray(Box::new(darray)))
}

/// `MPI_Type_create_resized`.
pub fn resized(c: &Call, oldtype: Handle, lb: i64, extent: i64, newtype: Out<Handle>, large: bool) -> Result {
    make(c, newtype, Constructor::Resized { lb, extent, old: old(c, oldtype)?, large })
}

/// `MPI_Type_create_f90_real`.
pub fn f90_real(c: &Call, precision: i32, range: i32, newtype: Out<Handle>) -> Result {
    make(c, newtype, Constructor::F90Real { precision, range })
}

/// `MPI_Type_create_f90_complex`.
pub fn f90_complex(c: &Call, precision: i32, range: i32, newtype: Out<Handle>) -> Result {
    make(c, newtype, Constructor::F90Complex { precision, range })
}

/// `MPI_Type_create_f90_integer`.
pub fn f90_integer(c: &Call, range: i32, newtype: Out<Handle>) -> Result {
    make(c, newtype, Constructor::F90Integer { range })
}
