//! Kubernetes: a DaemonSet, for nodes that are not managed in another way.

use super::{Wanted, comment, indented, notes};
use crate::unit::SYSFS;

/// Where the kernel's directory is mounted in the container. Not below `/sys`: container runtimes
/// mount that read-only, and their AppArmor profile forbids writing there.
const MOUNT: &str = "/clocksource0";

/// The DaemonSet. Root without a capability may write the file, which belongs to root; `privileged`
/// would give it all devices.
pub(super) fn render(name: &str) -> String {
    let wanted = Wanted { clocksource: Some(name.to_owned()), ..Wanted::default() };
    let undo = [
        "kubectl delete -f this file; the nodes keep the clocksource until they are rebooted",
        "(or until the original name is written)",
    ];
    let mut lines = notes(&wanted, &undo);
    lines.extend(
        [
            "What the pod may do: root of the node for the files of one directory, no capability,",
            "no other file, no token. Where the namespace enforces Pod Security, it must allow",
            "hostPath volumes (level privileged). With SELinux enforcing, add to securityContext:",
            "seLinuxOptions: {type: spc_t}, as container_t may not write to sysfs.",
            "It chooses when the pod starts, which is after each boot, but later than a unit would:",
            "programs that started earlier make slow calls until then.",
        ]
        .map(str::to_owned),
    );
    format!(
        "\
{}apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: clocksmith-clocksource
  namespace: kube-system
  labels:
    app.kubernetes.io/name: clocksmith-clocksource
spec:
  selector:
    matchLabels:
      app.kubernetes.io/name: clocksmith-clocksource
  template:
    metadata:
      labels:
        app.kubernetes.io/name: clocksmith-clocksource
    spec:
      nodeSelector:
        kubernetes.io/os: linux
      automountServiceAccountToken: false
      terminationGracePeriodSeconds: 1
      containers:
        - name: choose
          # Any image with a shell will do; pin it as you pin others.
          image: busybox:1.36
          command:
            - /bin/sh
            - -c
            - |
              (
{}              ) || echo \"the kernel's own clocksource stays\" >&2
              while :; do sleep 86400; done
          securityContext:
            runAsUser: 0
            privileged: false
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: [ALL]
            seccompProfile:
              type: RuntimeDefault
          resources:
            requests:
              cpu: 1m
              memory: 4Mi
            limits:
              memory: 16Mi
          volumeMounts:
            - name: clocksource0
              mountPath: {MOUNT}
      volumes:
        - name: clocksource0
          hostPath:
            path: {SYSFS}
            type: Directory
",
        comment(&lines),
        indented(name, MOUNT, 14),
    )
}
