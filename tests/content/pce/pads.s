; pads.s - PC Engine: five balls, one for each pad of a multitap, over ground
; that chance paints. All RAM is a function of the pads alone: the buttons go
; into the random numbers every frame, those into the picture and into trail.

.setcpu "huc6280"

PADS = 5
; a: keeps these from becoming zero page, which is elsewhere here.
VDC_STATE = $0000
VDC_LOW = $0002
VDC_HIGH = $0003
SPRITES = $0F00             ; words of video memory: list of sprites,
BALL = $2000                ; the ball's picture,
GROUND = $1000              ; the ground's tiles

.segment "ZEROPAGE"
rng:    .res 2
pad:    .res PADS           ; Left Down Right Up Run Select II I
before: .res PADS
ball_x: .res PADS
ball_y: .res PADS
frame:  .res 1
hush:   .res 1              ; frames until the beep ends

.segment "BSS"
trail:  .res 256

.macro vdc reg, value
        st0 #reg
        st1 #<(value)
        st2 #>(value)
.endmacro

.segment "VECTORS"
        .addr irq, irq, irq, irq, reset

.segment "CODE"
irq:    rti

reset:  sei
        csh
        cld
        lda #$FF
        tam #$01            ; input and output at $0000
        lda #$F8
        tam #$02            ; RAM at $2000
        ldx #$FF
        txs
        stz $2000           ; all RAM to zero: garbage may differ
        tii $2000, $2001, $1FFF
        lda #$07
        sta $1402           ; nothing interrupts; the blank is polled
        stz $0C01

        vdc $05, $0000
        vdc $09, $0010      ; a map of 64 by 32
        vdc $07, 0
        vdc $08, 0
        vdc $0A, $0202      ; 256 by 224
        vdc $0B, $041F
        vdc $0C, $1702
        vdc $0D, $00DF
        vdc $0E, $0003
        vdc $0F, $0010      ; sprite list goes over in each blank
        vdc $13, SPRITES

        vdc $00, $0000      ; map: all of it the first tile, no garbage
        st0 #$02
        ldx #8
        cly
:       st1 #<(GROUND/16)
        st2 #>(GROUND/16)
        iny
        bne :-
        dex
        bne :-
        vdc $00, SPRITES
        st0 #$02
        cly
:       st1 #0
        st2 #0
        iny
        bne :-
        vdc $00, GROUND
        st0 #$02
        clx
:       lda tiles,x
        sta a:VDC_LOW
        inx
        lda tiles,x
        sta a:VDC_HIGH
        inx
        bne :-              ; 256 bytes: eight tiles' room, four in use
        vdc $00, BALL
        st0 #$02
        clx
:       lda ball,x
        sta a:VDC_LOW
        inx
        lda ball,x
        sta a:VDC_HIGH
        inx
        bpl :-

        stz $0402           ; colours: the ground's, then one set a ball
        stz $0403
        clx
:       lda ground_colours,x
        sta $0404
        lda ground_colours+1,x
        sta $0405
        inx
        inx
        cpx #8
        bne :-
        cly
@set:   tya                 ; ball's set: 256 + 16 * its number
        asl a
        asl a
        asl a
        asl a
        inc a
        sta $0402
        lda #1
        sta $0403
        tya
        asl a
        tax
        lda ball_colours,x
        sta $0404
        lda ball_colours+1,x
        sta $0405
        lda #$FF            ; and white
        sta $0404
        lda #$01
        sta $0405
        iny
        cpy #PADS
        bne @set

        ldx #PADS-1
:       lda start_x,x
        sta ball_x,x
        lda #104
        sta ball_y,x
        dex
        bpl :-
        stz $0800           ; a square wave on the first channel
        lda #$FF
        sta $0801
        stz $0804
        clx
:       cpx #16
        lda #31
        bcc :+
        cla
:       sta $0806
        inx
        cpx #32
        bne :--
        lda #$FF
        sta $0805
        lda #$59
        sta rng
        lda #$4B
        sta rng+1
        vdc $05, $00C8      ; ground, balls, and the mark of the blank

loop:   lda a:VDC_STATE     ; reading it clears the mark
        and #$20
        beq loop
        jsr show
        jsr read_pads
        ldx #PADS-1
:       jsr move
        dex
        bpl :-
        jsr chance
        inc frame
        ldx frame
        lda rng
        sta trail,x
        jsr beep
        bra loop

; Balls into the list, one tile of chance into the map.
show:   vdc $00, SPRITES
        st0 #$02
        clx
:       lda ball_y,x
        clc
        adc #64
        sta a:VDC_LOW
        cla
        adc #0
        sta a:VDC_HIGH
        lda ball_x,x
        clc
        adc #32
        sta a:VDC_LOW
        cla
        adc #0
        sta a:VDC_HIGH
        st1 #<(BALL/32)
        st2 #>(BALL/32)
        txa
        ora #$80            ; before the ground
        sta a:VDC_LOW
        st2 #0
        inx
        cpx #PADS
        bne :-
        st0 #$00
        lda rng
        sta a:VDC_LOW
        lda rng+1
        and #$07
        sta a:VDC_HIGH
        st0 #$02
        lda rng+1
        lsr a
        lsr a
        lsr a
        and #3
        ora #<(GROUND/16)
        sta a:VDC_LOW
        st2 #>(GROUND/16)
        rts

; A multitap starts over at the clear line and goes on at each select. Without
; one, every scan reads the same pad, which then moves all the balls.
read_pads:
        lda #$01
        sta $1000
        lda #$03
        sta $1000
        clx
@pad:   lda #$01
        sta $1000
        jsr @settle
        lda $1000           ; directions, pressed is 0
        asl a
        asl a
        asl a
        asl a
        pha
        stz $1000
        jsr @settle
        lda $1000
        and #$0F
        sta pad,x
        pla
        ora pad,x
        eor #$FF
        sta pad,x
        inx
        cpx #PADS
        bne @pad
        rts
@settle:
        pha
        pla
        rts

move:   lda pad,x
        bpl :+
        dec ball_x,x
:       asl a
        bpl :+
        inc ball_y,x
:       asl a
        bpl :+
        inc ball_x,x
:       asl a
        bpl :+
        dec ball_y,x
:       rts

; Each pad in its own bits' place, so that none cancels another out.
chance: ldx #PADS-1
@pad:   lda pad,x
        eor rng
        sta rng
        ora rng+1
        bne :+
        inc rng
:       ldy #8
:       lsr rng+1
        ror rng
        bcc :+
        lda rng+1
        eor #$B4
        sta rng+1
:       dey
        bne :--
        dex
        bpl @pad
        rts

beep:   ldx #PADS-1
@pad:   lda before,x
        eor #$FF
        and pad,x
        beq :+
        lda pitch,x
        sta $0802
        lda #1
        sta $0803
        lda #$9F
        sta $0804
        lda #6
        sta hush
:       lda pad,x
        sta before,x
        dex
        bpl @pad
        lda hush
        beq :+
        dec hush
        bne :+
        stz $0804
:       rts

start_x: .byte 40, 80, 120, 160, 200
pitch:  .byte $00, $20, $40, $60, $80

; Nine bits: green, red, blue.
ground_colours: .word $0001, $0002, $000B, $0013
ball_colours:   .word $0107, $0038, $01C0, $01F8, $003F

; Ground: two planes of two bits each row; empty, frame, dither, diamond.
tiles:  .res 32, 0
        .byte $FF,0, $81,0, $81,0, $81,0, $81,0, $81,0, $81,0, $FF,0
        .res 16, 0
        .byte 0,$AA, 0,$55, 0,$AA, 0,$55, 0,$AA, 0,$55, 0,$AA, 0,$55
        .res 16, 0
        .byte $18,$18, $3C,$3C, $7E,$7E, $FF,$FF, $FF,$FF, $7E,$7E, $3C,$3C, $18,$18
        .res 16, 0
        .res 128, 0

; The ball: its disc in colour 1 less the shine, which is colour 2.
ball:   .word $07E0, $1FF8, $3FFC, $7FFE, $71FE, $E0FF, $E0FF, $E1FF
        .word $FFFF, $FFFF, $FFFF, $7FFE, $7FFE, $3FFC, $1FF8, $07E0
        .word $0000, $0000, $0000, $0000, $0E00, $1F00, $1F00, $1E00
        .res 16, 0
        .res 64, 0
