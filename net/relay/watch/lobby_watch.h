/* lobby_watch.h - the watchers of a room. net/ROOMS.md §7, Watching. Only inside net/relay.
 *
 * A watcher is no client of the engine: it sends no samples and nothing waits for it. Its data goes out after
 * the clients', to a few watchers at a time. Its frames come by HISTORY, some intervals at once, with the
 * host's delay. Its hashes are compared with the game's but have no vote. It keeps no seat: after a lost link
 * it watches anew.
 *
 * lobby_watch.c          coming, going, requests
 * lobby_watch_frames.c   a watcher's frames and their time
 * lobby_watch_hash.c     comparison with the players' hashes */
#ifndef KL_LOBBY_WATCH_H
#define KL_LOBBY_WATCH_H

#include "net/relay/heal/lobby_heal.h"
#include "net/relay/room/lobby_room.h"

/* --- lobby_watch.c --- */
/* Adds and welcomes a watcher. NULL: no memory. */
struct kl_lobby_watcher *kl_lobby_watch_join(struct kl_lobby_room *r, unsigned peer, const struct kl_hello *h,
                                             uint64_t now_us);
/* The watcher is gone, without a word: w is freed. */
void kl_lobby_watch_remove(struct kl_lobby_room *r, struct kl_lobby_watcher *w);
void kl_lobby_watch_lost(struct kl_lobby_room *r, struct kl_lobby_watcher *w, const char *why);
/* Says why and hangs up. */
void kl_lobby_watch_put_out(struct kl_lobby_room *r, struct kl_lobby_watcher *w, enum kl_refuse code,
                            const char *text);
/* Puts the watcher out if there is a reason (heal/lobby_heal.h). False: the watcher is gone. */
bool kl_lobby_watch_stays(struct kl_lobby_room *r, struct kl_lobby_watcher *w, const struct kl_text *why);
#define KL_WATCH_NO_WISH 256
/* A watcher's message. *wish: the seats that it asks for (SEAT of COMMAND), or KL_WATCH_NO_WISH. False: no
 * watcher may say this, or not now. */
bool kl_lobby_watch_says(struct kl_lobby_room *r, struct kl_lobby_watcher *w, const struct kl_msg *m,
                         unsigned *wish, uint64_t now_us);
/* Sets the watchers' delay; KL_E_MALFORMED above KL_WATCH_DELAY_MAX_S, KL_E_SPACE without memory (the room is
 * told). */
int kl_lobby_watch_delay(struct kl_lobby_room *r, unsigned seconds, const char *who);
/* To be called after the clients of all rooms got their data. *left: watchers of all rooms that may still
 * have a turn. Sets watch.due_us. */
void kl_lobby_watch_run(struct kl_lobby_room *r, unsigned *left, uint64_t now_us);
void kl_lobby_watch_chores(struct kl_lobby_room *r, uint64_t now_us);
/* Puts out all watchers. */
void kl_lobby_watch_end(struct kl_lobby_room *r, enum kl_refuse code, const char *why);

/* --- lobby_watch_frames.c --- */
void kl_lobby_watch_datagram(struct kl_lobby_room *r, struct kl_lobby_watcher *w, const uint8_t *body,
                             size_t len, uint64_t now_us);
/* Moves the end of the visible frames. */
void kl_lobby_watch_see(struct kl_lobby_room *r, uint64_t now_us);
/* Sends a watcher its due messages. True if something went out; *more: more is due. */
bool kl_lobby_watch_serve(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint64_t now_us, bool *more);

/* --- lobby_watch_hash.c --- */
/* Takes a client's hash that counts. */
void kl_lobby_watch_truth(struct kl_lobby_room *r, const struct kl_hash *h, uint64_t now_us);
/* Takes a watcher's hash. */
void kl_lobby_watch_hash(struct kl_lobby_room *r, struct kl_lobby_watcher *w, const struct kl_hash *h);
/* Compares the hashes that can be compared by now. False: the watcher was put out. */
bool kl_lobby_watch_judge(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint64_t now_us);

#endif
