/* play_replay.h - starts RetroArch on the wrapper, as `keylock play` does, to replay a recording
 * (match/replay.h). */
#ifndef KLT_PLAY_REPLAY_H
#define KLT_PLAY_REPLAY_H

struct kl_play_replay {
    const char *recording, *core, *content; /* paths */
    const char *retroarch, *wrapper;        /* NULL: those that are found */
    const char *relay, *room; /* a room that begins with one of its frames; NULL: none, keylock.cfg's relay */
    const char *run;          /* NULL; or `recording` is a challenge's token, and the run's file is this */
};
/* given: arguments for RetroArch. Returns only if it cannot be started, or after a challenge: the exit
 * status, after a line on standard error. */
int kl_play_replay(const struct kl_play_replay *w, int count, char **given);

#endif
