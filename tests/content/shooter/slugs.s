; What the enemies fire.

; One enemy a frame may fire, drawn by lot.
fire_frame:
    ldy #127
    lda wave
    cmp #2
    bcc :+
    ldy #63
:   sty tmp
    jsr random
    and tmp
    tax
    cpx #ENEMIES
    bcs @none
    lda e_kind,x
    beq @none
    cmp #KIND_GUNSHIP
    bcs @none
    lda e_y,x
    cmp #32
    bcc @none
    cmp #150
    bcs @none
    jmp slug_aim
@none:
    rts

; X = enemy, kept. At one of the ships, drawn by lot; without one, down.
slug_aim:
    jsr random
    and #3
    tay
    lda p_state,y
    cmp #FLYING
    beq @aim
    tya
    eor #1
    tay
    lda p_state,y
    cmp #FLYING
    beq @aim
@down:
    lda #0
    sta tmp
    lda #22
    sta tmp+1
    bne slug_new
@aim:
    lda e_x,x
    lsr a
    sta tmp
    lda p_x,y
    lsr a
    sec
    sbc tmp
    sta tmp
    lda e_y,x
    lsr a
    sta tmp+1
    lda p_y,y
    lsr a
    sec
    sbc tmp+1
    sta tmp+1
    clc                     ; too near to aim well
    adc #10
    cmp #20
    bcc @down
@scale:
    lda tmp                 ; halve both until neither is past 24/16 pixels
    clc
    adc #24
    cmp #49
    bcs @halve
    lda tmp+1
    clc
    adc #24
    cmp #49
    bcc slug_new
@halve:
    lda tmp
    cmp #$80
    ror tmp
    lda tmp+1
    cmp #$80
    ror tmp+1
    jmp @scale

; X = enemy, kept; tmp, tmp+1 = velocity.
slug_new:
    lda e_y,x
    cmp #BAR_LINES
    bcc @none
    ldy #SLUGS-1
:   lda s_on,y
    beq @free
    dey
    bpl :-
@none:
    rts
@free:
    lda #1
    sta s_on,y
    lda tmp
    sta s_vx,y
    lda tmp+1
    sta s_vy,y
    lda e_y,x
    clc
    adc #8
    sta s_y,y
    lda e_kind,x
    cmp #KIND_CARRIER
    lda #4
    bcc :+
    lda #11
:   adc e_x,x
    sta s_x,y
    rts

slugs_frame:
    ldx #SLUGS-1
@slug:
    lda s_on,x
    bne :+
@skip:
    dex
    bpl @slug
    rts
:   step s_xl, s_x, s_vx
    sta spr_x
    cmp #250
    bcs @gone
    step s_yl, s_y, s_vy
    sta spr_y
    cmp #232
    bcs @gone
    cmp #BAR_LINES-6
    bcc @gone
    lda #1
    sta spr_attr
    lda frame
    and #8
    beq :+
    lda #SLUG2-SLUG
:   clc
    adc #SLUG
    jsr sprite
    ldy #PLAYERS-1
@player:
    lda p_state,y
    cmp #FLYING
    bne @miss
    lda s_x,x
    sec
    sbc p_x,y
    clc
    adc #256-1
    cmp #8
    bcs @miss
    lda s_y,x
    sec
    sbc p_y,y
    clc
    adc #2
    cmp #9
    bcs @miss
    stx tmp
    tya
    tax
    jsr player_hit
    ldx tmp
@gone:
    lda #0
    sta s_on,x
    jmp @skip
@miss:
    dey
    bpl @player
    jmp @skip
