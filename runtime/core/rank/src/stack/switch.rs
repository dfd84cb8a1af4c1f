//! Switching between the scheduler's stack and that of a rank.
//!
//! Both ways jump. A processor predicts where a return goes from the calls before it. Libraries of coroutines
//! call into a rank and return out of it, to keep calls and returns in pairs. Such a switch makes it predict
//! two returns wrongly: that of the switch, and that of the blocked call to its program.
//!
//! With jumps, the calls that the last rank left open are those which the next one returns from, since ranks
//! block in the same place of the same program more often than not.

use std::arch::{asm, naked_asm};

use crate::now;

#[cfg(not(target_arch = "x86_64"))]
compile_error!("stacks of ranks are switched on x86-64 alone");

/// Lets `entry` run on an empty stack below `base` until it first calls [`leave`]; returns the stack pointer
/// at which it did.
///
/// # Safety
/// The memory below `base` is the stack in place, in nobody's use and as large as `entry` needs.
pub(crate) unsafe fn start(base: usize, entry: extern "C" fn() -> !) -> usize {
    let pointer = (base & !15) - 2 * size_of::<usize>();
    // SAFETY: two words of the empty stack.
    unsafe {
        (pointer as *mut usize).write(begin as *const () as usize);
        (pointer as *mut usize).add(1).write(entry as *const () as usize);
        enter(pointer)
    }
}

/// Begins a rank as its outermost frame: behind it, a debugger or an exception that nothing catches has
/// nothing to look for.
#[unsafe(naked)]
unsafe extern "C" fn begin() -> ! {
    naked_asm!(
        ".cfi_startproc",
        ".cfi_undefined rip",
        "pop rax",
        "xor ebp, ebp",
        "call rax",
        "ud2",
        ".cfi_endproc"
    )
}

/// Leaves the stack in place. Keeps the registers that the compiler cannot be made to keep, and where to go
/// on with it. Then changes the stack pointer by the instructions given, and jumps to where that stack was
/// left. The instructions' operands follow them; `home` is in `rdi`.
macro_rules! change_stacks {
    ($($instruction:literal),+; $($operand:tt)*) => {
        asm!(
            "push rbp",
            "push rbx",
            "lea rax, [rip + 2f]",
            "push rax",
            $($instruction,)+
            "pop rax",
            "jmp rax",
            "2:",
            "pop rbx",
            "pop rbp",
            inout("rdi") now::home() => _,
            $($operand)*
            lateout("r12") _, lateout("r13") _, lateout("r14") _, lateout("r15") _,
            clobber_abi("sysv64"),
        )
    };
}

/// Resumes a rank that is suspended at `pointer` until it suspends again; returns where.
///
/// # Safety
/// The stack in place must hold a rank that [`leave`] suspended at exactly `pointer`, and the caller is the
/// scheduler.
// Always, as `leave`: a call around the switch is a return that is predicted wrongly.
#[inline(always)]
pub(crate) unsafe fn enter(pointer: usize) -> usize {
    let suspended;
    // SAFETY: the scheduler's own registers are on its stack, whose pointer is kept in `home`; all others are
    // given up. At `pointer` is the address at which `leave` goes on with the rank's (or `begin` begins); it
    // comes back to `home`, which nobody else writes.
    unsafe {
        change_stacks!("mov [rdi], rsp", "mov rsp, rdx"; inout("rdx") pointer => _, lateout("rsi") suspended,)
    };
    suspended
}

/// Suspends the running rank: goes on where the scheduler called [`enter`], and returns when it does so
/// again.
///
/// # Safety
/// A rank runs, on its own stack.
#[inline(always)]
pub(crate) unsafe fn leave() {
    // SAFETY: as in `enter`, with the sides changed; `enter` finds this stack's pointer in `rsi`.
    unsafe { change_stacks!("mov rsi, rsp", "mov rsp, [rdi]";) };
}

/// The registers by which the frames of a suspended rank are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Suspended {
    /// The address at which it goes on.
    pub instruction: usize,
    /// The stack pointer there.
    pub stack: usize,
    /// The frame pointer there.
    pub base: usize,
    /// The end of its stack.
    pub end: usize,
}

/// Returns the registers of a rank that is suspended at `pointer`, on a stack that ends at `end`.
///
/// # Safety
/// The stack in place holds a rank that [`leave`] suspended at exactly `pointer`.
pub(crate) unsafe fn suspended(pointer: usize, end: usize) -> Suspended {
    /// `pop rbx` and `pop rbp`, behind which the registers are the rank's own again.
    const POPS: usize = 2;
    // SAFETY: the three words that `change_stacks` has pushed.
    let [resume, _, base] = unsafe { *(pointer as *const [usize; 3]) };
    Suspended { instruction: resume + POPS, stack: pointer + 3 * size_of::<usize>(), base, end }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    static STEPS: AtomicU64 = AtomicU64::new(0);

    /// Keeps more values alive over each switch than there are registers.
    fn live_on(seed: u64, mut pause: impl FnMut()) -> u64 {
        let values: [u64; 20] = std::array::from_fn(|k| black_box(seed * k as u64));
        let (x, y) = (black_box(seed as f64), black_box(0.5f64));
        pause();
        values.iter().sum::<u64>() + (x * y) as u64
    }

    extern "C" fn entry() -> ! {
        for step in 1.. {
            // SAFETY: this runs on a stack that `start` was given.
            let sum = live_on(step, || unsafe { leave() });
            assert_eq!(sum, 190 * step + step / 2);
            STEPS.fetch_add(1, Relaxed);
        }
        unreachable!()
    }

    #[test]
    fn both_sides_keep_what_they_had_in_registers() {
        let mut stacks = [vec![0u128; 4096], vec![0u128; 4096]];
        let mut pointers = [0; 2];
        for (stack, pointer) in stacks.iter_mut().zip(&mut pointers) {
            // Not aligned to 16, as arguments above a stack may leave it.
            // SAFETY: 64 KiB that nobody else uses.
            *pointer = unsafe { start(stack.as_mut_ptr_range().end as usize - 8, entry) };
        }
        for lap in 1..=100u64 {
            for pointer in &mut pointers {
                // SAFETY: suspended there, on its own stack.
                let sum = live_on(lap, || *pointer = unsafe { enter(*pointer) });
                assert_eq!(sum, 190 * lap + lap / 2);
            }
            assert_eq!(STEPS.load(Relaxed), 2 * lap);
        }
    }
}
