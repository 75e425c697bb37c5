import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { waitFor } from "../../support/wait-for.ts";
import type { HealthRow } from "../../../src/protocol/link/health-points.ts";
import type { AppHealthRow } from "../../../src/protocol/link/app-health.ts";
import { HealthMessageWriter } from "../../../src/protocol/link/health-message.ts";
import { MAX_HEALTH_ROWS } from "../../../src/protocol/link/health-rows.ts";
import { CLOSE_CODES } from "../../../src/protocol/link/frames.ts";

const QUARTER = 900;
const DAY = 86_400;

let clock: FakeClock;
let control: ControlPlane;
let account: TestAccount;

beforeAll(async () => {
  clock = new FakeClock();
  control = await startControlPlane({ clock });
  account = await control.account();
});
afterAll(() => control[Symbol.asyncDispose]());

/** Start of the row that is under way, by the service's clock. */
const current = (): number => Math.floor(clock.now() / 1000 / QUARTER) * QUARTER;

const row = (at: number, cpu = 5): HealthRow => ({ at, spreads: { cpu_percent: [cpu, cpu, cpu] } });

const used = (from: number, mean: number): AppHealthRow => ({
  at: from,
  apps: new Map([["web", { cpu_percent: [0, 0], memory_bytes: [mean, mean], restarts: 1 }]]),
});

/** What a session sends, in the order of the calls. */
function messages() {
  const writer = new HealthMessageWriter();
  return (rows: readonly HealthRow[], apps: readonly AppHealthRow[] = []) => Buffer.from(writer.write({ rows, apps }));
}

async function stored(uuid: string): Promise<number[]> {
  const { rows } = await control.store.health.listRows(uuid, { from: 0, to: 2 ** 33 });
  return rows.map(({ at }) => at);
}

/** Resolves when there is a row of this time: what was sent before it has been handled. */
const untilStored = (uuid: string, at: number) =>
  waitFor(`a row at ${at}`, async () => (await stored(uuid)).includes(at));

describe("what a device sends of how it was", () => {
  test("is stored once, also where it is sent again after a cut, and the next welcome confirms it", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    const at = current() - 8 * QUARTER;
    const first = await FakeDevice.connect(control.agentUrl, deviceToken);
    expect(first.received[0]).not.toHaveProperty("health_at");
    first.send(messages()([row(at), row(at + QUARTER)]));
    await untilStored(uuid, at + QUARTER);
    await first.cut();
    await using second = await FakeDevice.open(control.agentUrl, deviceToken);
    second.hello();
    expect(await second.next("welcome")).toMatchObject({ health_at: at + QUARTER });
    second.send(messages()([row(at), row(at + QUARTER, 99), row(at + 3 * QUARTER)]));
    await untilStored(uuid, at + 3 * QUARTER);
    expect(await stored(uuid)).toEqual([at, at + QUARTER, at + 3 * QUARTER]);
  });

  test("is dropped where its time cannot be true, and the rest of it stays", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    const at = current();
    const year2100 = Math.floor(4_102_444_800 / QUARTER) * QUARTER;
    const message = messages();
    device.send(message([row(0)]));
    device.send(message([row(at - 4 * DAY), row(at - 2 * DAY)]));
    device.send(message([row(at - QUARTER), row(at), row(at + 2 * QUARTER), row(year2100)]));
    await untilStored(uuid, at);
    expect(await stored(uuid)).toEqual([at - 2 * DAY, at - QUARTER, at]);
  });

  test("takes no more than the rows of the days that can be true, however many it sends", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    const at = current();
    // As many as reports may come at once: 5,568 rows.
    const message = messages();
    for (let round = 29; round > 0; round--) {
      const from = at - (round * MAX_HEALTH_ROWS - 1) * QUARTER;
      device.send(message(Array.from({ length: MAX_HEALTH_ROWS }, (_, index) => row(from + index * QUARTER, round))));
    }
    device.send(message([row(at + QUARTER)]));
    await untilStored(uuid, at + QUARTER);
    const times = await stored(uuid);
    expect(times.length).toBeLessThanOrEqual((3 * DAY) / QUARTER + 1);
    expect(times.length).toBeGreaterThan(MAX_HEALTH_ROWS);
    expect(new Set(times).size).toBe(times.length);
  });

  test("has what the apps used, over messages that name them once, and not what lies in another time", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    const at = current();
    const hour = Math.floor(at / 3_600) * 3_600;
    const message = messages();
    const first = message([row(at - 3 * QUARTER)], [used(hour - 2_000 * 3_600, 65_536), used(hour - 7_200, 131_072)]);
    const second = message([row(at)], [used(hour - 3_600, 262_144), used(hour + 7_200, 131_072)]);
    expect(first.includes("web") || second.length < first.length).toBe(true);
    device.send(first);
    device.send(second);
    await untilStored(uuid, at);
    const { apps } = await control.store.health.listRows(uuid, { from: 0, to: 2 ** 33 });
    const days = new Set([at, at - 3 * QUARTER].map((time) => Math.floor(time / DAY)));
    const expected = [used(hour - 7_200, 131_072), used(hour - 3_600, 262_144)];
    expect(apps).toEqual(expected.filter((one) => days.has(Math.floor(one.at / DAY))));
  });

  test("ends the session of a device that sends what is none, as other bad frames do", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    while (!device.isClosed) {
      device.send(Buffer.from("04ffffff", "hex"));
      await Promise.race([device.flushed().catch(() => undefined), device.closed]);
    }
    expect(await device.closed).toBe(CLOSE_CODES.badFrame);
    expect(await stored(uuid)).toEqual([]);
  });
});
