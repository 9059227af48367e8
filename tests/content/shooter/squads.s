; Who comes when: squads drawn by lot, after five of them the carrier.

CARRIER_OUT = $FF           ; in squads: no more until it is gone

wave_next:
    lda wave
    cmp #99
    bcs :+
    inc wave
:   lda #5
    sta squads
    lda #0
    sta squad_left
    lda #90
    sta banner_t
    lda #60
    sta squad_wait
    rts

spawn_frame:
    lda mode
    cmp #PLAY
    bne @none
    lda squads
    cmp #CARRIER_OUT
    beq @escort
    dec squad_wait
    bne @none
    lda squad_left
    bne @member
    lda squads
    beq @carrier
    dec squads
    jmp squad_choose
@member:
    lda squad_gap
    sta squad_wait
    ldy squad_kind
    jsr enemy_new
    dec squad_left
    bne @none
    lda wave                ; the pause gets shorter from wave to wave
    cmp #10
    bcc :+
    lda #10
:   asl a
    asl a
    sta tmp
    lda #44
    sec
    sbc tmp
    sta squad_wait
@none:
    rts
@escort:
    lda frame
    and #63
    bne @none
    ldy #KIND_DART
    jmp enemy_new
@carrier:
    inc squad_wait
    ldy #KIND_CARRIER
    jsr enemy_new
    bcs @none               ; no room yet
    lda #CARRIER_OUT
    sta squads
    rts

squad_choose:
    jsr random
    and #7
    tax
    ldy squad_kinds,x
    sty squad_kind
    lda kind_count,y
    sta squad_left
    lda kind_gap,y
    sta squad_gap
    lda #1
    sta squad_wait
    jsr random
    and #127
    adc #56
    sta squad_x
    rts

; Y = kind. Carry set: no room.
enemy_new:
    ldx #ENEMIES-1
:   lda e_kind,x
    beq @free
    dex
    bpl :-
    sec
    rts
@free:
    tya
    sta e_kind,x
    lda #0
    sta e_age,x
    sta e_hit,x
    sta e_xl,x
    sta e_yl,x
    lda kind_hp,y
    sta e_hp,x
    lda kind_vx,y
    sta e_vx,x
    lda kind_vy,y
    sta e_vy,x
    lda #14                 ; behind the bar
    sta e_y,x
    lda squad_x
    sta e_x,x
    sta e_home,x
    cpy #KIND_DART
    beq @dart
    cpy #KIND_WING
    beq @wing
    cpy #KIND_GUNSHIP
    beq @gunship
    cpy #KIND_CARRIER
    beq @carrier
    clc
    rts
@dart:
    jsr random
    and #3
    sta e_home,x
    jsr random
    and #127
    adc #56
    sta e_x,x
    clc
    rts
@wing:
    lda squad_x
    and #31
    adc #36
    sta e_y,x
    lda squad_x
    and #1
    sta e_home,x
    beq :+
    lda #<-30
    sta e_vx,x
    lda #240
:   sta e_x,x
    clc
    rts
@gunship:
    jsr random
    and #127
    adc #56
    sta e_x,x
    sta e_home,x
    clc
    rts
@carrier:
    lda wave
    cmp #12
    bcc :+
    lda #12
:   asl a
    asl a
    asl a
    adc e_hp,x
    sta e_hp,x
    lda #112
    sta e_home,x
    sta e_x,x
    clc
    rts

.segment "RODATA"
squad_kinds:
    .byte KIND_SAUCER, KIND_SAUCER, KIND_DART, KIND_WING
    .byte KIND_WING, KIND_GUNSHIP, KIND_DART, KIND_SAUCER

.segment "CODE"
