# SPDX-License-Identifier: Apache-2.0
"""trigd for Python: clients of a daemon, collections as numpy arrays, RoI files.  docs/python.md is the guide."""
from .client import AsyncClient, Client, Outcome, Refused, Stats, Unavailable
from .collections import HITS, SPACEPOINTS, TRACKS, Collection, Column, declared
from .roi import Roi
from .roifile import RoiFile, RoiFileWriter, Stream
from .rois import Rois

__all__ = ["AsyncClient", "Client", "Collection", "Column", "HITS", "Outcome", "Refused", "Roi", "RoiFile", "RoiFileWriter", "Rois",
           "SPACEPOINTS", "Stats", "Stream", "TRACKS", "Unavailable", "declared"]
