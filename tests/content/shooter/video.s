; What goes to the screen: the list of table writes for NMI, sprites, palettes.

; vbuf is a row of (length, address high, low, bytes...), ended by length 0.
vbuf_flush:
    ldx #0
@next:
    ldy vbuf,x
    beq @end
    inx
    lda vbuf,x
    sta PPUADDR
    inx
    lda vbuf,x
    sta PPUADDR
    inx
:   lda vbuf,x
    sta PPUDATA
    inx
    dey
    bne :-
    beq @next
@end:
    sty vbuf
    sty vbuf_len
    rts

; A = length, tmp = address low, tmp+1 = high. X = where the bytes go.
vbuf_open:
    ldx vbuf_len
    sta vbuf,x
    inx
    lda tmp+1
    sta vbuf,x
    inx
    lda tmp
    sta vbuf,x
    inx
    rts

screen_off:
    lda #0
    sta PPUCTRL             ; no NMI while the tables are written
    sta PPUMASK
    sta vbuf
    sta vbuf_len
    sta split
    sta split_next
    rts

; NMI comes back at the next blank; the picture with the first frame made.
screen_on:
    jsr sprites_begin
    lda #0
    sta ready
:   bit PPUSTATUS
    bpl :-
    lda #%10100000
    sta PPUCTRL
    rts

; A = palette set's low byte, X = its high byte; only while the screen is off.
palettes_load:
    sta ptr
    stx ptr+1
    lda #$3F
    sta PPUADDR
    ldy #0
    sty PPUADDR
:   lda (ptr),y
    sta PPUDATA
    iny
    cpy #32
    bne :-
    rts

; Sky colour for the frame: a bomb lights it up.
flash_frame:
    lda flash_t
    beq @none
    dec flash_t
    lsr a
    lsr a
    tay
    lda #0
    sta tmp
    lda #$3F
    sta tmp+1
    lda #1
    jsr vbuf_open
    lda flash_colour,y
    sta vbuf,x
    inx
    stx vbuf_len
@none:
    rts

; Sprites. Which of them the machine drops, when more than eight meet on a
; line, changes from frame to frame, so all stay visible by flickering.
sprites_begin:
    lda #$FF
    ldx #0
:   sta oam,x
    inx
    inx
    inx
    inx
    bne :-
    lda spr_start
    clc
    adc #17*4
    bcc :+
    adc #3                  ; carry included: keep clear of sprite zero
:   ora #4
    sta spr_start
    sta spr_at
    lda #63
    sta spr_left
    lda split_next
    beq :+
    lda #12                 ; the beam mark: 16 lines above the bar's end
    sta oam
    lda #BEAM
    sta oam+1
    lda #%00100000
    sta oam+2
    lda #184                ; so far right that the split lands in the blank
    sta oam+3
:   rts

; A = tile; spr_x, spr_y, spr_attr. X is kept. Above the bar's end a sprite
; goes behind the background: things come out from under the bar.
sprite:
    ldy spr_left
    beq @full
    dec spr_left
    ldy spr_at
    sta oam+1,y
    lda spr_x
    sta oam+3,y
    lda spr_y
    sta oam,y
    cmp #BAR_LINES
    lda spr_attr
    bcs :+
    ora #%00100000
:   sta oam+2,y
    iny
    iny
    iny
    iny
    bne :+
    ldy #4
:   sty spr_at
@full:
    rts

; A tile and its mirror image to the right.
sprite_pair:
    pha
    jsr sprite
    jsr spr_right
    lda spr_attr
    eor #%01000000
    sta spr_attr
    pla
    jsr sprite
    lda spr_attr
    eor #%01000000
    sta spr_attr
    rts

spr_right:
    lda spr_x
    clc
    adc #8
    sta spr_x
    rts

; Letters as sprites. ptr: the text, ended by 0; spr_x, spr_y, spr_attr.
sprite_text:
    ldy #0
@next:
    lda (ptr),y
    beq @end
    sty tmp+2
    cmp #' '
    beq :+
    sec
    sbc #' '
    asl a
    clc
    adc #LETTERS
    jsr sprite
:   lda spr_x
    clc
    adc #9
    sta spr_x
    ldy tmp+2
    iny
    bne @next
@end:
    rts

.segment "RODATA"
; Each colour is also a player's: blue, red, green, yellow. In the background
; the first of the three makes the ground of that player's score.
play_palettes:
    .byte $0F,$01,$11,$31,  $0F,$06,$16,$27,  $0F,$0B,$1A,$2A,  $0F,$2D,$00,$38
    .byte $0F,$01,$21,$30,  $0F,$05,$16,$30,  $0F,$0A,$2A,$30,  $0F,$17,$28,$30
title_palettes:
    .byte $0F,$01,$11,$31,  $0F,$06,$16,$27,  $0F,$0F,$1C,$3C,  $0F,$0F,$00,$30
    .byte $0F,$01,$21,$30,  $0F,$05,$16,$30,  $0F,$0A,$2A,$30,  $0F,$17,$28,$30
flash_colour:
    .byte $0F,$07,$17,$28,$38,$30

.segment "CODE"
