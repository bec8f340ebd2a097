# SPDX-License-Identifier: Apache-2.0
"""check_client.py ENDPOINT: one RoI from numpy arrays, with the installed package (packaging/check_inside)."""
import sys

import numpy as np
import trigd

points = {"phi": np.zeros(3, np.float32), "rho": np.array([30, 50, 70], np.float32), "z": np.zeros(3, np.float32),
          "layer": np.arange(3, dtype=np.uint32)}
rois = trigd.Rois(1, run=1, l1id=[7], phi_half_rad=4, z_min_mm=-225, z_max_mm=225,
                  collections={"spacepoints": (points, [0, 3])})
with trigd.Client(sys.argv[1]) as client:
    (decision,) = client.decide(rois)
assert decision.l1id == 7, decision
