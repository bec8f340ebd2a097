# SPDX-License-Identifier: Apache-2.0
"""phases.py - one function for each way to break a running farm.  Each gets the storm and a time in seconds, breaks things that
long beside the good client, and returns when nothing of it is left."""
import os
import resource
import signal
import socket
import time

import farm

FAULTS = {"stall": 101, "roi": 102, "submit": 103, "collect": 104, "truncate": 105, "crash": 106, "abort": 107, "exit": 108,
          "no_device": 109, "lie": 110, "hang": 111, "positive": 112}


def until(storm, seconds, pause, step):
    """Calls step() again and again for that long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        step()
        time.sleep(storm.random.uniform(0.5, 1.5) * pause)


def kill_quietly(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def nothing(storm, seconds):
    """nothing is broken: the rate that the others are compared with"""
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
        c.process.kill()
        c.process.wait()
        c.process.stderr.close()
    until(storm, seconds, 0.05, step)


def faulty(storm, seconds, words, rate, part=0.1):
    """A client of whose RoIs some break the plugin: it gets a decision for each of them all the same."""
    ids = [FAULTS[storm.random.choice(words)] if storm.random.random() < part else 0 for _ in range(200)]
    storm.bad.append(storm.client("faulty", rate=rate, seconds=seconds, roi_ids=ids))
    time.sleep(seconds)


def plugins_fail(storm, seconds):
    """a client's RoIs make the plugin fail, lie and truncate"""
    faulty(storm, seconds, ["roi", "submit", "collect", "truncate", "lie", "positive", "stall"], 100)


def plugins_crash(storm, seconds):
    """a client's RoIs make the plugin crash, abort, exit and lose its device"""
    faulty(storm, seconds, ["crash", "abort", "exit", "no_device"], 20, 0.3)


def plugins_hang(storm, seconds):
    """a client's RoIs make the plugin hang for ever"""
    faulty(storm, seconds, ["hang"], 10, 0.3)


def poison_again(storm, seconds):
    """one RoI that ends its worker is sent again and again: it does so once, and is known from then on"""
    storm.n_files += 1
    file = f"{storm.daemon.folder}/poison-{storm.n_files}.roi"
    farm.number_rois(storm.good_file, file, [FAULTS["crash"]])
    before = storm.daemon.info()
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
    c.process.send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    c.process.send_signal(signal.SIGCONT)
    storm.bad.append(c)


def disk_full(storm, seconds):
    """the disk takes no more: RoIs of the debug stream are lost and counted, decisions are not held up"""
    _, most = resource.prlimit(storm.daemon.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(storm.daemon.process.pid, resource.RLIMIT_FSIZE, (1, most))
    try:
        faulty(storm, seconds, ["roi"], 200)
        storm.finish_bad()
    finally:
        resource.prlimit(storm.daemon.process.pid, resource.RLIMIT_FSIZE, (most, most))
    if not storm.daemon.debug()["lost_disk"]:
        raise AssertionError("the disk was full, and no RoI of the debug stream was counted lost")


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
        time.sleep(0.3)
        storm.daemon.process.send_signal(signal.SIGCONT)
        time.sleep(0.5)
    until(storm, seconds, 0.1, step)


def daemon_killed(storm, seconds):
    """the daemon is killed (kill -9) and started again: clients send again what was not answered"""
    storm.daemon.kill()
    time.sleep(0.1)
    storm.daemon.start()
    storm.restarted()
    time.sleep(seconds)


ALL = [poison_again, workers_killed, workers_stopped, clients_killed, plugins_fail, plugins_crash, plugins_hang, garbage, connections,
       clients_do_not_read, disk_full, log_not_read, reloads, daemon_stopped, daemon_killed]
SPARES_GOOD = {"nothing", "clients_killed", "garbage", "connections", "clients_do_not_read", "disk_full", "reloads"}
