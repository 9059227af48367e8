/* corpus.h - the parts of make_corpus. */
#ifndef FUZZ_CORPUS_H
#define FUZZ_CORPUS_H

#include <stddef.h>
#include <stdint.h>

/* FOLDER/<target>/<name>. */
void save(const char *target, const char *name, const void *bytes, size_t len);

/* A list of records, as fuzz.h has them; what does not fit is left out. */
struct list {
    size_t len;
    uint8_t bytes[8000];
};
void add(struct list *l, uint8_t extra, const uint8_t *bytes, size_t len);

void corpus_link(void);
void corpus_rooms(void);
void corpus_hub(void);
void corpus_journal(void);
void corpus_recording(void);
void corpus_files(void);
void corpus_channel(void);
void corpus_voice(void);

#endif
