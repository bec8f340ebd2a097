# SPDX-License-Identifier: Apache-2.0
"""Events of HepMC3 as rows of particles (docs/replay.md, Particles)."""
import particle
import pyhepmc

COLUMNS = ["event", "vertex", "kind", "parent", "x", "y", "z", "px", "py", "pz", "charge", "pdg", "flags"]
COLLISION, BEAUTY, CHARM, STRANGE, OTHER = range(5)
STABLE = 1  # status


def flavour(pdg):
    """What kind of decay a hadron's is: by its heaviest quark."""
    digits = f"{abs(pdg) % 10000:04d}"[:3]
    if abs(pdg) >= 100:
        for quark, kind in (("5", BEAUTY), ("4", CHARM), ("3", STRANGE)):
            if quark in digits:
                return kind
    return OTHER


def charge_of(pdg):
    try:
        return int(particle.Particle.from_pdgid(pdg).charge or 0)
    except particle.ParticleNotFound:
        return 0


def made_at(p):
    """Its production vertex, from one generation further up where the decay was at once (a resonance)."""
    v = p.production_vertex
    while v is not None and len(v.particles_in) == 1:
        parent = v.particles_in[0]
        up = parent.production_vertex
        if up is None or (v.position.x, v.position.y, v.position.z) != (up.position.x, up.position.y, up.position.z):
            break
        v = up
    return v


def rows_of(event):
    """Vertex 0 is that of the hard scatter: the first in the record that charged particles come from."""
    to_mm = 10.0 if event.length_unit == pyhepmc.Units.CM else 1.0
    to_gev = 1e-3 if event.momentum_unit == pyhepmc.Units.MEV else 1.0
    number, rows = {}, []
    for p in event.particles:
        charge = charge_of(p.pid) if p.status == STABLE else 0
        v = made_at(p) if charge in (-1, 1) else None
        if v is None:
            continue
        parent = v.particles_in[0] if len(v.particles_in) == 1 else None  # more meet in a collision
        kind = flavour(parent.pid) if parent else COLLISION
        up = made_at(parent) if parent else None
        vertex = number.setdefault(v.id, len(number))
        at = v.position
        rows.append([vertex, kind, number.get(up.id, -1) if up else -1, at.x * to_mm, at.y * to_mm, at.z * to_mm,
                     p.momentum.px * to_gev, p.momentum.py * to_gev, p.momentum.pz * to_gev, charge, p.pid, 0])
    return rows


def events(paths):
    for path in paths:
        with pyhepmc.open(path) as f:
            for event in f:
                yield rows_of(event)
