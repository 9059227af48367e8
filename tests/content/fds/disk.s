; disk.s - a disk of two sides for the Famicom Disk System. Each side says which one it is, and no more; the
; program is in bios.s, as no free BIOS could load one.
.macro side number
.scope
begin:
        .byte   1, "*KEYLOCK-DISK*"
        .res    21 - (* - begin), 0     ; where disks have their side: bios.s looks there
        .byte   number
        .res    65500 - (* - begin), 0
.endscope
.endmacro

.segment "DISK"
        .byte   "FDS", $1A, 2
        .res    11, 0
        side    0
        side    1
