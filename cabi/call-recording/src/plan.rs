//! Plans of functions, which follow from their parameters alone and are made once: a call finds its
//! communicator, its flag and its statuses by place, not by name.

use crate::beside::BesideArgument;
use crate::facts::EncodingSteps;
use crate::function::{Function, NAMES};
use crate::parameter::{ArgumentIntent, Kind, Length, PARAMETERS, RecordedParameter};
use crate::sent::SentParameters;
use recorder::Class;
use std::sync::LazyLock;

/// The places from which the arguments of a function's calls are read, in one of its variants. Places are
/// those of the parameters in the table.
pub struct ReadPlan {
    /// The parameters.
    pub parameters: &'static [RecordedParameter],
    /// The word of each among those that the entry point got, if this variant has it.
    pub words: Box<[Option<usize>]>,
    /// Number of argument registers; behind them come the lengths of Fortran's texts.
    pub length: usize,
    /// Parameters that are told, in the order of the arguments.
    pub told: Box<[usize]>,
    /// Results that are values, by their place among the arguments and by parameter.
    pub results: Box<[(usize, usize)]>,
    /// Handles that the call may replace.
    pub replaced: Box<[(usize, Class)]>,
    /// The buffer that a parameter describes, as a count or a datatype does.
    pub described: Box<[Option<usize>]>,
    /// The parameters that are texts.
    pub texts: Box<[usize]>,
    /// The communicator.
    pub comm: Option<usize>,
    /// The window.
    pub window: Option<usize>,
    /// The displacement at which the call begins in a window: an address, if the window is dynamic.
    pub displacement: Option<usize>,
    /// The root.
    pub root: Option<usize>,
    /// The source of a receive.
    pub source: Option<usize>,
    /// The flag that the call sets if it found something.
    pub flag: Option<usize>,
    /// The indices of the requests that were complete.
    pub indices: Option<usize>,
    /// Requests.
    pub requests: Option<usize>,
    /// Statuses that the call fills in.
    pub statuses: Option<usize>,
    /// `true` if the call gets something into a buffer.
    pub receives: bool,
    /// `true` if the call replaces none of what it is given, and nothing is recorded beside that: its
    /// arguments say the same when it has returned.
    pub keeps_arguments: bool,
    /// The steps that encode calls in words, if calls can be encoded.
    pub facts: Option<EncodingSteps>,
    /// An argument that is recorded beside those of the call.
    pub beside: Option<BesideArgument>,
    /// The parameters that determine what is sent, for profiles.
    pub sent: Option<SentParameters>,
}

impl ReadPlan {
    /// The plan of a function, in the variant of large counts or the plain one; O(1) after the first call.
    #[inline]
    pub fn of(function: Function, large: bool) -> &'static ReadPlan {
        static PLANS: [LazyLock<Box<[ReadPlan]>>; 2] =
            [LazyLock::new(|| plans(false)), LazyLock::new(|| plans(true))];
        &PLANS[usize::from(large)][function as usize]
    }

    fn new(function: &str, parameters: &'static [RecordedParameter], large: bool) -> ReadPlan {
        let find = |wanted: &dyn Fn(&RecordedParameter) -> bool| parameters.iter().position(wanted);
        let named = |name: &str| find(&|p| p.name == name);
        let is_there = |index: usize| large || !parameters[index].large_only;
        let mut length = 0;
        let word = |index: usize| {
            length += usize::from(is_there(index));
            is_there(index).then(|| length - 1)
        };
        let words: Box<[Option<usize>]> = (0..parameters.len()).map(word).collect();
        let told: Box<[usize]> = (0..parameters.len())
            .filter(|&index| is_there(index) && parameters[index].kind != Kind::Main)
            .collect();
        let is_result = |index: usize| {
            parameters[index].direction == ArgumentIntent::Out && parameters[index].kind != Kind::Buffer
        };
        let replaced = |&index: &usize| {
            let class =
                parameters[index].class().filter(|_| parameters[index].direction == ArgumentIntent::InOut)?;
            Some((index, class))
        };
        let described = |index: usize| {
            let describes = matches!(parameters[index].kind, Kind::Count | Kind::Datatype);
            parameters[..index].iter().rposition(|p| p.kind == Kind::Buffer).filter(|_| describes)
        };
        let comm = find(&|p| p.kind == Kind::Comm);
        let beside = BesideArgument::of(function, parameters);
        ReadPlan {
            parameters,
            length,
            results: told.iter().copied().enumerate().filter(|&(_, index)| is_result(index)).collect(),
            replaced: told.iter().filter_map(replaced).collect(),
            described: (0..parameters.len()).map(described).collect(),
            texts: (0..parameters.len())
                .filter(|&index| is_there(index) && parameters[index].kind == Kind::Text)
                .collect(),
            comm,
            window: find(&|p| p.kind == Kind::Handle(Class::Win)),
            displacement: named("target_disp"),
            root: named("root"),
            source: named("source"),
            flag: named("flag").filter(|&flag| parameters[flag].direction != ArgumentIntent::In),
            indices: named("array_of_indices").or_else(|| named("index")),
            requests: find(&|p| p.kind == Kind::Handle(Class::Request)),
            statuses: find(&|p| p.kind == Kind::Status && p.direction == ArgumentIntent::Out),
            keeps_arguments: beside.is_none()
                && parameters.iter().all(|p| p.direction != ArgumentIntent::InOut || p.kind == Kind::Buffer),
            // What a handle stands for is in no word.
            facts: EncodingSteps::of(parameters, &told, &words).filter(|_| beside.is_none()),
            beside,
            told,
            words,
            receives: parameters.iter().any(|p| p.kind == Kind::Buffer && p.direction != ArgumentIntent::In),
            sent: comm.and_then(|_| SentParameters::of(function, parameters)),
        }
    }
}

fn plans(large: bool) -> Box<[ReadPlan]> {
    NAMES
        .iter()
        .zip(PARAMETERS)
        .map(|(function, parameters)| ReadPlan::new(function, parameters, large))
        .collect()
}

impl Function {
    /// Returns how many words a call of it has, the lengths of Fortran's texts apart.
    pub fn parameters(self, large: bool) -> usize {
        ReadPlan::of(self, large).length
    }
}

impl RecordedParameter {
    /// Returns the class of the objects that it names.
    pub fn class(&self) -> Option<Class> {
        match self.kind {
            Kind::Comm => Some(Class::Comm),
            Kind::Datatype => Some(Class::Datatype),
            Kind::Handle(class) => Some(class),
            _ => None,
        }
    }

    /// Returns `true` if the word of a C call is the value itself.
    pub fn is_value(&self) -> bool {
        self.direction == ArgumentIntent::In && self.length == Length::One && self.kind != Kind::Status
    }
}
