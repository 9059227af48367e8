; Music on the triangle, the second pulse and the noise between explosions;
; shots on the first pulse. Runs in NMI, so it keeps time when a frame is late.

sound_init:
    lda #$0F
    sta $4015
    lda #$08
    sta $4001               ; no sweeps
    sta $4005
    lda #$30
    sta $4000
    sta $4004
    sta $400C
    lda #$80
    sta $4008
    rts

; X = player: each has his pitch. X is kept.
sound_shot:
    lda shot_pitch,x
    sta shot_p
    lda #8
    sta shot_t
    rts

; The long bang wins over the short one. X and Y are kept.
sound_boom:
    lda boom_t
    cmp #18
    bcs :+
    lda #18
    sta boom_t
    lda #6
    sta boom_p
:   rts

sound_blast:
    lda #60
    sta boom_t
    lda #10
    sta boom_p
    rts

sound_chime:
    lda #24
    sta chime_t
    rts

sound_frame:
    jsr sound_tick
    jsr sound_shots
    jsr sound_noise
    lda chime_t
    beq sound_lead
    dec chime_t
    lda chime_t
    and #3
    cmp #3
    bne @same
    lda chime_t
    lsr a
    lsr a
    tax
    lda chime,x
    jsr note_period
    lda #$B8
    sta $4004
    lda tmp_s
    sta $4006
    lda tmp_s+1
    sta $4007
@same:
    rts

; Eight frames to a step, sixteen steps to a bar, four bars round.
sound_tick:
    lda mode
    cmp #OVER
    beq @silence
    dec snd_tick
    bpl @end
    lda #7
    sta snd_tick
    inc snd_step
    lda snd_step
    and #15
    tax
    ldy bass_step,x
    cpy #REST
    beq @silence
    lda snd_step
    lsr a
    lsr a
    lsr a
    lsr a
    and #3
    tax
    tya
    clc
    adc bass_root,x
    jsr note_period
    lda #$FF
    sta $4008
    lda tmp_s
    sta $400A
    lda tmp_s+1
    sta $400B
@end:
    rts
@silence:
    lda #$80
    sta $4008
    rts

sound_lead:
    lda mode
    cmp #PLAY
    beq :+
    lda #$30
    sta $4004
    rts
:   lda snd_tick
    cmp #7
    bne @fade
    lda snd_step
    and #63
    tax
    lda lead,x
    sta snd
    cmp #REST
    beq @fade
    jsr note_period
    lda tmp_s
    sta $4006
    lda tmp_s+1
    sta $4007
@fade:
    ldx #$30
    lda snd
    cmp #REST
    beq :+
    lda snd_tick
    lsr a
    ora #$70                ; half duty, and a volume of three at most
    tax
:   stx $4004
    rts

sound_shots:
    lda shot_t
    beq @off
    dec shot_t
    lsr a
    ora #$B0
    sta $4000
    lda shot_p
    sta $4002
    clc
    adc #14
    bcs :+
    sta shot_p
:   lda shot_t
    cmp #7
    bne @end
    lda #0                  ; only at the start: writing it clicks
    sta $4003
@end:
    rts
@off:
    lda #$30
    sta $4000
    rts

sound_noise:
    lda boom_t
    beq @drum
    dec boom_t
    lsr a
    cmp #15
    bcc :+
    lda #15
:   ora #$30
    sta $400C
    lda frame
    and #3
    clc
    adc boom_p
    sta $400E
    lda #$08
    sta $400F
    rts
@drum:
    lda mode
    cmp #PLAY
    bne @quiet
    lda snd_step
    and #3
    tax
    lda snd_tick
    sec
    sbc drum_end,x
    bcc @quiet
    ora #$30
    sta $400C
    lda drum_pitch,x
    sta $400E
    rts
@quiet:
    lda #$30
    sta $400C
    rts

; A = semitones above the second C. tmp_s = the pulse's period; the triangle
; sounds an octave lower with the same.
note_period:
    ldy #0
:   cmp #12
    bcc :+
    sbc #12
    iny
    bne :-
:   tax
    lda octave_lo,x
    sta tmp_s
    lda octave_hi,x
    sta tmp_s+1
    cpy #0
    beq @end
:   lsr tmp_s+1
    ror tmp_s
    dey
    bne :-
@end:
    rts

.segment "RODATA"
REST = $FF

; 1789773 / (16 * f) - 1 for the twelve notes from 65.4 Hz.
.define octave 1709, 1613, 1523, 1437, 1356, 1280, 1208, 1140, 1076, 1016, 959, 905
octave_lo: .lobytes octave
octave_hi: .hibytes octave

; A minor, F, C, G.
bass_root: .byte 9, 5, 12, 7
bass_step: .byte 0, REST, 0, 12,  0, 0, REST, 12,  0, REST, 0, 12,  7, 0, 10, 12
lead:
    .byte 45, REST, 48, REST, 52, 48, 45, REST,  57, REST, 55, 52, 50, 52, 48, REST
    .byte 41, REST, 45, REST, 48, 45, 41, REST,  53, REST, 52, 48, 50, 48, 45, REST
    .byte 48, REST, 52, REST, 55, 52, 48, REST,  60, REST, 59, 55, 57, 55, 52, REST
    .byte 43, REST, 47, REST, 50, 47, 43, REST,  55, 57, 59, 62, 59, 55, 50, REST
chime:      .byte 72, 67, 64, 60, 55, 52
shot_pitch: .byte $58, $68, $4C, $78
drum_end:   .byte 2, 6, 4, 6
drum_pitch: .byte $0C, $01, $05, $01

.segment "CODE"
