import { expect, it } from "vitest";
import { describeInterfaces, type IdleInterface } from "../../../../../src/agent/core/net/interface-fault.ts";

const CABLE: IdleInterface = { name: "eth0", isUp: true, hasCarrier: false, isWireless: false };

it.each<[string, IdleInterface[], RegExp, RegExp]>([
  ["none at all", [], /^No network interface can be used\.$/, /SIM/],
  ["no cable", [CABLE], /eth0 has no cable/, /Plug in the cable of eth0/],
  ["turned off", [{ ...CABLE, isUp: false }], /eth0 is turned off/, /^sudo ip link set eth0 up/],
  ["no address", [{ ...CABLE, hasCarrier: true }], /connected and has no address/, /networkctl renew eth0/],
  ["no radio network", [{ ...CABLE, name: "wlan0", isWireless: true }], /joined no radio network/, /nmcli device wifi/],
  [
    "the one that is nearest to working first",
    [
      { ...CABLE, isUp: false },
      { ...CABLE, name: "eth1" },
    ],
    /used\. eth1 has no cable.* eth0 is turned off\.$/,
    /cable of eth1/,
  ],
])("describes interfaces without a network: %s", (_name, idle, text, next) => {
  const fault = describeInterfaces(idle);
  expect(fault.text).toMatch(text);
  expect(fault.next).toMatch(next);
});
