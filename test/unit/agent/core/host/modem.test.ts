import { describe, expect, it } from "vitest";
import {
  findModem,
  isModemControl,
  isModemInterface,
  isWeak,
  modemObstacle,
  modemText,
} from "../../../../../src/agent/core/host/modem.ts";

const none = { controls: [], interfaces: [], hasOtherRoute: true };
const wwan = (state: string, ...addresses: string[]) => ({ name: "wwan0", state, addresses });

describe("the SIM modem", () => {
  it("is reported as absent", () => {
    expect(findModem(none)).toEqual({ kind: "none" });
  });

  it.each(["up", "unknown", "dormant"])("is connected with an address, its interface %s", (state) => {
    expect(findModem({ ...none, interfaces: [wwan(state, "10.64.1.7")] })).toEqual({
      kind: "up",
      text: "wwan0 is up with 10.64.1.7.",
    });
  });

  it.each([
    [{ ...none, interfaces: [wwan("down")] }, /wwan0 is down/, false],
    [{ ...none, interfaces: [wwan("down", "10.64.1.7")], hasOtherRoute: false }, /wwan0 is down/, true],
    [{ ...none, interfaces: [wwan("unknown")], hasOtherRoute: false }, /has no address/, true],
    [{ ...none, controls: ["cdc-wdm0"], hasOtherRoute: false }, /cdc-wdm0.*without a network interface/, true],
  ])("is not connected %#", (seen, text, matters) => {
    expect(findModem(seen)).toMatchObject({ kind: "down", text: expect.stringMatching(text) as string, matters });
  });

  it.each([
    [{ technology: "LTE", operator: "Telecom", isRoaming: true }, "LTE of Telecom (roaming)"],
    [{ operator: "26201", isRoaming: false, signal_percent: 75 }, "of 26201, signal 75 %"],
    [{ technology: "5G", rsrp_dbm: -98.5, rsrq_db: -11, sinr_db: 9 }, "5G, RSRP -98.5 dBm, RSRQ -11 dB, SINR 9 dB"],
    [{}, ""],
  ])("is described %#", (reading, text) => {
    expect(modemText({ state: "connected", ...reading })).toBe(text);
  });

  it("has a weak signal below -115 dBm, or with more noise than signal", () => {
    const weak = [{ rsrp_dbm: -115.1 }, { sinr_db: -0.1 }, { rsrp_dbm: -90, sinr_db: -1 }];
    expect(weak.every((levels) => isWeak({ state: "connected", ...levels }))).toBe(true);
    const good = [{}, { rsrp_dbm: -115 }, { rsrp_dbm: -80, sinr_db: 0 }, { signal_percent: 1 }];
    expect(good.some((levels) => isWeak({ state: "connected", ...levels }))).toBe(false);
  });

  it("says what keeps it from being connected, and what helps", () => {
    for (const state of ["locked", "denied", "failed", "disabled", "searching"] as const)
      expect(modemObstacle({ state })).toEqual({
        text: expect.any(String) as string,
        next: expect.any(String) as string,
      });
    for (const state of ["starting", "registered", "connected"] as const)
      expect(modemObstacle({ state })).toBeUndefined();
  });

  it("is recognised by the kernel's names", () => {
    expect(["wwan0", "wwp0s20u4", "ppp0", "rmnet_data0", "qmimux1"].every(isModemInterface)).toBe(true);
    expect(["eth0", "wlan0", "docker0", "lo"].some(isModemInterface)).toBe(false);
    expect(["cdc-wdm0", "wwan0qmi0", "wwan0mbim1"].every(isModemControl)).toBe(true);
    expect(["null", "ttyUSB0"].some(isModemControl)).toBe(false);
  });
});
