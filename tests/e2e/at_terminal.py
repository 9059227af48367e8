#!/usr/bin/env python3
"""at_terminal.py ANSWER COMMAND… - runs the command at a terminal and answers its question.

Once the command has written "[y/N] ", ANSWER and Enter are typed. What the command writes goes to standard output. SIGTERM is
handed on. Exit status: the command's; 3 if it never asked."""
import os
import pty
import signal
import sys

answer, command = sys.argv[1], sys.argv[2:]
child, terminal = pty.fork()
if child == 0:
    os.execvp(command[0], command)
signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
said, asked = b"", False
while True:
    try:
        part = os.read(terminal, 4096)
    except OSError:  # the command has closed the terminal
        part = b""
    if not part:
        break
    os.write(1, part)
    said = (said + part)[-100:]
    if not asked and said.endswith(b"[y/N] "):
        asked = True
        os.write(terminal, answer.encode() + b"\n")
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
sys.exit(status if asked else 3)
