#!/bin/sh
VBoxManage modifyvm web5 --ostype Debian_64 --cpus 4 --memory 4096
VBoxManage modifyvm web5 --paravirtprovider none
VBoxManage setextradata web5 VBoxInternal/TM/TSCVirtualized 0
