import { describe, expect, it } from "vitest";
import { findModem, isModemControl, isModemInterface } from "../../../../../src/agent/core/host/modem.ts";

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

  it("is recognised by the kernel's names", () => {
    expect(["wwan0", "wwp0s20u4", "ppp0", "rmnet_data0", "qmimux1"].every(isModemInterface)).toBe(true);
    expect(["eth0", "wlan0", "docker0", "lo"].some(isModemInterface)).toBe(false);
    expect(["cdc-wdm0", "wwan0qmi0", "wwan0mbim1"].every(isModemControl)).toBe(true);
    expect(["null", "ttyUSB0"].some(isModemControl)).toBe(false);
  });
});
