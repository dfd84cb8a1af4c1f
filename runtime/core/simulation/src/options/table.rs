//! The one table of options. A new option is a field in [`Options`] and a row here.

use super::value;
use super::{ComputeOption, GlobalsOption, NativeMpi, Options, ProgressMode, StackOption};
use engine::Time;
use recorder::RankList;

/// The subject of an option. The order of the groups is the order of the help.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Topic {
    /// The simulated machine.
    Machine,
    /// The charging of time.
    Time,
    /// Ranks in the host's memory.
    Memory,
    /// Output about the run.
    Output,
}

impl Topic {
    /// All groups in order.
    pub const ALL: [Topic; 4] = [Topic::Machine, Topic::Time, Topic::Memory, Topic::Output];

    /// Returns the heading in the help.
    pub fn title(self) -> &'static str {
        match self {
            Topic::Machine => "Simulated machine",
            Topic::Time => "Time",
            Topic::Memory => "Ranks in the host's memory",
            Topic::Output => "Output",
        }
    }
}

/// One option.
pub struct Row {
    /// `np` is `-xsim-np`, `XSIM_NP` and `xsim run --np`.
    pub name: &'static str,
    /// Other names, used alike.
    pub aliases: &'static [&'static str],
    /// The letter in `xsim run -n`.
    pub short: Option<char>,
    /// The placeholder of the value in the help; empty for a flag.
    pub value: &'static str,
    /// The default as a user would write it; empty if there is none.
    pub default: &'static str,
    /// The place in the help.
    pub group: Topic,
    /// The option's help, in a sentence or two.
    pub help: &'static str,
    set: fn(&mut Options, &str) -> Result<(), String>,
}

impl Row {
    /// Returns `true` if it stands alone: `-xsim-verbose`.
    pub fn is_flag(&self) -> bool {
        self.value.is_empty()
    }

    /// Returns its name and aliases.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    pub(super) fn apply(&self, options: &mut Options, value: &str) -> Result<(), String> {
        (self.set)(options, value)
    }
}

/// Returns the option called `name`, if there is one.
pub fn find(name: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.names().any(|n| n == name))
}

/// Variables that start with `XSIM_` and are not options of a run, with what they are for.
pub const OTHER_VARIABLES: &[(&str, &str)] = &[
    ("XSIM_CC", "The C compiler behind `xsim cc`; `cc` if it is not set."),
    ("XSIM_CXX", "The C++ compiler behind `xsim cxx`; `c++` if it is not set."),
    ("XSIM_FC", "The Fortran compiler behind `xsim fc`; `gfortran` if it is not set."),
    (
        "XSIM_PRELOADED",
        "Set by `xsim run` for a program that it preloads libxsim into, so that the program's children run \
         without it.",
    ),
];

const fn row(
    name: &'static str,
    value: &'static str,
    default: &'static str,
    group: Topic,
    set: fn(&mut Options, &str) -> Result<(), String>,
) -> Row {
    Row { name, aliases: &[], short: None, value, default, group, help: "", set }
}

impl Row {
    const fn help(self, help: &'static str) -> Row {
        Row { help, ..self }
    }
    const fn short(self, letter: char) -> Row {
        Row { short: Some(letter), ..self }
    }
    const fn alias(self, aliases: &'static [&'static str]) -> Row {
        Row { aliases, ..self }
    }
}

/// Every option, in the order of the help.
pub static TABLE: &[Row] = &[
    row("np", "N", "1", Topic::Machine, |o, v| value::ranks(v).map(|n| o.np = n))
        .short('n')
        .help("Number of virtual ranks."),
    row("universe", "N", "", Topic::Machine, |o, v| value::ranks(v).map(|n| o.universe = Some(n))).help(
        "The most ranks that there will be, those of the start included: `MPI_Comm_spawn` starts the others \
         (docs/reference/dynamic.md). Without it nothing can be spawned.",
    ),
    row("spawn-time", "SPAN", "1ms", Topic::Time, |o, v| {
        value::instant(v).map(|t| o.spawn_time = t.since(Time::ZERO))
    })
    .help("How long ranks take from when they are spawned until their `main` begins."),
    row("mn", "SPEC", "default", Topic::Machine, |o, v| value::text(v).map(|s| o.machine = s))
        .short('m')
        .alias(&["machine"])
        .help(
            "The simulated machine: a specification such as \
             `torus:8x8x8,l=7us,b=8.8Gbps/star:2,l=0.32us,b=9.6Gbps` (`level=packet` or `level=flow`: \
             messages share links), the name of a preset (`xsim presets` lists them), or a TOML file \
             (docs/reference/machines.md). The preset `default` is `star:l=0.5us,b=100Gbps`.",
        ),
    row("placement", "HOW", "block", Topic::Machine, |o, v| value::placement(v).map(|s| o.placement = s))
        .help(
            "Where ranks sit: `block` (or `slot`) fills endpoints in order, `round-robin` (or `node`) deals \
             ranks over the outermost network's endpoints, `socket` fills nodes in order and deals ranks \
             over the sockets inside them, `file:PATH` names each rank's endpoint.",
        ),
    row("hostfile", "FILE", "", Topic::Machine, |o, v| value::text(v).map(|s| o.hostfile = s)).help(
        "The nodes that ranks are on and how many on each, in the forms of Open MPI (`node1 slots=4`) and \
         MPICH (`node1:4`): hosts are the machine's nodes in order. Ranks take slots host by host, one of \
         each host in turn with `-xsim-placement=node`, over a node's sockets with `socket`.",
    ),
    row("compute", "MODEL", "measured", Topic::Time, |o, v| ComputeOption::parse(v).map(|c| o.compute = c))
        .help(
            "How the time between two MPI calls is charged: `measured` takes the host's, times the processor \
             factor; `none` charges nothing; `fixed:SPAN` charges the same each time, such as `fixed:2us`. \
             Virtual time repeats exactly with all but `measured`.",
        ),
    row("proc", "FACTOR", "1", Topic::Time, |o, v| value::factor(v).map(|f| o.proc = f)).help(
        "A simulated processor is this many times slower than the host's: 2 doubles measured compute time, \
         0.5 halves it.",
    ),
    row("flops", "RATE", "none", Topic::Time, |o, v| value::flops(v).map(|f| o.flops = f)).help(
        "Floating-point operations that a rank's processor does in a second, such as `5Gflops`: what \
         computation costs that a program states as a number of them (`xsim_compute_flops`, \
         docs/reference/xsim-h.md). `none`: such a program ends with an error. The processor factor has no \
         part in it.",
    ),
    row("fail", "WHAT", "", Topic::Machine, |o, v| mpi::failure::Specification::parse(v).map(|f| o.fail = f))
        .help(
            "Ranks that fail, and when: `3@1.5ms,8-15@2s`; `file:PATH`, with a line for each; or a law: \
             `exponential:mtbf=5y,per=node,seed=7`, `weibull:mtbf=5y,shape=0.7,per=rank,seed=7`. The run \
             ends at the first failure with exit status 75, unless `ft` is given \
             (docs/reference/failures.md).",
        ),
    row("ft", "", "off", Topic::Machine, |o, v| value::switch(v).map(|b| o.ft = b)).help(
        "Let the others go on when a rank fails or ends without `MPI_Finalize`: what they cannot do without \
         it returns `MPIX_ERR_PROC_FAILED` (ULFM, docs/reference/failures.md). On an analytic machine.",
    ),
    row("ft-delay", "SPAN", "0s", Topic::Machine, |o, v| {
        value::instant(v).map(|t| o.ft_delay = t.since(Time::ZERO))
    })
    .help(
        "From a failure until the other ranks know; at least what an empty message takes between the nearest \
         ranks.",
    ),
    row("eager-limit", "BYTES", "none", Topic::Time, |o, v| value::limit(v).map(|l| o.eager_limit = l)).help(
        "A standard-mode message longer than this waits for its receiver (rendezvous); `none`: a sender is \
         never held.",
    ),
    row("coll", "CHOICE", "mpich", Topic::Time, |o, v| {
        v.parse().map(|c| o.coll = c).map_err(|why: mpi::schedule::choose::PolicyError| why.to_string())
    })
    .help(
        "Collective algorithms: a table (`mpich`, `openmpi`, `linear`, or of a release such as `mpich-4`, \
         `openmpi-3.1`) or algorithms by name, such as `allreduce=ring,bcast=binomial`; or both: \
         `openmpi,bcast=linear`; or a file of rules (docs/reference/collectives.md).",
    ),
    row("coll-events", "", "off", Topic::Time, |o, v| value::switch(v).map(|b| o.events = b)).help(
        "Run every collective event by event; without it, one whose members are all waiting runs in a loop \
         over their clocks, with the same times and results.",
    ),
    row("globals", "HOW", "auto", Topic::Memory, |o, v| GlobalsOption::parse(v).map(|g| o.globals = g)).help(
        "How each rank gets the program's global variables for itself: `copy` swaps their bytes when ranks \
         switch, `clone` gives each rank an image of the program, `none` shares them, `auto` chooses.",
    ),
    row("globals-libs", "NAME[,NAME]", "", Topic::Memory, |o, v| value::names(v).map(|n| o.globals_libs = n))
        .help("Shared libraries whose globals are private to each rank as well, by file name."),
    row("globals-fold", "SYMBOL[,SYMBOL]", "", Topic::Memory, |o, v| {
        value::names(v).map(|n| o.globals_fold = n)
    })
    .help(
        "Global arrays that all ranks of a process share, to save memory where their contents do not matter.",
    ),
    row("stack", "SIZE", "", Topic::Memory, |o, v| value::stack(v).map(|s| o.stack = Some(s))).help(
        "Stack of a rank, reserved and used only as far as it is touched; at least 32KiB. Without it, ranks \
         with stacks of their own have 8MiB each up to 1,024 ranks, 2MiB up to 4,096 and 256KiB beyond; a \
         stack that they share has 8MiB. A larger `ulimit -s` raises these (docs/explanation/ranks.md).",
    ),
    row("stack-mode", "MODE", "auto", Topic::Memory, |o, v| StackOption::parse(v).map(|m| o.stack_mode = m))
        .help(
            "`own` gives each rank a stack, `shared` runs all on one and keeps only the live part of each, \
             `auto` chooses by the number of ranks.",
        ),
    row("heap", "HOW", "clear", Topic::Memory, |o, v| value::heap(v).map(|b| o.heap_as_is = b)).help(
        "What memory from `malloc` holds: with `clear` zeros, as fresh memory of a process of its own does; \
         with `as-is` what another rank may have left there, which saves the clearing.",
    ),
    row("report", "FILE", "", Topic::Output, |o, v| value::path(v).map(|p| o.report = Some(p)))
        .help("Write the report of the run as JSON."),
    row("profile", "", "off", Topic::Output, |o, v| value::switch(v).map(|b| o.profile = b)).help(
        "Find out where the time goes: for each place in the program that calls MPI its calls, bytes, time \
         and waiting, and for whom it waited; who sends to whom; what ranks did when. A table after the \
         summary, all of it in the report (docs/reference/report.md).",
    ),
    row("profile-callers", "DEPTH", "0", Topic::Output, |o, v| {
        value::depth(v).map(|d| o.profile_callers = d)
    })
    .help(
        "Tell the calls of each place apart by the chain of its callers, up to so many functions of the \
         program (docs/reference/report.md).",
    ),
    row("critical-path", "", "off", Topic::Output, |o, v| value::switch(v).map(|b| o.critical_path = b))
        .help(
            "Find out what the time of the run depends on, by place in the program, by rank and by what \
             happens there, and which places delay which others (docs/reference/report.md); in the report, \
             beside which each process keeps a file of 81 bytes a call until the end.",
        ),
    row("log", "FILE", "", Topic::Output, |o, v| value::path(v).map(|p| o.log = Some(p))).help(
        "Write every MPI call with its arguments and virtual times, a line each, in the order of virtual \
         time (docs/reference/log.md).",
    ),
    row("log-ranks", "RANKS", "", Topic::Output, |o, v| RankList::parse(v).map(|r| o.log_ranks = Some(r)))
        .help("Log these ranks only, such as `0-3,7`."),
    row("trace", "FILE", "", Topic::Output, |o, v| value::path(v).map(|p| o.trace = Some(p))).help(
        "Record every MPI call of every rank in a compressed trace, which `xsim trace` shows \
         (docs/reference/traces.md).",
    ),
    row("trace-times", "HOW", "histogram", Topic::Output, |o, v| value::timing(v).map(|t| o.trace_times = t))
        .help(
            "What the trace has of the computation between calls: `histogram` minimum, maximum, mean, \
             deviation and bins for each pair of calls that follow each other; `exact` each time, and how \
             long each call took; `none` nothing.",
        ),
    row("trace-from", "TIME", "0s", Topic::Output, |o, v| value::instant(v).map(|t| o.trace_from = t))
        .help("Record calls from this virtual time on, such as `5ms`."),
    row("trace-until", "TIME", "", Topic::Output, |o, v| value::instant(v).map(|t| o.trace_until = Some(t)))
        .help("Record calls before this virtual time."),
    row("trace-save", "TIME", "60s", Topic::Output, |o, v| {
        value::instant(v).map(|t| o.trace_save = t.since(Time::ZERO))
    })
    .help(
        "How often, by the host's clock, each process puts what was recorded up to then in `FILE.part0` and \
         so on, for runs that do not come to their end; `0s`: after each call.",
    ),
    row("timeline", "FILE", "", Topic::Output, |o, v| value::path(v).map(|p| o.timeline = Some(p))).help(
        "Write what each rank called when, and which messages went where, for a viewer \
         (docs/reference/timelines.md): `.pftrace` for Perfetto, `.json` for Chrome and Perfetto, `.prv` for \
         Paraver, `.paje` or `.trace` for Paje's, `.otf2` for Vampir and Scalasca.",
    ),
    row("timeline-format", "FORMAT", "", Topic::Output, |o, v| {
        timeline::TimelineFormat::parse(v).map(|f| o.timeline_format = Some(f))
    })
    .help(
        "The timeline's format, whatever its file is called: `perfetto`, `json`, `paraver`, `paje` or \
         `otf2`.",
    ),
    row("timeline-ranks", "RANKS", "", Topic::Output, |o, v| {
        RankList::parse(v).map(|r| o.timeline_ranks = Some(r))
    })
    .help(
        "The timeline's ranks, such as `0-63,128`, and messages between them. Without it all up to 4096; of \
         more, 64 blocks of 64 neighbours at equal distances.",
    ),
    row("timeline-functions", "NAMES", "", Topic::Output, |o, v| {
        timeline::FunctionSelection::parse(v).map(|f| o.timeline_functions = f)
    })
    .help(
        "The timeline's functions, such as `MPI_Allreduce,MPI_Wait*`, and messages that calls of them \
         receive; without it all.",
    ),
    row("timeline-from", "TIME", "0s", Topic::Output, |o, v| value::instant(v).map(|t| o.timeline_from = t))
        .help(
            "The timeline has calls that are entered, and messages that are sent, from this virtual time on, \
             such as `5ms`.",
        ),
    row("timeline-until", "TIME", "", Topic::Output, |o, v| {
        value::instant(v).map(|t| o.timeline_until = Some(t))
    })
    .help("The timeline has calls that are entered before this virtual time."),
    row("network-report", "FILE[,FILE]", "", Topic::Output, |o, v| {
        value::network_files(v).map(|p| o.network_report = p)
    })
    .help(
        "Write what the packets, messages and links of a packet network did (docs/reference/packets.md), by \
         the file's name: `.json` latencies, hops and kinds of links; `.csv` a line for each direction of \
         each cable; `.svg` a heat map of the links' use.",
    ),
    row("verbose", "", "off", Topic::Output, |o, v| value::switch(v).map(|b| o.verbose = b))
        .short('v')
        .help("Say on stderr what was chosen, and why."),
    row("check", "", "off", Topic::Output, |o, v| value::switch(v).map(|b| o.check = b)).help(
        "Say on stderr, once each, what of the program works here and MPI does not promise, such as \
         `MPI_SUM` of `MPI_CHAR`, and at the end, by the place in the program: sends that complete only \
         because they are buffered, and which ranks would wait for each other without; buffers that overlap \
         in pending operations or in one call, or are written or freed under one; requests that are waited \
         for again; messages received with another type signature than they were sent with; members of \
         collectives whose signatures or operations differ from the root's (rank 0's); and what ranks left \
         behind: objects that were not freed, requests that were not completed, messages that were not \
         received.",
    ),
    row("quiet", "", "off", Topic::Output, |o, v| value::switch(v).map(|b| o.quiet = b))
        .short('q')
        .help("No summary and no progress line; errors are still said."),
    row("progress", "WHEN", "auto", Topic::Output, |o, v| ProgressMode::parse(v).map(|p| o.progress = p))
        .help(
            "The progress line on stderr: `auto` shows it on a terminal when a run lasts over a second, `on` \
             everywhere, `off` never. Where `report` names the report of an earlier run of as many ranks it \
             says how long this one takes yet.",
        ),
    row("watchdog", "SECONDS", "60", Topic::Output, |o, v| value::seconds(v).map(|s| o.watchdog = s))
        .help("Name a rank that runs for this many seconds of host time without an MPI call; 0 never does."),
    row("native", "MPI", "auto", Topic::Memory, |o, v| NativeMpi::parse(v).map(|n| o.native = n)).help(
        "Which MPI of this machine joins the native processes that a launcher (`mpirun`, `mpiexec`, `srun`) \
         started: `mpich`, `openmpi`, `none` (each runs on its own), or `auto`, which asks the environment \
         (docs/how-to/several-processes.md).",
    ),
    row("map", "FILE", "", Topic::Memory, |o, v| value::path(v).map(|p| o.map = Some(p))).help(
        "Which ranks each native process has: a line for each process with its first and last rank \
         (`0-999`), or `-` for none; evenly unless told (docs/how-to/several-processes.md).",
    ),
    row("one-rank", "", "off", Topic::Memory, |o, v| value::switch(v).map(|b| o.one_rank = b)).help(
        "Make each native process one rank, on its own stack with its own memory: for programs that cannot \
         share an address space, such as those whose threads call MPI. As many ranks as `mpirun` started \
         processes; always so in a program that loads libxsim late, such as Python (docs/how-to/python.md).",
    ),
    row("help", "", "", Topic::Output, |o, v| value::switch(v).map(|b| o.help = b))
        .help("List these options and end."),
    row("version", "", "", Topic::Output, |o, v| value::switch(v).map(|b| o.version = b))
        .help("Print the version and end."),
];
