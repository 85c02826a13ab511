"""A plugin of sos (https://github.com/sosreport/sos): adds the diagnosis of the clocks to a report.

Copy it to the plugins of sos, such as /usr/lib/python3/dist-packages/sos/report/plugins/ (Debian, Ubuntu) or
/usr/lib/python3.*/site-packages/sos/report/plugins/ (Fedora, RHEL). `clocksmith why --root SOSREPORT` reads a report
without it as well: the plugin adds the read cost, the result of the last verify, and what fix has changed.
"""

from sos.report.plugins import (
    DebianPlugin,
    IndependentPlugin,
    Plugin,
    RedHatPlugin,
    SuSEPlugin,
    UbuntuPlugin,
)


# sos before 4.1 does not run an independent plugin on Debian.
class Clocksmith(Plugin, IndependentPlugin, RedHatPlugin, DebianPlugin, UbuntuPlugin, SuSEPlugin):
    """Every command ends in under a second, measures at most 0.3 s, and changes nothing."""

    short_desc = "Clocksource: why it is in use, and what a read costs"
    plugin_name = "clocksmith"
    profiles = ("system", "hardware", "performance")
    packages = ("clocksmith",)
    commands = ("clocksmith",)

    def setup(self):
        self.add_copy_spec(
            [
                "/sys/devices/system/clocksource/clocksource0",
                "/var/lib/clocksmith/verify.json",
                "/run/clocksmith/verify.json",
            ]
        )
        self.add_cmd_output(
            [
                "clocksmith why --no-color --verbose",
                "clocksmith why --json",
                "clocksmith check",
                "clocksmith fix --status --no-color",
            ],
            timeout=30,
        )
