@ start.s - header and entry of the Game Boy Advance test program.

        .section .header, "ax"
        .arm
        .global start
start:  b       entry
        .space  156                     @ the boot logo: a BIOS would look at it
        .ascii  "KEYLOCKPADS\0"
        .ascii  "KPDE"
        .ascii  "00"
        .byte   0x96, 0, 0
        .space  7
        .byte   0                       @ version
        .byte   0                       @ fixrom puts the checksum here
        .space  2

entry:  ldr     sp, =0x03007F00
        ldr     r0, =0x03000000         @ clear all RAM: garbage may differ
        ldr     r1, =0x03007F00
        mov     r2, #0
1:      str     r2, [r0], #4
        cmp     r0, r1
        blo     1b
        mov     r0, #0x02000000
        add     r1, r0, #0x40000
2:      str     r2, [r0], #4
        cmp     r0, r1
        blo     2b
        ldr     r0, =main
        bx      r0
