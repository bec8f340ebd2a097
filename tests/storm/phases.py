# SPDX-License-Identifier: Apache-2.0
"""phases.py - one function for each way to break a running farm.  Each gets the storm and a time in seconds, breaks things that
long beside the good client (once only, if the storm measures), and returns when nothing of it is left.  storm.fault() notes when."""
import contextlib
import copy
import os
import random
import resource
import signal
import socket
import threading
import time

import farm

FAULTS = {"stall": 101, "roi": 102, "submit": 103, "collect": 104, "truncate": 105, "crash": 106, "abort": 107, "exit": 108,
          "no_device": 109, "lie": 110, "hang": 111, "positive": 112, "memory": 113}
LATE_S = 20  # a busy machine does it by then
SLOW_SIZES = [8000, 5600, 4000, 262144, 16384]  # spacepoints at one phi; the last two are more than z-finder pairs
SLOW_RATE = 8  # of such RoIs, 1/s


def until(storm, seconds, pause, step):
    """Calls step() again and again for that long, or once."""
    end = time.monotonic() + seconds
    while True:
        storm.fault()
        step()
        if storm.once:
            time.sleep(max(0, end - time.monotonic()))
        else:
            time.sleep(storm.random.uniform(0.5, 1.5) * pause)
        if time.monotonic() > end:
            return


@contextlib.contextmanager
def limited(pid, what, soft):
    """A lower limit of a process, as long as the block runs."""
    before, most = resource.prlimit(pid, what)
    resource.prlimit(pid, what, (min(soft, before) if before >= 0 else soft, most))
    try:
        yield
    finally:
        if os.path.exists(f"/proc/{pid}"):
            resource.prlimit(pid, what, (before, most))


def kill_quietly(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def nothing(storm, seconds):
    """nothing is broken: what the others are compared with"""
    storm.fault()
    time.sleep(seconds)


def workers_killed(storm, seconds):
    """a worker is killed (kill -9) every 0.4 s"""
    def step():
        if pids := storm.daemon.workers():
            kill_quietly(storm.random.choice(pids), signal.SIGKILL)
    until(storm, seconds, 0.4, step)


def workers_stopped(storm, seconds):
    """a worker is stopped (SIGSTOP), and looks like one that hangs"""
    def step():
        if pids := storm.daemon.workers():
            kill_quietly(storm.random.choice(pids), signal.SIGSTOP)
    until(storm, seconds, 0.8, step)


def clients_killed(storm, seconds):
    """clients come, send, and are killed (kill -9) while their RoIs are in flight"""
    def step():
        c = storm.client("killed", rate=500, seconds=10)
        time.sleep(storm.random.uniform(0.05, 0.3))
        c.end()
    until(storm, seconds, 0.05, step)


def faulty(storm, seconds, words, rate, part=0.1):
    """A client of whose RoIs some break the plugin: it gets a decision for each of them all the same."""
    ids = [FAULTS[storm.random.choice(words)] if storm.random.random() < part else 0 for _ in range(200)]
    once = storm.once and part < 1
    if once or not any(ids[:10]):  # each connection sends the first ones, some no more than ten
        ids[1] = FAULTS[storm.random.choice(words)]
    if once:
        ids = [0, ids[1]] + [0] * 198
    storm.fault()
    storm.bad.append(storm.client("faulty", rate=rate, seconds=0.2 if once else seconds, roi_ids=ids))
    time.sleep(seconds)


def faulty_until_the_end(storm, seconds, *how):
    """The same; until the full rate is back counts from the last of them."""
    faulty(storm, seconds, *how)
    if not storm.once:
        storm.fault()


def plugins_fail(storm, seconds):
    """a client's RoIs make the plugin fail, lie and truncate"""
    faulty_until_the_end(storm, seconds, ["roi", "submit", "collect", "truncate", "lie", "positive", "stall"], 100)


def plugins_crash(storm, seconds):
    """a client's RoIs make the plugin crash, abort, exit and lose its device"""
    faulty_until_the_end(storm, seconds, ["crash", "abort", "exit", "no_device"], 20, 0.3)


def plugins_hang(storm, seconds):
    """a client's RoIs make the plugin hang for ever"""
    faulty_until_the_end(storm, seconds, ["hang"], 10, 0.3)


def slow_rois(storm, seconds):
    """a client's RoIs are the slowest that the z-finder takes: all points at one phi, as many as its limit lets through, and as many as
    a client may send"""
    file = f"{storm.folder}/reports/slow.roi"
    farm.slow_rois(storm.good_file, file, storm.random, SLOW_SIZES)
    c = farm.Client(storm.daemon, "slow", file, SLOW_RATE, 0.2 if storm.once else seconds, batch=1)
    storm.clients.append(c)
    storm.bad.append(c)
    time.sleep(seconds)
    storm.fault()


def poison_again(storm, seconds):
    """one RoI that ends its worker is sent again and again: it does so once, and is known from then on"""
    file = storm.numbered([FAULTS["crash"]])
    before = storm.daemon.info()
    storm.fault()
    farm.send_as_is(storm.daemon, file)
    until(storm, seconds, 0.1, lambda: farm.send_as_is(storm.daemon, file))
    now = storm.daemon.info()
    ended, known = (int(now[k]) - int(before[k]) for k in ("poison", "poison_known"))
    if ended > 1 or not known:
        raise AssertionError(f"an RoI ended its worker {ended} times and was known {known} times")


def garbage(storm, seconds):
    """random bytes on the endpoint, the control socket and HTTP"""
    def step():
        data = storm.random.randbytes(storm.random.randrange(1, 4096))
        where = storm.random.randrange(3)
        try:
            if where == 2:
                s = socket.create_connection(("127.0.0.1", storm.daemon.port), timeout=1)
            else:
                s = socket.socket(socket.AF_UNIX)
                s.settimeout(1)
                s.connect([f"{storm.daemon.folder}/in", storm.daemon.control][where])
            with s:
                s.sendall(data)
                if storm.random.random() < 0.5:
                    s.recv(1024)
        except OSError:
            pass  # cut off: as it should be
    until(storm, seconds, 0.005, step)


def connections(storm, seconds):
    """connections that say nothing: made and dropped, and 50 that stay"""
    held = []

    def step():
        for _ in range(10):
            s = socket.socket(socket.AF_UNIX)
            s.setblocking(False)
            try:
                s.connect(storm.random.choice([f"{storm.daemon.folder}/in", storm.daemon.control]))
            except OSError:
                pass
            if len(held) < 50:
                held.append(s)
            else:
                s.close()
    until(storm, seconds, 0.05, step)
    for s in held:
        s.close()


def clients_do_not_read(storm, seconds):
    """a client is stopped (SIGSTOP) with decisions on their way, and goes on later"""
    c = storm.client("stopped", rate=500, seconds=seconds)
    time.sleep(0.2)
    storm.fault()
    c.process.send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    c.process.send_signal(signal.SIGCONT)
    storm.bad.append(c)


def debug_stream_breaks(storm, seconds, lost, rate=200):
    """RoIs of the debug stream come, and do not reach the disk."""
    before = storm.daemon.debug()
    faulty(storm, seconds, ["roi"], rate, 1)
    end = time.monotonic() + LATE_S
    while not any(storm.daemon.debug()[k] > before[k] for k in lost):
        if time.monotonic() > end:
            raise AssertionError(f"nothing of the debug stream was {' or '.join(lost)}: {before} before, {storm.daemon.debug()} now")
        time.sleep(farm.LOOK_S)


def disk_full(storm, seconds):
    """the disk takes no more: RoIs of the debug stream are lost and counted, decisions are not held up"""
    with limited(storm.daemon.process.pid, resource.RLIMIT_FSIZE, 1):
        debug_stream_breaks(storm, seconds, ["lost_disk"])
        storm.finish_bad()


@contextlib.contextmanager
def disk(storm, what, slow_ms=0):
    storm.daemon.page.disk(what, slow_ms)
    try:
        yield
    finally:
        storm.daemon.page.disk(0)


def disk_hangs(storm, seconds):
    """no call to the disk returns: RoIs of the debug stream wait, and beyond their memory they are lost and counted"""
    with disk(storm, farm.HANGS):
        debug_stream_breaks(storm, seconds, ["waiting", "lost_memory"], 2000)
        end = time.monotonic() + LATE_S
        while not storm.daemon.page.hanging():
            if time.monotonic() > end:
                raise AssertionError("no call waits for the disk that hangs")
            time.sleep(farm.LOOK_S)


def disk_slow(storm, seconds):
    """each call to the disk takes 50 ms"""
    with disk(storm, farm.IS_SLOW, 50):
        faulty(storm, seconds, ["roi"], 2000, 1)
        storm.finish_bad()


def disk_fails(storm, seconds):
    """each call to the disk fails (EIO): RoIs of the debug stream are lost and counted"""
    with disk(storm, farm.FAILS):
        debug_stream_breaks(storm, seconds, ["lost_error"])
        storm.finish_bad()


def clock_jumps(storm, seconds):
    """the wall clock steps by up to ten years, forwards and backwards"""
    def step():
        most = storm.random.choice([1, 60, 3600, 86400, 86400 * 3650])
        storm.daemon.page.step_clock(storm.random.uniform(-most, most))
    try:
        until(storm, seconds, 0.1, step)
    finally:
        storm.daemon.page.step_clock(0)


def descriptors_short(storm, seconds):
    """the daemon may open four descriptors more, while clients and connections come"""
    pid = storm.daemon.process.pid
    used = {int(fd) for fd in os.listdir(f"/proc/{pid}/fd")}
    unused = [fd for fd in range(len(used) + 4) if fd not in used]
    with limited(pid, resource.RLIMIT_NOFILE, unused[3] + 1):
        come_and_go(storm, seconds)


def come_and_go(storm, seconds):
    """Clients that may be refused, and connections that say nothing."""
    def step():
        transport = storm.random.choice(["ipc", "shm"])
        c = storm.client("comer", rate=500, seconds=0.1, transport=transport)
        connections(storm, storm.random.uniform(0.1, 0.3))
        c.end()
    until(storm, seconds, 0.05, step)


def memory_short(storm, seconds):
    """the daemon may have 8 MiB of memory more, while clients and connections come"""
    pid = storm.daemon.process.pid
    with open(f"/proc/{pid}/statm", encoding="ascii") as f:
        pages = int(f.read().split()[0])
    with limited(pid, resource.RLIMIT_AS, pages * resource.getpagesize() + (8 << 20)):
        come_and_go(storm, seconds)


def all_workers(storm):
    """The processes of all workers, once none is away: one that starts later would be without a limit."""
    end = time.monotonic() + LATE_S
    while len(pids := storm.daemon.workers()) < len(storm.daemon.table("show workers")):
        if time.monotonic() > end:
            raise AssertionError(f"a worker is away: {storm.daemon.table('show workers')}")
        time.sleep(farm.LOOK_S)
    return pids


def workers_memory_short(storm, seconds):
    """workers may have 64 MiB of memory more, and a client's RoIs make the plugin ask for 1 GiB"""
    with contextlib.ExitStack() as limits:
        for pid in all_workers(storm):
            with open(f"/proc/{pid}/statm", encoding="ascii") as f:
                pages = int(f.read().split()[0])
            limits.enter_context(limited(pid, resource.RLIMIT_AS, pages * resource.getpagesize() + (64 << 20)))
        deaths, hangs = storm.ends("deaths"), storm.ends("hangs")
        faulty(storm, seconds, ["memory"], 20, 0.3)
        # one that was slow on a busy machine is replaced by one without the limit
        storm.finish_bad(must_fail=lambda: storm.ends("hangs") == hangs)
        if storm.ends("deaths") - deaths != storm.ends("hangs") - hangs:
            raise AssertionError("a worker ended because its plugin asked for memory")


def plugin_swapped(storm, seconds):
    """the plugin's file is overwritten and the menu loaded again: by another version, by one that is cut off or crashes when it is
    loaded, while workers are killed"""
    plugins = f"{storm.daemon.build}/test-plugins"
    files = {"1.0.0": f"{plugins}/fault.so", "2.0.0": f"{plugins}/rebuilt/fault.so"}
    # behind the first 39 % are debug information and symbols, without which it would load
    cut_off, crashes = (files["2.0.0"], storm.random.uniform(0.02, 0.3)), (f"{plugins}/swaps/swap_3.so", 1)

    def step():
        version = next(v for v in files if v != storm.daemon.version())
        storm.daemon.install(*storm.random.choice([cut_off, crashes]))
        reload_expecting(storm, "reload failed, the running menu stays")
        if pids := [] if storm.once else storm.daemon.workers():
            kill_quietly(storm.random.choice(pids), signal.SIGKILL)
        storm.daemon.install(files[version])
        reload_expecting(storm, "menu reloaded")
        if storm.daemon.version() != version:
            raise AssertionError(f"version {storm.daemon.version()} of the plugin runs after a reload, not {version}")
    until(storm, seconds, 0.4, step)


def reload_expecting(storm, words):
    answer = storm.daemon.ask("reload")
    if words not in answer:
        raise AssertionError(f"reload: {answer.strip()}, not \"{words}\"")


def log_not_read(storm, seconds):
    """nobody reads stderr while workers are killed"""
    storm.daemon.reading.clear()
    try:
        workers_killed(storm, seconds)
    finally:
        storm.daemon.reading.set()


def reloads(storm, seconds):
    """the menu is loaded again all the time"""
    until(storm, seconds, 0.3, lambda: storm.daemon.ask("reload"))


def daemon_stopped(storm, seconds):
    """the daemon itself is stopped (SIGSTOP) for a while"""
    def step():
        storm.daemon.process.send_signal(signal.SIGSTOP)
        time.sleep(0.3 if storm.once else storm.random.uniform(0.3, 1.2))
        storm.daemon.process.send_signal(signal.SIGCONT)
        time.sleep(0.5)
    until(storm, seconds, 0.1, step)


def daemon_killed(storm, seconds):
    """the daemon is killed (kill -9) and started again: clients send again what was not answered"""
    storm.fault()
    storm.daemon.kill()
    time.sleep(0.1)
    storm.daemon.start()
    storm.restarted()
    time.sleep(seconds)


def device_lost(storm, seconds):
    """one of two devices is lost, and comes back: the other one has the RoIs"""
    def step():
        name = f"{storm.daemon.folder}/lost/{storm.random.randrange(2)}"
        with open(name, "w", encoding="ascii"):
            pass
        time.sleep(seconds if storm.once else storm.random.uniform(0.2, 1))
        os.remove(name)
    until(storm, seconds, 0.3, step)


def devices_lost(storm, seconds):
    """all devices are lost for a while"""
    names = [f"{storm.daemon.folder}/lost/{i}" for i in range(2)]
    for name in names:
        with open(name, "w", encoding="ascii"):
            pass
    time.sleep(min(seconds, 1))
    for name in names:
        os.remove(name)
    storm.fault()  # full rate again, after they are back
    time.sleep(max(0, seconds - 1))


def three_at_once(storm, seconds):
    """three of the others at the same time"""
    errors = []

    def run(phase, mine):
        try:
            phase(mine, seconds)
        except Exception as e:  # pylint: disable=broad-except
            errors.append(e)
    threads = []
    storm.together = storm.random.sample([p for p in storm.chosen if p in TOGETHER], 3)
    for phase in storm.together:
        mine = copy.copy(storm)
        mine.random = random.Random(storm.random.getrandbits(64))
        print(f"                     {phase.__name__}", flush=True)
        threads.append(threading.Thread(target=run, args=(phase, mine)))
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]


ALL = [poison_again, workers_killed, workers_stopped, clients_killed, plugins_fail, plugins_crash, plugins_hang, garbage, connections,
       clients_do_not_read, disk_full, disk_hangs, disk_slow, disk_fails, clock_jumps, descriptors_short, memory_short,
       workers_memory_short, plugin_swapped, log_not_read, reloads, daemon_stopped, daemon_killed, three_at_once, slow_rois, device_lost,
       devices_lost]
SETUPS = {slow_rois: farm.SLOW, device_lost: farm.GPUS, devices_lost: farm.GPUS}  # others: --devices
# RoIs of the good client fail only where workers end for a reason outside of their plugin: one that runs alone then looks like the
# reason.  All devices lost are such a reason too, and beside RoIs that hang some of its own may pass the hard limit.
MAY_COST_GOOD = {workers_killed, workers_stopped, log_not_read, devices_lost}
OTHER_CLIENTS = {clients_killed, garbage, connections, clients_do_not_read}
# With `isolation: thread` a plugin that ends or hangs is the daemon's end.
NEEDS_PROCESSES = {poison_again, workers_killed, workers_stopped, plugins_crash, plugins_hang, workers_memory_short, plugin_swapped,
                   log_not_read, daemon_killed, three_at_once, slow_rois, device_lost, devices_lost}
TOGETHER = {workers_killed, workers_stopped, clients_killed, plugins_fail, plugins_crash, garbage, connections, clients_do_not_read,
            clock_jumps, log_not_read, reloads, daemon_stopped, disk_slow}
