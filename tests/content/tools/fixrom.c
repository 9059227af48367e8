/* fixrom.c - pads a cartridge image to its size and sets its header's checksums.
 *
 * usage: fixrom gb|gba|snes file */

#include <stdio.h>
#include <string.h>

enum { SIZE = 0x8000 };

static unsigned char rom[SIZE + 1];

/* Header bytes 134 to 14C, then the whole image without the two bytes of the sum. */
static void fix_gb(void) {
    unsigned head = 0, all = 0;
    for (int i = 0x134; i <= 0x14C; i++)
        head = head - rom[i] - 1;
    rom[0x14D] = (unsigned char)head;
    rom[0x14E] = rom[0x14F] = 0;
    for (int i = 0; i < SIZE; i++)
        all += rom[i];
    rom[0x14E] = (unsigned char)(all >> 8);
    rom[0x14F] = (unsigned char)all;
}

static void fix_gba(void) {
    unsigned sum = 0x19;
    for (int i = 0xA0; i <= 0xBC; i++)
        sum += rom[i];
    rom[0xBD] = (unsigned char)(0 - sum);
}

/* The sum and its complement add up to the same whatever they are: FF FF 00 00 stands in. */
static void fix_snes(void) {
    unsigned all = 0;
    memcpy(rom + 0x7FDC, "\xFF\xFF\0\0", 4);
    for (int i = 0; i < SIZE; i++)
        all += rom[i];
    rom[0x7FDC] = (unsigned char)~all;
    rom[0x7FDD] = (unsigned char)(~all >> 8);
    rom[0x7FDE] = (unsigned char)all;
    rom[0x7FDF] = (unsigned char)(all >> 8);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: fixrom gb|gba|snes file\n");
        return 2;
    }
    FILE *f = fopen(argv[2], "rb");
    if (!f) {
        perror(argv[2]);
        return 1;
    }
    size_t len = fread(rom, 1, sizeof rom, f);
    fclose(f);
    if (len > SIZE) {
        fprintf(stderr, "%s: larger than %d bytes\n", argv[2], SIZE);
        return 1;
    }
    if (strcmp(argv[1], "gb") == 0)
        fix_gb();
    else if (strcmp(argv[1], "gba") == 0)
        fix_gba();
    else if (strcmp(argv[1], "snes") == 0)
        fix_snes();
    else
        return 2;
    f = fopen(argv[2], "wb");
    if (!f || fwrite(rom, 1, SIZE, f) != SIZE || fclose(f) != 0) {
        perror(argv[2]);
        return 1;
    }
    return 0;
}
