# SPDX-License-Identifier: Apache-2.0
"""trigd for Python: declared collections as numpy arrays, RoI files.  docs/python.md is the guide."""
from .collections import HITS, SPACEPOINTS, TRACKS, Collection, Column, declared
from .roi import Roi
from .roifile import RoiFile, RoiFileWriter, Stream

__all__ = ["HITS", "SPACEPOINTS", "TRACKS", "Collection", "Column", "Roi", "RoiFile", "RoiFileWriter", "Stream", "declared"]
