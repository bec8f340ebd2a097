#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_sample.py OUT.roi OUT.csv: 1,000 dijet events of Pythia 8 as calorimeter towers, and the anti-kt jets that FastJet finds in
them (R = 0.4, E scheme, pT > 10 GeV).  Needs what requirements.txt names, and the package trigd."""
import math
import os
import sys

import fastjet
import numpy
import pythia8mc

import trigd

EVENTS, SEED = 1000, 20261
CELL = 0.1  # in eta and phi
LEAST_ET, ETA_MAX = 1.0, 4.0
ET_STEP, ETA_STEP, PHI_STEP = 1 / 32, 1 / 6400, math.pi / 32768


def towers_of(event, declared):
    """Energy of all visible particles in cells; a tower lies where its energy does."""
    cells = {}
    for p in event:
        if p.isFinal() and p.isVisible() and abs(p.eta()) < ETA_MAX:
            cell = cells.setdefault((math.floor(p.eta() / CELL), math.floor(p.phi() / CELL)), [0.0, 0.0, 0.0])
            et = p.e() / math.cosh(p.eta())
            cell[0] += et
            cell[1] += et * p.eta()
            cell[2] += et * p.phi()
    kept = [(et, eta / et, phi / et) for et, eta, phi in cells.values() if et > LEAST_ET]
    array = declared.array(len(kept))
    for t, (et, eta, phi) in zip(array, kept):
        t["et"] = min(round(et / ET_STEP), 65535)
        t["eta"] = round(eta / ETA_STEP)
        t["phi"] = min(max(round(phi / PHI_STEP), -32768), 32767)
    return array


def jets_of(towers):
    inputs = []
    for t in towers:
        et, eta, phi = float(t["et"]) * ET_STEP, float(t["eta"]) * ETA_STEP, float(t["phi"]) * PHI_STEP
        inputs.append(fastjet.PseudoJet(et * math.cos(phi), et * math.sin(phi), et * math.sinh(eta), et * math.cosh(eta)))
    sequence = fastjet.ClusterSequence(inputs, fastjet.JetDefinition(fastjet.antikt_algorithm, 0.4))
    return [(j.pt(), j.rap(), j.phi_std(), max(j.m2(), 0) ** 0.5, len(j.constituents()))
            for j in fastjet.sorted_by_pt(sequence.inclusive_jets(10.0))]


def main():
    pythia = pythia8mc.Pythia("", False)
    for line in ("Print:quiet = on", "Beams:eCM = 13600.", "Random:setSeed = on", f"Random:seed = {SEED}",
                 "HardQCD:all = on", "PhaseSpace:pTHatMin = 30."):
        pythia.readString(line)
    if not pythia.init():
        sys.exit("make_sample: Pythia does not start")
    declared = trigd.declared(os.path.join(os.path.dirname(os.path.realpath(__file__)), "towers.yaml"))
    n_towers = []
    with trigd.RoiFileWriter(sys.argv[1], [declared], "examples/jets/make_sample.py") as out, \
            open(sys.argv[2], "x", encoding="ascii") as jets:
        jets.write("event,pt,y,phi,mass,n_towers\n")
        while len(n_towers) < EVENTS:
            if not pythia.next():
                continue
            towers = towers_of(pythia.event, declared)
            number = len(n_towers)
            out.append(trigd.Roi(run=1, l1id=number + 1, phi_half_rad=3.2, eta_half=4.0, collections={"towers": towers}))
            for jet in jets_of(towers):
                jets.write(f"{number}," + ",".join(f"{v:.6g}" for v in jet) + "\n")
            n_towers.append(len(towers))
    print(f"{EVENTS} events, {numpy.mean(n_towers):.1f} towers an event, {max(n_towers)} at most")


if __name__ == "__main__":
    main()
