/* art.c - turns drawings in plain text into NES pattern tables.
 *
 * usage: art out.chr out.inc drawing.txt...
 *
 * A drawing is a line that says what follows and then its pixels, '.', '1',
 * '2' or '3'; lines that start with ';' and blank ones are skipped:
 *   ground D       from here on '.' is colour D
 *   bank N         from here on tiles go to pattern table N (each 256 tiles)
 *   sheet NAME     8x8 tiles, row by row; NAME is the first one's number
 *   map NAME       8x8 tiles, equal ones stored once; NAME lists their numbers
 *   tall NAME      8x16 sprites, column by column within each band of 16 lines
 *   again NAME AS  a sheet once more, as tall sprites with an empty lower half
 *   meta PAL CHARS 16x16 blocks, one a character, in colours PAL; equal tiles
 *                  are stored once, so that edges and plates can share them
 *   tint PAL CHARS the last meta once more, in other colours
 * out.chr gets both tables; out.inc names the tiles for ca65, and holds the
 * blocks' tiles, their palettes and the table from character to block. */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILES = 256, WIDTH_MAX = 128, HEIGHT_MAX = 512, BLOCKS_MAX = 96, NAMES_MAX = 64 };

struct picture {
    char px[HEIGHT_MAX][WIDTH_MAX];
    int w, h;
};

struct tile {
    unsigned char byte[16];
};

static struct {
    char word[32];
    struct picture pic;
} kept[NAMES_MAX];
static int kept_count;

static struct picture last_meta;
static struct tile table[2][TILES];
static int used[2];
static int bank;
static int ground;
static struct { unsigned char tile[4], pal; } block[BLOCKS_MAX];
static int block_count;
static unsigned char block_of[96];

static const char *file;
static int line_no;

static void die(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "%s:%d: ", file, line_no);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    exit(1);
}

static struct tile cut(const struct picture *p, int x0, int y0) {
    struct tile t = {{0}};
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++) {
            char c = p->px[y0 + y][x0 + x];
            int v = c == '.' ? ground : c - '0';
            if (v < 0 || v > 3) die("a pixel is '.' or 1 to 3, not '%c'", c);
            t.byte[y] |= (unsigned char)((v & 1) << (7 - x));
            t.byte[y + 8] |= (unsigned char)((v >> 1) << (7 - x));
        }
    return t;
}

static int add(struct tile t) {
    if (used[bank] == TILES) die("table %d is full", bank);
    table[bank][used[bank]] = t;
    return used[bank]++;
}

static int add_once(struct tile t) {
    for (int i = 0; i < used[bank]; i++)
        if (memcmp(&table[bank][i], &t, sizeof t) == 0) return i;
    return add(t);
}

/* In 8x16 mode a sprite's tile number names the table in its lowest bit. */
static int sprite_number(void) {
    return used[bank] | bank;
}

static void put_sheet(const struct picture *p) {
    for (int y = 0; y < p->h; y += 8)
        for (int x = 0; x < p->w; x += 8)
            add(cut(p, x, y));
}

static void put_map(const struct picture *p, FILE *inc) {
    const char *sep = "";
    for (int y = 0; y < p->h; y += 8)
        for (int x = 0; x < p->w; x += 8, sep = ",")
            fprintf(inc, "%s$%02X", sep, add_once(cut(p, x, y)));
    fputc('\n', inc);
}

static void put_tall(const struct picture *p) {
    for (int y = 0; y < p->h; y += 16)
        for (int x = 0; x < p->w; x += 8) {
            add(cut(p, x, y));
            add(cut(p, x, y + 8));
        }
}

static void put_again(const struct picture *p) {
    for (int y = 0; y < p->h; y += 8)
        for (int x = 0; x < p->w; x += 8) {
            add(cut(p, x, y));
            add((struct tile){{0}});
        }
}

static void put_meta(const struct picture *p, int pal, const char *chars) {
    for (int y = 0; y < p->h; y += 16)
        for (int x = 0; x < p->w; x += 16) {
            if (*chars < 32 || block_count == BLOCKS_MAX) die("no character, or no room, for this block");
            for (int i = 0; i < 4; i++)
                block[block_count].tile[i] = (unsigned char)add_once(cut(p, x + i % 2 * 8, y + i / 2 * 8));
            block[block_count].pal = (unsigned char)pal;
            block_of[*chars++ - 32] = (unsigned char)block_count++;
        }
}

/* Reads one picture; leaves the line that ended it in `line`. Returns 0 at the end of the file. */
static int read_picture(FILE *in, struct picture *p, char *line, int size) {
    memset(p, 0, sizeof *p);
    while (fgets(line, size, in)) {
        line_no++;
        size_t n = strcspn(line, "\r\n");
        line[n] = 0;
        if (n == 0 || line[0] == ';') continue;
        if (strspn(line, ".123") != n) return 1;
        if (n % 8 || n > WIDTH_MAX || (p->w && (int)n != p->w) || p->h == HEIGHT_MAX)
            die("a row of %d pixels does not fit here", (int)n);
        p->w = (int)n;
        memcpy(p->px[p->h++], line, n);
    }
    return 0;
}

static const struct picture *find(const char *word) {
    for (int i = 0; i < kept_count; i++)
        if (strcmp(kept[i].word, word) == 0) return &kept[i].pic;
    die("no sheet is called %s", word);
    return NULL;
}

static void draw(const char *head, const struct picture *p, FILE *inc) {
    char a[32], b[32];
    int n;
    if (sscanf(head, "bank %d", &n) == 1) {
        bank = n & 1;
    } else if (sscanf(head, "ground %d", &n) == 1) {
        ground = n;
    } else if (sscanf(head, "again %31s %31s", a, b) == 2) {
        fprintf(inc, "%s = $%02X\n", b, sprite_number());
        put_again(find(a));
    } else if (sscanf(head, "meta %d %31s", &n, b) == 2) {
        last_meta = *p;
        put_meta(p, n, b);
    } else if (sscanf(head, "tint %d %31s", &n, b) == 2) {
        put_meta(&last_meta, n, b);
    } else if (sscanf(head, "map %31s", a) == 1) {
        fprintf(inc, "%s: .byte ", a);
        put_map(p, inc);
    } else if (sscanf(head, "%31s %31s", a, b) == 2) {
        int tall = strcmp(a, "tall") == 0;
        if ((!tall && strcmp(a, "sheet") != 0) || p->h % (tall ? 16 : 8) || kept_count == NAMES_MAX)
            die("cannot make sense of the drawing before this: %s", head);
        fprintf(inc, "%s = $%02X\n", b, tall ? sprite_number() : used[bank]);
        strcpy(kept[kept_count].word, b);
        kept[kept_count++].pic = *p;
        if (tall)
            put_tall(p);
        else
            put_sheet(p);
    } else {
        die("cannot make sense of: %s", head);
    }
}

static void write_blocks(FILE *inc) {
    static const char *const corner[] = {"tl", "tr", "bl", "br"};
    for (int k = 0; k < 4; k++) {
        fprintf(inc, "block_%s: .byte ", corner[k]);
        for (int i = 0; i < block_count; i++)
            fprintf(inc, "%s$%02X", i ? "," : "", block[i].tile[k]);
        fputc('\n', inc);
    }
    fprintf(inc, "block_pal: .byte ");
    for (int i = 0; i < block_count; i++)
        fprintf(inc, "%s%d", i ? "," : "", block[i].pal);
    fprintf(inc, "\nblock_of: .byte ");
    for (int i = 0; i < 96; i++)
        fprintf(inc, "%s%d", i ? "," : "", block_of[i]);
    fputc('\n', inc);
}

static void read_file(const char *name, FILE *inc) {
    static struct picture pic;
    char head[256] = "", next[256];
    FILE *in = fopen(name, "r");
    file = name;
    line_no = 0;
    if (!in) die("cannot be opened");
    for (int more = 1; more; strcpy(head, next)) {
        more = read_picture(in, &pic, next, sizeof next);
        if (head[0]) draw(head, &pic, inc);
    }
    fclose(in);
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: art out.chr out.inc drawing.txt...\n");
        return 2;
    }
    FILE *chr = fopen(argv[1], "wb"), *inc = fopen(argv[2], "w");
    if (!chr || !inc) {
        perror("art");
        return 1;
    }
    for (int i = 3; i < argc; i++)
        read_file(argv[i], inc);
    write_blocks(inc);
    fprintf(inc, "; %d and %d tiles of 256 in use\n", used[0], used[1]);
    fwrite(table, sizeof table, 1, chr);
    return fclose(chr) | fclose(inc) ? 1 : 0;
}
