/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/auth.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zmq.h>

#include "log.h"
#include "transport/rebind.h"

#define ZAP        "inproc://zeromq.zap.01"
#define STOP       "inproc://trigd-auth-stop"
#define DOMAIN     "data"
#define PARTS      7u /* of a question about a key */
#define PART_BYTES 256u
#define NAME_BYTES 64u
#define KEY_BYTES  32u
#define WORD_BYTES 256
#define LOOK_MS    1000 /* between looks at the files */

struct key {
    unsigned char bytes[KEY_BYTES];
    char name[NAME_BYTES];
};

struct seen {                /* a file as it was when it was read; all 0: it has to be read */
    struct timespec changed; /* its mode counts as well */
    ino_t inode;
};

struct auth {
    const char *key_file, *list_file;
    void *zap, *stop, *stopper; /* the thread's socket; both ends of the word to stop */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* of what follows */
    struct keyfile own;
    struct seen key_seen;
    _Atomic uint32_t keys; /* other own keys that came in its place */
    struct key *key;       /* [n]; with a wrong list none */
    uint32_t n;
    bool is_whole;          /* the file was right when it was read */
    _Atomic uint32_t lists; /* whole ones that were read */
    struct seen list_seen;
    bool is_missed; /* the list could not be read, and the log says so */
};

static bool is_changed(const struct seen *seen, const struct stat *s)
{
    return seen->inode != s->st_ino || seen->changed.tv_sec != s->st_ctim.tv_sec ||
           seen->changed.tv_nsec != s->st_ctim.tv_nsec;
}

/* ---------------------------------------------------------------- the own key */

/* Fills in a public key that is not given.  -EBADMSG and a sentence, if these are not two keys. */
static int check_own(const char *path, struct keyfile *k, char *why, size_t bytes)
{
    char derived[KEYFILE_KEY];

    if (!k->secret_key[0])
        snprintf(why, bytes, "%s has no secret key", path);
    else if (zmq_curve_public(derived, k->secret_key) < 0)
        snprintf(why, bytes, "%s: the secret key is none", path);
    else if (k->public_key[0] && strcmp(k->public_key, derived) != 0)
        snprintf(why, bytes, "%s: the public key does not belong to the secret key", path);
    else
        memcpy(k->public_key, derived, sizeof derived);
    return why[0] ? -EBADMSG : 0;
}

/* Reads the own key when its file has changed; while that is wrong the one before stays. */
static int read_own(struct auth *a)
{
    struct keyfile fresh;
    struct stat s;
    char why[512] = "";
    int r;

    if (stat(a->key_file, &s) < 0)
        s = (struct stat){.st_ino = 0};
    if (!is_changed(&a->key_seen, &s) && a->own.secret_key[0])
        return 0;
    a->key_seen = (struct seen){.changed = s.st_ctim, .inode = s.st_ino};
    r = keyfile_read(a->key_file, &fresh, why, sizeof why);
    if (r == 0)
        r = check_own(a->key_file, &fresh, why, sizeof why);
    if (r < 0) {
        log_error("auth",
                  a->own.secret_key[0] ? "cannot read the own key: the one before stays"
                                       : "cannot read the own key",
                  "error=\"%s\"", why);
    } else if (strcmp(fresh.secret_key, a->own.secret_key) != 0) {
        pthread_mutex_lock(&a->lock);
        a->own = fresh;
        pthread_mutex_unlock(&a->lock);
        atomic_fetch_add(&a->keys, 1);
    }
    keyfile_forget(&fresh);
    return r;
}

uint32_t auth_keys(const struct auth *a)
{
    return a ? atomic_load(&a->keys) : 0;
}

void auth_own(struct auth *a, struct keyfile *ret_own)
{
    pthread_mutex_lock(&a->lock);
    *ret_own = a->own;
    pthread_mutex_unlock(&a->lock);
}

/* ---------------------------------------------------------------- the list */

struct list {
    struct key *key;
    uint32_t n;
};

static int take_key(struct list *l, const char *line)
{
    char text[WORD_BYTES], name[NAME_BYTES] = "?";
    struct key k, *more;
    int n = sscanf(line, "%255s %63s", text, name);

    if (n < 1 || (text[0] == '#' && strlen(text) != KEYFILE_KEY - 1)) /* a key may begin so */
        return 0;
    if (strlen(text) != KEYFILE_KEY - 1 || !zmq_z85_decode(k.bytes, text))
        return -EBADMSG;
    memcpy(k.name, name, sizeof k.name);
    more = realloc(l->key, (l->n + 1) * sizeof *more);
    if (!more)
        return -ENOMEM;
    l->key = more;
    l->key[l->n++] = k;
    return 0;
}

/* Puts another list into force. */
static void take_list(struct auth *a, const struct list *l, bool is_whole)
{
    pthread_mutex_lock(&a->lock);
    free(a->key);
    a->key = l->key;
    a->n = l->n;
    a->is_whole = is_whole;
    pthread_mutex_unlock(&a->lock);
    atomic_fetch_add(&a->lists, is_whole);
}

static int read_lines(FILE *f, struct list *l, unsigned *ret_line)
{
    char *line = NULL;
    size_t room = 0;
    int r = 0;

    while (r == 0 && getline(&line, &room, f) >= 0) {
        ++*ret_line;
        r = take_key(l, line);
    }
    free(line);
    return r == 0 && !feof(f) ? -EIO : r;
}

/* Why there is no list: nobody is let in until there is. */
static void refuse_all(struct auth *a, int error, unsigned line)
{
    const char *path = a->list_file;

    if (error == -EBADMSG)
        log_error("auth", "a line of the list of keys is wrong: nobody is let in",
                  "file=\"%s\" line=%u allowed=\"KEY NAME\"", path, line);
    else if (!a->is_missed)
        log_error("auth", "cannot read the list of keys: nobody is let in",
                  "file=\"%s\" error=\"%s\"", path, strerror(-error));
    a->is_missed = error != -EBADMSG;
    take_list(a, &(struct list){0}, false);
}

/* Reads the list when it has changed.  With a wrong line nobody of it gets in: a list that is read
 * in part might let in who was taken off it. */
static int read_list(struct auth *a)
{
    FILE *f = fopen(a->list_file, "re");
    struct list fresh = {0};
    struct stat s = {0};
    unsigned line = 0;
    int r = f && fstat(fileno(f), &s) == 0 ? 0 : -errno;
    const bool is_new = r < 0 || is_changed(&a->list_seen, &s);

    if (r == 0 && is_new)
        r = read_lines(f, &fresh, &line);
    if (f)
        fclose(f);
    if (!is_new)
        return 0;
    a->list_seen = (struct seen){.changed = s.st_ctim,
                                 .inode = r == 0 || r == -EBADMSG ? s.st_ino : 0}; /* 0: again */
    if (r < 0) {
        free(fresh.key);
        refuse_all(a, r, line);
        return r;
    }
    a->is_missed = false;
    log_info("auth", "list of keys read", "file=\"%s\" keys=%u", a->list_file, fresh.n);
    take_list(a, &fresh, true);
    return 0;
}

/* Of the thread, which alone changes the list. */
static const char *name_of(const struct auth *a, const unsigned char *key)
{
    for (uint32_t i = 0; i < a->n; i++)
        if (memcmp(a->key[i].bytes, key, KEY_BYTES) == 0)
            return a->key[i].name;
    return NULL;
}

uint32_t auth_lists(const struct auth *a)
{
    return a ? atomic_load(&a->lists) : 0;
}

bool auth_allows(struct auth *a, const char *key)
{
    unsigned char bytes[KEY_BYTES];
    bool allows;

    if (!a || strlen(key) != KEYFILE_KEY - 1 || !zmq_z85_decode(bytes, key))
        return true; /* it came in without a key: not over tcp */
    pthread_mutex_lock(&a->lock);
    allows = !a->is_whole || name_of(a, bytes);
    pthread_mutex_unlock(&a->lock);
    return allows;
}

/* ---------------------------------------------------------------- questions (RFC 27) */

struct question {
    char part[PARTS][PART_BYTES]; /* version, id, domain, address, identity, mechanism, key */
    int bytes[PARTS];
    uint32_t n;
};

static bool receive(struct auth *a, struct question *q)
{
    int more = 1;
    size_t size = sizeof more;

    memset(q, 0, sizeof *q);
    while (more) {
        char rest[PART_BYTES], *to = q->n < PARTS ? q->part[q->n] : rest;
        int n = zmq_recv(a->zap, to, PART_BYTES - 1, 0);

        if (n < 0)
            return false;
        if (q->n < PARTS)
            q->bytes[q->n++] = n;
        zmq_getsockopt(a->zap, ZMQ_RCVMORE, &more, &size);
    }
    return true;
}

#define KEY_NAME_BYTES (sizeof AUTH_KEY - 1)
#define METADATA_BYTES (1 + KEY_NAME_BYTES + 4 + KEYFILE_KEY - 1)

/* The peer's key as a property of its messages (RFC 23): name and value after their lengths. */
static void write_metadata(const struct question *q, char to[METADATA_BYTES])
{
    char key[KEYFILE_KEY];

    zmq_z85_encode(key, (const uint8_t *)q->part[6], KEY_BYTES);
    to[0] = KEY_NAME_BYTES;
    memcpy(to + 1, AUTH_KEY, KEY_NAME_BYTES);
    memcpy(to + 1 + KEY_NAME_BYTES, (const char[4]){0, 0, 0, KEYFILE_KEY - 1}, 4);
    memcpy(to + 5 + KEY_NAME_BYTES, key, KEYFILE_KEY - 1);
}

static void reply(struct auth *a, const struct question *q, const char *name)
{
    char metadata[METADATA_BYTES];
    const struct {
        const char *bytes;
        size_t n;
    } part[] = {{"1.0", 3},
                {q->part[1], (size_t)q->bytes[1]},
                {name ? "200" : "400", 3},
                {name ? "OK" : "the key is not on the list", name ? 2 : 26},
                {name ? name : "", name ? strlen(name) : 0},
                {metadata, name ? sizeof metadata : 0}};
    const size_t n = sizeof part / sizeof *part;

    if (name)
        write_metadata(q, metadata);
    for (size_t i = 0; i < n; i++)
        if (zmq_send(a->zap, part[i].bytes, part[i].n, i + 1 < n ? ZMQ_SNDMORE : 0) < 0)
            log_error("auth", "cannot answer", "error=\"%s\"", zmq_strerror(errno));
}

static void answer_one(struct auth *a)
{
    struct question q;
    const char *name = NULL;

    if (!receive(a, &q))
        return;
    if (q.n == PARTS && !strcmp(q.part[5], "CURVE") && q.bytes[6] == KEY_BYTES) {
        read_list(a);
        name = name_of(a, (const unsigned char *)q.part[6]);
    }
    if (name)
        log_info("auth", "let in", "peer=\"%s\" address=\"%s\"", name, q.part[3]);
    else
        log_warn("auth", "refused: the key is not on the list", "address=\"%s\" mechanism=\"%s\"",
                 q.part[3], q.part[5]);
    reply(a, &q, name);
}

static void *run(void *arg)
{
    struct auth *a = arg;
    zmq_pollitem_t items[] = {{.socket = a->zap, .events = ZMQ_POLLIN},
                              {.socket = a->stop, .events = ZMQ_POLLIN}};

    for (;;) {
        int n = zmq_poll(items, 2, LOOK_MS);

        if (n < 0 && errno != EINTR)
            return NULL;
        if (n > 0 && items[1].revents)
            return NULL;
        if (n > 0 && items[0].revents)
            answer_one(a);
        else
            read_list(a);
        read_own(a);
    }
}

/* ---------------------------------------------------------------- opening */

static int start(struct auth *a, void *context)
{
    sigset_t all, old;
    int r;

    a->zap = zmq_socket(context, ZMQ_REP);
    a->stop = zmq_socket(context, ZMQ_PAIR);
    a->stopper = zmq_socket(context, ZMQ_PAIR);
    if (!a->zap || !a->stop || !a->stopper || zmq_bind(a->zap, ZAP) < 0 ||
        zmq_bind(a->stop, STOP) < 0 || zmq_connect(a->stopper, STOP) < 0)
        return -errno;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    r = -pthread_create(&a->thread, NULL, run, a);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    a->has_thread = r == 0;
    return r;
}

int auth_open(void *context, const char *key_file, const char *list_file, struct auth **ret_auth)
{
    struct auth *a;
    int r;

    *ret_auth = NULL;
    if (!key_file[0])
        return 0;
    a = calloc(1, sizeof *a);
    if (!a)
        return -ENOMEM;
    a->key_file = key_file;
    a->list_file = list_file;
    pthread_mutex_init(&a->lock, NULL);
    r = read_own(a);
    atomic_store(&a->keys, 0);
    if (r == 0)
        r = read_list(a);
    if (r == 0)
        r = start(a, context);
    if (r < 0) {
        auth_close(a);
        return r;
    }
    *ret_auth = a;
    return 0;
}

void auth_close(struct auth *a)
{
    if (!a)
        return;
    if (a->has_thread) {
        zmq_send(a->stopper, "", 0, 0);
        pthread_join(a->thread, NULL);
    }
    if (a->zap)
        zmq_close(a->zap);
    if (a->stop)
        zmq_close(a->stop);
    if (a->stopper)
        zmq_close(a->stopper);
    keyfile_forget(&a->own);
    pthread_mutex_destroy(&a->lock);
    free(a->key);
    free(a);
}

int auth_prepare(struct auth *a, void *socket)
{
    const int is_server = 1;
    struct keyfile own;
    int r;

    if (!a)
        return 0;
    auth_own(a, &own);
    r = zmq_setsockopt(socket, ZMQ_CURVE_SERVER, &is_server, sizeof is_server) < 0 ||
                zmq_setsockopt(socket, ZMQ_ZAP_DOMAIN, DOMAIN, strlen(DOMAIN)) < 0 ||
                zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, own.secret_key, KEYFILE_KEY) < 0
            ? -errno
            : 0;
    keyfile_forget(&own);
    return r;
}

int auth_rebind(struct auth *a, void *socket, const char *endpoint)
{
    struct keyfile own;
    int r = auth_prepare(a, socket);

    if (r == 0)
        r = rebind(socket, endpoint);
    if (r < 0) {
        log_error("auth", "an endpoint keeps the own key of before", "endpoint=\"%s\" error=\"%s\"",
                  endpoint, zmq_strerror(-r));
        return r;
    }
    auth_own(a, &own);
    log_info("auth", "another own key", "endpoint=\"%s\" public=\"%s\"", endpoint, own.public_key);
    keyfile_forget(&own);
    return 0;
}

int auth_dial(void *socket, const struct keyfile *own, const char *peer_key)
{
    const int is_server = 0; /* which takes keys off the socket as well */

    if (zmq_setsockopt(socket, ZMQ_CURVE_SERVER, &is_server, sizeof is_server) < 0)
        return -errno;
    if (peer_key &&
        (zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, peer_key, KEYFILE_KEY) < 0 ||
         zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, own->public_key, KEYFILE_KEY) < 0 ||
         zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, own->secret_key, KEYFILE_KEY) < 0))
        return -errno;
    return 0;
}
