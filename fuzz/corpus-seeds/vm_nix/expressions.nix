{ lib, ... }: let t = [ ]; in rec {
  type = "kvm"; name = "a${lib.x { y = "}"; }}";
  inherit (lib) memory vcpu; inherit os;
  cpu = if lib.a then { } else { mode = "custom"; };
  "features" = with lib; { kvm.hidden.state = "on"; } // { };
  text = ''a ''' ''${b} ${c} '';
  /* clock */
  clock.timer = t ++ [ { name = "kvmclock"; present = false; } (lib.f { a = 1; }) lib.g ];
}
