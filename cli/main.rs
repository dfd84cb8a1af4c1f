//! The xsim command.

fn main() {
    print!("{}", simulation::options::markdown());
}
