VBoxManage createvm --name vm --ostype Ubuntu_64
VBoxManage modifyvm vm \
 --cpus 2 --paravirtprovider=none
VBoxManage setextradata vm "VBoxInternal/TM/TSCTiedToExecution" 1
vb.customize ["modifyvm", :id,
 "--hpet", "on"]
