bhyve -c 2 -m 1G -H -P \
 -s 0,hostbridge debian
