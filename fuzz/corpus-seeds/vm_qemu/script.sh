#!/bin/bash
CPU="host"; OPTS=(-m 1G "-smp" 2)
if grep -q invtsc /proc/cpuinfo; then CPU="$CPU,+invtsc"; fi
OPTS+=(-cpu "${CPU:-max}",kvm=off,-hypervisor,-tsc_deadline) # x
sudo qemu-system-x86_64 -no-hpet "${OPTS[@]}" -M q35,accel=kvm \
  -append 'notsc a' $(nproc) && cat <<EOF
qemu-system-i386 -m 1 -cpu IvyBridge,migratable=off
EOF
