; pads.s - SNES: two balls that two pads move over ground that chance paints.
; All RAM is a function of the pads alone: the buttons go into the random
; numbers every frame, those into the picture and into trail.

.p816
.smart

.segment "ZEROPAGE"
rng:    .res 2
pads:   .res 4              ; 16 bits a pad: B Y Select Start U D L R A X L R
before: .res 4
xy:     .res 4              ; x and y of each ball
frame:  .res 2
dsp:    .res 2              ; register and value

.segment "BSS"
trail:  .res 256

; 64 KB of zeros to a register of $2100. No subroutine: the stack goes too.
.macro clear mode, register
        lda #register
        sta $4301
        lda #mode           ; 8: one byte again and again; 9: to two registers
        sta $4300
        ldy #zero
        sty $4302
        stz $4304
        stx $4305           ; X = 0 counts as 64 KB
        lda #$01
        sta $420B
.endmacro

.segment "HEADER"
        .byte "KEYLOCK PADS         "
        .byte $20, $00, $05, $00, $01, $00, $00
        .word $FFFF, $0000  ; fixrom sets the checksum
        .word 0, 0, irq, irq, irq, irq, 0, irq
        .word 0, 0, irq, 0, irq, irq, reset, irq

.segment "CODE"
reset:  sei
        clc
        xce
        rep #$30
        ldx #$1FFF
        txs
        lda #0
        tcd
        sep #$20
        lda #$80
        sta $2100           ; screen off while it is set up
        ldx #$33
:       stz $2100,x         ; the scroll registers want two writes
        stz $2100,x
        dex
        bne :-
        stz $4200
        ldx #0              ; all RAM and video RAM to zero: garbage may differ
        stx $2181
        stz $2183
        clear $08, $80
        clear $08, $80
        lda #$80
        sta $2115
        stx $2116
        clear $09, $18
        stz $2121
        ldx #512
:       stz $2122
        dex
        bne :-
        ldx #colours_end - colours - 3
:       ldy colours+1,x     ; (number, colour)
        lda colours,x
        sta $2121
        rep #$20
        tya
        sep #$20
        sta $2122
        xba
        sta $2122
        dex
        dex
        dex
        bpl :-
        ldx #16             ; tile 1: 32 bytes each, four planes
        stx $2116
        ldx #0
:       ldy tiles,x
        sty $2118
        inx
        inx
        cpx #tiles_end - tiles
        bne :-
        lda #$01
        sta $2105           ; mode 1
        lda #$10
        sta $2107           ; its map at word $1000
        lda #$11
        sta $212C           ; first background and sprites
        stz $2102
        stz $2103
        ldx #512            ; sprites below the screen
        lda #$F0
:       sta $2104
        dex
        bne :-
        ldx #32
:       stz $2104
        dex
        bne :-
        jsr sound
        ldx #$4B59
        stx rng
        ldx #$7060
        stx xy
        ldx #$7090
        stx xy+2
        lda #$0F
        sta $2100
        lda #$01
        sta $4200           ; the machine reads the pads in the blank

frame_loop:
:       lda $4212
        bmi :-
:       lda $4212
        bpl :-
        stz $2102           ; the balls
        stz $2103
        ldx #0
:       lda xy,x
        sta $2104
        lda xy+1,x
        sta $2104
        lda #4
        sta $2104
        lda ball_attr,x
        sta $2104
        inx
        inx
        cpx #4
        bne :-
        rep #$20            ; a tile somewhere
        lda rng
        and #$03FF
        ora #$1000
        sta $2116
        lda rng
        xba
        lsr a
        lsr a
        and #3
        sta $2118
        sep #$20
:       lda $4212           ; until the pads are read
        lsr a
        bcs :-
        ldx pads
        stx before
        ldx pads+2
        stx before+2
        ldx $4218
        stx pads
        ldx $421A
        stx pads+2
        ldx #0
        jsr ball
        ldx #2
        jsr ball
        rep #$20
        lda pads+2
        xba
        eor pads
        eor rng
        bne :+
        inc a
:       ldx #8
:       lsr a
        bcc :+
        eor #$B400
:       dex
        bne :--
        sta rng
        inc frame
        lda frame
        and #$FF
        tax
        sep #$20
        lda rng
        sta trail,x
        jmp frame_loop

; X = 0 or 2: moves that ball, beeps when a button goes down.
ball:   lda pads+1,x
        lsr a
        bcc :+
        inc xy,x
:       lsr a
        bcc :+
        dec xy,x
:       lsr a
        bcc :+
        inc xy+1,x
:       lsr a
        bcc :+
        dec xy+1,x
:       rep #$20
        lda before,x
        eor #$FFFF
        and pads,x
        sep #$20
        beq :+
        txa                 ; each ball has its pitch
        asl a
        clc
        adc #4
        sta dsp+1
        lda #$03
        jsr dsp_write
        lda #$01
        sta dsp+1
        lda #$4C
        jsr dsp_write
:       rts

; The sound chip's boot program stores what it is sent, and the DSP's two
; registers are in its memory: it can play without a program of its own.
sound:  ldy #$BBAA
:       cpy $2140
        bne :-
        ldy #$0200          ; the sample's directory and the sample
        lda #$CC
        jsr block
        ldx #0
:       lda sample,x
        jsr send
        cpx #sample_end - sample
        bne :-
        lda #sample_end - sample + 1
        sta kick
        ldx #0
:       lda dsp_start+1,x
        sta dsp+1
        lda dsp_start,x
        jsr dsp_write
        inx
        inx
        cpx #dsp_end - dsp_start
        bne :-
        rts

; A = register, dsp+1 = value. X is kept.
dsp_write:
        sta dsp
        phx
        ldy #$00F2
        lda kick
        jsr block
        ldx #0
        lda dsp
        jsr send
        lda dsp+1
        jsr send
        lda #3              ; past the number of bytes: the next one is a block
        sta kick
        plx
        rts

; Y = where, A = a number that the chip gives back when it is ready.
block:  sty $2142
        pha
        lda #1
        sta $2141
        pla
        bra :+
send:   sta $2141           ; A = the byte, X = its number, counted up
        txa
        inx
:       sta $2140
:       cmp $2140
        bne :-
        rts

irq:    rti

zero:   .byte 0
ball_attr: .byte $30, 0, $32
colours:
        .byte 0
        .word $1400
        .byte 1
        .word $2C40
        .byte 2
        .word $4085
        .byte 3
        .word $24C9
        .byte 129           ; first ball: blue and white
        .word $7E88
        .byte 130
        .word $7FFF
        .byte 145           ; second: red
        .word $219F
        .byte 146
        .word $7FFF
colours_end:

; Three kinds of ground and the ball; two planes together, eight rows.
tiles:
        .byte $FF,0, $81,0, $81,0, $81,0, $81,0, $81,0, $81,0, $FF,0
        .res 16, 0
        .byte 0,$AA, 0,$55, 0,$AA, 0,$55, 0,$AA, 0,$55, 0,$AA, 0,$55
        .res 16, 0
        .byte $18,$18, $3C,$3C, $7E,$7E, $FF,$FF, $FF,$FF, $7E,$7E, $3C,$3C, $18,$18
        .res 16, 0
        .byte $3C,0, $66,$18, $CF,$30, $DF,$20, $FF,0, $FF,0, $7E,0, $3C,0
        .res 16, 0
tiles_end:

; Directory entry (start, loop) and one looping block: half a wave up, half down.
sample: .word $0204, $0204
        .byte $B3, $77, $77, $77, $77, $88, $88, $88, $88
sample_end:

; Register and value: no echo, volumes, directory at $0200, a fading voice.
dsp_start:
        .byte $6C,$20, $5C,$00, $2D,$00, $3D,$00, $4D,$00, $5D,$02
        .byte $0C,$50, $1C,$50, $00,$50, $01,$50, $02,$00, $03,$04
        .byte $04,$00, $05,$FF, $06,$15
dsp_end:

.segment "BSS"
kick:   .res 1
