/* An allocator that ends the process where it is given a block of another one. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHUNK (16u << 20)
#define MARK 0x6f75727320697421ull

struct block {
    size_t bytes;
    unsigned long long mark;
};

static char *free_from, *free_to;

static struct block *block_of(void *at)
{
    struct block *block = (struct block *)at - 1;
    if (block->mark != MARK) {
        static const char text[] = "a block of another allocator\n";
        if (write(2, text, sizeof text - 1) < 0)
            _exit(78);
        _exit(77);
    }
    return block;
}

static void *take(size_t align, size_t bytes)
{
    size_t need = bytes + align + sizeof(struct block);
    if ((size_t)(free_to - free_from) < need) {
        size_t chunk = need > CHUNK ? need : CHUNK;
        free_from =
            mmap(NULL, chunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (free_from == MAP_FAILED) {
            free_from = free_to = NULL;
            errno = ENOMEM;
            return NULL;
        }
        free_to = free_from + chunk;
    }
    char *at = (char *)(((size_t)free_from + sizeof(struct block) + align - 1) / align * align);
    free_from = at + bytes;
    ((struct block *)at)[-1] = (struct block) { bytes, MARK };
    return at;
}

void *malloc(size_t bytes) { return take(16, bytes); }

void free(void *at)
{
    if (at)
        block_of(at);
}

void *calloc(size_t count, size_t bytes)
{
    /* Fresh memory is all zeros, and none is given twice. */
    return take(16, count * bytes);
}

void *realloc(void *at, size_t bytes)
{
    char *moved = take(16, bytes);
    if (at && moved) {
        size_t old = block_of(at)->bytes;
        memcpy(moved, at, old < bytes ? old : bytes);
    }
    return moved;
}

void *memalign(size_t align, size_t bytes) { return take(align < 16 ? 16 : align, bytes); }

void *aligned_alloc(size_t align, size_t bytes) { return memalign(align, bytes); }

int posix_memalign(void **at, size_t align, size_t bytes)
{ return (*at = memalign(align, bytes)) ? 0 : ENOMEM; }

size_t malloc_usable_size(void *at) { return at ? block_of(at)->bytes : 0; }
