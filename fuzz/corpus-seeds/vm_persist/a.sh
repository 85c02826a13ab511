#!/bin/sh
echo TSC > /sys/devices/system/clocksource/clocksource0/current_clocksource
echo "clocksource=tsc tsc=reliable" >> /etc/default/grub
sed -i 's/quiet/quiet clocksource=hpet/' /etc/default/grub
cat >> /etc/default/grub <<EOF
clocksource=tsc
EOF
