//! Ranks that are spawned: which of those that have not run, and how each process has its own of them begin.

use crate::ask::{Command, IntercommSide, Reply};
use crate::state::Dynamic;
use engine::Time;
use objects::Objects;
use objects::error::{ErrorClass, Failure, Result};
use objects::group::Group;
use p2p::Messages;
use p2p::ranks::strand::StrandId;
use p2p::remote::stream::Process;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Program and arguments of the ranks of one command.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    /// The program, as in [`Command`].
    pub(crate) program: Box<[u8]>,
    pub(crate) arguments: Box<[Box<[u8]>]>,
}

/// Data of spawned ranks that a process needs when they begin.
#[derive(Clone, Debug)]
pub(crate) struct Birth {
    /// The first of them (world number).
    pub(crate) first: u32,
    /// The number of ranks of each command.
    pub(crate) counts: Rc<[u32]>,
    /// Program and arguments of each command's ranks.
    pub(crate) starts: Vec<Start>,
    /// The ranks that spawned them, and the context of the intercommunicator with those.
    pub(crate) parents: IntercommSide,
    /// The context of their world.
    pub(crate) world: u32,
    /// The time at which they begin.
    pub(crate) at: Time,
}

impl Birth {
    pub(crate) fn count(&self) -> u32 {
        self.counts.iter().sum()
    }
}

/// Chooses the number of ranks of each command in turn: the first of its numbers that is at most the ranks
/// left. Returns `None` if a command has no such number.
fn choose(commands: &[Command], mut left: u32) -> Option<Rc<[u32]>> {
    let chosen = commands.iter().map(|command| {
        let count = *command.numbers.iter().find(|&&number| number <= left)?;
        left -= count;
        Some(count)
    });
    chosen.collect()
}

impl Dynamic {
    /// Ranks that have not run are taken for these commands, in the order of their numbers, and begin: the
    /// answer, and when they do.
    // All or none (MPI 5.0 section 11.8.1): with none the parents' communicator has nobody to name what there
    // is of them.
    pub(crate) fn spawn_all(
        &mut self,
        messages: &mut Messages,
        objects: &mut Objects,
        commands: &[Command],
        side: &IntercommSide,
        world: u32,
        at: Time,
    ) -> Result<(Reply, Time)> {
        let (first, left) =
            (messages.ranks().started(), messages.ranks().size() - messages.ranks().started());
        let Some(counts) = choose(commands, left) else {
            let wanted: u64 =
                commands.iter().map(|command| u64::from(command.numbers.first().copied().unwrap_or(0))).sum();
            return Err(too_few(wanted, left, messages.ranks().size()));
        };
        // No earlier than a message from here could have them begin: other processes have gone on up to then.
        let at = at + self.start_up.max(messages.fabric().lookahead(true));
        let start = |command: &Command| Start {
            program: command.program.clone(),
            arguments: command.arguments.clone(),
        };
        let starts = commands.iter().map(start).collect();
        start_processes(messages, first, commands, &counts)?;
        let birth = Birth { first, counts: counts.clone(), starts, parents: side.clone(), world, at };
        let group = Group::range(first, 1, birth.count());
        if messages.peers().exist() {
            self.tell_birth(messages, &birth);
        }
        self.begin_ranks(messages, objects, &birth);
        Ok((Reply::Spawned(IntercommSide { group, context: side.context }, counts), at))
    }

    /// Begins the ranks of this process: its part of a birth.
    pub(crate) fn begin_ranks(&mut self, messages: &mut Messages, objects: &mut Objects, birth: &Birth) {
        let end = birth.first + birth.count();
        let (first, last) = (
            birth.first.max(messages.ranks().first()),
            end.min(messages.ranks().first() + messages.ranks().local()),
        );
        messages.ranks_mut().start_until(end);
        let are_processes = grows(messages);
        if are_processes {
            (birth.first..end).for_each(|process| messages.peers_mut().others().streams.has_come(process));
        }
        if first >= last {
            return;
        }
        objects.comms.spawn(
            birth.first,
            birth.counts.clone(),
            birth.parents.group.clone(),
            (birth.world, birth.parents.context),
        );
        let mut from = birth.first;
        for (&count, Start { program, arguments }) in birth.counts.iter().zip(&birth.starts) {
            let (begin, end) = (from.max(first), (from + count).min(last));
            if begin < end && !are_processes {
                // The process of the root has loaded it too: only a file that other hosts do not have fails
                // here.
                let program = number_of(program).unwrap_or_else(|why| messages.peers_mut().fail(&why));
                rank::spawned::give(
                    begin - messages.ranks().first()..end - messages.ranks().first(),
                    program,
                    arguments,
                );
            }
            from += count;
        }
        // From the last to the first: they run in the order of their numbers.
        for rank in (first..last).rev() {
            messages.ranks_mut()[rank].clock = birth.at;
            messages.failures().born(rank, birth.at);
            messages.ready_mut().wake(StrandId::of(rank));
        }
    }
}

/// Returns how this process numbers a program.
fn number_of(program: &[u8]) -> std::result::Result<u8, String> {
    if program.is_empty() { Ok(0) } else { rank::another::load(Path::new(OsStr::from_bytes(program))) }
}

/// Returns `true` if each rank is a process, and those of ranks that are spawned are started then.
fn grows(messages: &Messages) -> bool {
    messages.peers().remote().is_some_and(|remote| remote.streams.grows())
}

/// Starts the processes of ranks that are spawned, where each is one.
fn start_processes(messages: &mut Messages, first: u32, commands: &[Command], counts: &[u32]) -> Result {
    if !grows(messages) {
        return Ok(());
    }
    let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
    let mut process = first;
    for (command, &count) in commands.iter().zip(counts) {
        let start = Process {
            program: path(&command.program),
            arguments: command
                .arguments
                .iter()
                .skip(1)
                .map(|text| OsStr::from_bytes(text).to_owned())
                .collect(),
            directory: Some(path(&command.directory)).filter(|directory| !directory.as_os_str().is_empty()),
        };
        for _ in 0..count {
            match messages.peers_mut().others().streams.start(process, &start) {
                Ok(()) => process += 1,
                Err(why) if process == first => return Err(Failure::new(ErrorClass::SPAWN, why)),
                // Others of this world are there already, who would wait for it.
                Err(why) => messages.peers_mut().fail(&why),
            }
        }
    }
    Ok(())
}

fn too_few(wanted: u64, left: u32, size: u32) -> Box<Failure> {
    let text = format!(
        "{wanted} processes are to be spawned, and {left} can be: this run has room for {size} ranks in all, \
         those of the start included; set -xsim-universe to the most ranks that there will be"
    );
    Failure::new(ErrorClass::SPAWN, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(numbers: &[u32]) -> Command {
        Command { program: [].into(), directory: [].into(), arguments: [].into(), numbers: numbers.into() }
    }

    #[test]
    fn each_command_gets_the_best_of_its_numbers_that_is_left() {
        let chosen = |commands: &[Command], left| choose(commands, left).map(|counts| counts.to_vec());
        assert_eq!(chosen(&[command(&[4]), command(&[2])], 6), Some(vec![4, 2]));
        assert_eq!(chosen(&[command(&[4]), command(&[2])], 5), None);
        assert_eq!(chosen(&[command(&[4]), command(&[2, 1, 0])], 5), Some(vec![4, 1]));
        assert_eq!(chosen(&[command(&[9, 7, 3])], 6), Some(vec![3]));
    }
}
