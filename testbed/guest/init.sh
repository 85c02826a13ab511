#!/bin/busybox sh
# The first and only process of a guest. Everything it has to say goes out on the console in
# frames, each line of a frame behind a bar, so that the kernel's own messages cannot get in:
#
#   @@BEGIN name
#   |first line
#   @@END name
#
# and one line @@DONE at the end. What the guest is for is told by files under /testbed.

B=/bin/busybox
$B mount -t proc proc /proc
$B mount -t sysfs sysfs /sys
$B mount -t devtmpfs devtmpfs /dev 2>/dev/null
exec >/dev/console 2>&1 </dev/null
S=/sys/devices/system

frame() {
    name=$1
    shift
    echo "@@BEGIN $name"
    "$@" 2>&1 | $B sed 's/^/|/'
    echo
    echo "@@END $name"
}

root() { [ -e "$1" ] && frame "root$1" $B cat "$1"; }
extra() { [ -e "$1" ] && frame "extra$1" $B cat "$1"; }

now() {
    read -r current <$S/clocksource/clocksource0/current_clocksource
    read -r available <$S/clocksource/clocksource0/available_clocksource
    state="$current: $available"
}

# The tsc clocksource replaces tsc-early about a second after boot, and a watchdog may need a few
# more: the choice counts as settled when it has been the same for two seconds, but not before
# three and a half have passed.
settle() {
    now
    trace="0 $state"
    last=$state
    step=0
    same=0
    while [ $step -lt 60 ]; do
        $B usleep 200000
        step=$((step + 1))
        now
        if [ "$state" = "$last" ]; then
            same=$((same + 1))
        else
            same=0
            last=$state
            trace="$trace
$step $state"
        fi
        [ $step -ge 17 ] && [ $same -ge 10 ] && break
    done
    frame trace echo "$trace"
}

record() {
    settle
    root /proc/cmdline
    root /proc/version
    root /proc/cpuinfo
    root $S/cpu/online
    extra $S/cpu/possible
    extra $S/cpu/present
    extra $S/clockevents/clockevent0/current_device
    extra $S/clockevents/broadcast/current_device
    extra $S/cpu/cpuidle/current_driver
    extra /proc/interrupts
    frame extra/proc/timer_list $B head -n 60 /proc/timer_list
    [ -d /sys/firmware/acpi/tables ] && frame extra/acpi-tables $B ls /sys/firmware/acpi/tables
    if [ -x /bin/probe ]; then
        case $($B uname -m) in
        x86_64 | i?86)
            frame root/cpuid /bin/probe cpuid 0
            frame extra/cpuid-all /bin/probe cpuid-all 0
            ;;
        esac
        frame vdso /bin/probe vdso
    fi
    frame full-dmesg $B dmesg
    now
    frame settled echo "$state"
}

# Busybox has its applet base64 only since 1.31.
base64() { $B uuencode -m "$1" file | $B sed '1d;$d'; }

# What the program says in here, and a bundle to ask it about outside. The serial line is slow, and
# a bundle is packed already.
ask() {
    read -r before _ </proc/uptime
    /bin/clocksmith why --json >/tmp/why 2>/tmp/why.err
    echo "exit status $?" >>/tmp/why.err
    read -r between _ </proc/uptime
    /bin/clocksmith collect --output - >/tmp/bundle 2>/tmp/bundle.err
    echo "exit status $?" >>/tmp/bundle.err
    read -r after _ </proc/uptime
    frame clocksmith/uptime echo "$before
$between
$after"
    frame clocksmith/why $B cat /tmp/why
    frame clocksmith/why.err $B cat /tmp/why.err
    frame clocksmith/bundle base64 /tmp/bundle
    frame clocksmith/bundle.err $B cat /tmp/bundle.err
}

if [ -e /testbed/shell ]; then
    $B --install -s /bin
    echo "This is a guest of the testbed. The clocks are in $S/clocksource/clocksource0."
    echo "'/bin/probe vdso' says which clocks need no system call; 'exit' ends the guest."
    HOME=/ PS1='guest# ' $B setsid $B cttyhack $B sh
    $B poweroff -f
    $B reboot -f
fi

if [ -e /testbed/record ]; then
    record
    [ -x /bin/clocksmith ] && ask
fi
if [ -e /testbed/run ]; then
    $B --install -s /bin
    frame run $B sh -c 'PATH=/bin; . /testbed/run; echo "exit status $?"'
fi
echo "@@DONE"
# The testbed ends the emulator when it reads that line.
while :; do $B sleep 1000; done
