//! Events (MPI 5.0 section 15.3.8): what a rank's calls do, told to functions of the program. `raised.rs`
//! says when.

use super::{enums, fails, give_index, give_no_info, give_text, initialized, locked, place, raised};
use crate::args::{CText, Counts, Handle, Handles, InOut, Out, OutText};
use crate::call::Call;
use crate::constants::{
    MPI_INT, MPI_T_BIND_NO_OBJECT, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, MPI_T_CB_REQUIRE_MPI_RESTRICTED,
    MPI_T_CB_REQUIRE_NONE, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_T_ERR_INVALID, MPI_T_ERR_INVALID_HANDLE,
    MPI_T_ERR_INVALID_INDEX, MPI_T_VERBOSITY_USER_BASIC, MPI_UNSIGNED, MPI_UNSIGNED_LONG_LONG,
};
use crate::recording;
use mpi::error::Result;
use mpi::handle::{decode, encode};
use mpi::slab::Slab;
use rank::{Addr, memory};
use std::sync::Mutex;

/// A kind of event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventType {
    /// A call begins.
    Entered,
    /// A call has returned.
    Left,
    /// A call that has returned had its rank wait.
    Waited,
    /// A call that has returned has sent messages.
    Sent,
}

/// One value of an event.
#[derive(Clone, Copy)]
enum EventElement {
    /// A function's number in [`enums::FUNCTIONS`].
    Function,
    /// A number of 32 bits.
    Short,
    /// One of 64 bits.
    Long,
}

impl EventElement {
    fn bytes(self) -> i64 {
        if matches!(self, EventElement::Long) { 8 } else { 4 }
    }
    fn datatype(self) -> usize {
        match self {
            EventElement::Function => MPI_INT,
            EventElement::Short => MPI_UNSIGNED,
            EventElement::Long => MPI_UNSIGNED_LONG_LONG,
        }
    }
}

/// The description of an event.
struct Row {
    event: EventType,
    name: &'static str,
    description: &'static str,
    elements: &'static [EventElement],
}

const ROWS: [Row; 4] = [
    Row {
        event: EventType::Entered,
        name: "xsim_call_entered",
        description: "The rank enters an MPI function: which.",
        elements: &[EventElement::Function],
    },
    Row {
        event: EventType::Left,
        name: "xsim_call_left",
        description: "The rank's call has returned: of which function, with which error code, and when it \
            was entered, in picoseconds.",
        elements: &[EventElement::Function, EventElement::Short, EventElement::Long],
    },
    Row {
        event: EventType::Waited,
        name: "xsim_call_waited",
        description: "The rank's call has returned, and had to wait: in which function, and how many \
            picoseconds.",
        elements: &[EventElement::Function, EventElement::Long],
    },
    Row {
        event: EventType::Sent,
        name: "xsim_call_sent",
        description: "The rank's call has returned, and has sent messages, not within collectives: in which \
            function, how many, and their payload bytes.",
        elements: &[EventElement::Function, EventElement::Long, EventElement::Long],
    },
];

/// Returns how many kinds there are.
pub(super) fn count() -> usize {
    ROWS.len()
}

/// Returns where the values of an event lie, each at a multiple of its size.
fn places(row: &Row) -> Vec<i64> {
    let mut end = 0i64;
    let place = |element: &EventElement| {
        let at = (end + element.bytes() - 1) / element.bytes() * element.bytes();
        end = at + element.bytes();
        at
    };
    row.elements.iter().map(place).collect()
}

/// A callback of the program for an event, with its user data.
#[derive(Clone, Copy)]
pub(super) struct EventCallback {
    pub function: usize,
    pub user_data: usize,
    /// `MPI_T_CB_REQUIRE_*` that it was registered for.
    pub safety: i32,
}

/// A registration.
struct Registered {
    owner: u32,
    row: usize,
    /// One for each level of safety.
    callbacks: Vec<EventCallback>,
}

static REGISTERED: Mutex<Option<Slab<Registered>>> = Mutex::new(None);

fn registered<T>(with: impl FnOnce(&mut Slab<Registered>) -> T) -> T {
    with(locked(&REGISTERED).get_or_insert_default())
}

/// The event that a callback is being called for.
#[derive(Clone, Copy)]
pub(super) struct RaisedEvent {
    pub event: EventType,
    pub values: [u64; 3],
    /// Virtual time, in picoseconds.
    pub at: u64,
}

/// One at a time: what a function that is told of an event calls raises none.
pub(super) static CURRENT: Mutex<Option<RaisedEvent>> = Mutex::new(None);
/// The handle of it.
pub(super) const INSTANCE: usize = 1;

/// Returns who is told of an event of a rank: registrations (handles) and their functions.
pub(super) fn told(rank: u32, event: EventType) -> Vec<(usize, EventCallback)> {
    registered(|all| {
        let of_rank = all.iter().filter(|(_, one)| one.owner == rank && ROWS[one.row].event == event);
        // The one that asks for least: where events are raised everything is allowed.
        of_rank
            .filter_map(|(index, one)| {
                Some((encode(index), *one.callbacks.iter().min_by_key(|callback| callback.safety)?))
            })
            .collect()
    })
}

/// Turns the raising of events on if any callback is registered, else off.
fn listen() {
    let any = registered(|all| all.iter().any(|(_, one)| !one.callbacks.is_empty()));
    recording::raise_events(any, recording::Raise { entered: raised::entered, left: raised::left });
}

/// Forgets the registrations of a rank that has left the interface.
pub(super) fn forget(rank: u32) {
    registered(|all| all.retain(|one| one.owner != rank));
    listen();
}

fn held(c: &Call, registration: Handle) -> Result<u32> {
    initialized(c)?;
    let me = c.me();
    match decode(registration.0)
        .filter(|&index| registered(|all| all.get(index).is_some_and(|one| one.owner == me)))
    {
        Some(index) => Ok(index),
        None => fails(MPI_T_ERR_INVALID_HANDLE),
    }
}

/// `MPI_T_event_get_num`.
pub fn get_num(c: &Call, number: Out<i32>) -> Result {
    initialized(c)?;
    number.set(ROWS.len() as i32);
    Ok(())
}

/// `MPI_T_event_get_index`.
pub fn get_index(c: &Call, name: CText, index: Out<i32>) -> Result {
    initialized(c)?;
    let name = name.text();
    give_index(ROWS.iter().position(|row| row.name == name), index)
}

/// `MPI_T_event_get_info`.
pub fn get_info(
    c: &Call,
    index: i32,
    name: OutText,
    name_len: InOut<i32>,
    verbosity: Out<i32>,
    datatypes: Handles,
    displacements: Counts,
    elements: InOut<i32>,
    enumtype: Out<Handle>,
    info: Out<Handle>,
    desc: OutText,
    desc_len: InOut<i32>,
    bind: Out<i32>,
) -> Result {
    let row = &ROWS[place(c, index, ROWS.len())?];
    give_text(row.name, name, name_len);
    give_text(row.description, desc, desc_len);
    verbosity.set(MPI_T_VERBOSITY_USER_BASIC);
    if !elements.at().is_null() {
        let room = usize::try_from(elements.get()).unwrap_or(0);
        for (at, (element, place)) in row.elements.iter().zip(places(row)).take(room).enumerate() {
            if !datatypes.is_null() {
                datatypes.set(at, Handle(element.datatype()));
            }
            if !displacements.is_null() {
                displacements.set(at, place);
            }
        }
        elements.set(row.elements.len() as i32);
    }
    enumtype.set(Handle(enums::FUNCTIONS));
    bind.set(MPI_T_BIND_NO_OBJECT);
    give_no_info(c, info)
}

/// `MPI_T_event_handle_alloc`: of no object, as no event has one.
pub fn handle_alloc(c: &Call, index: i32, _: Addr, _: Handle, registration: Out<Handle>) -> Result {
    let row = place(c, index, ROWS.len())?;
    if registration.at().is_null() {
        return fails(MPI_T_ERR_INVALID);
    }
    if ROWS[row].event == EventType::Sent {
        c.mpi.world().messages.watching().count_sends();
    }
    let owner = c.me();
    let made = registered(|all| all.insert(Registered { owner, row, callbacks: Vec::new() }));
    registration.set(Handle(encode(made)));
    Ok(())
}

/// `MPI_T_event_handle_free`: nothing of it is under way, so that the function is called at once.
pub fn handle_free(c: &Call, registration: Handle, user_data: Addr, function: usize) -> Result {
    let index = held(c, registration)?;
    registered(|all| all.remove(index));
    listen();
    if function != 0 {
        crate::callback::event_freed(function, registration, MPI_T_CB_REQUIRE_NONE, user_data);
    }
    Ok(())
}

/// `MPI_T_event_register_callback`: instead of one for the same level, and none with a null pointer.
pub fn register_callback(
    c: &Call,
    registration: Handle,
    safety: i32,
    _: Handle,
    user_data: Addr,
    function: usize,
) -> Result {
    let index = held(c, registration)?;
    is_level(safety)?;
    registered(|all| {
        let Some(one) = all.get_mut(index) else { return };
        one.callbacks.retain(|callback| callback.safety != safety);
        if function != 0 {
            one.callbacks.push(EventCallback { function, user_data: user_data.0, safety });
        }
    });
    listen();
    Ok(())
}

fn is_level(safety: i32) -> Result {
    const LEVELS: [i32; 4] = [
        MPI_T_CB_REQUIRE_NONE,
        MPI_T_CB_REQUIRE_MPI_RESTRICTED,
        MPI_T_CB_REQUIRE_THREAD_SAFE,
        MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE,
    ];
    if LEVELS.contains(&safety) { Ok(()) } else { fails(MPI_T_ERR_INVALID) }
}

/// `MPI_T_event_set_dropped_handler`: none is dropped.
pub fn set_dropped_handler(c: &Call, registration: Handle, _: usize) -> Result {
    held(c, registration).map(|_| ())
}

/// `MPI_T_event_handle_get_info` and `MPI_T_event_handle_set_info`: there are no hints.
pub fn handle_get_info(c: &Call, registration: Handle, info: Out<Handle>) -> Result {
    held(c, registration)?;
    give_no_info(c, info)
}

/// See [`handle_get_info`].
pub fn handle_set_info(c: &Call, registration: Handle, _: Handle) -> Result {
    held(c, registration).map(|_| ())
}

/// `MPI_T_event_callback_get_info` and `MPI_T_event_callback_set_info`: there are no hints.
pub fn callback_get_info(c: &Call, registration: Handle, safety: i32, info: Out<Handle>) -> Result {
    held(c, registration)?;
    is_level(safety)?;
    give_no_info(c, info)
}

/// See [`callback_get_info`].
pub fn callback_set_info(c: &Call, registration: Handle, safety: i32, _: Handle) -> Result {
    held(c, registration)?;
    is_level(safety)
}

/// Returns the event that the calling function is told of.
fn instance(c: &Call, handle: Handle) -> Result<RaisedEvent> {
    initialized(c)?;
    match locked(&CURRENT).filter(|_| handle.0 == INSTANCE) {
        Some(instance) => Ok(instance),
        None => fails(MPI_T_ERR_INVALID_HANDLE),
    }
}

fn row_of(event: EventType) -> &'static Row {
    ROWS.iter().find(|row| row.event == event).unwrap_or(&ROWS[0])
}

fn store(element: EventElement, value: u64, at: Addr) {
    match element {
        EventElement::Long => memory::store(at, value),
        EventElement::Short | EventElement::Function => memory::store(at, value as u32),
    }
}

/// `MPI_T_event_read`: one value.
pub fn read(c: &Call, event: Handle, index: i32, buffer: Addr) -> Result {
    let instance = instance(c, event)?;
    let place = usize::try_from(index).unwrap_or(usize::MAX);
    let Some(&element) = row_of(instance.event).elements.get(place) else {
        return fails(MPI_T_ERR_INVALID_INDEX);
    };
    if buffer.is_null() {
        return fails(MPI_T_ERR_INVALID);
    }
    store(element, instance.values[place], buffer);
    Ok(())
}

/// `MPI_T_event_copy`: all values, each at its displacement.
pub fn copy(c: &Call, event: Handle, buffer: Addr) -> Result {
    let instance = instance(c, event)?;
    if buffer.is_null() {
        return fails(MPI_T_ERR_INVALID);
    }
    let row = row_of(instance.event);
    for ((&element, place), value) in row.elements.iter().zip(places(row)).zip(instance.values) {
        store(element, value, buffer.offset(place));
    }
    Ok(())
}

/// `MPI_T_event_get_timestamp`: virtual time, in picoseconds.
pub fn get_timestamp(c: &Call, event: Handle, timestamp: crate::args::OutCount) -> Result {
    let instance = instance(c, event)?;
    timestamp.set(i64::try_from(instance.at).unwrap_or(i64::MAX));
    Ok(())
}

/// `MPI_T_event_get_source`: there is one.
pub fn get_source(c: &Call, event: Handle, index: Out<i32>) -> Result {
    instance(c, event)?;
    index.set(0);
    Ok(())
}
