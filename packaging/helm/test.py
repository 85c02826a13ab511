#!/usr/bin/env python3
"""The Helm chart: `helm lint`, `helm template` in each mode, Kubernetes' schemas, and what the pods may do.

    packaging/helm/test.py

Needs helm and, for the schemas, kubernetes-validate (PyPI); PYTHON_TOOLS is a virtual environment that has it and PyYAML
[default: ~/.cache/clocksmith-python-tools, which .ci/run makes]. Exits with 1 when something is wrong, with 77 when a tool
is missing; the last line says which.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHART = HERE / "clocksmith"
FLEET = HERE.parent / "fleet/daemonset.yaml"
cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
TOOLS = Path(os.environ.get("PYTHON_TOOLS") or cache / "clocksmith-python-tools") / "bin"
go = subprocess.run(["go", "env", "GOPATH"], capture_output=True, text=True).stdout.strip() if shutil.which("go") else ""
PATH = os.pathsep.join([str(TOOLS), os.environ["PATH"], os.environ.get("GOBIN", ""), f"{go}/bin"])
IMAGE = "image.repository=registry.example.net/clocksmith"
# The first one is that of Chart.yaml.
VERSIONS = ["1.25.0", "1.31.0", "1.34.0"]


def missing(what):
    print(f"helm: {what}")
    sys.exit(77)


def fail(what):
    print(f"helm: {what}", file=sys.stderr)
    sys.exit(1)


def run(*words, fails=False):
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "PATH": PATH}, timeout=120)
    if (done.returncode != 0) != fails:
        fail(f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def template(*settings, fails=False):
    words = [word for setting in settings for word in ("--set", setting)]
    return run(helm, "template", "clocksmith", str(CHART), "--kube-version", "1.31.0", "--namespace", "monitoring", *words, fails=fails)


def pod(text, yaml):
    documents = [document for document in yaml.safe_load_all(text) if document]
    (daemonset,) = [document for document in documents if document["kind"] == "DaemonSet"]
    selector = daemonset["spec"]["selector"]["matchLabels"]
    labels = daemonset["spec"]["template"]["metadata"]["labels"]
    assert selector.items() <= labels.items(), (selector, labels)
    spec = daemonset["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    return documents, spec, container


def least_privilege(spec, container):
    """What is true of a pod in every mode, and of the one in packaging/fleet/daemonset.yaml."""
    context = container["securityContext"]
    assert context["allowPrivilegeEscalation"] is False and context["readOnlyRootFilesystem"] is True, context
    assert context["capabilities"]["drop"] == ["ALL"], context
    assert context["capabilities"].get("add", []) in ([], ["SYSLOG"]), context
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}, context
    assert "privileged" not in context, context
    assert spec["automountServiceAccountToken"] is False, spec
    assert not {"hostPID", "hostNetwork", "hostIPC"} & spec.keys(), spec
    assert spec["nodeSelector"] == {"kubernetes.io/os": "linux"}, spec
    assert spec["tolerations"] == [{"operator": "Exists"}], spec
    assert set(container["resources"]) == {"requests", "limits"}, container
    for mount in container.get("volumeMounts", []):
        assert mount.get("readOnly") or mount["mountPath"] == "/textfile", mount


def main():
    global helm
    helm = shutil.which("helm", path=PATH)
    if helm is None:
        missing("no helm: go install helm.sh/helm/v3/cmd/helm@v3.22.0")
    python = TOOLS / "python3"
    try:
        import yaml
    except ImportError:
        if python.exists() and Path(sys.executable) != python and "CLOCKSMITH_HELM_TEST" not in os.environ:
            os.execve(python, [python, __file__], {**os.environ, "CLOCKSMITH_HELM_TEST": "1"})
        missing("no PyYAML: apt-get install python3-yaml")

    cargo = (HERE.parent.parent / "Cargo.toml").read_text()
    version = re.search(r'^version = "(.*)"', cargo, re.MULTILINE).group(1)
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == version, f"Chart.yaml is not of version {version}"

    said = run(helm, "lint", "--strict", "--set", IMAGE, str(CHART))
    assert "0 chart(s) failed" in said, said
    print("-- helm lint")

    rendered = {
        "textfile": template(IMAGE),
        "textfile, another directory": template(IMAGE, "textfile.directory=/var/lib/prometheus/node-exporter"),
        "port": template(IMAGE, "mode=port", "podMonitor.enabled=true", "extraArgs={--expect=tsc\\,kvm-clock}"),
        "port, without the node's files": template(IMAGE, "mode=port", "hostMounts=false", "kernelLog=false"),
        "all settings": template(
            IMAGE, "image.tag=v1", "imagePullSecrets[0].name=key", "mode=port", "port=19988", "podAnnotations.a=b",
            "podLabels.c=d", "priorityClassName=system-node-critical", "kernelLog=false",
        ),
    }
    for name, text in rendered.items():
        documents, spec, container = pod(text, yaml)
        try:
            least_privilege(spec, container)
        except AssertionError as error:
            fail(f"{name}: {error}")
        arguments = container["args"]
        root = container["securityContext"]["runAsUser"] == 0
        assert root != container["securityContext"]["runAsNonRoot"], container
        if name.startswith("textfile"):
            assert "--no-listen" in arguments and "--root=/host" in arguments and root, arguments
            assert "ports" not in container, container
        else:
            assert any(word.startswith("--listen=") for word in arguments), arguments
            assert container["livenessProbe"]["httpGet"]["path"] == "/-/healthy", container
        kinds = sorted(document["kind"] for document in documents)
        assert kinds == (["DaemonSet", "PodMonitor"] if name == "port" else ["DaemonSet"]), kinds
    _, spec, container = pod(rendered["port, without the node's files"], yaml)
    assert "volumes" not in spec and "volumeMounts" not in container and container["securityContext"]["runAsUser"] != 0
    assert "add" not in container["securityContext"]["capabilities"]
    _, _, container = pod(rendered["port"], yaml)
    assert container["args"][-1] == "--expect=tsc,kvm-clock", container
    assert container["image"] == f"registry.example.net/clocksmith:{version}", container
    _, spec, container = pod(FLEET.read_text(), yaml)
    least_privilege(spec, container)
    print(f"-- helm template: {len(rendered)} sets of values, least privilege in each, and in fleet/daemonset.yaml")

    for settings, says in [
        ([], "image.repository is required"),
        ([IMAGE, "mode=file"], "mode"),
        ([IMAGE, "podMonitor.enabled=true"], "wants mode: port"),
        ([IMAGE, "textfile.directory=relative"], "directory"),
        ([IMAGE, "unknown=1"], "unknown"),
    ]:
        assert says in template(*settings, fails=True), settings
    print("-- wrong values are refused")

    validate = shutil.which("kubernetes-validate", path=PATH)
    if validate is None:
        missing("no kubernetes-validate: pip install kubernetes-validate")
    with tempfile.TemporaryDirectory() as place:
        files = []
        for number, text in enumerate(rendered.values()):
            # The operator's own kind is not in Kubernetes' schemas.
            for document in yaml.safe_load_all(text):
                if document and document["kind"] != "PodMonitor":
                    files.append(Path(place) / f"{number}-{document['kind']}.yaml")
                    files[-1].write_text(yaml.safe_dump(document))
        for kubernetes in VERSIONS:
            run(validate, "--strict", "--quiet", "-k", kubernetes, *map(str, files))
    print(f"-- Kubernetes' schemas of {', '.join(VERSIONS)}")


main()
