; start.s - header and entry of the Game Boy test program.

        .module start
        .globl  _main

        .area   _HEADER (ABS)
        .org    0x100
        nop
        jp      entry
        ; mGBA knows the machine by the first bytes of the boot logo; nothing
        ; else looks at it when no boot ROM runs.
        .db     0xCE, 0xED, 0x66, 0x66
        .org    0x134
        .ascii  "KEYLOCK PADS"
        .db     0, 0, 0, 0, 0, 0, 0     ; no colour, no Super Game Boy
        .db     0, 0, 0                 ; no mapper, 32 KB, no RAM
        .db     1, 0, 0                 ; sold anywhere, no maker, version 0
        .db     0, 0, 0                 ; fixrom puts the checksums here
        .org    0x150
entry:
        di
        ld      sp, #0xE000
        ld      hl, #0xC000             ; clear all RAM: power-on garbage differs
        ld      bc, #0x1FFE             ; but for the stack's top word
clear:  xor     a
        ld      (hl+), a
        dec     bc
        ld      a, b
        or      c
        jr      nz, clear
        jp      _main

        .area   _CODE
        .area   _DATA
