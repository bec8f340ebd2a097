/* SPDX-License-Identifier: Apache-2.0 */
/* retry.pml - shards that share a worker for RoIs that run again (docs/model.md).
 *
 * SHARDS shards have BATCHES batches each that run there alone, one at a time. A batch comes back well, or with a device that was lost, and
 * then the shard ends the worker; the process may also end at any step, up to DEATHS times. The comments name the functions of the daemon.
 * -DBREAK=n makes one mistake on purpose.
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

byte owner;             /* worker.owner: a shard, from 1 */
bool is_ending;         /* worker.is_ending */
bool is_down;           /* worker.deaths is odd */
bool is_alive = true;   /* the process */
byte n_died, n_lost;
byte inside;            /* whose batch is in the arena, from 1 */
bool is_back;           /* it came back, */
bool is_lost;           /* with a lost device */
bool emptied[SHARDS];   /* worker_part.emptied: nothing of the shard is there after this death */
byte left[SHARDS] = BATCHES;
bool is_done[SHARDS];   /* it has no RoIs any more and only looks */

inline unreserve(s)  /* worker_unreserve */
{
    atomic {
        if
        :: owner == s + 1 -> owner = 0
        :: else
        fi
    }
}

inline reserve(s)  /* worker_reserve */
{
    has = false;
    if
    :: BREAK == 1 && (is_down || is_ending)  /* looks before it takes the worker */
    :: else ->
        atomic {
            if
            :: owner == 0 -> owner = s + 1; has = true
            :: else -> has = (owner == s + 1)
            fi
        };
        if
        :: BREAK != 1 && has && (is_down || is_ending) -> has = false; unreserve(s)
        :: else
        fi
    fi
}

inline end_worker()  /* worker_kill, with its lock */
{
    atomic {
        if
        :: !is_down && !is_ending -> is_ending = true; is_alive = false
        :: else
        fi
    }
}

inline take_back(s)  /* take_finished, judge_lane */
{
    d_step { inside = 0; is_back = false; left[s]-- };
    if
    :: is_lost && BREAK != 2 -> is_lost = false; end_worker(); unreserve(s)
    :: is_lost && BREAK == 2 -> is_lost = false; unreserve(s); end_worker()  /* lets go of it first */
    :: else -> unreserve(s)
    fi
}

proctype Shard(byte s)
{
    bool has;

    do
    :: is_down && !emptied[s] ->  /* WORKER_DIED: batches_take_orphans */
        if
        :: inside == s + 1 && is_back -> take_back(s)
        :: inside == s + 1 && !is_back -> d_step { inside = 0; left[s]-- }
        :: else
        fi;
        emptied[s] = true
    :: inside == s + 1 && is_back -> take_back(s)
    :: left[s] > 0 && inside != s + 1 && owner == 0 && !is_down && !emptied[s] ->  /* run_suspects; emptied: its lane is not up */
        reserve(s);
        if
        :: has ->
            assert(inside == 0);   /* a batch runs alone */
            assert(!is_ending);    /* no shard has ended it: a batch that ends with it is to blame */
            inside = s + 1
        :: else
        fi
    :: left[s] == 0 && inside != s + 1 && !is_down -> is_done[s] = true; break
    od
}

/* The process: it is through with a batch, loses its device, or ends. */
proctype Process()
{
end_runs:
    do
    :: atomic { is_alive && inside && !is_back -> is_back = true }
    :: atomic { is_alive && inside && !is_back && n_lost < DEATHS -> is_back = true; is_lost = true; n_lost++ }
    :: atomic { is_alive && n_died < DEATHS -> is_alive = false; n_died++ }
    od
}

proctype Watcher()  /* watch, replace */
{
    byte k;

end_watches:
    do
    :: !is_alive && !is_down ->
        is_down = true;
        k = 0;
        do  /* is_empty */
        :: k < SHARDS -> (emptied[k] || is_done[k]); k++
        :: else -> break
        od;
        atomic { is_back = false; is_lost = false; is_alive = true };  /* arena_reset, start_again */
        atomic { is_ending = false; owner = 0 };
        atomic { is_down = false; emptied[0] = false; emptied[SHARDS - 1] = false }  /* worker_take, lane_restart */
    od
}

init {
    atomic {
        run Process();
        run Watcher();
        run Shard(0);
        run Shard(SHARDS - 1)
    }
}
