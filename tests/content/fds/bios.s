; bios.s - a Famicom Disk System's BIOS that reads which side of disk.s is in, and does nothing else.
;
; RAM is a function of the side and of what the pads said: without a press it is the same whenever the same side
; has been read. So no counters, and a stack that is cleared: the screen's colour shows the side (blue, red; none: grey).

DISK_IRQ    = $4022
DISK_ENABLE = $4023
DISK_CTRL   = $4025
DISK_STATUS = $4030 ; bit 1: a byte has come
DISK_DATA   = $4031
DISK_DRIVE  = $4032 ; bit 0: no disk is in

MOTOR_OFF = %00100110 ; and the head back to the beginning
MOTOR_ON  = %11100101 ; reading; a mark for each byte
BLOCK     = 22        ; bytes of it that count
SIDE_AT   = 21

.segment "ZEROPAGE"
side:   .res 1 ; 1, 2; 0: none
pad:    .res 2
chance: .res 2 ; what was pressed, stirred

.segment "BSS"
block:  .res BLOCK

.segment "CODE"

reset:
        sei
        cld
        ldx     #0
        stx     $2000
        stx     $2001
        stx     $4010
        lda     #$40
        sta     $4017
        txa
clear:  sta     $0000,x
        sta     $0100,x
        sta     $0200,x
        sta     $0300,x
        sta     $0400,x
        sta     $0500,x
        sta     $0600,x
        sta     $0700,x
        inx
        bne     clear
        sta     DISK_IRQ
        sta     DISK_ENABLE
        lda     #$83
        sta     DISK_ENABLE
        lda     #MOTOR_OFF
        sta     DISK_CTRL
        bit     $2002
warm:   bit     $2002           ; the picture unit takes a frame or two
        bpl     warm
warmer: bit     $2002
        bpl     warmer

idle:                           ; all else is done by the frame's interrupt
        ldx     #$FF
        txs
        inx
        txa
wipe:   sta     $0100,x
        inx
        bne     wipe
        lda     #$80
        sta     $2000
still:  jmp     still

; Every frame.
nmi:
        jsr     pads
        jsr     colour
        lda     DISK_DRIVE
        lsr
        bcs     none
        lda     side
        bne     known
        sta     $2000           ; no more of these until the side is read
        jmp     read
none:
        lda     #0
        sta     side
        lda     #MOTOR_OFF
        sta     DISK_CTRL
known:
        rti

; Both pads; what is pressed is stirred into chance.
pads:
        lda     #1
        sta     $4016
        lsr
        sta     $4016
        ldx     #8
next:   lda     $4016
        lsr
        rol     pad
        lda     $4017
        lsr
        rol     pad + 1
        dex
        bne     next
        lda     pad
        ora     pad + 1
        beq     quiet
        lda     chance
        asl
        rol     chance + 1
        bcc     even
        eor     #$2D
even:   eor     pad
        sta     chance
        lda     chance + 1
        eor     pad + 1
        adc     side
        sta     chance + 1
quiet:  rts

colour:
        ldx     side
        lda     #$3F
        sta     $2006
        lda     #0
        sta     $2006
        lda     colours,x
        sta     $2007
        lda     #0
        sta     $2006
        sta     $2006
        rts
colours:
        .byte   $00, $12, $16

; The disk's first bytes. Takes a third of a second; ends where the disk is taken out meanwhile.
read:
        lda     #MOTOR_OFF
        sta     DISK_CTRL
        lda     #MOTOR_ON
        sta     DISK_CTRL
        ldx     #0
wait:   lda     DISK_DRIVE
        lsr
        bcs     done
        lda     DISK_STATUS
        and     #2
        beq     wait
        lda     DISK_DATA
        sta     block,x
        inx
        cpx     #BLOCK
        bne     wait
        ldx     #14
check:  lda     block,x
        cmp     label,x
        bne     done            ; not ours: tried again next frame
        dex
        bpl     check
        ldx     block + SIDE_AT
        inx
        stx     side
done:   lda     #MOTOR_OFF
        sta     DISK_CTRL
        jmp     idle
label:  .byte   1, "*KEYLOCK-DISK*"

irq:    rti

.segment "VECTORS"
        .word   nmi, reset, irq
