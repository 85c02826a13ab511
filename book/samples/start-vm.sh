#!/bin/sh
exec qemu-system-x86_64 -name db1 -machine q35,accel=kvm \
    -cpu EPYC-Rome,-kvmclock -smp 4 -m 4096 \
    -drive file=/srv/db1.qcow2,if=virtio \
    -kernel /srv/vmlinuz -append "root=/dev/vda1 ro clocksource=hpet"
