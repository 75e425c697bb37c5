import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ModemManager } from "../../../src/agent/host/modem-manager.ts";
import { MockModemManager } from "../../support/mock-modem-manager.ts";

const { signal } = new AbortController();
const CONNECTED = ["i", "11"];

describe("the modem, as ModemManager says on a real D-Bus", () => {
  let mock: MockModemManager;
  let manager: ModemManager;
  beforeEach(async () => {
    mock = await MockModemManager.start();
    manager = new ModemManager({ bus: mock.address });
  });
  afterEach(() => mock[Symbol.asyncDispose]());

  test("is the one that is connected, with its network and its signal", async () => {
    await mock.serve();
    await mock.addModem(0, { Modem: { State: ["i", "7"], AccessTechnologies: ["u", "0"] } });
    await mock.addModem(1, {
      Modem: { State: CONNECTED, AccessTechnologies: ["u", "16384"], SignalQuality: ["(ub)", "75", "true"] },
      "Modem.Modem3gpp": {
        OperatorName: ["s", "Tele\u001bcom"],
        OperatorCode: ["s", "26201"],
        RegistrationState: ["u", "5"],
      },
      "Modem.Signal": {
        Nr5g: ["a{sv}", "0"],
        Lte: ["a{sv}", "3", "rsrp", "d", "-98.5", "rsrq", "d", "-11", "snr", "d", "9.4"],
      },
    });
    expect(await manager.read(signal)).toEqual({
      state: "connected",
      technology: "LTE",
      operator: "Tele\u{fffd}com",
      isRoaming: true,
      signal_percent: 75,
      rsrp_dbm: -98.5,
      rsrq_db: -11,
      sinr_db: 9.4,
      roaming_percent: 100,
      mobile_generation: 4,
    });
  });

  test.each<[string, Record<string, string[]>, Record<string, string[]>, object]>([
    ["that is locked", { State: ["i", "2"] }, {}, { state: "locked" }],
    ["that the network refuses", { State: ["i", "7"] }, { RegistrationState: ["u", "3"] }, { state: "denied" }],
    ["that says nothing else", {}, {}, { state: "starting" }],
    [
      "of which values are out of all bounds",
      { State: CONNECTED, SignalQuality: ["(ub)", "4000000000", "true"], AccessTechnologies: ["s", "LTE"] },
      { OperatorName: ["s", "x".repeat(500)], RegistrationState: ["u", "1"] },
      { state: "connected", isRoaming: false, roaming_percent: 0 },
    ],
  ])("one %s is told as far as it can be", async (_what, modem, network, expected) => {
    await mock.serve();
    await mock.addModem(0, { Modem: modem, "Modem.Modem3gpp": network });
    expect(await manager.read(signal)).toEqual(expected);
  });

  test("is none without a modem, without ModemManager, and without a bus; then few readings ask", async () => {
    expect(await manager.read(signal)).toBeUndefined();
    await mock.serve();
    // The one after a miss is left out.
    expect(await manager.read(signal)).toBeUndefined();
    expect(await manager.read(signal)).toBeUndefined();
    await mock.addModem(0, { Modem: { State: CONNECTED } });
    const found: unknown[] = [];
    for (let reading = 0; reading < 5; reading++) found.push(await manager.read(signal));
    expect(found).toEqual([undefined, undefined, undefined, { state: "connected" }, { state: "connected" }]);
    expect(await new ModemManager({ bus: "unix:path=/nonexistent" }).read(signal)).toBeUndefined();
  });

  test("is not waited for when the agent stops", async () => {
    await mock.serve();
    mock.freeze();
    const stopping = new AbortController();
    const reading = manager.read(stopping.signal);
    stopping.abort();
    expect(await reading).toBeUndefined();
  });
});
