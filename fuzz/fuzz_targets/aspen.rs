//! Models in Aspen: an error with its place, or a model that is formatted to something that stays as it is,
//! and can be evaluated.
#![no_main]

use aspen::{AspenError, EvaluationRequest, LoadedModel, Sources};
use libfuzzer_sys::fuzz_target;

/// An error about a text has a place in it.
fn placed(error: AspenError, sources: &Sources) {
    let error = error.located(sources);
    assert!(error.place().is_some() || error.span().is_none(), "{error}");
}

fuzz_target!(|text: &str| {
    // These would read the host's files.
    if text.contains("include") || text.contains("import") {
        return;
    }
    let mut sources = Sources::default();
    let id = sources.add("model.aspen", text);
    match aspen::format(&sources, id) {
        Err(error) => return placed(error, &sources),
        Ok(formatted) => {
            let again = sources.add("formatted", formatted.clone());
            assert_eq!(aspen::format(&sources, again).as_ref(), Ok(&formatted), "{text:?}");
        }
    }
    match LoadedModel::load(&mut sources, id) {
        Err(error) => placed(error, &sources),
        Ok(LoadedModel::Machine(machine)) => drop(machine.outline()),
        Ok(LoadedModel::Application(model)) => {
            drop(model.outline());
            let _ = model
                .evaluate(&EvaluationRequest::<f64>::default(), None)
                .map_err(|error| placed(error, &sources));
            let _ =
                model.communication(&EvaluationRequest::default()).map_err(|error| placed(error, &sources));
        }
    }
});
