//! The C boundary.

mod interpose;

/// What the interposed C library functions call.
fn hooks() -> rank::hooks::Hooks {
    rank::hooks::Hooks { start: rank::Program::run_alone, now: || engine::Time::ZERO, advance: |_| (), exited: |_| () }
}
