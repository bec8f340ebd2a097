#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kubernetes.py TRIGD: what configs/kubernetes/daemonset.yaml says fits together, and its configuration is a good one.

No cluster is needed: names that must agree do, probes ask for pages that trigd has, and trigd --check takes the configuration
as a pod would write it."""
import os
import subprocess
import sys
import tempfile

import yaml

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../configs/kubernetes/daemonset.yaml")


def check_pod(config, daemons):
    """Names that must agree."""
    pod = daemons["spec"]["template"]
    container = pod["spec"]["containers"][0]
    assert daemons["apiVersion"] == "apps/v1" and daemons["kind"] == "DaemonSet"
    assert daemons["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    volumes = {v["name"]: v for v in pod["spec"]["volumes"]}
    assert {m["name"] for m in container["volumeMounts"]} == set(volumes)
    assert volumes["map"]["configMap"]["name"] == config["metadata"]["name"]
    ports = {p["name"]: p["containerPort"] for p in container["ports"]}
    for probe, page in (("startupProbe", "/healthz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
        assert container[probe]["httpGet"] == {"path": page, "port": "http"}, probe
    return container, ports


def check_config(config, container, ports, trigd):
    """The configuration that a pod writes."""
    mounts = {m["mountPath"] for m in container["volumeMounts"] if not m.get("readOnly")}
    text = config["data"]["trigd.yaml"].replace("@NODE@", "n1").replace("@ADDRESS@", "10.0.0.1")
    keys = yaml.safe_load(text)
    assert keys["http"]["port"] == ports["http"] and keys["endpoints"] == [f"tcp://*:{ports['rois']}"]
    assert keys["supervisor"]["reach"].endswith(f":{ports['rois']}")
    for path in (keys["cache_dir"], keys["state_dir"], keys["accounts_dir"], keys["histograms_dir"], keys["runs"]["dir"],
                 keys["debug_stream"]["folder"], keys["control"]["socket"], keys["control"]["audit"]):
        assert any(path.startswith(mount) for mount in mounts), f"{path} is on no volume that can be written to"
    build = os.path.dirname(os.path.dirname(os.path.abspath(trigd)))
    with tempfile.TemporaryDirectory() as folder:
        for name, content in config["data"].items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(text + f"\nplugin_path: [{build}/plugins]\nbackend_path: {build}/backends\n" if name == "trigd.yaml" else content)
        done = subprocess.run([trigd, "--check", os.path.join(folder, "trigd.yaml")], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def main():
    with open(PATH, encoding="utf-8") as f:
        config, daemons = yaml.safe_load_all(f)
    container, ports = check_pod(config, daemons)
    check_config(config, container, ports, sys.argv[1])


if __name__ == "__main__":
    main()
