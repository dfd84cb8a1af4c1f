# What gdb can say about virtual ranks. `xsim run --debug RANK` loads it; docs/how-to/debug-a-rank.md says how
# it is used.
import struct

import gdb

NEW, GONE, NOBODY = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFF
# What a switch of ranks changes, and what the kernel looks at when a system call was interrupted.
REGISTERS = ("rip", "rsp", "rbp", "rbx", "orig_rax")


def words(address, form):
    """Numbers in the program's memory."""
    memory = gdb.selected_inferior().read_memory(address, struct.calcsize(form))
    return struct.unpack(form, bytes(memory))


def evaluate(expression):
    """A number, whatever language the frame is in that gdb looks at."""
    language = gdb.parameter("language")
    gdb.execute("set language c", to_string=True)
    try:
        return int(gdb.parse_and_eval(expression))
    finally:
        gdb.execute("set language " + language, to_string=True)


class View:
    """The ranks of the process, as runtime/core/rank/src/debug.rs describes them."""

    def __init__(self):
        try:
            at = evaluate("(unsigned long) &XSIM_DEBUG_VIEW")
            (version, running, self.first, self.count, self.places, self.arena, self.slot, self.line,
             self.colours) = words(at, "<9Q")
        except gdb.error:
            raise gdb.GdbError(
                "there are no ranks yet: the program does not run, or is not linked with libxsim")
        if version == 0:
            raise gdb.GdbError("there are no ranks yet: stop in main or later")
        if version != 1:
            raise gdb.GdbError("this xsim and the program's libxsim are of different versions")
        (running,) = words(running, "<I")
        self.running = None if running == NOBODY else self.first + running

    def ranks(self):
        return range(self.first, self.first + self.count)

    def state(self, rank):
        """Whether a rank has not begun, has ended, runs or is blocked."""
        if rank == self.running:
            return "runs"
        (slot,) = words(self.places + 8 * (rank - self.first), "<I")
        return {NEW: "not begun", GONE: "ended"}.get(slot, "blocked")

    def registers(self, rank):
        """Of a blocked rank, as they are when it goes on."""
        if self.arena == 0:
            raise gdb.GdbError(
                "ranks that share one stack cannot be looked at: run with -xsim-stack-mode own")
        slot, depth = words(self.places + 8 * (rank - self.first), "<II")
        top = self.arena + self.slot * (slot + 1) - slot * 7 % self.colours * self.line
        pointer = top - 8 * depth
        resume, rbx, rbp = words(pointer, "<3Q")
        return {"rip": resume + 2, "rsp": pointer + 24, "rbp": rbp, "rbx": rbx}


class As:
    """While this holds, gdb takes the thread for a blocked rank."""

    def __init__(self, view, rank):
        self.registers = None if view.running == rank else view.registers(rank)

    def __enter__(self):
        min(gdb.selected_inferior().threads(), key=lambda thread: thread.num).switch()
        gdb.newest_frame().select()
        if self.registers:
            self.kept = {name: evaluate("(unsigned long) $" + name) for name in REGISTERS}
            self.put(self.registers)

    def __exit__(self, *_):
        if self.registers:
            gdb.newest_frame().select()
            self.put(self.kept)

    def put(self, registers):
        for name, value in registers.items():
            gdb.execute("with language c -- set $%s = %#x" % (name, value), to_string=True)


def where():
    """The MPI call of the rank that gdb looks at, and where the program makes it."""
    frame, call = gdb.newest_frame(), ""
    while frame is not None and frame.is_valid():
        library = gdb.solib_name(frame.pc())
        name = (frame.name() or "").split("::")[-1]
        if library is None or "libxsim" not in library:
            line = frame.find_sal()
            place = "%s:%d " % (line.symtab.filename.split("/")[-1], line.line) if line.symtab else ""
            return call, place + (name or hex(frame.pc()))
        if name.upper().lstrip("P").startswith("MPI"):
            call = name[1:] if name.upper().startswith("PMPI") else name
        frame = frame.older()
    return call, ""


def spans(ranks):
    """Ascending numbers in short: 0-3,7."""
    text, ranks = [], list(ranks)
    while ranks:
        many = 1
        while many < len(ranks) and ranks[many] == ranks[0] + many:
            many += 1
        text.append(str(ranks[0]) if many == 1 else "%d-%d" % (ranks[0], ranks[many - 1]))
        ranks = ranks[many:]
    return ",".join(text)


class InfoRanks(gdb.Command):
    """What the ranks do: those in the same call from the same place together.

info ranks [FIRST[-LAST]]"""

    def __init__(self):
        super().__init__("info ranks", gdb.COMMAND_STATUS)

    def invoke(self, argument, _):
        view, groups = View(), {}
        ranks = view.ranks()
        if argument.strip():
            ends = [int(end, 0) for end in argument.split("-")]
            ranks = [rank for rank in range(ends[0], ends[-1] + 1) if rank in ranks]
        for rank in ranks:
            state = view.state(rank)
            call, place = "", ""
            if state in ("runs", "blocked"):
                with As(view, rank):
                    call, place = where()
            groups.setdefault((state, call, place), []).append(rank)
        rows = [("ranks", "state", "in", "at")] + [(spans(ranks),) + key for key, ranks in groups.items()]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        for row in rows:
            gdb.write("  ".join(cell.ljust(width) for cell, width in zip(row, widths)) + "  " + row[3] + "\n")


class Rank(gdb.Command):
    """Runs a command of gdb as if a rank that is blocked were where gdb stands: its backtrace, unless another
is given.

rank N [COMMAND]

`rank 3`, `rank 3 bt full`, `rank 3 frame apply 4 info locals`. With globals copied
(-xsim-globals copy) those in place are the running rank's.
Without N: which rank runs."""

    def __init__(self):
        super().__init__("rank", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        view, (number, _, command) = View(), argument.strip().partition(" ")
        if not number:
            gdb.write("no rank runs\n" if view.running is None else "rank %d runs\n" % view.running)
            return
        if not number.isdigit() or int(number) not in view.ranks():
            raise gdb.GdbError("%s is no rank of this process, which has %s" % (number, spans(view.ranks())))
        state = view.state(int(number))
        if state in ("not begun", "ended"):
            raise gdb.GdbError("rank %s has %s" % (number, state if state == "ended" else "not begun"))
        with As(view, int(number)):
            gdb.execute(command.strip() or "backtrace", from_tty)


class RankFunction(gdb.Function):
    """The rank that runs, -1 if none does: `break pass if $_rank() == 3`."""

    def __init__(self):
        super().__init__("_rank")

    def invoke(self):
        try:
            running = View().running
        except gdb.GdbError:
            running = None
        return -1 if running is None else running


def begin(rank):
    """Runs the program until a rank is in its main."""
    gdb.execute("set breakpoint pending on")
    # A Fortran program's `main` is the compiler's.
    fortran = gdb.lookup_static_symbol("MAIN__") or gdb.lookup_global_symbol("MAIN__")
    gdb.execute("tbreak %s if $_rank() == %d" % ("MAIN__" if fortran else "main", rank))
    gdb.execute("run")


InfoRanks()
Rank()
RankFunction()
