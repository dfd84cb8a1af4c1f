//! Helpers that the tests of this crate share.

#![allow(dead_code, missing_docs)]

use aspen::{Application, AspenError, Evaluation, EvaluationRequest, LoadedModel, Machine, Sources};
use std::path::PathBuf;

/// Loads a model from its text.
pub fn load(text: &str) -> Result<(LoadedModel, Sources), AspenError> {
    let mut sources = Sources::default();
    let id = sources.add("model.aspen", text);
    LoadedModel::load(&mut sources, id).map(|model| (model, sources))
}

#[track_caller]
pub fn application(text: &str) -> Application {
    match load(text) {
        Ok((LoadedModel::Application(model), _)) => *model,
        Ok(_) => panic!("a machine"),
        Err(error) => panic!("{error}"),
    }
}

#[track_caller]
pub fn machine(text: &str) -> Machine {
    match load(text) {
        Ok((LoadedModel::Machine(machine), _)) => *machine,
        Ok(_) => panic!("an application"),
        Err(error) => panic!("{error}"),
    }
}

#[track_caller]
pub fn evaluate(text: &str) -> Evaluation<f64> {
    evaluate_with(text, &EvaluationRequest::default())
}

#[track_caller]
pub fn evaluate_with(text: &str, request: &EvaluationRequest<'_, f64>) -> Evaluation<f64> {
    application(text).evaluate(request, None).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the body of `main` in a model with a few parameters.
pub fn with_main(body: &str) -> String {
    format!("model test {{ param n = 10 param values[] = {{6, 11, 30}} kernel main {{ {body} }} }}")
}

/// Returns line, column and sentence of what is wrong with a model, when it is read or else when it is
/// evaluated.
#[track_caller]
pub fn refused(text: &str) -> (usize, usize, String) {
    let mut sources = Sources::default();
    let id = sources.add("model.aspen", text);
    let error = match LoadedModel::load(&mut sources, id) {
        Err(error) => error,
        Ok(LoadedModel::Application(model)) => {
            match model.evaluate(&EvaluationRequest::<f64>::default(), None) {
                Err(error) => error.located(&sources),
                Ok(_) => panic!("nothing is wrong with {text}"),
            }
        }
        Ok(LoadedModel::Machine(_)) => panic!("nothing is wrong with {text}"),
    };
    let place = error.place().unwrap_or_else(|| panic!("no place: {error}"));
    (place.line, place.column, error.to_string())
}

/// Makes an empty directory of a test's own.
pub fn scratch(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("xsim-aspen-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}
