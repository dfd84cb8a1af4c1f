/* Calls of Fortran programs. The Fortran library of an MPI calls C functions, by their names or by those with
 * P. Where the program called from is noted by entries that stand before the library's procedures
 * (xsimtrace_entries.h), and is taken for what the C function returns to. */

/* What an entry has noted last: where its procedure returns to, and which function that will call; whether it
 * has done so, and whether no entry was. */
struct noted {
    void *site;
    int64_t function;
};
enum { NEVER = -1, MADE = -2 };
__thread struct noted xsimtrace_noted
    __attribute__((tls_model("initial-exec"), visibility("hidden"))) = {NULL, NEVER};

/* A procedure, and where it really is, once that was asked for. */
struct entry {
    void *real;
    const char *name;
};

__attribute__((visibility("hidden"), used)) void xsimtrace_find(struct entry *entry)
{
    entry->real = dlsym(RTLD_NEXT, entry->name);
    if (entry->real == NULL) {
        fprintf(stderr, "xsim: this MPI's Fortran library has no %s\n", entry->name);
        abort();
    }
}

/* %r10d: the number of the function, %r11: its entry; both are free in calls, as %rax is but in those with a
 * variable number of arguments. */
__asm__(".text\n"
        "xsimtrace_enter:\n"
        "    pushq %rax\n"
        "    movq xsimtrace_noted@gottpoff(%rip), %rax\n"
        "    movl %r10d, %r10d\n"
        "    movq %r10, %fs:8(%rax)\n"
        "    movq 8(%rsp), %r10\n"
        "    movq %r10, %fs:(%rax)\n"
        "    popq %rax\n"
        "    cmpq $0, (%r11)\n"
        "    je 1f\n"
        "    jmp *(%r11)\n"
        "1:  pushq %rdi\n"
        "    pushq %rsi\n"
        "    pushq %rdx\n"
        "    pushq %rcx\n"
        "    pushq %r8\n"
        "    pushq %r9\n"
        "    pushq %rax\n"
        "    pushq %r11\n"
        "    subq $8, %rsp\n"
        "    movq %r11, %rdi\n"
        "    call xsimtrace_find\n"
        "    addq $8, %rsp\n"
        "    popq %r11\n"
        "    popq %rax\n"
        "    popq %r9\n"
        "    popq %r8\n"
        "    popq %rcx\n"
        "    popq %rdx\n"
        "    popq %rsi\n"
        "    popq %rdi\n"
        "    jmp *(%r11)\n");

#include "xsimtrace_entries.h"

/* Where the code of the Fortran libraries is: one for mpif.h, one for each module. */
enum { LIBRARIES = 8 };
static struct {
    uintptr_t from, until;
} libraries[LIBRARIES];

static int note_library(struct dl_phdr_info *info, size_t size, void *count)
{
    static const char *const names[] = {"libmpifort", "libmpichfort", "libmpi_mpifh", "libmpi_usempi"};
    int known = 0, *found = count;
    (void)size;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        known |= strstr(info->dlpi_name, names[k]) != NULL;
    for (int k = 0; known && k < info->dlpi_phnum && *found < LIBRARIES; k++) {
        const ElfW(Phdr) *header = info->dlpi_phdr + k;
        if (header->p_type == PT_LOAD && header->p_flags & PF_X) {
            libraries[*found].from = info->dlpi_addr + header->p_vaddr;
            libraries[*found].until = libraries[*found].from + header->p_memsz;
            ++*found;
        }
    }
    return 0;
}

__attribute__((constructor)) static void note_libraries(void)
{
    int found = 0;
    dl_iterate_phdr(note_library, &found);
}

static inline int is_fortran(const void *address)
{
    uintptr_t at = (uintptr_t)address;
    for (int k = 0; k < LIBRARIES && libraries[k].from != 0; k++)
        if (at >= libraries[k].from && at < libraries[k].until)
            return 1;
    return 0;
}

/* Where the program called a function that returns to `from` in Fortran's library; NULL if that calls it for
 * itself. */
static inline void *site_of(int64_t function, int is_helper, void *from)
{
    struct noted *noted = &xsimtrace_noted;
    if (noted->function == NEVER)
        /* The procedure has no entry: its place is in the library. */
        return from;
    if (is_helper && noted->function != function)
        return NULL;
    void *site = noted->site;
    noted->site = NULL;
    noted->function = MADE;
    return site != NULL ? site : from;
}

/* The function itself, of the next library. */
#define REAL(name) \
    static __typeof__(P##name) *real_##name; \
    static __typeof__(P##name) *the_real_##name(void) \
    { \
        if (real_##name == NULL) \
            real_##name = (__typeof__(P##name) *)dlsym(RTLD_NEXT, "P" #name); \
        return real_##name; \
    }
#define THE_REAL(name) the_real_##name()
