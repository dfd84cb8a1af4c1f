//! Ranks of several programs in one process: whose globals are put in place for whom.
//!
//! Each program has its globals for itself, all numbered as the process's ranks are, of which it knows its
//! own alone. To put a rank in place is to put it in place in its program's; what other programs' ranks left
//! in theirs stays there. A library of the user's that several programs need is loaded once, with the first
//! of them, and its data is among that program's; so a rank is put in place in these, too.

use crate::another::{self, Another};
use crate::globals::choice::Globals;
use crate::globals::{Swapped, late, streams};
use crate::lifecycle::{self, Life};

/// One program, beside the first.
struct LoadedProgram {
    globals: Globals,
    /// `true` if programs that came later may need its libraries.
    has_libraries: bool,
    life: &'static Life,
}

/// The programs beside the first, and which ranks run them.
pub(crate) struct Programs {
    /// By rank: 0 is the first program.
    of: Vec<u8>,
    members: Vec<LoadedProgram>,
    first: &'static Life,
    /// Data of those libraries if the first program's ranks have clones of them, and leave the original to
    /// others.
    left_behind: Option<Box<Swapped>>,
}

impl Programs {
    /// Makes the state in which all `ranks` are of the first program.
    pub(crate) fn new(ranks: u32, first: &'static Life) -> Programs {
        Programs { of: vec![0; ranks as usize], members: Vec::new(), first, left_behind: None }
    }

    /// Assigns a rank to this program from now on.
    pub(crate) fn assign(&mut self, rank: u32, program: u8) {
        while self.members.len() < usize::from(program) {
            let Another { globals, has_libraries, life, left_behind } =
                *another::take(self.members.len() as u8 + 1);
            self.left_behind = self.left_behind.take().or(left_behind);
            let has_libraries = has_libraries && matches!(globals, Globals::Copied(_));
            self.members.push(LoadedProgram { globals, has_libraries, life: lifecycle::set(life) });
        }
        self.of[rank as usize] = program;
    }

    /// Applies `act` to all globals of which a rank has its own, and sets the life that it leads.
    fn with(
        &mut self,
        rank: u32,
        first: &mut Globals,
        act: impl Fn(&mut Globals),
        among: impl Fn(&mut Swapped),
    ) {
        let program = usize::from(self.of[rank as usize]);
        if program == 0 {
            lifecycle::put(self.first);
            return act(first);
        }
        match first {
            Globals::Copied(copied) if self.first.has_libraries() || streams::are_private() => among(copied),
            Globals::Cloned(_, Some(copied)) if streams::are_private() => among(copied),
            _ => {}
        }
        if let Some(left) = &mut self.left_behind {
            among(left);
        }
        let (earlier, mine) = self.members.split_at_mut(program - 1);
        for member in earlier.iter_mut().filter(|member| member.has_libraries) {
            if let Globals::Copied(copied) = &mut member.globals {
                among(copied);
            }
        }
        lifecycle::put(mine[0].life);
        act(&mut mine[0].globals);
    }

    /// Puts the rank's globals in place.
    #[cold]
    pub(crate) fn mount(&mut self, rank: u32, first: &mut Globals) {
        self.with(rank, first, |globals| globals.mount(rank), |copied| copied.mount(rank));
        late::mount(rank);
    }

    /// Starts the rank.
    pub(crate) fn start(&mut self, rank: u32, first: &mut Globals) {
        self.with(rank, first, |globals| globals.start(rank), |copied| copied.mount(rank));
        late::mount(rank);
    }

    /// Releases the globals of the mounted rank, which has ended.
    pub(crate) fn ended(&mut self, rank: u32, first: &mut Globals) {
        self.with(rank, first, |globals| globals.ended(rank), |copied| copied.ended(rank));
        late::ended(rank);
    }

    /// Destroys what ranks share: all of them have ended.
    pub(crate) fn destroy_shared(&self) {
        self.members.iter().for_each(|member| lifecycle::destroy_shared(member.life));
    }

    /// Returns the bytes that parked ranks keep of the globals of these programs.
    pub(crate) fn saved_bytes(&self) -> usize {
        let left = self.left_behind.as_ref().map_or(0, |left| left.saved_bytes());
        self.members.iter().map(|member| member.globals.saved_bytes()).sum::<usize>()
            + left
            + late::saved_bytes()
    }
}
