#include "tests/lib/crew.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

bool crew_forks(void) {
    return true;
}

void *crew_memory(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) abort();
    return memory;
}

long crew_begin(void (*work)(void *arg), void *arg) {
    fflush(stdout);
    pid_t pid = fork();
    if (pid < 0) abort();
    if (pid > 0) return pid;
    work(arg);
    _exit(0);
}

long crew_wait(char why[64]) {
    int status;
    pid_t pid = wait(&status);
    if (pid < 0) return 0;
    bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    snprintf(why, 64, "%s", good ? "" : WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exit");
    return pid;
}

void crew_limit_s(unsigned seconds) {
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = seconds}, NULL);
}
