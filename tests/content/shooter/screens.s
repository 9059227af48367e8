; The three modes: title, play, game over; and the score bar.

; --- title ---------------------------------------------------------------
title_begin:
    lda #TITLE
    sta mode
    lda #180                ; three seconds, then it starts by itself
    sta timer
    jsr screen_off
    lda #<title_palettes
    ldx #>title_palettes
    jsr palettes_load
    jsr title_sky
    jsr title_logo
    ldy #0
@line:
    lda title_text,y
    beq @end
    sta PPUADDR
    iny
    lda title_text,y
    sta PPUADDR
    iny
@char:
    lda title_text,y
    iny
    sec
    sbc #' '
    bcc @line               ; a byte below the space ends the line
    sta PPUDATA
    bcs @char
@end:
    jmp screen_on

; Drawn as scenery is; then the colours of the logo's and the text's rows.
title_sky:
    lda #15
    sta sc_left
    lda #<title_map_end
    sta sc_ptr
    lda #>title_map_end
    sta sc_ptr+1
    jsr scenery_fill
    ldx #0
@run:
    lda title_colours,x
    beq @end
    ldy #$23
    sty PPUADDR
    sta PPUADDR
    inx
    lda title_colours,x
    inx
    ldy #8
:   sta PPUDATA
    dey
    bne :-
    beq @run
@end:
    rts

; Two words of letters, each two tiles wide and three high.
title_logo:
    ldx #0
@row:
    lda logo_rows,x
    beq @end
    sta PPUADDR
    lda logo_rows+1,x
    sta PPUADDR
    lda logo_rows+2,x       ; the part of each letter that is on this row
    sta tmp
    ldy logo_rows+3,x       ; the word
@letter:
    lda logo_words,y
    bmi @next
    stx tmp+1
    clc
    adc tmp
    tax
    lda logo,x
    sta PPUDATA
    lda logo+1,x
    sta PPUDATA
    ldx tmp+1
    iny
    bne @letter
@next:
    inx
    inx
    inx
    inx
    bne @row
@end:
    rts

title_frame:
    jsr sprites_begin
    jsr stars_frame
    jsr title_ships
    lda pressed
    ora pressed+1
    ora pressed+2
    ora pressed+3
    and #PAD_START
    bne @start
    dec timer
    bne @stay
@start:
    jsr play_begin
@stay:
    jmp frame_done

; One ship a seat, each leaning on its stick: who holds which pad shows here.
title_ships:
    ldx #0
@ship:
    lda pad,x
    and #PAD_LEFT|PAD_RIGHT
    tay
    lda ship_home,x
    clc
    adc lean_x,y
    sta spr_x
    lda pad,x
    and #PAD_UP|PAD_DOWN
    lsr a
    lsr a
    tay
    lda ship_row,x
    clc
    adc lean_y,y
    sta spr_y
    stx spr_attr
    jsr ship_sprites
    inx
    cpx seats
    bcc @ship
    rts

; --- play ----------------------------------------------------------------
play_begin:
    lda #PLAY
    sta mode
    jsr screen_off
    lda #<play_palettes
    ldx #>play_palettes
    jsr palettes_load
    jsr bar_clear
    jsr scenery_begin
    jsr players_begin
    jsr enemies_begin
    lda #1
    sta split_next
    jmp screen_on

play_frame:
    jsr frame_world
    jsr players_left
    bne @go_on
    lda #OVER
    sta mode
    lda #240
    sta timer
    jsr top_keep
@go_on:
    jmp frame_done

over_frame:
    jsr frame_world
    lda #88
    sta spr_x
    lda #104
    sta spr_y
    lda #1
    sta spr_attr
    lda #<over_text
    sta ptr
    lda #>over_text
    sta ptr+1
    jsr sprite_text
    dec timer
    bne :+
    jsr title_begin
:   jmp frame_done

frame_world:
    jsr sprites_begin
    jsr flash_frame
    jsr scenery_frame
    jsr players_frame
    jsr bullets_frame
    jsr enemies_frame
    jsr slugs_frame
    jsr capsule_frame
    jsr stars_frame
    jsr bar_frame
    jmp banner_frame

; "WAVE n" for a while.
banner_frame:
    lda banner_t
    bne :+
    rts
:   dec banner_t
    lda #104
    sta spr_x
    lda #72
    sta spr_y
    lda #3
    sta spr_attr
    lda #<wave_text
    sta ptr
    lda #>wave_text
    sta ptr+1
    jsr sprite_text
    lda wave
    jsr decimal
    pha
    txa
    jsr sprite_digit
    pla
sprite_digit:
    asl a
    clc
    adc #LETTERS+2*('0'-' ')
    jsr sprite
    lda spr_x
    adc #9
    sta spr_x
    rts

; A = 0..99 to X = tens, A = ones
decimal:
    ldx #0
:   cmp #10
    bcc :+
    sbc #10
    inx
    bne :-
:   rts

; --- score bar -----------------------------------------------------------
; In the second table, rows 2 and 3, eight columns a player in his colours.
bar_clear:
    lda #$24
    sta PPUADDR
    lda #0
    sta PPUADDR
    ldx #8                  ; rows 0 to 7
    ldy #0
    tya
:   sta PPUDATA
    iny
    bne :-
    dex
    bne :-
    lda #$27
    sta PPUADDR
    lda #$C0
    sta PPUADDR
:   txa
    and #7
    lsr a
    tay
    lda bar_colour,y
    sta PPUDATA
    inx
    cpx #16
    bne :-
    rts

; One player's columns a frame.
bar_frame:
    lda frame
    and #3
    tay
    asl a
    asl a
    asl a
    ora #$40
    sta tmp
    lda #$24
    sta tmp+1
    sty tmp+2
    lda #8
    jsr vbuf_open
    ldy tmp+2
    jsr bar_upper
    lda tmp
    ora #$20
    sta tmp
    lda #8
    jsr vbuf_open
    ldy tmp+2
    cpy seats
    bcc @score
    cpy #2
    bne @wave
    ldy #0                  ; the best score so far
:   lda top_score,y
    jsr bar_digit
    iny
    cpy #6
    bne :-
    beq @zero
@score:
    lda score_at,y
    tay
    lda #6
    sta tmp+3
:   lda p_score,y
    jsr bar_digit
    iny
    dec tmp+3
    bne :-
@zero:
    lda #0
    jsr bar_digit
@space:
    lda #0
    sta vbuf,x
    inx
    stx vbuf_len
    rts
@wave:
    lda #0
    sta vbuf,x
    sta vbuf+1,x
    sta vbuf+2,x
    inx
    inx
    inx
    stx tmp+3
    lda wave
    jsr decimal
    sta tmp
    txa
    ldx tmp+3
    jsr bar_digit
    lda tmp
    jsr bar_digit
    lda #0
    sta vbuf,x
    sta vbuf+1,x
    inx
    inx
    bne @space

bar_digit:
    clc
    adc #'0'-' '
    sta vbuf,x
    inx
    rts

; Y = player: "1P", lives, bombs; or what else there is to say.
bar_upper:
    lda bar_text_at,y
    cpy seats
    bcs @text
    lda p_state,y
    cmp #LOST
    beq @lost
    tya
    adc #'1'-' '            ; carry is clear: states are below LOST
    sta vbuf,x
    inx
    lda #'P'-' '
    sta vbuf,x
    inx
    lda #0
    sta vbuf,x
    inx
    lda p_lives,y
    sta tmp+3
    lda #'#'-' '
    jsr @icons
    lda p_bombs,y
    sta tmp+3
    lda #'$'-' '
@icons:
    sty ptr
    ldy #2
    cmp #'#'-' '
    bne :+
    iny
:   dec tmp+3
    bpl :+
    lda #0
:   sta vbuf,x
    inx
    dey
    bne :--
    ldy ptr
    stx vbuf_len
    rts
@lost:
    lda frame               ; "GAME OVER" and "START" in turn
    and #$40
    lsr a
    lsr a
    lsr a                   ; the two texts are eight characters each
@text:
    sty ptr
    tay
    lda #8
    sta tmp+3
:   lda bar_text,y
    sec
    sbc #' '
    sta vbuf,x
    inx
    iny
    dec tmp+3
    bne :-
    stx vbuf_len
    ldy ptr
    rts

; Keeps the best of the scores.
top_keep:
    ldx #0
@player:
    ldy score_at,x
    stx tmp
    ldx #0
@digit:
    lda p_score,y
    cmp top_score,x
    bcc @next
    bne @better
    iny
    inx
    cpx #6
    bne @digit
    beq @next
@better:
    ldx tmp
    ldy score_at,x
    ldx #0
:   lda p_score,y
    sta top_score,x
    iny
    inx
    cpx #6
    bne :-
@next:
    ldx tmp
    inx
    cpx #PLAYERS
    bne @player
    rts

.segment "RODATA"
bar_colour:  .byte $00, $55, $AA, $FF
score_at:    .byte 0, 6, 12, 18
bar_text_at: .byte 0, 0, 16, 24
bar_text:    .byte "GAMEOVER", " START! ", "   TOP  ", "  WAVE  "

over_text:   .byte "GAME OVER", 0
wave_text:   .byte "WAVE ", 0

ship_home:   .byte 72, 104, 136, 168
ship_row:    .byte 142, 160, 142, 160
lean_x:      .byte 0, 6, <-6, 0
lean_y:      .byte 0, 6, <-6, 0

; Table row (high, low), part of the letter, word; 0 ends.
.define at_row(r, c) >($2000 + 32 * (r) + (c)), <($2000 + 32 * (r) + (c))
logo_rows:
    .byte at_row 4, 9
    .byte 0, 0
    .byte at_row 5, 9
    .byte 2, 0
    .byte at_row 6, 9
    .byte 4, 0
    .byte at_row 8, 8
    .byte 0, 8
    .byte at_row 9, 8
    .byte 2, 8
    .byte at_row 10, 8
    .byte 4, 8
    .byte 0
; Letters by their place in logo: K0 E1 Y2 L3 O4 C5 S6 Q7 U8 A9 D10 R11 N12
logo_words:
    .byte 0, 6, 12, 18, 24, 30, 0, $FF
    .byte 36, 42, 48, 54, 60, 66, 24, 72, $FF

title_text:
    .byte at_row 14, 10
    .byte "PRESS START", 1
    .byte at_row 24, 8
    .byte "A FIRE    B BOMB", 1
    .byte at_row 26, 7
    .byte "ONE SKY - ONE LOCK", 1
    .byte 0

; Runs of eight bytes of colours: where, and what; 0 ends.
title_colours:
    .byte $C8, $00, $D0, $55, $D8, $AA, $F0, $AA, 0

title_map:
    .byte "                "
    .byte "                "
    .byte "                "
    .byte "                "
    .byte "                "
    .byte "                "
    .byte "                "
    .byte "                "
    .byte "/^^\         abc"
    .byte "[o=]--+  R   def"
    .byte "[=*]         ghi"
    .byte "LvvJ   R        "
    .byte "                "
    .byte "                "
    .byte "                "
title_map_end:

.segment "CODE"
