#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trigconvert: RoI files, files of streams and saved decisions to Parquet and ROOT, and events to RoI files.

    trigconvert state/streams -o physics.parquet        all files of a folder, every RoI once
    trigconvert decisions.roi -o decisions.root
    trigconvert physics.parquet -o again.roi            numbers and collections; so from ROOT
    trigconvert events.hepmc3 -o particles.csv          then: trigreplay import particles particles.csv --out x.roi
    trigconvert sim.edm4hep.root --hits VXDTrackerHits --layer-bits 7:6 -o x.roi"""
import argparse
import sys


def parser():
    p = argparse.ArgumentParser(prog="trigconvert", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("input", nargs="+", help="RoI files or folders, .parquet, .root, .hepmc3 (also .gz)")
    p.add_argument("-o", "--output", required=True, help=".parquet, .root, .roi; .csv of particles from HepMC3")
    p.add_argument("--hits", metavar="NAME", help="the input is EDM4hep: its collection of tracker hits")
    p.add_argument("--layer-bits", metavar="OFFSET:WIDTH", default="7:6", help="of the layer in cellID (default 7:6)")
    return p


def main():
    o = parser().parse_args()
    try:
        import conversions  # after --help, which needs none of its packages

        n = conversions.convert(o)
    except ImportError as e:
        sys.exit(f"trigconvert: Python has no module {e.name}: pip install awkward numpy particle pyarrow pyhepmc pyyaml pyzmq uproot")
    except (ValueError, OSError) as e:
        sys.exit(f"trigconvert: {e}")
    print(f"{n} {'events' if o.output.endswith('.csv') else 'RoIs'} in {o.output}")


if __name__ == "__main__":
    main()
