/* world_archive.h - the bytes of an archive that a core reads, as its stream tells. */
#ifndef KLW_WORLD_ARCHIVE_H
#define KLW_WORLD_ARCHIVE_H

#include "core_wrapper/world/world_private.h"
#include "net/platform/file.h"

#define KL_SPANS_MAX 4096

struct kl_spans {
    struct kl_archive_span at[KL_SPANS_MAX]; /* sorted, apart from each other */
    unsigned count;
    bool all; /* too many: all of the file */
};

/* An open stream. Before a reader of a zip has come to the directory, it looks for the end record, and may
 * read over the last members for that: those reads do not count once it reads from the directory's first
 * byte. */
struct kl_stream {
    const void *self; /* the core's FILE */
    size_t directory; /* kl_archive_directory() */
    struct kl_world_archives *archives;
    struct kl_read_file *file; /* NULL: nobody asks any more */
    size_t read_to;            /* the end of the last read */
    bool found;
    struct kl_stream *next;
    struct kl_spans before;
};

/* Puts a stream, of the caller's memory, into the list; real: its path without links. */
void kl_stream_begin(struct kl_world *w, struct kl_stream *s, const char *real);
/* The core got the bytes [from, to). */
void kl_stream_note(struct kl_stream *s, uint64_t from, uint64_t to);
/* Takes it out of the list, after its last read. */
void kl_stream_end(struct kl_stream *s);
/* NULL: no stream of the list. */
struct kl_stream *kl_stream_of(struct kl_world *w, const void *self);
/* Its bytes are read in a way that is not seen. path: gets its real path; may be NULL. False: nobody asks any
 * more. */
bool kl_stream_unseen(struct kl_stream *s, char path[KL_FILE_PATH]);

/* world_stream.c of elf/ and pe/ */
#ifdef _WIN32
/* Notes all reads of a stream that the core has just opened for reading bytes; name: its path. False: it is
 * no .zip or .7z. */
bool kl_world_archive_watch(struct kl_world *w, void *f, const char *name);
/* The stream is about to be closed. */
void kl_world_archive_leave(struct kl_world *w, void *f);
#else
/* Opens a .zip or .7z for reading and notes all reads. NULL: it is none, or cannot be opened. */
FILE *kl_world_archive_open(struct kl_world *w, const char *path);
#endif

#endif
