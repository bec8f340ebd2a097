/* SPDX-License-Identifier: Apache-2.0 */
#include "event.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "declared.h"
#include "event_items.h"
#include "event_volume.h"
#include "roifile.h"

#define WIDTH  960.0
#define HEIGHT 400.0
#define MARGIN 40.0
#define SQUARE (HEIGHT - 2 * MARGIN) /* the view across the beam */

struct view { /* millimetres to the page */
    double left, top, width, height;
    double min_u, max_u, min_v, max_v;
    const char *u, *v;
    bool is_across;
};

static double page_u(const struct view *w, double u)
{
    return w->left + w->width * (u - w->min_u) / (w->max_u - w->min_u);
}

static double page_v(const struct view *w, double v)
{
    return w->top + w->height * (w->max_v - v) / (w->max_v - w->min_v);
}

/* ---------------------------------------------------------------- reading */

/* Takes the declarations of the file; what is not known here is not drawn. */
static void take_declarations(const Trigd__V1__FileHeader *h)
{
    char why[256];
    uint32_t kind;

    for (size_t i = 0; i < h->n_collections; i++)
        if (declared_add(h->collections[i], &kind, why, sizeof why) < 0)
            fprintf(stderr, "trigctl: a collection of the file is not drawn: %s\n", why);
}

struct search {
    uint64_t wanted, seen; /* events */
    uint32_t run, l1id;    /* of the last RoI */
    uint64_t left;         /* voxels that the volume of the last RoI lacks */
    struct event_items items;
    struct event_volume volume;
};

static int look_at(struct search *s, const Trigd__V1__Roi *roi)
{
    uint64_t whole;
    const uint64_t part = event_volume_part(roi, &whole);
    const bool is_new = !s->seen || roi->run != s->run || roi->l1id != s->l1id;
    int r;

    s->run = roi->run;
    s->l1id = roi->l1id;
    if (is_new && (!part || part > s->left)) {
        s->seen++;
        s->left = whole;
    }
    s->left -= part < s->left ? part : s->left;
    if (s->seen != s->wanted)
        return 0;
    r = event_items_add(&s->items, roi);
    return r < 0 ? r : event_volume_add(&s->volume, roi);
}

static int look_for(struct search *s, struct roifile_reader *file)
{
    const void *bytes;
    size_t n;
    int r = 0;

    while (s->seen <= s->wanted && (r = roifile_next(file, &bytes, &n)) == 1) {
        Trigd__V1__RoiBatch *b = trigd__v1__roi_batch__unpack(NULL, n, bytes);

        if (!b)
            return -EBADMSG;
        r = 0;
        for (size_t i = 0; r == 0 && i < b->n_rois; i++)
            r = look_at(s, b->rois[i]);
        trigd__v1__roi_batch__free_unpacked(b, NULL);
        if (r < 0)
            return r;
    }
    return r < 0 ? r : 0;
}

static int read_event(const char *path, struct search *s)
{
    struct roifile_reader *file;
    int r = roifile_open(path, &file);

    if (r < 0) {
        fprintf(stderr, "trigctl: cannot read %s: %s\n", path, roifile_why(r));
        return r;
    }
    take_declarations(roifile_header(file));
    r = look_for(s, file);
    roifile_close(file);
    if (r < 0)
        fprintf(stderr, "trigctl: %s is damaged at event %" PRIu64 "\n", path, s->seen);
    else if (s->seen < s->wanted)
        fprintf(stderr, "trigctl: %s has %" PRIu64 " events, there is no event %" PRIu64 "\n", path,
                s->seen, s->wanted);
    else if (!s->items.n && !s->volume.n[0])
        fprintf(stderr,
                "trigctl: event %" PRIu64 " of %s has nothing with a position, and no bricks\n",
                s->wanted, path);
    return r < 0 ? r : s->items.n || s->volume.n[0] ? 0 : -ENOENT;
}

/* ---------------------------------------------------------------- drawing */

static void set_limits(struct view *across, struct view *along, const struct event_items *e)
{
    double r = 1, low = INFINITY, high = -INFINITY;

    for (size_t i = 0; i < e->n; i++) {
        const struct event_item *p = &e->item[i];

        if (p->kind == EVENT_TRACKS)
            continue;
        r = fmax(r, fmax(fabs((double)p->x), fabs((double)p->y)));
        low = fmin(low, (double)p->z);
        high = fmax(high, (double)p->z);
    }
    if (!(low < high)) {
        low = isfinite(low) ? low - 1 : -1;
        high = low + 2;
    }
    r *= 1.05;
    *across = (struct view){MARGIN, MARGIN, SQUARE, SQUARE, -r, r, -r, r, "x", "y", true};
    *along = (struct view){.left = 3 * MARGIN + SQUARE,
                           .top = MARGIN,
                           .width = WIDTH - 4 * MARGIN - SQUARE,
                           .height = SQUARE,
                           .min_u = low - 0.03 * (high - low),
                           .max_u = high + 0.03 * (high - low),
                           .min_v = -r,
                           .max_v = r,
                           .u = "z",
                           .v = "x"};
}

/* A step of 1, 2 or 5 times a power of ten, about four in the range. */
static double step_of(double range)
{
    const double raw = range / 4, power = pow(10, floor(log10(raw)));

    return raw < 2 * power ? power : raw < 5 * power ? 2 * power : 5 * power;
}

static void draw_axes(const struct view *w, FILE *out)
{
    const double du = step_of(w->max_u - w->min_u), dv = step_of(w->max_v - w->min_v);

    fprintf(out, "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='none' stroke='#888'/>\n",
            w->left, w->top, w->width, w->height);
    for (double u = ceil(w->min_u / du) * du; u <= w->max_u; u += du)
        fprintf(out, "<path d='M%.1f %.1fv4' stroke='#888'/><text x='%.1f' y='%.1f'>%g</text>\n",
                page_u(w, u), w->top + w->height, page_u(w, u), w->top + w->height + 15,
                fabs(u) < du / 2 ? 0 : u);
    for (double v = ceil(w->min_v / dv) * dv; v <= w->max_v; v += dv)
        fprintf(out,
                "<path d='M%.1f %.1fh-4' stroke='#888'/>"
                "<text x='%.1f' y='%.1f' style='text-anchor:end'>%g</text>\n",
                w->left, page_v(w, v), w->left - 6, page_v(w, v) + 4, fabs(v) < dv / 2 ? 0 : v);
    fprintf(out,
            "<text x='%.1f' y='%.1f'>%s [mm]</text>"
            "<text x='%.1f' y='%.1f' style='text-anchor:start'>%s [mm]</text>\n",
            w->left + w->width / 2, w->top + w->height + 30, w->u, w->left, w->top - 6, w->v);
}

static void draw_item(const struct view *w, const struct event_item *p, FILE *out)
{
    const double x = (double)p->x, y = (double)p->y, z = (double)p->z;
    const double u = page_u(w, w->is_across ? x : z), v = page_v(w, w->is_across ? y : x);
    const double from = (double)p->z_from - z, to = (double)p->z_to - z;

    switch (p->kind) {
    case EVENT_POINTS:
        fprintf(out, "<circle cx='%.1f' cy='%.1f' r='1'/>\n", u, v);
        break;
    case EVENT_TRACKS:
        fprintf(out, "<path d='M%.1f %.1fL%.1f %.1f'/>\n",
                page_u(w, w->is_across ? x + (double)p->tx * from : z + from),
                page_v(w, w->is_across ? y + (double)p->ty * from : x + (double)p->tx * from),
                page_u(w, w->is_across ? x + (double)p->tx * to : z + to),
                page_v(w, w->is_across ? y + (double)p->ty * to : x + (double)p->tx * to));
        break;
    case EVENT_VERTICES:
        fprintf(out,
                p->is_secondary ? "<path d='M%.1f %.1fm-3 0l3 -3l3 3l-3 3z' class='secondary'/>\n"
                                : "<path d='M%.1f %.1fm-5 0l5 -5l5 5l-5 5z' class='primary'/>\n",
                u, v);
        break;
    }
}

static void draw_view(const struct view *w, const struct event_items *e, const char *name,
                      FILE *out)
{
    static const char *const group[] = {"points", "tracks", "vertices"};

    draw_axes(w, out);
    fprintf(out,
            "<clipPath id='%s'><rect x='%.1f' y='%.1f' width='%.1f' height='%.1f'/></clipPath>\n"
            "<g clip-path='url(#%s)'>\n",
            name, w->left, w->top, w->width, w->height, name);
    for (int kind = EVENT_POINTS; kind <= EVENT_VERTICES; kind++) {
        fprintf(out, "<g class='%s'>\n", group[kind]);
        for (size_t i = 0; i < e->n; i++)
            if ((int)e->item[i].kind == kind)
                draw_item(w, &e->item[i], out);
        fputs("</g>\n", out);
    }
    fputs("</g>\n", out);
}

static void draw(const struct event_items *e, FILE *out)
{
    struct view across, along;

    set_limits(&across, &along, e);
    fprintf(
        out,
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %.0f %.0f' role='img' "
        "font-family='sans-serif' font-size='11'>\n"
        "<title>run %u, L1 id %u: %zu points, %zu tracks, %zu vertices</title>\n"
        "<style>text{text-anchor:middle;fill:#333}.points{fill:#7a8a99}"
        ".tracks{stroke:#1b7837;stroke-width:.8;fill:none}.vertices{stroke:#fff;stroke-width:.7}"
        ".primary{fill:#d95f02}.secondary{fill:#7b3294}</style>\n"
        "<rect width='100%%' height='100%%' fill='#fff'/>\n",
        WIDTH, HEIGHT, e->run, e->l1id, e->count[EVENT_POINTS], e->count[EVENT_TRACKS],
        e->count[EVENT_VERTICES]);
    draw_view(&across, e, "across", out);
    draw_view(&along, e, "along", out);
    fprintf(
        out,
        "<text x='%.0f' y='16' style='text-anchor:end'>run %u, L1 id %u, %u RoI%s: %s; %zu "
        "points, %zu tracks, %zu vertices (orange: primary, violet: secondary)</text>\n</svg>\n",
        WIDTH - MARGIN, e->run, e->l1id, e->n_rois, e->n_rois == 1 ? "" : "s", e->sources,
        e->count[EVENT_POINTS], e->count[EVENT_TRACKS], e->count[EVENT_VERTICES]);
}

static int draw_volume(const struct search *s, FILE *out)
{
    const struct event_volume *v = &s->volume;
    int r;

    fprintf(out,
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %.0f %.0f' role='img' "
            "font-family='sans-serif' font-size='11' text-anchor='middle' fill='#333'>\n"
            "<title>run %u, L1 id %u: a volume of %u x %u x %u voxels</title>\n"
            "<rect width='100%%' height='100%%' fill='#fff'/>\n",
            WIDTH, HEIGHT, s->items.run, s->items.l1id, v->n[0], v->n[1], v->n[2]);
    r = event_volume_draw(v, WIDTH, HEIGHT, out);
    fprintf(out,
            "<text x='%.0f' y='16' text-anchor='end'>run %u, L1 id %u, %u RoI%s: %u x %u x %u "
            "voxels, %u bricks, %u with labels</text>\n</svg>\n",
            WIDTH - MARGIN, s->items.run, s->items.l1id, s->items.n_rois,
            s->items.n_rois == 1 ? "" : "s", v->n[0], v->n[1], v->n[2], v->bricks, v->labelled);
    return r;
}

int event_draw(const char *path, uint64_t number, FILE *out)
{
    struct search s = {.wanted = number};
    int r = read_event(path, &s);

    if (r == 0 && s.volume.n[0]) {
        r = draw_volume(&s, out);
    } else if (r == 0) {
        event_items_match(&s.items);
        draw(&s.items, out);
    }
    event_items_fini(&s.items);
    event_volume_fini(&s.volume);
    return r;
}
