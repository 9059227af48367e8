; battery.s - NES: a game that is nothing but its save RAM. It counts frames and keeps the pads there, and what it
; finds there at the start it keeps in RAM and shows as the background's colour.
;   ca65 battery.s && ld65 -t none --start-addr 0x7FF0 -o battery.nes battery.o

pad   = $10                 ; of two players
found = $20                 ; 64 bytes of the save RAM, as they were at power-on
save  = $6000               ; a count in 2 bytes; from $100 on the pads of 256 frames, one page a player

.segment "CODE"
        .byte "NES", $1A, 2, 0, 2, 0    ; 32 KB, tiles in RAM, a battery, no mapper
        .res 8

reset:  sei
        cld
        ldx #$FF
        txs
        inx
        stx $2000
        stx $2001
        ldx #63
:       lda save,x
        sta found,x
        dex
        bpl :-
frame:  bit $2002
        bpl frame
        inc save
        bne :+
        inc save + 1
:       lda #1                  ; the pads, bit by bit
        sta $4016
        lsr a
        sta $4016
        ldy #8
:       lda $4016
        lsr a
        rol pad
        lda $4017
        lsr a
        rol pad + 1
        dey
        bne :-
        ldx save
        lda pad
        sta save + $100,x
        eor save + $200,x
        lda pad + 1
        sta save + $200,x
        lda #$3F                ; the colour: of this frame's pads and of the battery
        sta $2006
        sty $2006
        lda found
        eor save
        eor pad
        and #$3F
        sta $2007
        lda #0
        sta $2006
        sta $2006
        lda #$0A
        sta $2001
        jmp frame

irq:    rti
        .res $FFFA - $8000 - (* - reset), 0
        .word irq, reset, irq
