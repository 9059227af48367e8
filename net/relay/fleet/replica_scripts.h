/* replica_scripts.h - the scripts of replica.c. Only inside net/relay/fleet. */
#ifndef KL_REPLICA_SCRIPTS_H
#define KL_REPLICA_SCRIPTS_H

enum { KL_REPLICA_BEGIN, KL_REPLICA_WRITE, KL_REPLICA_END, KL_REPLICA_GIVE, KL_REPLICA_SCRIPTS };
extern const char *const kl_replica_script[KL_REPLICA_SCRIPTS];

#endif
