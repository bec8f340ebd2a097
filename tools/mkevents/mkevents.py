#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mkevents.py: proton-proton collisions of Pythia 8 at 13.6 TeV as lists of charged particles, which
`trigreplay import particles` sends through a simulated detector and writes as an RoI file.

An event is a hard collision (minimum bias, or a pair of b quarks of which a hadron flies into the
detector) and a Poisson number of minimum-bias ones, each at its own place in the luminous region.
Every vertex is told with what decayed there.  The same options make the same file."""
import argparse
import gzip
import io
import math
import os
import sys

CALLED_FROM = os.getcwd()
os.chdir(os.path.dirname(os.path.abspath(__file__)))
import pythia8mc  # noqa: E402 pylint: disable=wrong-import-position; it runs what is in a folder `python` of the current one
os.chdir(CALLED_FROM)

# sigma across and along the beam (mm), |eta| from and to, least pT (GeV), mean of the other
# collisions, |eta| of the b hadron that is asked for
GEOMETRIES = {
    "velo": {"xy": 0.035, "z": 63.0, "eta": (1.2, 5.3), "pt": 0.03, "pileup": 5.0, "b": (2.0, 5.0)},
    "pixel": {"xy": 0.012, "z": 35.0, "eta": (0.0, 3.0), "pt": 0.1, "pileup": 0.0, "b": (0.0, 2.5)},
}
MADE_WITHIN = (60.0, 500.0)  # mm, across and along: further out hardly anything is seen
LONG_LIVED = 1e-3  # mm, c tau: what lives longer has a decay vertex of its own
COLUMNS = "event,vertex,kind,parent,x,y,z,px,py,pz,charge,pdg,flags"
COLLISION, BEAUTY, CHARM, STRANGE, OTHER = range(5)
FLAG = {BEAUTY: 1, CHARM: 2, STRANGE: 4}


def flavour(pdg):
    """What kind of decay a hadron's is: by its heaviest quark."""
    digits = f"{abs(pdg) % 10000:04d}"
    if abs(pdg) < 100:
        return OTHER  # a tau
    for quark, kind in (("5", BEAUTY), ("4", CHARM), ("3", STRANGE)):
        if quark in digits[:3]:
            return kind
    return OTHER


def start(seed, settings):
    pythia = pythia8mc.Pythia("", False)
    for line in ["Print:quiet = on", "Beams:eCM = 13600.", "Random:setSeed = on", f"Random:seed = {seed}",
                 *settings]:
        if not pythia.readString(line):
            sys.exit(f"mkevents: Pythia does not know \"{line}\"")
    if not pythia.init():
        sys.exit("mkevents: Pythia does not start")
    return pythia


def next_collision(pythia):
    for _ in range(100):
        if pythia.next():
            return pythia.event
    sys.exit("mkevents: Pythia failed a hundred times in a row")


def has_b_within(event, low, high):
    """Whether a b hadron that decays weakly flies that way, forward."""
    return any(flavour(p.id()) == BEAUTY and p.tau0() > LONG_LIVED and not p.isFinal() and low < p.eta() < high
               for p in event)


class Event:
    """Vertices and particles of one event, as rows."""

    def __init__(self, number, geometry):
        self.number, self.g = number, geometry
        self.rows, self.vertices = [], 0

    def vertex(self, kind, parent, place):
        where = f"{self.number},{self.vertices},{kind},{parent},{place[0]:.4f},{place[1]:.4f},{place[2]:.4f}"
        self.rows.append(where + ",0,0,0,0,0,0")
        self.vertices += 1
        return self.vertices - 1, where

    def add(self, collision, place):
        """All charged particles of a collision at a place in the luminous region."""
        made = {0: (*self.vertex(COLLISION, -1, place), 0)}
        for p in collision:
            if p.isFinal() and p.isCharged() and self.is_seen(p):
                _, where, flags = self.origin(collision, self.decayed(collision, p), made, place)
                self.rows.append(f"{where},{p.px():.6g},{p.py():.6g},{p.pz():.6g},{round(p.charge())},{p.id()},{flags}")

    def is_seen(self, p):
        low, high = self.g["eta"]
        return (low < abs(p.eta()) < high and p.pT() > self.g["pt"] and
                math.hypot(p.xProd(), p.yProd()) < MADE_WITHIN[0] and abs(p.zProd()) < MADE_WITHIN[1])

    @staticmethod
    def decayed(collision, p):
        """Number of the nearest long-lived particle that this one comes from; 0: the collision."""
        mother = p.mother1()
        while mother > 2:
            m = collision[mother]
            if m.tau0() > LONG_LIVED and not m.isParton() and m.statusAbs() > 80:
                return mother
            mother = m.mother1()
        return 0

    def origin(self, collision, hadron, made, place):
        """The vertex where a hadron decayed, written when it is first met, with its parents'."""
        if hadron not in made:
            h = collision[hadron]
            parent, _, flags = self.origin(collision, self.decayed(collision, h), made, place)
            kind = flavour(h.id())
            at = (place[0] + h.xDec(), place[1] + h.yDec(), place[2] + h.zDec())
            made[hadron] = (*self.vertex(kind, parent, at), flags | FLAG.get(kind, 0))
        return made[hadron]


def poisson(rndm, mean):
    n, product, limit = 0, rndm.flat(), math.exp(-mean)
    while product > limit:
        n, product = n + 1, product * rndm.flat()
    return n


def make(arguments, out):
    g = GEOMETRIES[arguments.geometry]
    pileup = g["pileup"] if arguments.pileup is None else arguments.pileup
    soft = start(arguments.seed, ["SoftQCD:inelastic = on"])
    hard = start(arguments.seed + 1, ["HardQCD:hardbbbar = on"]) if arguments.process == "bbbar" else soft
    out.write(COLUMNS + "\n")
    for number in range(arguments.events):
        event = Event(number, g)
        collisions = 1 + poisson(soft.rndm, pileup)
        for i in range(collisions):
            place = [soft.rndm.gauss() * g["xy"], soft.rndm.gauss() * g["xy"], soft.rndm.gauss() * g["z"]]
            collision = next_collision(hard if i == 0 else soft)
            while i == 0 and hard is not soft and not has_b_within(collision, *g["b"]):
                collision = next_collision(hard)
            event.add(collision, place)
        out.write("\n".join(event.rows) + "\n")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--geometry", choices=sorted(GEOMETRIES), default="velo",
                   help="whose luminous region and acceptance (default velo)")
    p.add_argument("--process", choices=["minbias", "bbbar"], default="minbias", help="the hard collision")
    p.add_argument("--events", type=int, default=100)
    p.add_argument("--pileup", type=float, help="mean number of other collisions (default velo 5, pixel 0; at most 300)")
    p.add_argument("--seed", type=int, default=1, help="1 to 900000000")
    p.add_argument("--out", required=True, help="FILE.csv or FILE.csv.gz")
    arguments = p.parse_args()
    if not 1 <= arguments.seed < 900000000 or arguments.events < 1 or not 0 <= (arguments.pileup or 0) <= 300:
        p.error("--seed from 1, --events from 1, --pileup from 0 to 300 are wanted")
    if arguments.out.endswith(".gz"):
        with open(arguments.out, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, 0) as packed, \
                io.TextIOWrapper(packed, encoding="ascii") as out:
            make(arguments, out)
    else:
        with open(arguments.out, "w", encoding="ascii") as out:
            make(arguments, out)


if __name__ == "__main__":
    main()
