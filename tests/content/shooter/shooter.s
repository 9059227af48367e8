; Keylock Squadron: a vertical shooter for one to four players on the NES,
; bundled with Keylock to try a room with and to test one.
;
; What the tests rely on:
; - From power-on it is a function of the pads alone: all RAM is cleared, the
;   random generator starts from a constant.
; - Each pad is stirred into the random generator on every frame, so one
;   differing button shows in RAM on the frame that reads it.
; - Nobody has to press anything: the title starts by itself after three
;   seconds, and a finished game returns to it.
; Pads three and four are there when a Four Score answers.

.include "ram.s"

.segment "HEADER"
    .byte "NES", $1A
    .byte 2, 1              ; 32 KB program, 8 KB drawings
    .byte $01, $08          ; mapper 0, tables side by side; NES 2.0
    .byte 0, 0, 0, 0, 0, 0, 0
    .byte $02               ; Four Score

.segment "VECTORS"
    .addr nmi, reset, irq

.segment "CHR"
    .incbin "shooter.chr"

.segment "RODATA"
.include "shooter_art.inc"

.segment "CODE"
reset:
    sei
    cld
    ldx #$40
    stx $4017               ; no frame interrupt
    ldx #$FF
    txs
    inx
    stx PPUCTRL
    stx PPUMASK
    stx $4010
    bit PPUSTATUS
:   bit PPUSTATUS
    bpl :-
    txa
:   sta $00,x
    sta $0100,x
    sta $0200,x
    sta $0300,x
    sta $0400,x
    sta $0500,x
    sta $0600,x
    sta $0700,x
    inx
    bne :-
:   bit PPUSTATUS
    bpl :-
    lda #$4B                ; the seed: any but zero
    sta rng
    lda #$45
    sta rng+1
    lda #$59
    sta rng+2
    jsr sound_init
    jsr title_begin

main:
    lda ready               ; NMI clears it once the frame is on screen
    bne main
    inc frame
    jsr read_pads
    jsr stir
    ldx mode
    lda mode_hi,x
    pha
    lda mode_lo,x
    pha
    rts                     ; to the mode, which returns to frame_done

frame_done:
    ldx vbuf_len
    lda #0
    sta vbuf,x
    inc ready
    jmp main

mode_lo: .lobytes title_frame-1, play_frame-1, over_frame-1
mode_hi: .hibytes title_frame-1, play_frame-1, over_frame-1

; The picture is handed over only when `ready`; music and the split below the
; score bar go on even if the program needs a second frame for its work.
nmi:
    pha
    txa
    pha
    tya
    pha
    lda ready
    beq @late
    lda #0
    sta $2003
    lda #>oam
    sta $4014
    jsr vbuf_flush
    lda split_next
    sta split
    lda split_y_next
    sta split_y
    lda #%00011110
    sta PPUMASK
    lda #0
    sta ready
@late:
    lda split               ; the score bar lives in the second table
    beq :+
    lda #1
:   ora #%10100000          ; NMI on, 8x16 sprites
    sta PPUCTRL
    lda #0
    sta PPUSCROLL
    lda split
    beq :+
    lda #4                  ; the bar's upper margin
:   sta PPUSCROLL
    jsr sound_frame
    lda split
    beq @done
:   bit PPUSTATUS           ; the last frame's hit goes away ...
    bvs :-
    lda split_y
    and #$38
    asl a
    asl a
    tay
    ldx split_y
    lda #0
:   bit PPUSTATUS           ; ... and this frame's comes at the bar's last line
    bvc :-
    sta PPUADDR             ; the order that sets both scroll counters
    stx PPUSCROLL
    sta PPUSCROLL
    sty PPUADDR
@done:
    pla
    tay
    pla
    tax
    pla
irq:
    rti

; Eight bits of each of two pads a port, then the Four Score's signature.
read_pads:
    lda #1
    sta $4016
    lsr a
    sta $4016
    tax
@byte:
    ldy #8
@bit:
    lda $4016
    and #3                  ; a Famicom's second pair of pads is on bit 1
    cmp #1
    rol port0,x
    lda $4017
    and #3
    cmp #1
    rol port1,x
    dey
    bne @bit
    inx
    cpx #3
    bne @byte
    ldy #2                  ; how many seats there are
    lda port0+2
    cmp #$10
    bne :+
    lda port1+2
    cmp #$20
    bne :+
    ldy #4
:   sty seats
    lda port0
    ldx #0
    jsr @edge
    lda port1
    inx
    jsr @edge
    lda port0+1
    inx
    jsr @edge
    lda port1+1
    inx
@edge:
    cpx seats
    bcc :+
    lda #0
:   tay
    eor pad,x
    sty pad,x
    and pad,x
    sta pressed,x
    rts

; Every seat's buttons go into the random generator, held or not.
stir:
    lda rng
    eor pad
    sta rng
    lda rng+1
    eor pad+1
    sta rng+1
    lda rng+2
    eor pad+2
    sta rng+2
    jsr random
    eor pad+3
    sta rng
    ora rng+1
    ora rng+2
    bne random
    inc rng                 ; zero would stay zero

; A = eight bits of the sequence x^24 + x^4 + x^3 + x + 1; X and Y are kept.
random:
    sty random_y
    ldy #8
    lda rng
@bit:
    asl a
    rol rng+1
    rol rng+2
    bcc :+
    eor #$1B
:   dey
    bne @bit
    sta rng
    ldy random_y
    ora #0
    rts

.include "video.s"
.include "scenery.s"
.include "screens.s"
.include "players.s"
.include "enemies.s"
.include "slugs.s"
.include "squads.s"
.include "sound.s"
