#!/bin/bash
# Run once by cloud-init.
echo "clocksource=tsc tsc=reliable" >> /etc/default/grub
echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource
