//! Handles and statuses between languages, the ABI's inquiries, the tool interface.

mod common;

use common::Run;

#[test]
fn c_programs_convert_for_other_languages_and_ask_about_the_abi_and_tools() {
    for ranks in [1, 3] {
        let output = Run::program("languages.c").ranks(ranks).run().success();
        assert_eq!(output.stdout, "done\n".repeat(ranks as usize), "{output}");
    }
}

#[test]
fn virtual_computation_takes_exactly_its_time() {
    for ranks in [1, 5] {
        let output = Run::program("extension.c").ranks(ranks).run().success();
        assert_eq!(output.stdout, format!("{:.6}\n", 0.25 + 0.001 * f64::from(ranks - 1)), "{output}");
    }
}
