import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { defaultRoute } from "../../../../../src/agent/core/host/default-route.ts";
import { carriedSince, type InterfaceCounters } from "../../../../../src/agent/core/traffic/interface-traffic.ts";
import { type InterfaceFacts, networkKind } from "../../../../../src/agent/core/traffic/network-kind.ts";
import { estimateOverhead } from "../../../../../src/agent/core/traffic/overhead.ts";

const at = (sent: number, received: number, name = "wwan0"): InterfaceCounters => ({ name, sent, received });

const ROUTES = `Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
wwan0\t00000000\t00000000\t0001\t0\t0\t700\t00000000\t0\t0\t0
eth0\t00000000\t0102A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0
eth0\t0002A8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0
docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
`;
const ROUTES_6 = `fe800000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth0
00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 00000002 00000000 00000003    wwan0
00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo
`;

describe("the default route", () => {
  it("is the one with the lowest metric", () => {
    expect(defaultRoute(ROUTES, ROUTES_6)).toEqual({ interface: "eth0", gateway: "0102A8C0" });
  });

  it("is an IPv6 route only if there is no IPv4 route", () => {
    expect(defaultRoute("", ROUTES_6)).toEqual({ interface: "wwan0", gateway: "fe800000000000000000000000000001" });
  });

  it("may have no gateway, and may not exist", () => {
    const modem = ROUTES.split("\n")
      .filter((line) => !line.startsWith("eth0"))
      .join("\n");
    expect(defaultRoute(modem, "")).toEqual({ interface: "wwan0", gateway: "" });
    expect(defaultRoute("", "")).toBeUndefined();
    expect(defaultRoute(ROUTES.replaceAll(/000[13]\t0/g, "0200\t0"), "")).toBeUndefined();
  });

  it("ignores other text", () => {
    fc.assert(fc.property(fc.string(), fc.string(), (a, b) => void defaultRoute(a, b)));
  });
});

describe("an interface", () => {
  const facts: InterfaceFacts = {
    name: "eth0",
    type: 1,
    uevent: "",
    driver: "",
    isWireless: false,
    isHardware: true,
  };
  it.each([
    ["eth0", { driver: "bcmgenet" }, "ethernet"],
    ["enxb827", { driver: "smsc95xx" }, "ethernet"],
    ["eth1", { driver: "qmi_wwan" }, "modem"],
    ["wwan0", { type: 65534, isHardware: false }, "modem"],
    ["wwp1s0", { uevent: "DEVTYPE=wwan\nINTERFACE=wwp1s0\n" }, "modem"],
    ["ppp0", { type: 512, isHardware: false }, "modem"],
    ["usb0", { driver: "cdc_ether" }, "modem"],
    ["wlan0", { isWireless: true }, "wifi"],
    ["wlp2s0", { uevent: "DEVTYPE=wlan\n" }, "wifi"],
    ["tun0", { type: 65534, isHardware: false }, "other"],
    ["br0", { isHardware: false }, "other"],
    ["ib0", { type: 32 }, "other"],
    ["gone0", { type: undefined, isHardware: false }, "other"],
  ] as const)("%s of %o is %s", (name, more, kind) => {
    expect(networkKind({ ...facts, name, ...more })).toBe(kind);
  });
});

describe("traffic of an interface", () => {
  it("is the difference to the last reading, or the whole counter after a reboot or if the interface was recreated", () => {
    const marks = [{ ...at(100, 1_000), bootId: "a" }];
    expect(carriedSince(marks, [at(150, 1_200)], "a")).toEqual([at(50, 200)]);
    expect(carriedSince(marks, [at(150, 1_200)], "b")).toEqual([at(150, 1_200)]);
    expect(carriedSince(marks, [at(10, 20)], "a")).toEqual([at(10, 20)]);
    expect(carriedSince(marks, [at(5, 6, "eth0"), at(100, 1_000)], "a")).toEqual([at(5, 6, "eth0")]);
  });

  it("is unknown at the first reading", () => {
    expect(carriedSince([], [at(5_000, 6_000)], "a")).toEqual([]);
  });

  it("adds up to the total, however often it is read and rebooted", () => {
    const step = fc.record({ sent: fc.nat(1e6), received: fc.nat(1e6), reboot: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        let marks = [{ ...at(0, 0), bootId: "0" }];
        let [counter, boot, total, counted] = [at(0, 0), 0, 0, 0];
        for (const { sent, received, reboot } of steps) {
          if (reboot) [counter, boot] = [at(0, 0), boot + 1];
          counter = at(counter.sent + sent, counter.received + received);
          total += sent + received;
          for (const carried of carriedSince(marks, [counter], String(boot)))
            counted += carried.sent + carried.received;
          marks = [{ ...counter, bootId: String(boot) }];
        }
        expect(counted).toBe(total);
      }),
    );
  });
});

describe("the estimated overhead of TCP and IP", () => {
  it("is a header and an acknowledgement for each message, and about a twentieth of a long transfer", () => {
    expect(estimateOverhead(20, 1)).toBe(104);
    expect(estimateOverhead(100_000_000, 0) / 100_000_000).toBeCloseTo(0.054, 2);
    expect(estimateOverhead(0, 0)).toBe(0);
  });
});
