# The last step of building an image, inside it: the boot loader installs itself.
set -e
grub-install --target=i386-pc /dev/vda
update-grub
sync
