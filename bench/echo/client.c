/* SPDX-License-Identifier: Apache-2.0 */
#include "client.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <zmq.h>

#include "clock.h"
#include "shard_endpoint.h"
#include "trigd.pb-c.h"

#define TAG_CREDIT  0x1a       /* of FromDaemon, field 3 */
#define TAG_BUSY    0x22       /* field 4 */
#define TOKENS      (1u << 16) /* more than the largest window */
#define TOKEN_BYTES 4u         /* of a token as a varint */
#define PATIENCE    20000      /* ms for any answer */
#define AGAIN_MS    1          /* before messages that were answered Busy go again */
#define TOKEN_END   (1u << 28)
#define TIMES_A_GAP 16 /* a Poisson client looks so often, on average, whether a message is due */

/* ---------------------------------------------------------------- tokens */

static void put_token(unsigned char *at, uint32_t token)
{
    at[0] = (unsigned char)(token | 0x80u);
    at[1] = (unsigned char)(token >> 7 | 0x80u);
    at[2] = (unsigned char)(token >> 14 | 0x80u);
    at[3] = (unsigned char)(token >> 21);
}

/* Reads a varint; NULL at the end. */
static const unsigned char *get_varint(const unsigned char *at, const unsigned char *end,
                                       uint64_t *ret_value)
{
    uint64_t v = 0;

    for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
        v |= (uint64_t)(*at & 0x7f) << shift;
        if (!(*at++ & 0x80)) {
            *ret_value = v;
            return at;
        }
    }
    return NULL;
}

/* Steps into a field of bytes with that tag; NULL when it is not there. */
static const unsigned char *enter(const unsigned char *at, const unsigned char *end,
                                  unsigned char tag, uint64_t *ret_bytes)
{
    if (at == end || *at != tag)
        return NULL;
    at = get_varint(at + 1, end, ret_bytes);
    return at && *ret_bytes <= (uint64_t)(end - at) ? at : NULL;
}

/* What stands between token and event: the run, and the tag of the event. */
static const unsigned char run_1[] = {0x10, 1, 0x18};

int client_message(struct client *c, const void *message, size_t bytes)
{
    const unsigned char *at = message, *end = at + bytes;
    uint64_t n;

    at = enter(at, end, 0x12, &n);             /* the batch */
    at = at ? enter(at, end, 0x0a, &n) : NULL; /* its RoI */
    if (!at || *at != 0x08)
        return -EPROTO;
    c->message = message;
    c->bytes = bytes;
    c->token_at = (size_t)(at + 1 - (const unsigned char *)message);
    c->l1id_at = c->token_at + sizeof run_1 + TOKEN_BYTES;
    return memcmp(at + 1 + TOKEN_BYTES, run_1, sizeof run_1) == 0 ? 0 : -EPROTO;
}

/* ---------------------------------------------------------------- there */

static int send_token(struct client *c, uint32_t token)
{
    zmq_msg_t m;

    if (zmq_msg_init_size(&m, c->bytes) < 0)
        return -errno;
    memcpy(zmq_msg_data(&m), c->message, c->bytes);
    put_token((unsigned char *)zmq_msg_data(&m) + c->token_at, token);
    put_token((unsigned char *)zmq_msg_data(&m) + c->l1id_at, token);
    if (zmq_msg_send(&m, c->socket, 0) < 0) {
        zmq_msg_close(&m);
        return -errno;
    }
    return 0;
}

static int send_one(struct client *c, uint64_t due_ns)
{
    const int r = send_token(c, c->next);

    if (r < 0)
        return r;
    c->sent_ns[c->next % TOKENS] = due_ns;
    c->next = c->next + 1 < TOKEN_END ? c->next + 1 : CLIENT_TOKEN;
    c->outstanding++;
    return 0;
}

/* Whether the window and the credits allow another message. */
static bool may_send(const struct client *c)
{
    return c->outstanding < c->window && c->outstanding < c->credits;
}

static int send_again(struct client *c)
{
    int r = 0;

    while (r == 0 && c->n_again && c->outstanding - c->n_again < c->credits &&
           clock_ns() >= c->again_ns)
        r = send_token(c, c->again[--c->n_again]);
    return r;
}

/* ---------------------------------------------------------------- and back */

static int wrong(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
    return -EPROTO;
}

static int note(struct client *c, uint64_t token, uint64_t now)
{
    uint64_t *sent = &c->sent_ns[token % TOKENS];

    if (!*sent || !c->outstanding)
        return wrong("an RoI was answered twice");
    if (c->n_latencies == c->room) {
        size_t room = c->room ? 2 * c->room : 1u << 16;
        uint64_t *larger = realloc(c->latency_ns, room * sizeof *larger);

        if (!larger)
            return -ENOMEM;
        c->latency_ns = larger;
        c->room = room;
    }
    c->latency_ns[c->n_latencies++] = now - *sent;
    *sent = 0;
    c->outstanding--;
    return 0;
}

/* Credit of fewer than none is an empty message. */
static int note_credit(struct client *c, const unsigned char *at, const unsigned char *end)
{
    uint64_t bytes, credits = 0;

    at = enter(at, end, TAG_CREDIT, &bytes);
    if (!at || (bytes && (*at != 0x08 || !get_varint(at + 1, end, &credits))))
        return wrong("a Credit cannot be read");
    c->credits = (uint32_t)credits;
    return 0;
}

/* The tokens of a Busy, a packed field, go again. */
static int note_busy(struct client *c, const unsigned char *at, const unsigned char *end,
                     uint64_t now)
{
    uint64_t bytes, token;

    at = enter(at, end, TAG_BUSY, &bytes);
    at = at ? enter(at, end, 0x0a, &bytes) : NULL;
    end = at ? at + bytes : NULL;
    while (at && at < end) {
        at = get_varint(at, end, &token);
        if (!at || !c->sent_ns[token % TOKENS] || c->n_again == c->window)
            return wrong("a Busy is of what was not sent");
        c->again[c->n_again++] = (uint32_t)token;
    }
    c->again_ns = now + AGAIN_MS * NS_PER_MS;
    return at ? 0 : wrong("a Busy cannot be read");
}

/* The tokens of a DecisionBatch: the first field of each decision. */
static int note_decisions(struct client *c, const unsigned char *at, size_t n, uint64_t now)
{
    const unsigned char *end = at + n, *in;
    uint64_t bytes, token;
    int r = 0;

    c->heard_ns = now;
    if (n && *at == TAG_CREDIT)
        return note_credit(c, at, end);
    if (n && *at == TAG_BUSY)
        return note_busy(c, at, end, now);
    at = enter(at, end, 0x12, &bytes);
    if (!at)
        return wrong("an answer is neither decisions nor credits");
    while (at < end && r == 0) {
        in = enter(at, end, 0x0a, &bytes);
        if (!in || *in != 0x08 || !get_varint(in + 1, end, &token))
            return -EPROTO;
        r = note(c, token, now);
        at = in + bytes;
    }
    return r;
}

static int note_echo(struct client *c, const unsigned char *body, size_t n, uint64_t now)
{
    uint64_t token;

    if (n != c->bytes || !get_varint(body + c->token_at, body + n, &token))
        return -EPROTO;
    return note(c, token, now);
}

/* Takes all answers that are there. */
static int take(struct client *c)
{
    int r = 0;

    while (r == 0) {
        zmq_msg_t m;
        uint64_t now;

        zmq_msg_init(&m);
        if (zmq_msg_recv(&m, c->socket, ZMQ_DONTWAIT) < 0) {
            r = errno;
            zmq_msg_close(&m);
            return r == EAGAIN ? send_again(c) : -r;
        }
        now = clock_ns();
        r = (c->gets_decisions ? note_decisions : note_echo)(c, zmq_msg_data(&m), zmq_msg_size(&m),
                                                             now);
        zmq_msg_close(&m);
    }
    return r;
}

static int wait_for_answer(struct client *c)
{
    zmq_pollitem_t item = {.socket = c->socket, .events = ZMQ_POLLIN};
    int r = zmq_poll(&item, 1, c->n_again ? AGAIN_MS : PATIENCE);

    if (r == 0 && c->n_again && clock_ns() < c->heard_ns + PATIENCE * NS_PER_MS)
        return 0;
    return r < 0 ? -errno : r == 0 ? -ETIMEDOUT : 0;
}

static int take_rest(struct client *c)
{
    int r = take(c);

    while (r == 0 && c->outstanding) {
        r = wait_for_answer(c);
        if (r == 0)
            r = take(c);
    }
    return r;
}

/* ---------------------------------------------------------------- opening */

/* Takes a Welcome, or a Credit after it; the shard that the Welcome names is 0 for this one. */
static int take_credits(struct client *c, uint32_t *ret_shard)
{
    unsigned char back[4096];
    const int n = zmq_recv(c->socket, back, sizeof back, 0);
    Trigd__V1__FromDaemon *answer;
    int r = 0;

    if (n < 0)
        return -errno;
    answer = n <= (int)sizeof back ? trigd__v1__from_daemon__unpack(NULL, (size_t)n, back) : NULL;
    if (answer && answer->body_case == TRIGD__V1__FROM_DAEMON__BODY_WELCOME) {
        c->credits = answer->welcome->credits;
        *ret_shard = answer->welcome->shard;
    } else if (answer && answer->body_case == TRIGD__V1__FROM_DAEMON__BODY_CREDIT) {
        c->credits = answer->credit->credits;
    } else {
        r = wrong("the first answer is neither a Welcome nor credits");
    }
    if (answer)
        trigd__v1__from_daemon__free_unpacked(answer, NULL);
    return r;
}

/* Waits until there are credits for the window: a farm may have lost its nodes for a moment; or
 * until it is sent to another shard. */
static int say_hello(struct client *c, bool may_move, uint32_t *ret_shard)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__Hello hello = TRIGD__V1__HELLO__INIT;
    unsigned char bytes[96];
    char name[32];
    int r;

    snprintf(name, sizeof name, "echo-%u", c->number); /* of one name they had one shard */
    hello.protocol = 1;
    hello.name = name;
    hello.want_credits = c->window;
    hello.may_move = may_move;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_HELLO;
    m.hello = &hello;
    *ret_shard = 0;
    if (zmq_send(c->socket, bytes, trigd__v1__to_daemon__pack(&m, bytes), 0) < 0)
        return -errno;
    do
        r = take_credits(c, ret_shard);
    while (r == 0 && !*ret_shard && c->credits < c->window);
    return r;
}

static int connect_to(struct client *c, const char *endpoint)
{
    const int none = 0, patience = PATIENCE;

    if (c->socket)
        zmq_close(c->socket);
    c->socket = zmq_socket(c->context, ZMQ_DEALER);
    if (!c->socket || zmq_setsockopt(c->socket, ZMQ_LINGER, &none, sizeof none) < 0 ||
        zmq_setsockopt(c->socket, ZMQ_RCVTIMEO, &patience, sizeof patience) < 0 ||
        zmq_connect(c->socket, endpoint) < 0)
        return -errno;
    return 0;
}

/* Goes to the shard where the daemon wants it, as clients of libtrigd-client do. */
static int meet(struct client *c, const char *endpoint)
{
    char other[160];
    uint32_t shard;
    int r = say_hello(c, true, &shard);

    if (r < 0 || !shard)
        return r;
    r = shard_endpoint(endpoint, shard, other, sizeof other);
    if (r == 0)
        r = connect_to(c, other);
    return r < 0 ? r : say_hello(c, false, &shard);
}

/* Clients of a bare server go to its threads in turn. */
static int connect_in_turn(struct client *c, const struct server *s)
{
    char endpoint[160];
    int r = shard_endpoint(s->endpoint, c->number % s->threads, endpoint, sizeof endpoint);

    return r < 0 ? r : connect_to(c, endpoint);
}

int client_open(struct client *c, const struct server *s, uint32_t window)
{
    static _Atomic uint32_t n;
    int r;

    memset(c, 0, sizeof *c);
    c->number = atomic_fetch_add(&n, 1);
    c->gets_decisions = s->kind == SERVER_TRIGD || s->kind == SERVER_ANSWER;
    c->window = window;
    c->next = CLIENT_TOKEN;
    c->random = (uint64_t)clock_ns();
    c->credits = window;
    c->sent_ns = calloc(TOKENS, sizeof *c->sent_ns);
    c->again = calloc(window, sizeof *c->again);
    c->context = zmq_ctx_new();
    if (!c->sent_ns || !c->again || !c->context)
        return -ENOMEM;
    if (s->kind != SERVER_TRIGD)
        return connect_in_turn(c, s);
    r = connect_to(c, s->endpoint);
    return r < 0 ? r : meet(c, s->endpoint);
}

void client_close(struct client *c)
{
    if (c->socket)
        zmq_close(c->socket);
    if (c->context)
        zmq_ctx_term(c->context);
    free(c->sent_ns);
    free(c->again);
    free(c->latency_ns);
    memset(c, 0, sizeof *c);
}

/* ---------------------------------------------------------------- runs */

static int run_full(struct client *c, double seconds)
{
    uint64_t now = clock_ns(), end = now + (uint64_t)(seconds * 1e9);
    int r = 0;

    while (r == 0 && now < end) {
        while (r == 0 && may_send(c))
            r = send_one(c, clock_ns());
        if (r == 0)
            r = wait_for_answer(c);
        if (r == 0)
            r = take(c);
        now = clock_ns();
    }
    return r;
}

/* A timer that expires `rate` times a second. */
static int open_timer(double rate)
{
    long ns = (long)(1e9 / rate);
    struct itimerspec t = {.it_value = {.tv_nsec = 1},
                           .it_interval = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000}};
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);

    if (fd >= 0 && timerfd_settime(fd, 0, &t, NULL) < 0) {
        close(fd);
        return -errno;
    }
    return fd < 0 ? -errno : fd;
}

/* Time from one message to the next. */
static double gap_ns(struct client *c, double mean_ns)
{
    if (!c->is_poisson)
        return mean_ns;
    c->random = c->random * 6364136223846793005u + 1442695040888963407u;
    return -log(((double)(c->random >> 11) + 0.5) / (double)(UINT64_C(1) << 53)) * mean_ns;
}

/* Sends what is due by now, as far as the window allows; *due_ns is of the next one. */
static int send_due(struct client *c, double interval_ns, double *due_ns, uint64_t *sent,
                    uint64_t n)
{
    int r = 0;

    while (r == 0 && *sent < n && may_send(c) && *due_ns <= (double)clock_ns()) {
        r = send_one(c, (uint64_t)*due_ns);
        *due_ns += gap_ns(c, interval_ns);
        ++*sent;
    }
    return r;
}

static int run_load(struct client *c, double seconds, double rate)
{
    uint64_t sent = 0, n = (uint64_t)(seconds * rate), ticks;
    int timer = open_timer(c->is_poisson ? TIMES_A_GAP * rate : rate), r = 0;
    double due_ns;

    if (timer < 0)
        return timer;
    prctl(PR_SET_TIMERSLACK, 1);
    due_ns = (double)clock_ns();
    while (r == 0 && sent < n) {
        zmq_pollitem_t items[] = {{.socket = c->socket, .events = ZMQ_POLLIN},
                                  {.fd = timer, .events = ZMQ_POLLIN}};

        if (zmq_poll(items, 2, PATIENCE) < 0)
            r = -errno;
        if (items[1].revents && read(timer, &ticks, sizeof ticks) < 0 && errno != EAGAIN)
            r = -errno;
        if (r == 0)
            r = take(c);
        if (r == 0)
            r = send_due(c, 1e9 / rate, &due_ns, &sent, n);
    }
    close(timer);
    return r;
}

int client_run(struct client *c, double seconds, double rate)
{
    int r;

    c->n_latencies = 0;
    r = rate > 0 ? run_load(c, seconds, rate) : run_full(c, seconds);
    if (r == 0)
        r = take_rest(c);
    return r < 0 || c->n_latencies ? r : -ENODATA;
}
