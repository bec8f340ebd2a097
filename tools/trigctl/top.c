/* SPDX-License-Identifier: Apache-2.0 */
#include "top.h"

#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "top_lines.h"

#define STEP_MS 1000
#define REDRAW  12 /* control L, as everywhere */

struct screen {
    struct top top;
    struct top_view view;
    uint32_t first; /* line that is on top */
    bool is_paused, is_typing;
    char filter[32];
    int error; /* of the last question */
};

static const char *const windows[] = {"1s", "10s", "60s"};
#define N_WINDOWS (sizeof windows / sizeof *windows)

static void next_window(struct screen *s)
{
    size_t i = 0;

    while (i < N_WINDOWS - 1 && strcmp(windows[i], s->view.window) != 0)
        i++;
    s->view.window = windows[(i + 1) % N_WINDOWS];
}

static void draw_line(const struct top_line *l, int y)
{
    const int look = l->look == TOP_TITLE  ? A_BOLD
                     : l->look == TOP_GOOD ? COLOR_PAIR(1)
                     : l->look == TOP_BAD  ? COLOR_PAIR(2) | A_BOLD
                                           : A_NORMAL;

    attrset(look);
    mvaddnstr(y, 0, l->text, COLS * 3); /* at most three bytes a column */
    attrset(A_NORMAL);
}

static void draw(const struct screen *s)
{
    const uint32_t rows = LINES > 1 ? (uint32_t)LINES - 1 : 1;

    erase();
    for (uint32_t y = 0; y < rows && s->first + y < s->top.n; y++)
        draw_line(&s->top.line[s->first + y], (int)y);
    attrset(A_REVERSE);
    if (s->is_typing)
        mvprintw(LINES - 1, 0, "filter: %s", s->filter);
    else if (s->error)
        mvprintw(LINES - 1, 0, "no answer (%s): the numbers are old", strerror(-s->error));
    else
        mvprintw(LINES - 1, 0, "q quit  w window  s sort by %s  / filter%s%s  p %s  arrows scroll",
                 s->view.by_rate ? "name" : "rate", s->filter[0] ? ": " : "", s->filter,
                 s->is_paused ? "go on" : "pause");
    attrset(A_NORMAL);
    refresh();
}

static void type(struct screen *s, int key)
{
    const size_t n = strlen(s->filter);

    if (key == '\n' || key == 27) {
        s->is_typing = false;
        if (key == 27)
            s->filter[0] = '\0';
    } else if ((key == KEY_BACKSPACE || key == 127) && n) {
        s->filter[n - 1] = '\0';
    } else if (key >= ' ' && key < 127 && n + 1 < sizeof s->filter) {
        s->filter[n] = (char)key;
        s->filter[n + 1] = '\0';
    }
}

static void scroll_by(struct screen *s, int lines)
{
    const int64_t to = (int64_t)s->first + lines, last = s->top.n ? s->top.n - 1 : 0;

    s->first = (uint32_t)(to < 0 ? 0 : to > last ? last : to);
}

/* false: the user is done. */
static bool obey(struct screen *s, int key)
{
    if (s->is_typing) {
        type(s, key);
        return true;
    }
    switch (key) {
    case 'q':
        return false;
    case 'w':
        next_window(s);
        return true;
    case 's':
        s->view.by_rate = !s->view.by_rate;
        return true;
    case 'p':
        s->is_paused = !s->is_paused;
        return true;
    case REDRAW:
        clearok(stdscr, TRUE);
        return true;
    case '/':
        s->is_typing = true;
        s->filter[0] = '\0';
        return true;
    case KEY_UP:
        scroll_by(s, -1);
        return true;
    case KEY_DOWN:
        scroll_by(s, 1);
        return true;
    case KEY_PPAGE:
        scroll_by(s, -LINES + 2);
        return true;
    case KEY_NPAGE:
        scroll_by(s, LINES - 2);
        return true;
    default:
        return true;
    }
}

static void watch(struct screen *s, const char *socket, int timeout_s)
{
    bool goes_on = true;

    setlocale(LC_ALL, "");
    initscr();
    cbreak();
    noecho();
    curs_set(0);
    keypad(stdscr, TRUE);
    set_escdelay(50);
    if (has_colors()) {
        start_color();
        use_default_colors();
        init_pair(1, COLOR_GREEN, -1);
        init_pair(2, COLOR_RED, -1);
    }
    timeout(STEP_MS);
    while (goes_on) {
        int key;

        draw(s);
        key = getch(); /* ERR: a second went by */
        if (key != ERR)
            goes_on = obey(s, key);
        if (goes_on && !s->is_paused && (key == ERR || key == 'w' || key == 's'))
            s->error = top_ask(&s->top, socket, &s->view, timeout_s);
    }
    endwin();
}

int top_run(const char *socket, bool once, int timeout_s)
{
    struct screen *s = calloc(1, sizeof *s);
    int r;

    if (!s)
        return -ENOMEM;
    s->view = (struct top_view){.window = once ? "10s" : "1s", .filter = s->filter};
    r = top_ask(&s->top, socket, &s->view, timeout_s);
    if (r == 0 && (once || !isatty(STDOUT_FILENO)))
        for (uint32_t i = 0; i < s->top.n; i++)
            printf("%s\n", s->top.line[i].text);
    else if (r == 0)
        watch(s, socket, timeout_s);
    free(s);
    return r;
}
