; Ships, their bullets, bombs, scores and the capsule.

players_begin:
    ldx #PLAYERS*6-1
    lda #0
:   sta p_score,x
    dex
    bpl :-
    ldx #BULLETS-1
:   sta b_power,x
    dex
    bpl :-
    sta c_on
    ldx #PLAYERS-1
@player:
    lda #ABSENT
    cpx seats
    bcs :+
    jsr player_new
    lda #FLYING
:   sta p_state,x
    dex
    bpl @player
    rts

player_new:
    lda #3
    sta p_lives,x
player_place:
    lda #FLYING
    sta p_state,x
    lda ship_home,x
    sta p_x,x
    lda #192
    sta p_y,x
    lda #150
    sta p_safe,x
    lda #1
    sta p_gun,x
    lda #2
    sta p_bombs,x
    lda #0
    sta p_cool,x
    rts

; Zero flag set when nobody is left.
players_left:
    ldy #0
    ldx #PLAYERS-1
:   lda p_state,x
    beq @next
    cmp #LOST
    beq @next
    iny
@next:
    dex
    bpl :-
    tya
    rts

players_frame:
    ldx #PLAYERS-1
@player:
    ldy p_state,x
    beq @next
    dey
    bne :+
    jsr player_fly
    jmp @next
:   dey
    bne :+
    jsr player_burn
    jmp @next
:   lda pressed,x           ; lost: a new ship while others still fly
    and #PAD_START
    beq @next
    lda mode
    cmp #PLAY
    bne @next
    jsr score_clear
    jsr player_new
@next:
    dex
    bpl @player
    rts

player_fly:
    jsr player_move
    jsr player_shoot
    lda pressed,x
    and #PAD_B
    beq :+
    jsr player_bomb
:   lda p_x,x
    sta spr_x
    lda p_y,x
    sta spr_y
    stx spr_attr
    lda p_safe,x
    beq ship_sprites
    dec p_safe,x
    and #4                  ; a ship that cannot be hit blinks
    beq ship_sprites
    rts

; spr_x, spr_y, spr_attr; X is kept.
ship_sprites:
    lda #SHIP
    jsr sprite_pair
    lda spr_x
    sec
    sbc #4
    sta spr_x
    lda spr_y
    clc
    adc #15
    sta spr_y
    lda #3
    sta spr_attr
    lda frame
    and #4
    lsr a
    clc
    adc #FLAME
    jmp sprite

player_move:
    lda pad,x
    and #PAD_LEFT
    beq :+
    lda p_x,x
    cmp #6
    bcc :+
    sbc #2
    sta p_x,x
:   lda pad,x
    and #PAD_RIGHT
    beq :+
    lda p_x,x
    cmp #234
    bcs :+
    adc #2
    sta p_x,x
:   lda pad,x
    and #PAD_UP
    beq :+
    lda p_y,x
    cmp #48
    bcc :+
    sbc #2
    sta p_y,x
:   lda pad,x
    and #PAD_DOWN
    beq :+
    lda p_y,x
    cmp #208
    bcs :+
    adc #2
    sta p_y,x
:   rts

; A, held, fires by itself: one bullet, a twin, a twin between two.
player_shoot:
    lda p_cool,x
    beq :+
    dec p_cool,x
    rts
:   lda pad,x
    bpl @none               ; A is bit 7
    lda #8
    sta p_cool,x
    jsr sound_shot
    lda p_gun,x
    cmp #1
    beq @add_single
    pha
    lda #2
    ldy #0
    jsr bullet_new
    pla
    cmp #3
    bcc @none
    lda #1
    ldy #2
    jsr bullet_new
    lda #1
    ldy #<-2
    jmp bullet_new
@add_single:
    ldy #0
    jmp bullet_new
@none:
    rts

; A = power, Y = sideways pixels a frame, X = player, kept.
bullet_new:
    sta tmp
    sty tmp+1
    ldy bullet_first,x
    lda #BULLETS_EACH
    sta tmp+2
@look:
    lda b_power,y
    beq @free
    iny
    dec tmp+2
    bne @look
    rts
@free:
    lda tmp
    sta b_power,y
    lda tmp+1
    sta b_vx,y
    lda p_x,x
    clc
    adc #4
    sta b_x,y
    lda p_y,x
    sec
    sbc #8
    sta b_y,y
    rts

bullets_frame:
    ldx #BULLETS-1
@bullet:
    lda b_power,x
    beq @next
    lda b_x,x
    clc
    adc b_vx,x
    cmp #250
    bcs @gone
    sta b_x,x
    sta spr_x
    lda b_y,x
    sbc #6                  ; carry is clear: seven lines up
    cmp #BAR_LINES-8
    bcc @gone
    sta b_y,x
    sta spr_y
    lda bullet_owner,x
    sta spr_attr
    ldy b_power,x
    lda bullet_tile-1,y
    jsr sprite
@next:
    dex
    bpl @bullet
    rts
@gone:
    lda #0
    sta b_power,x
    beq @next

; Clears the sky of slugs and hurts everything in it.
player_bomb:
    lda p_bombs,x
    beq @none
    dec p_bombs,x
    lda #23
    sta flash_t
    lda #30
    sta p_safe,x
    jsr sound_blast
    ldy #SLUGS-1
    lda #0
:   sta s_on,y
    dey
    bpl :-
    stx tmp+3
    txa
    tay
    ldx #ENEMIES-1
@enemy:
    lda e_kind,x
    beq :+
    cmp #BANG
    bcs :+
    lda #8
    jsr enemy_hurt
:   dex
    bpl @enemy
    ldx tmp+3
@none:
    rts

; X = player, who has been hit.
player_hit:
    lda p_safe,x
    bne @none
    lda #BURNING
    sta p_state,x
    lda #64
    sta p_timer,x
    jsr sound_blast
@none:
    rts

player_burn:
    dec p_timer,x
    beq @over
    lda p_timer,x
    lsr a
    lsr a
    lsr a
    lsr a
    tay
    cpy #3
    bcc :+
    ldy #3
:   lda burn_tile,y
    pha
    lda #3
    sta spr_attr
    lda p_x,x
    sta spr_x
    lda p_y,x
    sta spr_y
    pla
    jmp sprite_pair
@over:
    dec p_lives,x
    beq :+
    jmp player_place
:   lda #LOST
    sta p_state,x
    rts

score_clear:
    ldy score_at,x
    lda #6
    sta tmp
    lda #0
:   sta p_score,y
    iny
    dec tmp
    bne :-
    rts

; Y = player, kept; A = how much to add to the digit whose place is in tmp.
; Each ten thousand points on screen bring a life.
score_add:
    sty tmp+1
    pha
    lda score_at,y
    clc
    adc tmp
    tay
    pla
@digit:
    clc
    adc p_score,y
    cmp #10
    bcs :+
    sta p_score,y
    ldy tmp+1
    rts
:   sbc #10
    sta p_score,y
    lda tmp
    beq @full               ; past the largest score: it starts again at zero
    dec tmp
    dey
    lda tmp
    cmp #2
    bne :+
    jsr @life
:   lda #1
    bne @digit
@life:
    sty tmp+2
    ldy tmp+1
    lda p_lives,y
    cmp #3
    bcs :+
    adc #1
    sta p_lives,y
    jsr sound_chime
:   ldy tmp+2
    rts
@full:
    ldy tmp+1
    rts

; X = the enemy that leaves a capsule behind, if there is none about.
capsule_drop:
    lda c_on
    bne :+
    inc c_on
    lda e_x,x
    sta c_x
    lda e_y,x
    sta c_y
:   rts

capsule_frame:
    lda c_on
    beq @none
    inc c_y
    lda c_y
    cmp #232
    bcs @gone
    sta spr_y
    lda c_x
    sta spr_x
    lda frame
    lsr a
    lsr a
    lsr a
    and #3
    sta spr_attr
    lda #CAPSULE
    jsr sprite_pair
    ldx #PLAYERS-1
@player:
    lda p_state,x
    cmp #FLYING
    bne @next
    lda c_x
    sec
    sbc p_x,x
    clc
    adc #13
    cmp #27
    bcs @next
    lda c_y
    sec
    sbc p_y,x
    clc
    adc #13
    cmp #27
    bcs @next
    lda p_gun,x
    cmp #3
    bcs :+
    inc p_gun,x
:   jsr sound_chime
    txa
    tay
    lda #4
    sta tmp
    lda #5
    jsr score_add
@gone:
    lda #0
    sta c_on
@none:
    rts
@next:
    dex
    bpl @player
    rts

.segment "RODATA"
bullet_first: .byte 0, BULLETS_EACH, 2*BULLETS_EACH, 3*BULLETS_EACH
bullet_owner:
    .repeat BULLETS, i
    .byte i / BULLETS_EACH
    .endrepeat
bullet_tile:  .byte SHOT, TWIN
burn_tile:    .byte BOOM4, BOOM3, BOOM2, BOOM

.segment "CODE"
