//! The xsim command.
fn main() {}
