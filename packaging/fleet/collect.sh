#!/bin/sh
# Takes a bundle of each host over ssh, many at a time: BUNDLES/HOST.tar.gz, for `clocksmith fleet BUNDLES`.
#
#   collect.sh HOSTS BUNDLES [PROGRAM]
#
# HOSTS is a file with one host a line (user@host, too; # begins a comment). PROGRAM is the static program
# (target x86_64-unknown-linux-musl): it is copied to the host for the moment; without it, `clocksmith` is
# to be there. A host that does not answer is named, and the others go on; exits with 1 then. Started again,
# it asks those that have no bundle yet. Settings: SSH="ssh -l root", JOBS=32.
#
# With parallel-ssh instead, where the program is on the hosts:
#   pssh -h HOSTS -p 32 -t 60 -o BUNDLES 'clocksmith collect --output -'
set -eu
if [ $# -lt 2 ] || [ $# -gt 3 ]; then
    echo "usage: collect.sh HOSTS BUNDLES [PROGRAM]" >&2
    exit 2
fi
hosts=$1
BUNDLES=$2 PROGRAM=${3-} SSH=${SSH:-ssh -o BatchMode=yes -o ConnectTimeout=10}
export BUNDLES PROGRAM SSH
if ! [ -r "$hosts" ]; then
    echo "collect.sh: cannot read $hosts" >&2
    exit 2
fi
mkdir -p "$BUNDLES"

# For one host; its name comes as $0.
# shellcheck disable=SC2016
one='
host=$0
case $host in
-* | */*) echo "collect.sh: $host is no name of a host" >&2; exit 1 ;;
esac
file=$BUNDLES/$host.tar.gz
if [ -s "$file" ]; then exit 0; fi
umask 077
# What is fetched has its name when it is whole.
if [ -n "$PROGRAM" ]; then
    $SSH "$host" "d=\$(mktemp -d) && trap \"rm -rf \$d\" EXIT && cat >\$d/clocksmith &&
        chmod 700 \$d/clocksmith && \$d/clocksmith collect --output -" <"$PROGRAM" >"$file.part"
else
    $SSH "$host" "clocksmith collect --output -" </dev/null >"$file.part"
fi && mv "$file.part" "$file" || { rm -f "$file.part"; echo "collect.sh: no bundle of $host" >&2; exit 1; }
'
sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$hosts" | tr '\n' '\0' |
    xargs -0 -r -n 1 -P "${JOBS:-32}" sh -c "$one" || exit 1
