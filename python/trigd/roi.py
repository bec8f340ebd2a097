# SPDX-License-Identifier: Apache-2.0
"""A region of interest: its numbers, its window and its collections."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional, Tuple

from . import trigd_pb2 as pb
from .collections import Array


@dataclass
class Roi:
    """Names and units are those of message Roi (docs/protocol.md).  Collections are arrays of structures by name: those
    of trigd itself are trigd.SPACEPOINTS, HITS and TRACKS."""
    run: int = 0
    l1id: int = 0
    roi_id: int = 0
    bcid: int = 0
    lumi_block: int = 0
    l1_bits: int = 0
    eta: float = 0.0
    phi_rad: float = 0.0
    eta_half: float = 0.0
    phi_half_rad: float = 0.0
    z_min_mm: float = 0.0
    z_max_mm: float = 0.0
    type: int = 0
    deadline_us: int = 0
    event_rois: int = 0
    token: int = 0
    is_repeat: bool = False
    collections: Dict[str, Array] = field(default_factory=dict)
    # RoIs of streams and saved decisions have these as well: names are those of the header of the file.
    decision: Optional[pb.Decision] = None
    reason: str = ""  # debug stream
    unix_s: int = 0  # when it was decided
    chains: List[str] = field(default_factory=list)
    streams: List[str] = field(default_factory=list)
    values: Dict[str, float] = field(default_factory=dict)  # by STEP.VALUE
    products: Dict[Tuple[str, str], Array] = field(default_factory=dict)  # by step and collection
