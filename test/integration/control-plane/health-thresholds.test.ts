import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AlertRule } from "../../../src/protocol/alerts/settings.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { someAudit } from "../../support/control-plane/people.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { waitFor } from "../../support/wait-for.ts";

let clock: FakeClock;
let control: ControlPlane;

beforeAll(async () => {
  clock = new FakeClock();
  control = await startControlPlane({ clock });
});
afterAll(() => control[Symbol.asyncDispose]());

const hot = (selector: string, above: number): AlertRule => ({ condition: "temperature_high", selector, above });
const setRules = ({ accountId }: TestAccount, ...rules: readonly AlertRule[]): Promise<void> =>
  control.store.alertSettings.change(accountId, (current) => ({
    ...current,
    rules,
    audit: someAudit("alert_settings.changed", accountId),
  }));
const tag = (uuid: string, site: string | null) =>
  control.store.assetSettings.changeTags(uuid, new Map([["site", site]]), false, someAudit("asset.tagged"));

/** What the device was told since its welcome, the last first. */
const toldTo = (device: FakeDevice): unknown[] =>
  device.received.flatMap((frame) => (frame.type === "health_thresholds" ? [frame.thresholds] : [])).toReversed();

/** Minutes pass until the device was told something so often: this was the last. */
async function untilTold(device: FakeDevice, thresholds: object | undefined, times: number): Promise<void> {
  await waitFor("the device to be told", async () => {
    if (toldTo(device).length < times) await clock.advance(60_000);
    return toldTo(device).length >= times;
  });
  expect(toldTo(device)).toHaveLength(times);
  expect(toldTo(device)[0]).toEqual(thresholds);
}

describe("what a device is to tell at once", () => {
  test("is in its welcome where rules of its account that take it differ from the defaults, and in no other", async () => {
    const [account, stranger] = [await control.account(), await control.account()];
    const [oven, pump, strange] = [
      await control.asset(account),
      await control.asset(account),
      await control.asset(stranger),
    ];
    await tag(oven.uuid, "oven");
    await tag(strange.uuid, "oven");
    await setRules(account, hot("site=oven", 95));
    await using first = await FakeDevice.connect(control.agentUrl, oven.deviceToken);
    expect(first.received[0]).toMatchObject({ health_thresholds: { temperature_celsius: [[95, 900]] } });
    await using second = await FakeDevice.connect(control.agentUrl, pump.deviceToken);
    await using third = await FakeDevice.connect(control.agentUrl, strange.deviceToken);
    for (const { received } of [second, third]) expect(received[0]).not.toHaveProperty("health_thresholds");
  });

  test("reaches a connected device when rules or tags change, once, and when all of them are gone", async () => {
    const account = await control.account();
    const [oven, pump] = [await control.asset(account), await control.asset(account)];
    await tag(oven.uuid, "oven");
    await using device = await FakeDevice.connect(control.agentUrl, oven.deviceToken);
    await using other = await FakeDevice.connect(control.agentUrl, pump.deviceToken);
    await setRules(account, hot("site=oven", 90));
    await untilTold(device, { temperature_celsius: [[90, 900]] }, 1);
    await setRules(account, hot("site=oven", 90), hot("type=none", 70), {
      condition: "disk_high",
      selector: "*",
      enabled: true,
    });
    await untilTold(device, { temperature_celsius: [[90, 900]], disk_percent: [[90, 900]] }, 2);
    await untilTold(other, { disk_percent: [[90, 900]] }, 1);
    await tag(oven.uuid, null);
    await untilTold(device, { disk_percent: [[90, 900]] }, 3);
    await setRules(account);
    await untilTold(device, undefined, 4);
    await untilTold(other, undefined, 2);
    // What does not change is not said again.
    await setRules(account, hot("*", 80));
    await tag(pump.uuid, "oven");
    await setRules(account, hot("*", 85));
    await untilTold(other, { temperature_celsius: [[85, 900]] }, 3);
    await untilTold(device, { temperature_celsius: [[85, 900]] }, 5);
  });

  test("is said to a device that connects meanwhile as it is then, whatever was looked at before", async () => {
    const account = await control.account();
    const [first, second] = [await control.asset(account), await control.asset(account)];
    await setRules(account, hot("*", 90));
    await using device = await FakeDevice.connect(control.agentUrl, first.deviceToken);
    await untilTold(device, { temperature_celsius: [[90, 900]] }, 1);
    // The instance has not looked at these yet.
    await setRules(account, hot("*", 91));
    await using late = await FakeDevice.connect(control.agentUrl, second.deviceToken);
    expect(late.received[0]).toMatchObject({ health_thresholds: { temperature_celsius: [[90, 900]] } });
    await untilTold(late, { temperature_celsius: [[91, 900]] }, 1);
    await untilTold(device, { temperature_celsius: [[91, 900]] }, 2);
  });
});
