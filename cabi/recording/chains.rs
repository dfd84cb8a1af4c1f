//! Through which functions of the program a call has come.
//!
//! The stack is unwound by the tables that compilers write for exceptions (`.eh_frame`), which optimized code
//! has as well: frame pointers are not asked for. `framehop` keeps the rule of each return address, so that a
//! frame costs two loads and a comparison once it has been seen. All ranks share these rules and the numbers
//! of chains, whichever clone of the program they run.

use call_recording::module;
use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, FrameAddress, Unwinder};
use rank::Suspended;
use recorder::CodeLocation;
use rustc_hash::FxHashMap;
use std::arch::asm;
use std::cell::Cell;
use std::ops::Range;

/// Frames of our own between the program and here are fewer; more are a stack that is not understood.
const OWN_FRAMES: usize = 64;

/// The chains of callers of a process.
pub struct Chains {
    /// Number of the program's frames that are unwound, not counting the call's own.
    depth: usize,
    /// By function, site and the addresses that the frames return to, innermost first.
    numbers: FxHashMap<Box<[usize]>, u32>,
    /// The call that is looked at, as a key of `numbers`.
    key: Vec<usize>,
    frames: Frames,
}

/// The unwinder of frames, with the rules and the code that it has seen.
pub struct Frames {
    unwinder: UnwinderX86_64<&'static [u8]>,
    rules: CacheX86_64,
    /// Code that the unwinder knows, or that no tables are of.
    known: Vec<Range<usize>>,
    own: Range<usize>,
}

/// Registers that frames are found by.
#[derive(Clone, Copy)]
struct Registers {
    instruction: u64,
    stack: u64,
    base: u64,
}

impl Registers {
    /// Reads the registers of the function that this is inlined into.
    #[inline(always)]
    fn here() -> Registers {
        let (instruction, stack, base);
        // SAFETY: reads registers, and no memory.
        unsafe {
            asm!("lea {}, [rip]", "mov {}, rsp", "mov {}, rbp",
                out(reg) instruction, out(reg) stack, out(reg) base,
                 options(nomem, nostack, preserves_flags));
        }
        Registers { instruction, stack, base }
    }
}

impl Chains {
    /// Makes chains of at most `depth` frames each, not counting that of the call itself.
    pub fn new(depth: u32) -> Chains {
        Chains {
            depth: depth as usize,
            numbers: FxHashMap::default(),
            key: Vec::new(),
            frames: Frames::default(),
        }
    }

    /// The number of the chain through which the mounted rank calls this function from this site; `explain`
    /// is told of a new one. O(frames), those of our own included.
    #[inline(never)]
    pub fn of(&mut self, function: u16, site: u32, explain: impl FnOnce(u32, &[CodeLocation])) -> u32 {
        let from = Registers::here();
        self.key.clear();
        self.key.extend([function as usize, site as usize]);
        self.frames.unwind(from, self.depth, &mut self.key);
        if let Some(&number) = self.numbers.get(self.key.as_slice()) {
            return number;
        }
        let number = self.numbers.len() as u32 + 1;
        self.numbers.insert(self.key.as_slice().into(), number);
        let places: Vec<CodeLocation> = self.key[2..].iter().map(|&address| module::place(address)).collect();
        explain(number, &places);
        number
    }
}

impl Default for Frames {
    fn default() -> Frames {
        let own = module::of(stack as *const () as usize).map_or(0..0, |module| module.code);
        Frames { unwinder: UnwinderX86_64::new(), rules: CacheX86_64::new(), known: Vec::new(), own }
    }
}

impl Frames {
    /// Appends where the program's frames return to, behind the one that calls MPI: up to `depth`, or to
    /// where the rank began.
    fn unwind(&mut self, from: Registers, depth: usize, into: &mut Vec<usize>) {
        let stack = stack(from.stack as usize);
        let mut found = 0;
        self.walk(from, &stack, |address, is_own| {
            if is_own {
                // Behind the program's frames it is where the rank began.
                return found == 0;
            }
            if found > 0 {
                into.push(address);
            }
            found += 1;
            found <= depth
        });
    }

    /// Returns where the innermost frame of the program goes on, of a suspended rank whose stack is in place.
    pub fn call_site(&mut self, suspended: &Suspended) -> Option<usize> {
        let Suspended { instruction, stack, base, end } = *suspended;
        let from = Registers { instruction: instruction as u64, stack: stack as u64, base: base as u64 };
        let mut site = None;
        self.walk(from, &(stack..end), |address, is_own| {
            site = (!is_own).then_some(address);
            is_own
        });
        site
    }

    /// Visits the addresses that frames return to, innermost first, with `true` for our own code. Ends when
    /// `visit` returns `false`, at the end of the stack, or behind [`OWN_FRAMES`] frames of our own.
    fn walk(&mut self, from: Registers, stack: &Range<usize>, mut visit: impl FnMut(usize, bool) -> bool) {
        let mut read = |address: u64| {
            let readable = stack.contains(&(address as usize)) && address.is_multiple_of(8);
            // SAFETY: an aligned word of the stack in place, above the frame that asks, so that nobody writes
            // to it meanwhile.
            if readable { Ok(unsafe { *(address as *const u64) }) } else { Err(()) }
        };
        let mut registers = UnwindRegsX86_64::new(from.instruction, from.stack, from.base);
        let mut frame = FrameAddress::from_instruction_pointer(from.instruction);
        self.learn(from.instruction as usize);
        let mut inside = 0;
        while inside < OWN_FRAMES {
            let next = self.unwinder.unwind_frame(frame, &mut registers, &mut self.rules, &mut read);
            let Ok(Some(address)) = next else { return };
            // Rules and numbers are of the program as loaded, the stack of the rank's clone of it.
            let address = rank::original(address as usize);
            let is_own = self.own.contains(&address);
            inside += usize::from(is_own);
            if !visit(address, is_own) {
                return;
            }
            self.learn(address);
            let Some(next) = FrameAddress::from_return_address(address as u64) else { return };
            frame = next;
        }
    }

    /// Sees to it that the unwinder knows the file of an address.
    #[inline]
    fn learn(&mut self, address: usize) {
        if !self.known.iter().any(|known| known.contains(&address)) {
            self.learn_file(address);
        }
    }

    #[cold]
    fn learn_file(&mut self, address: usize) {
        let Some(module) = module::of(address) else { return self.known.push(address..address + 1) };
        self.known.push(module.code.clone());
        let Some(tables) = &module.tables else { return };
        let own = |range: &Range<usize>| (range.start - module.base) as u64..(range.end - module.base) as u64;
        // SAFETY: read-only segments of a loaded file, which stays loaded: it is the program or what the
        // program calls MPI from.
        let bytes = |range: &Range<usize>| unsafe {
            std::slice::from_raw_parts(range.start as *const u8, range.len())
        };
        let sections = ExplicitModuleSectionInfo {
            base_svma: 0,
            text_svma: Some(own(&module.code)),
            eh_frame_svma: Some(own(&tables.frames)),
            eh_frame: Some(bytes(&tables.frames)),
            eh_frame_hdr_svma: Some(own(&tables.index)),
            eh_frame_hdr: Some(bytes(&tables.index)),
            ..Default::default()
        };
        let range = module.code.start as u64..module.code.end as u64;
        let name = module.file.display().to_string();
        self.unwinder.add_module(framehop::Module::new(name, range, module.base as u64, sections));
    }
}

/// Returns what of the stack in place is above `pointer`: the rank's, or the thread's own where no rank has
/// one.
fn stack(pointer: usize) -> Range<usize> {
    let (limit, base) = rank::stack_bounds();
    if (limit..base).contains(&pointer) { pointer..base } else { pointer..thread_end(pointer) }
}

/// The end of the thread's own stack.
fn thread_end(pointer: usize) -> usize {
    thread_local! {
        static END: Cell<usize> = const { Cell::new(0) };
    }
    if END.get() == 0 {
        let (mut attributes, mut lowest, mut size) =
            (std::mem::MaybeUninit::uninit(), std::ptr::null_mut(), 0);
        // SAFETY: the calling thread's own attributes, made here, read and destroyed.
        unsafe {
            if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) == 0 {
                libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut lowest, &raw mut size);
                libc::pthread_attr_destroy(attributes.as_mut_ptr());
            }
        }
        END.set(lowest as usize + size);
    }
    END.get().max(pointer)
}
