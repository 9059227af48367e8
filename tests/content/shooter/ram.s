; All of the game's variables. Objects of a kind are parallel arrays, indexed
; by X; a position is a byte of pixels and one (xl, yl) of 1/256 pixels, a
; velocity is signed, in 1/16 pixels a frame.

PPUCTRL   = $2000
PPUMASK   = $2001
PPUSTATUS = $2002
PPUSCROLL = $2005
PPUADDR   = $2006
PPUDATA   = $2007

PAD_A = $80
PAD_B = $40
PAD_START = $10
PAD_UP = $08
PAD_DOWN = $04
PAD_LEFT = $02
PAD_RIGHT = $01

PLAYERS = 4
BULLETS_EACH = 5
BULLETS = PLAYERS * BULLETS_EACH
ENEMIES = 10
SLUGS = 12
STARS = 6

BAR_LINES = 29              ; the score bar's height on screen

; Modes
TITLE = 0
PLAY = 1
OVER = 2

; A player's state
ABSENT = 0                  ; no such seat
FLYING = 1
BURNING = 2
LOST = 3                    ; out of lives; Start brings a new ship

.segment "ZEROPAGE"
ready:        .res 1        ; main sets it when a frame is made, NMI clears it
mode:         .res 1
frame:        .res 1
timer:        .res 1
seats:        .res 1
port0:        .res 3
port1:        .res 3
pad:          .res PLAYERS
pressed:      .res PLAYERS
rng:          .res 3
random_y:     .res 1
split:        .res 1
split_next:   .res 1
split_y:      .res 1
split_y_next: .res 1
vbuf_len:     .res 1
ptr:          .res 2
tmp:          .res 4
spr_x:        .res 1
spr_y:        .res 1
spr_attr:     .res 1
spr_at:       .res 1
spr_left:     .res 1
spr_start:    .res 1
snd:          .res 1
tmp_s:        .res 2        ; NMI only: main may be using tmp
snd_step:     .res 1
snd_tick:     .res 1
shot_t:       .res 1
shot_p:       .res 1
boom_t:       .res 1
boom_p:       .res 1
chime_t:      .res 1

scroll:       .res 1        ; the table's line shown just below the bar
sc_ptr:       .res 2
sc_left:      .res 1
sc_last:      .res 1
sc_strip:     .res 1

wave:         .res 1
squads:       .res 1        ; squads until the carrier comes
squad_kind:   .res 1
squad_left:   .res 1
squad_gap:    .res 1
squad_x:      .res 1
squad_wait:   .res 1
banner_t:     .res 1
b_save:       .res 1
flash_t:      .res 1

.segment "OAM"
oam:          .res 256

.segment "BSS"
vbuf:         .res 96
attr_shadow:  .res 64
strip_top:    .res 32
strip_bottom: .res 32
strip_pal:    .res 16

p_state:      .res PLAYERS
p_x:          .res PLAYERS
p_y:          .res PLAYERS
p_timer:      .res PLAYERS
p_safe:       .res PLAYERS  ; frames of safety after coming back
p_cool:       .res PLAYERS
p_gun:        .res PLAYERS
p_lives:      .res PLAYERS
p_bombs:      .res PLAYERS
p_score:      .res PLAYERS * 6 ; decimal digits; a zero follows on screen
top_score:    .res 6

b_power:      .res BULLETS  ; 0: free; else the damage, which is also its look
b_x:          .res BULLETS
b_y:          .res BULLETS
b_vx:         .res BULLETS  ; whole pixels

e_kind:       .res ENEMIES
e_xl:         .res ENEMIES
e_x:          .res ENEMIES
e_yl:         .res ENEMIES
e_y:          .res ENEMIES
e_vx:         .res ENEMIES
e_vy:         .res ENEMIES
e_hp:         .res ENEMIES
e_age:        .res ENEMIES
e_home:       .res ENEMIES
e_hit:        .res ENEMIES  ; frames to glow after a hit

s_on:         .res SLUGS
s_xl:         .res SLUGS
s_x:          .res SLUGS
s_yl:         .res SLUGS
s_y:          .res SLUGS
s_vx:         .res SLUGS
s_vy:         .res SLUGS

c_on:         .res 1
c_x:          .res 1
c_y:          .res 1

star_x:       .res STARS
star_y:       .res STARS
