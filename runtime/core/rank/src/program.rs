//! The program that was started, as captured before its first instruction.

use std::ffi::{CStr, CString, OsString, c_char};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::arguments::ArgumentVector;
use crate::globals::early;
use crate::image::Image;

/// `main`, as a C program defines it.
pub type Main = unsafe extern "C" fn(i32, *mut *mut c_char, *mut *mut c_char) -> i32;
/// A constructor. Programs linked against glibc before 2.34 pass one that runs all of them.
pub type Constructor = unsafe extern "C" fn(i32, *mut *mut c_char, *mut *mut c_char);

/// Arguments of `__libc_start_main`, and the program's image before its constructors ran.
pub struct Program {
    pub(crate) main: Main,
    pub(crate) init: Option<Constructor>,
    pub(crate) arguments: ArgumentVector,
    pub(crate) environment: *mut *mut c_char,
    pub(crate) image: Image,
    pub(crate) libraries: Vec<Image>,
}

impl Program {
    /// Captures the program.
    ///
    /// # Safety
    /// To be called once, from the interposed `__libc_start_main` with what it was given: `argv` is the
    /// kernel's null-terminated array with the environment behind it, and no code of the program has run.
    pub unsafe fn capture(
        main: Main,
        argc: i32,
        argv: *mut *mut c_char,
        init: Option<Constructor>,
    ) -> Program {
        // SAFETY: the kernel's layout: argc strings, a null pointer, then the environment.
        let strings =
            (0..argc as usize).map(|k| unsafe { CStr::from_ptr(*argv.add(k)) }.to_owned()).collect();
        // SAFETY: as above.
        let environment = unsafe { argv.add(argc as usize + 1) };
        let mut images = Image::all();
        let image = images.remove(0);
        Program { main, init, arguments: ArgumentVector::new(strings), environment, image, libraries: images }
    }

    /// Returns the program's arguments, its own name first.
    pub fn arguments(&self) -> Vec<OsString> {
        self.arguments.strings().iter().map(|s| OsString::from_vec(s.to_bytes().to_vec())).collect()
    }

    /// Replaces the arguments that every rank's `main` gets (with those for the simulator taken out).
    pub fn set_arguments(&mut self, arguments: &[OsString]) {
        let strings = arguments.iter().map(|s| CString::new(s.as_bytes()).unwrap_or_default()).collect();
        self.arguments = ArgumentVector::new(strings);
    }

    /// Runs the program once, as if the simulator were not there; returns its exit status.
    pub fn run_alone(self) -> i32 {
        early::settle(&[]);
        // The rank numbers and stacks of a simulation are not needed: this is the process's main.
        let strings = Vec::leak(vec![0u64; self.arguments.bytes() / 8]);
        // SAFETY: `bytes()` fresh bytes, aligned to 8.
        let argv = unsafe { self.arguments.write(strings.as_mut_ptr() as usize) };
        let (count, environment) = (self.arguments.count(), self.environment);
        let constructors = self.init.map_or_else(|| self.image.constructors(), |all| vec![all as usize]);
        for constructor in constructors {
            // SAFETY: a constructor of the program, by its own dynamic section, called once.
            unsafe { std::mem::transmute::<usize, Constructor>(constructor)(count, argv, environment) };
        }
        // SAFETY: the program's main with the arguments of a C program.
        unsafe { (self.main)(count, argv, environment) }
    }

    /// Returns `true` if the program is position-independent (linked with `-pie`, the compilers' default).
    pub fn is_position_independent(&self) -> bool {
        self.image.bias != 0
    }
}
