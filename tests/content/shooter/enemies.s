; What comes against the players: how each kind moves, looks and dies.

KIND_SAUCER = 1
KIND_DART = 2
KIND_WING = 3
KIND_GUNSHIP = 4
KIND_CARRIER = 5
BANG = 6                    ; what is left of one

enemies_begin:
    lda #0
    ldx #ENEMIES-1
:   sta e_kind,x
    dex
    bpl :-
    ldx #SLUGS-1
:   sta s_on,x
    dex
    bpl :-
    sta wave
    sta flash_t
    jmp wave_next

enemies_frame:
    jsr spawn_frame
    jsr fire_frame
    ldx #ENEMIES-1
enemy_think:
    ldy e_kind,x
    beq enemy_next
    lda think_hi-1,y
    pha
    lda think_lo-1,y
    pha
    rts                     ; each comes back to one of the two below
enemy_done:
    jsr enemy_fly
    ldy e_kind,x
    beq enemy_next
    jsr enemy_sprites
    jsr enemy_collide
enemy_next:
    dex
    bpl enemy_think
    rts

; One axis of a position goes on by its velocity. A = the new pixel.
.macro step xl, xh, v
    lda v,x
    tay
    asl a
    asl a
    asl a
    asl a
    clc
    adc xl,x
    sta xl,x
    lda sixteenth,y
    adc xh,x
    sta xh,x
.endmacro

; Moves by its velocity; off the screen it is gone.
enemy_fly:
    step e_xl, e_x, e_vx
    cmp #246
    bcs @gone
    step e_yl, e_y, e_vy
    cmp #232
    bcs @gone
    inc e_age,x
    rts
@gone:
    lda #0
    sta e_kind,x
    rts

; --- what each kind does -------------------------------------------------
; Swings about its home column on the way down.
think_saucer:
    jsr swing
    jmp enemy_done

swing:
    lda e_x,x
    cmp e_home,x
    bcs @right
    inc e_vx,x
    rts
@right:
    dec e_vx,x
    rts

; Falls, and leans towards the player it has chosen.
think_dart:
    ldy e_home,x
    lda p_state,y
    cmp #FLYING
    bne @straight
    lda e_x,x
    cmp p_x,y
    beq @straight
    bcs @left
    lda e_vx,x
    cmp #20
    beq @straight
    inc e_vx,x
    jmp enemy_done
@left:
    lda e_vx,x
    cmp #<-20
    beq @straight
    dec e_vx,x
@straight:
    jmp enemy_done

; In from one side, a bend, and out again on the same side, lower down.
think_wing:
    lda e_age,x
    cmp #36
    bcc @on
    lsr a
    bcs @on
    lda e_home,x
    bne @from_right
    lda e_vx,x
    cmp #<-30
    beq @on
    dec e_vx,x
    jmp enemy_done
@from_right:
    lda e_vx,x
    cmp #30
    beq @on
    inc e_vx,x
@on:
    jmp enemy_done

; Stops, fires at whom it sees, then leaves downwards.
think_gunship:
    lda e_age,x
    cmp #220
    bcs @leave
    cmp #48
    bcc @done
    ldy #0
    tya
    sta e_vy,x
    lda e_age,x
    and #3
    bne :+
    jsr swing
:   lda e_age,x
    and #31
    bne @done
    jsr slug_aim
@done:
    jmp enemy_done
@leave:
    lda #24
    sta e_vy,x
    dec e_age,x             ; its age stays there
    jmp enemy_done

; Comes down a little and stays until it is shot.
think_carrier:
    lda e_age,x
    cmp #64
    bcc @done
    lda #0
    sta e_vy,x
    lda frame
    and #1
    bne :+
    jsr swing
:   lda frame
    and #31
    bne @fan
    jsr slug_aim
@fan:
    lda frame
    and #127
    cmp #80
    bne @done
    lda #4
    sta tmp+3
:   ldy tmp+3
    lda fan_vx,y
    sta tmp
    lda fan_vy,y
    sta tmp+1
    jsr slug_new
    dec tmp+3
    bpl :-
@done:
    lda e_age,x
    cmp #250
    bcc :+
    dec e_age,x
:   jmp enemy_done

; Four steps of an explosion; e_hp holds it back.
think_bang:
    lda e_hp,x
    beq :+
    dec e_hp,x
    jmp enemy_next
:   lda e_age,x
    inc e_age,x
    cmp #20
    bcs @over
    lsr a
    lsr a
    and #$FE
    cmp #6
    bcc :+
    lda #6
:   clc
    adc #BOOM
    pha
    jsr enemy_spot
    txa
    and #2
    ora #1                  ; red or yellow
    sta spr_attr
    pla
    jsr sprite_pair
    jmp enemy_next
@over:
    lda #0
    sta e_kind,x
    jmp enemy_next

; --- pictures ------------------------------------------------------------
enemy_spot:
    lda e_x,x
    sta spr_x
    lda e_y,x
    sta spr_y
    rts

enemy_sprites:
    jsr enemy_spot
    ldy e_kind,x
    lda kind_colour,y
    pha
    lda e_hit,x             ; a hit shows in another colour
    beq :+
    dec e_hit,x
    pla
    eor #2
    pha
:   pla
    sta spr_attr
    cpy #KIND_CARRIER
    beq @carrier
    lda kind_tile,y
    jmp sprite_pair
@carrier:
    jsr @half
    lda #CARRIER+4
    bne @band
@half:
    lda #CARRIER
@band:
    pha
    jsr sprite
    jsr spr_right
    pla
    pha
    clc
    adc #2
    jsr sprite_pair
    jsr spr_right
    lda spr_attr
    eor #%01000000
    sta spr_attr
    pla
    jsr sprite
    lda spr_attr
    eor #%01000000
    sta spr_attr
    lda e_x,x
    sta spr_x
    lda e_y,x
    clc
    adc #16
    sta spr_y
    rts

; --- hits ----------------------------------------------------------------
enemy_collide:
    ldy e_kind,x
    lda kind_size,y
    sta tmp+3
    ldy #BULLETS-1
@bullet:
    lda b_power,y
    beq @next
    lda b_x,y
    clc
    adc #6
    sec
    sbc e_x,x
    cmp tmp+3
    bcs @next
    lda b_y,y
    clc
    adc #4
    sec
    sbc e_y,x
    cmp tmp+3
    bcs @next
    sty tmp+2
    lda b_power,y
    pha
    lda #0
    sta b_power,y
    lda bullet_owner,y
    tay
    pla
    jsr enemy_hurt
    lda e_kind,x
    cmp #BANG
    beq @done
    ldy tmp+2
@next:
    dey
    bpl @bullet
    lda tmp+3
    sec
    sbc #5
    sta tmp+2               ; ships are hit in their middle only
    lda tmp+3
    clc
    adc #1
    sta tmp+3
    ldy #PLAYERS-1
@player:
    lda p_state,y
    cmp #FLYING
    bne @miss
    lda p_x,y
    clc
    adc #10
    sec
    sbc e_x,x
    cmp tmp+3
    bcs @miss
    lda p_y,y
    clc
    adc #10
    sec
    sbc e_y,x
    cmp tmp+3
    bcs @miss
    lda p_safe,y
    bne @miss
    stx tmp+2
    tya
    tax
    jsr player_hit
    ldx tmp+2
    lda #4
    jmp enemy_hurt
@miss:
    dey
    bpl @player
@done:
    rts

; A = damage, X = enemy, Y = the player who did it; X and Y are kept, tmp to
; tmp+1 are not, tmp+2 is when nothing dies.
enemy_hurt:
    sta tmp
    lda #4
    sta e_hit,x
    lda e_hp,x
    sec
    sbc tmp
    sta e_hp,x
    beq @dead
    bcc @dead
    rts
@dead:
    stx tmp+2
    lda e_kind,x
    pha
    cmp #KIND_GUNSHIP
    bcc :+
    jsr capsule_drop
:   lda #BANG
    sta e_kind,x
    lda #0
    sta e_age,x
    sta e_hp,x
    pla
    cmp #KIND_CARRIER
    bne :+
    pha
    jsr carrier_blast
    pla
:   tax
    lda kind_place,x
    sta tmp
    lda kind_points,x
    ldx tmp+2
    pha
    jsr sound_boom
    pla
    stx b_save
    jsr score_add
    ldx b_save
    rts

; The carrier goes up in as many pieces as there is room for.
carrier_blast:
    lda e_x,x
    sta tmp
    lda e_y,x
    sta tmp+1
    sty b_save
    ldy #ENEMIES-1
@piece:
    lda e_kind,y
    bne @next
    lda #BANG
    sta e_kind,y
    lda #0
    sta e_age,y
    jsr random
    and #31
    sta e_hp,y
    jsr random
    and #31
    adc tmp
    sec
    sbc #8
    sta e_x,y
    jsr random
    and #31
    adc tmp+1
    sec
    sbc #8
    sta e_y,y
@next:
    dey
    bpl @piece
    ldy b_save
    lda #23
    sta flash_t
    jsr sound_blast
    jmp wave_next

.segment "RODATA"
think_lo: .lobytes think_saucer-1, think_dart-1, think_wing-1, think_gunship-1, think_carrier-1, think_bang-1
think_hi: .hibytes think_saucer-1, think_dart-1, think_wing-1, think_gunship-1, think_carrier-1, think_bang-1

;                  none saucer dart wing gunship carrier
kind_tile:   .byte 0, SAUCER, DART, WING, GUNSHIP, CARRIER
kind_colour: .byte 0, 2,      1,    3,    0,       1
kind_size:   .byte 0, 16,     16,   16,   16,      32
kind_hp:     .byte 0, 1,      2,    1,    8,       60
kind_vx:     .byte 0, 28,     0,    30,   4,       20
kind_vy:     .byte 0, 15,     30,   13,   16,      9
kind_count:  .byte 0, 6,      3,    6,    2,       1
kind_gap:    .byte 0, 18,     24,   12,   40,      1
kind_place:  .byte 0, 4,      4,    4,    4,       3
kind_points: .byte 0, 1,      2,    1,    5,       5

fan_vx: .byte <-20, <-11, 0, 11, 20
fan_vy: .byte 15, 20, 23, 20, 15

; A signed byte over sixteen.
sixteenth:
    .repeat 256, i
    .byte (((i ^ $80) / 16) - 8) & $FF
    .endrepeat

.segment "CODE"
