//! Functions of the C library that print: before each, a standard stream that has become long is emptied
//! (`rank::stdio::relieve`).
//!
//! Most take a variable number of arguments, which no function written in Rust can pass on. Each is a few
//! instructions that keep all registers with arguments, call [`relieve`], and jump to the C library's
//! function of that name.

use rank::next::NextSymbol;
use std::arch::naked_asm;

/// Empties long streams; returns where the C library's function is.
extern "C" fn relieve(next: &'static NextSymbol) -> usize {
    rank::stdio::relieve();
    next.address()
}

macro_rules! printing {
    ($($name:ident $symbol:expr;)*) => { $(
        /// The C library's function of this name.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            static REAL: NextSymbol = NextSymbol::new($symbol);
            naked_asm!(
                // Seven words and the return address keep the stack aligned to 16.
                "push rdi",
                "push rsi",
                "push rdx",
                "push rcx",
                "push r8",
                "push r9",
                "push rax",
                "sub rsp, 128",
                "movaps [rsp], xmm0",
                "movaps [rsp + 16], xmm1",
                "movaps [rsp + 32], xmm2",
                "movaps [rsp + 48], xmm3",
                "movaps [rsp + 64], xmm4",
                "movaps [rsp + 80], xmm5",
                "movaps [rsp + 96], xmm6",
                "movaps [rsp + 112], xmm7",
                "lea rdi, [rip + {real}]",
                "call {relieve}",
                "mov r11, rax",
                "movaps xmm0, [rsp]",
                "movaps xmm1, [rsp + 16]",
                "movaps xmm2, [rsp + 32]",
                "movaps xmm3, [rsp + 48]",
                "movaps xmm4, [rsp + 64]",
                "movaps xmm5, [rsp + 80]",
                "movaps xmm6, [rsp + 96]",
                "movaps xmm7, [rsp + 112]",
                "add rsp, 128",
                "pop rax",
                "pop r9",
                "pop r8",
                "pop rcx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "jmp r11",
                real = sym REAL,
                relieve = sym relieve,
            )
        }
    )* };
}
printing! {
    printf c"printf";
    vprintf c"vprintf";
    fprintf c"fprintf";
    vfprintf c"vfprintf";
    __printf_chk c"__printf_chk";
    __vprintf_chk c"__vprintf_chk";
    __fprintf_chk c"__fprintf_chk";
    __vfprintf_chk c"__vfprintf_chk";
    puts c"puts";
    fputs c"fputs";
    fputs_unlocked c"fputs_unlocked";
    fwrite c"fwrite";
    fwrite_unlocked c"fwrite_unlocked";
    putchar c"putchar";
    putchar_unlocked c"putchar_unlocked";
    putc c"putc";
    putc_unlocked c"putc_unlocked";
    _IO_putc c"_IO_putc";
    fputc c"fputc";
    fputc_unlocked c"fputc_unlocked";
    __overflow c"__overflow";
    wprintf c"wprintf";
    vwprintf c"vwprintf";
    fwprintf c"fwprintf";
    vfwprintf c"vfwprintf";
    __wprintf_chk c"__wprintf_chk";
    __fwprintf_chk c"__fwprintf_chk";
    fputws c"fputws";
    fputwc c"fputwc";
    putwc c"putwc";
    putwchar c"putwchar";
}
