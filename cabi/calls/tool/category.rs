//! Categories (MPI 5.0 section 15.3.9): the groups of options as in the help, and what is known of a rank,
//! all below one.

use super::cvar::{self, ControlVariable};
use super::{event, give_index, give_text, initialized, place, pvar};
use crate::args::{CText, InOut, Ints, Out, OutText};
use crate::call::Call;
use mpi::error::Result;
use simulation::options::Topic;

/// The contents of a category, by index.
#[derive(Default)]
struct CategoryContents {
    cvars: Vec<i32>,
    pvars: Vec<i32>,
    events: Vec<i32>,
    categories: Vec<i32>,
}

/// Number of categories: the one of all, the groups of options, and that of performance variables and events.
const COUNT: usize = Topic::ALL.len() + 2;

fn name_of(index: usize) -> (String, String) {
    match index {
        0 => ("xsim".to_owned(), "All variables of xsim.".to_owned()),
        _ if index == COUNT - 1 => (
            "xsim_rank".to_owned(),
            "What is known of the calling rank at its clock, and what its calls do.".to_owned(),
        ),
        _ => {
            let title = Topic::ALL[index - 1].title();
            (
                format!("xsim_{}", title.to_lowercase().replace([' ', '\''], "_")),
                format!("Options of the run: {}.", title.to_lowercase()),
            )
        }
    }
}

fn contents(index: usize) -> CategoryContents {
    match index {
        0 => CategoryContents { categories: (1..COUNT as i32).collect(), ..CategoryContents::default() },
        _ if index == COUNT - 1 => {
            let (pvars, events) = ((0..pvar::count() as i32).collect(), (0..event::count() as i32).collect());
            CategoryContents { pvars, events, ..CategoryContents::default() }
        }
        _ => {
            let group = Topic::ALL[index - 1];
            let is_in = |&number: &usize| match cvar::at(number) {
                Some(ControlVariable::Option(row)) => row.group == group,
                Some(ControlVariable::TraceRank) => group == Topic::Output,
                None => false,
            };
            CategoryContents {
                cvars: (0..cvar::count()).filter(is_in).map(|number| number as i32).collect(),
                ..CategoryContents::default()
            }
        }
    }
}

fn of(c: &Call, index: i32) -> Result<(usize, CategoryContents)> {
    let index = place(c, index, COUNT)?;
    Ok((index, contents(index)))
}

fn give(all: &[i32], room: i32, indices: Ints) {
    if !indices.is_null() {
        all.iter().take(room as usize).enumerate().for_each(|(at, &index)| indices.set(at, index));
    }
}

/// `MPI_T_category_get_num`.
pub fn get_num(c: &Call, number: Out<i32>) -> Result {
    initialized(c)?;
    number.set(COUNT as i32);
    Ok(())
}

/// `MPI_T_category_get_index`.
pub fn get_index(c: &Call, name: CText, index: Out<i32>) -> Result {
    initialized(c)?;
    let name = name.text();
    give_index((0..COUNT).find(|&index| name_of(index).0 == name), index)
}

/// `MPI_T_category_get_info`.
pub fn get_info(
    c: &Call,
    index: i32,
    name: OutText,
    name_len: InOut<i32>,
    desc: OutText,
    desc_len: InOut<i32>,
    cvars: Out<i32>,
    pvars: Out<i32>,
    categories: Out<i32>,
) -> Result {
    let (index, contents) = of(c, index)?;
    let (called, about) = name_of(index);
    give_text(&called, name, name_len);
    give_text(&about, desc, desc_len);
    cvars.set(contents.cvars.len() as i32);
    pvars.set(contents.pvars.len() as i32);
    categories.set(contents.categories.len() as i32);
    Ok(())
}

/// `MPI_T_category_get_num_events`.
pub fn get_num_events(c: &Call, index: i32, number: Out<i32>) -> Result {
    number.set(of(c, index)?.1.events.len() as i32);
    Ok(())
}

/// `MPI_T_category_get_events`.
pub fn get_events(c: &Call, index: i32, room: i32, indices: Ints) -> Result {
    give(&of(c, index)?.1.events, room, indices);
    Ok(())
}

/// `MPI_T_category_get_cvars`.
pub fn get_cvars(c: &Call, index: i32, room: i32, indices: Ints) -> Result {
    give(&of(c, index)?.1.cvars, room, indices);
    Ok(())
}

/// `MPI_T_category_get_pvars`.
pub fn get_pvars(c: &Call, index: i32, room: i32, indices: Ints) -> Result {
    give(&of(c, index)?.1.pvars, room, indices);
    Ok(())
}

/// `MPI_T_category_get_categories`.
pub fn get_categories(c: &Call, index: i32, room: i32, indices: Ints) -> Result {
    give(&of(c, index)?.1.categories, room, indices);
    Ok(())
}
