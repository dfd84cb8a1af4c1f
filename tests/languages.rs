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
