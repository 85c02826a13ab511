#!/bin/bash
# Takes commands from the testbed over a virtio serial port and answers each with what it did.
#
#   to here      run ID SCRIPT-BYTES INPUT-BYTES \n script input
#   from here    hello BOOT-ID \n                          once the agent listens
#                done ID STATUS STDOUT-BYTES STDERR-BYTES \n stdout stderr
#
# Lengths instead of quoting: nothing that passes through is looked at.
set -u

port=/dev/virtio-ports/clocksmith.agent
until [ -c "$port" ]; do sleep 0.2; done
exec 3<>"$port"
place=$(mktemp -d /run/testbed-agent.XXXXXX)
cd /root || exit 1
export HOME=/root LC_ALL=C.UTF-8

echo "hello $(cat /proc/sys/kernel/random/boot_id)" >&3
while read -r word id script input <&3; do
    [ "$word" = run ] || continue
    head -c "$script" <&3 >"$place/script"
    head -c "$input" <&3 >"$place/input"
    # Files and no pipes: a command may leave something running that keeps its output open.
    bash "$place/script" <"$place/input" >"$place/out" 2>"$place/err" 3>&-
    status=$?
    out=$(stat -c %s "$place/out")
    err=$(stat -c %s "$place/err")
    {
        echo "done $id $status $out $err"
        head -c "$out" "$place/out"
        head -c "$err" "$place/err"
    } >&3
done
