import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { EmnifyOperator } from "../../../src/control-plane/sim-operator/emnify/emnify-operator.ts";
import type { OperatorSim, SimOperator } from "../../../src/control-plane/sim-operator/sim-operator.ts";
import { SuperSimOperator } from "../../../src/control-plane/sim-operator/super-sim/super-sim-operator.ts";
import { IdleClock } from "../../support/idle-clock.ts";
import { EmnifySimulator } from "../../support/sim-operators/emnify-simulator.ts";
import type { OperatorServer } from "../../support/sim-operators/operator-server.ts";
import { SuperSimSimulator } from "../../support/sim-operators/super-sim-simulator.ts";

const DAY = 24 * 3600;
const MINUTE = 60_000;
const SID = `HS${"0e".repeat(16)}`;
const { signal } = new AbortController();
const range = { start: Date.UTC(2026, 10, 1) / 1000, end: Date.UTC(2026, 10, 1) / 1000 + 10 * DAY };

interface Rig {
  readonly server: OperatorServer & { isRevoked: boolean };
  readonly operator: SimOperator;
  readonly sim: OperatorSim;
  /** Requests for usage. */
  readonly usage: RegExp;
}

let clock: IdleClock;
beforeEach(() => {
  clock = new IdleClock();
});

async function startSuperSim(isOld: boolean): Promise<Rig> {
  const server = await SuperSimSimulator.start(clock);
  onTestFinished(() => server[Symbol.asyncDispose]());
  server.addFleet("default_1gb");
  server.addSim({ sid: SID, iccid: "8988307000001234567" });
  const { url, accountSid, authToken, clientId, clientSecret, tokenUrl } = server;
  const credentials = isOld ? { accountSid, authToken } : { clientId, clientSecret, tokenUrl };
  return {
    server,
    operator: new SuperSimOperator({ url, credentials, clock }),
    sim: {
      type: "supersim",
      iccid: "8988307000001234567",
      operatorId: SID,
      state: { status: "active", networkGroup: "default_1gb" },
    },
    usage: /UsageRecords/,
  };
}

const RIGS: Readonly<Record<string, () => Promise<Rig>>> = {
  "Super SIM": () => startSuperSim(false),
  "Super SIM of an older account": () => startSuperSim(true),
  emnify: async () => {
    const server = await EmnifySimulator.start(clock);
    onTestFinished(() => server[Symbol.asyncDispose]());
    const { iccid, imsi } = server.addSim({ iccid: "8988303000001234567", imsi: "295050912345678" });
    const { url, applicationToken } = server;
    return {
      server,
      operator: new EmnifyOperator({ url, applicationToken, clock }),
      sim: { type: "prosim", iccid, operatorId: imsi, state: { status: "active", networkGroup: undefined } },
      usage: /stats/,
    };
  },
};

/** Everything that people and the service ask, three things at a time, four times a minute, for an hour. */
async function askForAnHour({ operator, sim }: Rig): Promise<void> {
  for (let time = 0; time < 240; time++) {
    const ends = await Promise.allSettled([
      operator.findSim(sim, signal),
      operator.change(sim, { status: "inactive" }, signal),
      operator.readUsage(sim, range, "day", signal),
    ]);
    const refused = { status: "rejected", reason: { failure: "credentials", retryable: false } };
    expect(ends).toMatchObject([refused, refused, refused]);
    await clock.sleep(MINUTE / 4);
  }
}

describe.each(Object.entries(RIGS))("%s", (_name, start) => {
  let rig: Rig;
  beforeEach(async () => {
    rig = await start();
    expect(await rig.operator.findSim(rig.sim, signal)).toMatchObject({ status: "active" });
  });

  test("credentials that are revoked: an hour of 720 calls is three requests a minute, and the check says why", async () => {
    const { server, operator, sim } = rig;
    server.isRevoked = true;
    const before = server.count();
    await askForAnHour(rig);
    // Those that are under way at the same time, and of tokens one.
    expect(server.count() - before).toBeLessThanOrEqual(3 * 61);
    const lines = await operator.check(signal);
    expect(lines.some(({ isAllowed }) => isAllowed)).toBe(false);
    expect(lines[0]?.answer).toContain("the credentials are wrong or revoked");
    server.isRevoked = false;
    await clock.sleep(MINUTE);
    expect(await operator.findSim(sim, signal)).toMatchObject({ status: "active" });
  });

  test("401 for ever, also with new tokens: seven requests a minute", async () => {
    const { server } = rig;
    server.fail(/\/v1\/(?!auth)/, { kind: "status", status: 401 });
    const before = server.count();
    await askForAnHour(rig);
    // Those that are under way at the same time, one for a token, and the same again with it.
    expect(server.count() - before).toBeLessThanOrEqual(7 * 61);
  });

  test("403 for ever: each kind of request is made a few times, then once a minute", async () => {
    const { server, operator, sim } = rig;
    server.fail(/\/v1\/(?!auth)/, { kind: "status", status: 403 });
    const before = server.count();
    await askForAnHour(rig);
    // Up to three kinds for each of the three questions.
    expect(server.count() - before).toBeLessThanOrEqual(5 * (2 + 61));
    server.heal();
    await clock.sleep(MINUTE);
    expect(await operator.findSim(sim, signal)).toMatchObject({ status: "active" });
  });

  test("403 for usage alone: the rest goes on, and the check says which permission is missing", async () => {
    const { server, operator, sim, usage } = rig;
    server.fail(usage, { kind: "status", status: 403 });
    for (let time = 0; time < 100; time++) {
      const asked = operator.readUsage(sim, range, "day", signal);
      await expect(asked).rejects.toMatchObject({ failure: "credentials", message: expect.stringContaining("403") });
      expect(await operator.findSim(sim, signal)).toMatchObject({ status: "active" });
    }
    expect(server.count(usage)).toBeLessThanOrEqual(5);
    const refused = (await operator.check(signal)).filter(({ isAllowed }) => isAllowed === false);
    expect(refused.map(({ what }) => what)).toEqual(sim.type === "supersim" ? ["read usage"] : []);
  });
});
