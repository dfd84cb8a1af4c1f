//! Datatypes of ranks without a program: those that views of files are made of.

use super::{Begun, DONE, Machines};
use crate::file::{TypeCall, TypeLayout, TypeName, TypeShape};
use crate::workload::Workload;
use mpi::datatype::constructor::Darray;
use mpi::datatype::{Constructor, Distribution, Old, Order};
use mpi::error::{ErrorClass, Failure, Result};

/// Elements of a datatype with gaps, at most.
// Views look at each block: a damaged trace is not to take for ever.
const MAX_SCATTERED_ELEMENTS: u64 = 1 << 30;

impl<W: Workload> Machines<'_, W> {
    pub(super) fn make_type(&mut self, rank: u32, TypeCall { number, made }: TypeCall) -> Result<Begun> {
        let Some(layout) = made else {
            if let Some(handle) = self.types.remove(&(rank, number)) {
                self.mpi.world().objects.types.free(rank, handle)?;
            }
            return DONE;
        };
        let handles = layout.of.iter().map(|&name| self.datatype(rank, name)).collect::<Result<Vec<_>>>()?;
        let types = &mut self.mpi.world().objects.types;
        let handle = if layout.shape == TypeShape::Dup {
            types.dup(rank, handles.first().copied().unwrap_or_default())?
        } else {
            let old = |&handle: &usize| Ok(types.held(rank, handle)?.into());
            let old = handles.iter().map(old).collect::<Result<Vec<Old>>>()?;
            types.create(rank, constructor(&layout, old)?)?
        };
        let made = types.held(rank, handle)?;
        if !made.contiguous && made.element_count > MAX_SCATTERED_ELEMENTS {
            let text = format!(
                "the datatype has {} elements with gaps, and {MAX_SCATTERED_ELEMENTS} are followed",
                made.element_count
            );
            return Err(Failure::new(ErrorClass::TYPE, text));
        }
        types.commit(rank, handle)?;
        self.types.insert((rank, number), handle);
        DONE
    }

    /// Returns the handle of a datatype of a rank.
    pub(super) fn datatype(&self, rank: u32, name: TypeName) -> Result<usize> {
        let number = match name {
            TypeName::Predefined(handle) => return Ok(handle),
            TypeName::Made(number) => number,
        };
        self.types.get(&(rank, number)).copied().ok_or_else(|| {
            Failure::new(
                ErrorClass::TYPE,
                format!("datatype#{number} was made by a call that the trace does not have"),
            )
        })
    }
}

/// Returns the constructor of a layout of these datatypes.
fn constructor(layout: &TypeLayout, mut of: Vec<Old>) -> Result<Constructor> {
    let missing = || Failure::new(ErrorClass::ARG, "an argument of its datatype is not in the trace");
    let list = |at: usize| layout.numbers.get(at).cloned().ok_or_else(missing);
    let one = |at: usize| list(at)?.first().copied().ok_or_else(missing);
    let alike = |arrays: &[&[i64]], count: usize| match arrays.iter().all(|of| of.len() == count) {
        true => Ok(()),
        false => Err(missing()),
    };
    let large = false;
    let mut old = || of.pop().ok_or_else(missing);
    Ok(match layout.shape {
        TypeShape::Dup => Constructor::Dup { old: old()? },
        TypeShape::Contiguous => Constructor::Contiguous { count: one(0)?, old: old()?, large },
        TypeShape::Vector | TypeShape::Hvector => {
            let (count, blocklength, stride, old) = (one(0)?, one(1)?, one(2)?, old()?);
            match layout.shape {
                TypeShape::Vector => Constructor::Vector { count, blocklength, stride, old, large },
                _ => Constructor::Hvector { count, blocklength, stride, old, large },
            }
        }
        TypeShape::Indexed | TypeShape::Hindexed => {
            let (blocklengths, displacements, old) = (list(0)?, list(1)?, old()?);
            alike(&[&displacements], blocklengths.len())?;
            match layout.shape {
                TypeShape::Indexed => Constructor::Indexed { blocklengths, displacements, old, large },
                _ => Constructor::Hindexed { blocklengths, displacements, old, large },
            }
        }
        TypeShape::IndexedBlock => {
            Constructor::IndexedBlock { blocklength: one(0)?, displacements: list(1)?, old: old()?, large }
        }
        TypeShape::HindexedBlock => {
            Constructor::HindexedBlock { blocklength: one(0)?, displacements: list(1)?, old: old()?, large }
        }
        TypeShape::Struct => {
            let (blocklengths, displacements) = (list(0)?, list(1)?);
            alike(&[&blocklengths, &displacements], of.len())?;
            Constructor::Struct { blocklengths, displacements, types: of.into(), large }
        }
        TypeShape::Subarray => {
            let (sizes, subsizes, starts) = (list(0)?, list(1)?, list(2)?);
            alike(&[&subsizes, &starts], sizes.len())?;
            let order = Order::from_abi(one(3)? as i32)?;
            Constructor::Subarray { sizes, subsizes, starts, order, old: old()?, large }
        }
        TypeShape::Darray => {
            let (gsizes, distribs, dargs, psizes) = (list(2)?, list(3)?, list(4)?, list(5)?);
            alike(&[&distribs, &dargs, &psizes], gsizes.len())?;
            let distribs =
                distribs.iter().map(|&of| Distribution::from_abi(of as i32)).collect::<Result<_>>()?;
            let order = Order::from_abi(one(6)? as i32)?;
            let (size, rank, old) = (one(0)?, one(1)?, old()?);
            Constructor::Darray(Box::new(Darray {
                size,
                rank,
                gsizes,
                distribs,
                dargs,
                psizes,
                order,
                old,
                large,
            }))
        }
        TypeShape::Resized => Constructor::Resized { lb: one(0)?, extent: one(1)?, old: old()?, large },
        TypeShape::F90Real => Constructor::F90Real { precision: one(0)? as i32, range: one(1)? as i32 },
        TypeShape::F90Complex => Constructor::F90Complex { precision: one(0)? as i32, range: one(1)? as i32 },
        TypeShape::F90Integer => Constructor::F90Integer { range: one(0)? as i32 },
    })
}
