# SPDX-License-Identifier: Apache-2.0
"""jsonfile.py - files of trigd in JSON, which name their format and version."""
import json


def read(path, form, version, wrong):
    """The object in a file of that format; raises wrong(sentence)."""
    try:
        with open(path, encoding="utf-8") as f:
            found = json.load(f)
    except OSError as e:
        raise wrong(f"{path}: {e.strerror}") from e
    except ValueError as e:
        raise wrong(f"{path}: not JSON: {e}") from e
    if not isinstance(found, dict) or found.get("format") != form or found.get("version") != version:
        raise wrong(f"{path}: this is no file of the format '{form}', version {version}")
    return found
