/* SPDX-License-Identifier: Apache-2.0 */
/* worker.pml - credits, sleep and death between shards and a worker (docs/model.md).
 *
 * SHARDS shards give BATCHES batches each to the runner of one worker, which may end at any step, up to DEATHS times. A slot of a
 * lane is a credit: a shard gives at most SLOTS batches that have not come back. The comments name the functions of the daemon.
 * -DBREAK=n makes one mistake on purpose; the test wants each of them found.
 */
#ifndef SHARDS
#define SHARDS 2
#endif
#ifndef BATCHES
#define BATCHES 2
#endif
#ifndef DEATHS
#define DEATHS 2
#endif
#ifndef BREAK
#define BREAK 0
#endif
#define SLOTS 2
/* The bell has 32 bits and does not come round while a runner goes to sleep; nor does it here. */
#define BELLS (SHARDS * BATCHES + 1)

/* What the front has, of each shard. */
byte given[SHARDS];         /* batches so far */
byte decided[SHARDS];       /* of them, those that came back or were orphans */
byte taken[SHARDS];         /* lane->taken: slots in use */
bool is_up[SHARDS] = true;  /* lane->is_up */
byte emptied[SHARDS];       /* worker_part.emptied */
byte seen[SHARDS];          /* worker_part.taken */

/* The arena: rings of slots, which hold no more than SLOTS. */
byte in[SHARDS], out[SHARDS];
bool runner_sleeps;         /* ring.sleeping, of all rings of the runner */
byte bell;                  /* arena_link.bell, a futex */
bool shard_sleeps[SHARDS];  /* doorbell.sleeping */
byte event[SHARDS];         /* the eventfd: 0 or more */

byte deaths;                /* worker.deaths: times two, and one while it is down */
byte n_died;
bool is_alive = true;       /* the process, */
byte runners;               /* and whether its thread has ended */

/* ring_push, ring_wake: lane_submit. */
inline submit(s)
{
    d_step {
        taken[s]++;
        in[s]++;
        given[s]++;
        assert(taken[s] <= SLOTS && in[s] <= SLOTS)
    };
    if
    :: runner_sleeps -> bell = (bell + 1) % BELLS
    :: else
    fi
}

/* lanes_look_after_workers: what is new of the worker. */
inline look_after(s)
{
    if
    :: (deaths & 1) && emptied[s] != deaths ->  /* WORKER_DIED: batches_take_orphans */
        d_step {  /* what its runner writes from here on, while it ends, nobody reads */
            is_up[s] = false;
            decided[s] = decided[s] + taken[s];  /* take_finished; lane_orphan, lane_drop */
            taken[s] = 0;
            out[s] = 0
        };
        emptied[s] = deaths  /* worker_emptied */
    :: !(deaths & 1) && seen[s] != deaths ->  /* WORKER_BACK */
        d_step {
            if
            :: !(deaths & 1) -> seen[s] = deaths; mine = true  /* worker_take */
            :: else -> mine = false
            fi
        };
        if
        :: mine -> d_step { assert(taken[s] == 0); is_up[s] = true }  /* lane_restart */
        :: else
        fi
    :: else
    fi
}

#define HAS_NEWS(s) (((deaths & 1) && emptied[s] != deaths) || (!(deaths & 1) && seen[s] != deaths))
#define HAS_WORK(s) ((out[s] > 0 && taken[s] > 0) || HAS_NEWS(s) || (is_up[s] && taken[s] < SLOTS && given[s] < BATCHES))

/* shard_turn, wait_for_work. */
proctype Shard(byte s)
{
    bool mine;

    do
    :: decided[s] == BATCHES -> break
    :: else ->
        look_after(s);
        if
        :: out[s] > 0 && taken[s] > 0 -> d_step { out[s]--; taken[s]--; decided[s]++ }  /* lane_finished, lane_release */
        :: else
        fi;
        if
        :: is_up[s] && taken[s] < SLOTS && given[s] < BATCHES -> submit(s)
        :: else
        fi;
        /* wait_for_work */
        shard_sleeps[s] = (BREAK != 1);
        if
        :: HAS_WORK(s) || decided[s] == BATCHES
        :: else ->
            if
            :: BREAK == 1 -> shard_sleeps[s] = true  /* says that it sleeps after its look */
            :: else
            fi;
            event[s] > 0
        fi;
        shard_sleeps[s] = false;
        event[s] = 0
    od;
    /* its books; what follows is the watcher's need alone: dispatch still turns, without RoIs */
    assert(given[s] == BATCHES && decided[s] == BATCHES && taken[s] == 0);
end_idle:
    do
    :: HAS_NEWS(s) -> look_after(s)
    od
}

/* A life of the process: the runner's thread (runner_run).  It ends between any two of its steps. */
proctype Runner()
{
    byte s, before;
    bool has, is_empty;

    {
        do
        :: atomic { !has && in[0] > 0 -> in[0]--; s = 0; has = true }  /* next_batch: of the shards in turn */
        :: atomic { !has && in[SHARDS - 1] > 0 -> in[SHARDS - 1]--; s = SHARDS - 1; has = true }
        :: !has && in[0] == 0 && in[SHARDS - 1] == 0 ->  /* ring_wait */
            before = bell;
            runner_sleeps = (BREAK != 2);
            is_empty = (in[0] == 0 && in[SHARDS - 1] == 0);
            runner_sleeps = true;
            if
            :: is_empty ->
end_waits:      bell != before
            :: else
            fi;
            runner_sleeps = false
        :: has ->  /* end_batch: ring_push; wake_dispatcher */
            d_step { has = false; out[s]++; assert(out[s] <= SLOTS) };
            if
            :: shard_sleeps[s] -> shard_sleeps[s] = false; event[s] = 1
            :: else
            fi
        od
    } unless { !is_alive };
    runners--
}

/* kill, a crash, a hang that dispatch ends: at any step, atomically. */
proctype Killer()
{
    do
    :: n_died < DEATHS && is_alive -> atomic { is_alive = false; n_died++ }
    :: break
    od
}

inline ring_bells()  /* ring_bell: the eventfd, whether or not the shard sleeps */
{
    d_step { event[0] = 1; event[SHARDS - 1] = 1 }
}

/* worker_watcher, replace, start_again */
proctype Watcher()
{
    byte k;

end_watches:
    do
    :: !is_alive ->           /* await_end, announce_end: its threads may still run */
        deaths = deaths + 3;  /* one more death, and down */
        ring_bells();
        (runners == 0 || BREAK == 5);  /* see_end: worker_process_reap */
        k = (BREAK == 3 -> SHARDS : 0);
        do  /* is_empty: all shards have taken their RoIs over */
        :: k < SHARDS -> emptied[k] == deaths; k++
        :: else -> break
        od;
        k = 0;
        d_step {  /* arena_reset: no batch of a shard may be in it, and nobody writes there */
            assert(runners == 0 && taken[0] == 0 && taken[SHARDS - 1] == 0);
            in[0] = 0; in[SHARDS - 1] = 0;
            out[0] = 0; out[SHARDS - 1] = 0;
            runner_sleeps = false;
            bell = 0
        };
        atomic { is_alive = true; runners++; run Runner() };  /* start_again */
        deaths = deaths - 1;                                  /* it is back */
        if
        :: BREAK == 4
        :: else -> ring_bells()
        fi
    od
}

init {
    atomic {
        runners = 1;
        run Runner();
        run Watcher();
        run Killer();
        run Shard(0);
        if
        :: SHARDS > 1 -> run Shard(SHARDS - 1)
        :: else
        fi
    }
}
