# pads.s - WonderSwan: a screen whose shade follows its keys.
# All RAM is a function of the keys alone: they go into the random numbers every frame, those into the shade and into
# trail. GNU as for x86; the machine's processor is an 80186 and a bit.

        .intel_syntax noprefix
        .code16
        .text

        .set    rng, 0x100      # after the interrupt vectors
        .set    frame, 0x102
        .set    keys, 0x104     # Y4-Y1 X4-X1, then B A Start
        .set    trail, 0x200    # 4096 words
        .set    line, 0x02      # port: the line that is drawn
        .set    shade, 0x01     # … the background's palette and shade
        .set    pad, 0xB5       # … which keys, and they

        .globl  begin
begin:  cli
        cld
        xor     ax, ax
        mov     ds, ax
        mov     es, ax
        mov     ss, ax
        mov     sp, 0x4000
        xor     di, di          # power-on garbage differs
        mov     cx, 0x2000
        rep     stosw
        out     0x00, al        # no layers: only the background's shade
        mov     word ptr [rng], 1

next:   in      al, line
        cmp     al, 144
        jne     next

        mov     al, 0x10        # Y
        call    ask
        mov     bl, al
        mov     al, 0x20        # X
        call    ask
        shl     bl, 4
        or      bl, al
        mov     al, 0x40        # buttons
        call    ask
        mov     bh, al
        mov     [keys], bx

        mov     ax, [rng]
        mov     dx, 25173
        mul     dx
        add     ax, 13849
        xor     ax, bx
        mov     [rng], ax
        mov     dx, ax
        mov     di, [frame]
        and     di, 0x0FFF
        shl     di, 1
        mov     [di+trail], ax
        inc     word ptr [frame]
        mov     al, dh
        and     al, 7
        out     shade, al

over:   in      al, line
        cmp     al, 144
        je      over
        jmp     next

ask:    out     pad, al
        nop
        nop
        in      al, pad
        and     al, 0x0F
        ret

        .org    0xFFF0
        .byte   0xEA            # far jump to the begin of the last 64 KB
        .word   0, 0xF000
        .byte   0               # maintenance
        .byte   0, 0, 0, 0      # maker, monochrome, number, version
        .byte   1, 0, 4, 0      # size, no save RAM, upright 16 bit bus, no clock
        .word   0
