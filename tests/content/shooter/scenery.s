; The sky and what floats in it. The first table holds 15 strips of 16 lines;
; the one that is just then behind the score bar is drawn anew, a part a frame.

scenery_begin:
    lda #0
    sta sc_left
scenery_fill:
    lda #10                 ; the next frame makes strip 14, which is out of sight
    sta scroll
    sta split_y_next
    lda #14
@strip:
    sta sc_strip
    jsr strip_make
    jsr strip_put_top
    jsr strip_put_bottom
    jsr strip_put_colours
    ldx vbuf_len
    lda #0
    sta vbuf,x
    jsr vbuf_flush
    ldx sc_strip
    dex
    txa
    bpl @strip
    rts

scenery_frame:
    ldx scroll
    bne :+
    ldx #240
:   dex
    stx scroll
    stx split_y_next
    txa
    and #15
    cmp #9
    beq @make
    cmp #8
    bne :+
    jmp strip_put_top
:   cmp #7
    bne :+
    jmp strip_put_bottom
:   cmp #6
    bne :+
    jmp strip_put_colours
:   rts
@make:
    txa                     ; the strip above the topmost one on screen
    lsr a
    lsr a
    lsr a
    lsr a
    tax
    bne :+
    ldx #15
:   dex
    stx sc_strip

; The next strip of the picture under way, or of a new one.
strip_make:
    lda sc_left
    bne :+
    jsr picture_choose
:   dec sc_left
    sec                     ; pictures are shown from their last row up
    lda sc_ptr
    sbc #16
    sta sc_ptr
    bcs :+
    dec sc_ptr+1
:   ldx #0
@column:
    txa
    lsr a
    tay
    lda (sc_ptr),y
    cmp #' '
    bne @known
    jsr random
    and #15
    tay
    lda sky,y
@known:
    tay
    lda block_of-32,y
    tay
    lda block_tl,y
    sta strip_top,x
    lda block_bl,y
    sta strip_bottom,x
    lda block_tr,y
    sta strip_top+1,x
    lda block_br,y
    sta strip_bottom+1,x
    lda block_pal,y
    pha
    txa
    lsr a
    tay
    pla
    sta strip_pal,y
    inx
    inx
    cpx #32
    bne @column
    rts

; Not the same one twice running.
picture_choose:
    jsr random
    and #15
    tay
    ldx choice,y
    cpx sc_last
    beq picture_choose
    stx sc_last
    lda picture_rows,x
    sta sc_left
    lda picture_lo,x
    sta sc_ptr
    lda picture_hi,x
    sta sc_ptr+1
    rts

; tmp = the address of row sc_strip * 2 of the first table
strip_address:
    lda sc_strip
    lsr a
    lsr a
    ora #$20
    sta tmp+1
    lda sc_strip
    and #3
    lsr a
    ror a
    ror a
    sta tmp
    rts

strip_put_top:
    jsr strip_address
    lda #32
    jsr vbuf_open
    ldy #0
:   lda strip_top,y
    sta vbuf,x
    inx
    iny
    cpy #32
    bne :-
    stx vbuf_len
    rts

strip_put_bottom:
    jsr strip_address
    lda tmp
    ora #32
    sta tmp
    lda #32
    jsr vbuf_open
    ldy #0
:   lda strip_bottom,y
    sta vbuf,x
    inx
    iny
    cpy #32
    bne :-
    stx vbuf_len
    rts

; A byte of colours covers two strips; the shadow remembers the other's half.
strip_put_colours:
    lda sc_strip
    asl a
    asl a
    and #%11111000
    sta tmp+2
    ora #$C0
    sta tmp
    lda #$23
    sta tmp+1
    lda #8
    jsr vbuf_open
    ldy #0
@cell:
    lda strip_pal+1,y
    asl a
    asl a
    ora strip_pal,y
    sta tmp
    sty tmp+3
    ldy tmp+2
    lda sc_strip
    lsr a
    lda attr_shadow,y
    bcs @lower
    and #$F0
    bcc @both
@lower:
    asl tmp
    asl tmp
    asl tmp
    asl tmp
    and #$0F
@both:
    ora tmp
    sta attr_shadow,y
    sta vbuf,x
    inc tmp+2
    inx
    ldy tmp+3
    iny
    iny
    cpy #16
    bne @cell
    stx vbuf_len
    rts

; Stars near enough to pass.
stars_frame:
    ldx #STARS-1
@star:
    lda star_y,x
    clc
    adc star_speed,x
    bcs @new
    cmp #236
    bcc @keep
@new:
    jsr random
    sta star_x,x
    lda #BAR_LINES
@keep:
    sta star_y,x
    txa
    pha
    ldx mode
    beq :+                  ; on the title they cross everything
    ldx #%00100000
:   stx spr_attr
    pla
    tax
    lda star_x,x
    sta spr_x
    lda star_y,x
    sta spr_y
    lda #STREAK
    jsr sprite
    dex
    bpl @star
    rts

.segment "RODATA"
star_speed: .byte 3, 4, 5, 3, 4, 6

; What an empty block of a picture becomes: mostly nothing.
sky: .byte "____,__:_'___;,_"

; ' ' sky; = # o * hull; ^ v [ ] / \ L J its rims; - | + girders; S panel;
; AB/CD greenhouse; abc/def/ghi planet; R tu/wx rocks; m n mist;
; 012/345/678 the planet in blue, TU/WX the rock in grey
picture_0:
    .byte "                "
    .byte "                "
    .byte "                "
    .byte "                "
    .byte "                "
    .byte "                "
picture_1:
    .byte "   /^^\         "
    .byte "   [o=]    SSS  "
    .byte "   [==]--+-SSS  "
    .byte "   [*#]  | SSS  "
    .byte "   [==]  |      "
    .byte " SS[o=]SS|      "
    .byte " SS[==]SS+--    "
    .byte " SS[#*]SS       "
    .byte "   [==]         "
    .byte "   LvvJ         "
picture_2:
    .byte " mm             "
    .byte "mnnm    abc     "
    .byte " mnnm   def  m  "
    .byte "  mnm   ghi mnm "
    .byte "   m       mnnm "
    .byte "          mnnm  "
    .byte "           mm   "
picture_3:
    .byte "            R   "
    .byte " TU             "
    .byte " WX       tu    "
    .byte "     R    wx    "
    .byte "              R "
    .byte "   R       TU   "
    .byte "        R  WX   "
picture_4:
    .byte "=]            [="
    .byte "#]            [#"
    .byte "=\            /="
    .byte "o=]          [=o"
    .byte "==]          [=="
    .byte "*=]--+    +--[=*"
    .byte "==]  |    |  [=="
    .byte "o=]--+    +--[=o"
    .byte "==J          L=="
    .byte "#]            [#"
    .byte "=]            [="
picture_5:
    .byte "          /^^^\ "
    .byte "    SS    [AB=] "
    .byte "    SS+---[CD*] "
    .byte "    SS    [===] "
    .byte "      |   [AB=] "
    .byte "    SS+---[CD*] "
    .byte "    SS    [#o#] "
    .byte "    SS    LvvvJ "
picture_6:
    .byte "      mm        "
    .byte "     mnnm       "
    .byte "   mmnnnm       "
    .byte "    mnnmm       "
    .byte "     mm         "
picture_7:
    .byte "  /^^^^^^^^^^\  "
    .byte "  [=#==**==#=]  "
    .byte "  [AB======AB]  "
    .byte "--[CD=o##o=CD]--"
    .byte "  [====**====]  "
    .byte "  LvvvvvvvvvvJ  "
picture_8:
    .byte " R      012     "
    .byte "        345     "
    .byte "   tu   678  R  "
    .byte " m wx        mm "
    .byte "mnm        mnnm "
    .byte "mnnm    mmnnnm  "
    .byte " mnmm    mnmm   "
    .byte "  mm      m     "
picture_9:
    .byte " /^^^\          "
    .byte " [AB=]          "
    .byte " [CDo]          "
    .byte " [=*=]-+--+ SSS "
    .byte " [#==] |  +-SSS "
    .byte " [AB=] |    SSS "
    .byte " [CDo]-+        "
    .byte " LvvvJ          "

picture_10:

; Of sixteen equal chances, and for each picture its rows and its last one.
choice: .byte 0, 2, 1, 3, 0, 5, 6, 4, 2, 8, 7, 3, 0, 9, 1, 6
.define row_after picture_1, picture_2, picture_3, picture_4, picture_5, picture_6, picture_7, picture_8, picture_9, picture_10
picture_lo: .lobytes row_after
picture_hi: .hibytes row_after
picture_rows:
    .byte (picture_1-picture_0)/16, (picture_2-picture_1)/16, (picture_3-picture_2)/16
    .byte (picture_4-picture_3)/16, (picture_5-picture_4)/16, (picture_6-picture_5)/16
    .byte (picture_7-picture_6)/16, (picture_8-picture_7)/16, (picture_9-picture_8)/16
    .byte (picture_10-picture_9)/16

.segment "CODE"
