import { expect, test } from "vitest";
import { apiClient } from "../../support/api-client.ts";
import { createAccount } from "../../support/control-plane.ts";
import { TestInstances } from "../../support/control-plane/test-instances.ts";
import { FakeClock } from "../../support/fake-clock.ts";

test("requests of one key count at all instances together", async () => {
  const clock = new FakeClock();
  await using instances = await TestInstances.open({ clock, config: { rate_limit_per_minute: 40 } });
  const [a, b] = [await instances.start(), await instances.start()];
  const account = await createAccount(instances.store, clock);
  const statuses: number[] = [];
  for (let request = 0; request < 30; request++) {
    for (const instance of [a, b]) statuses.push((await apiClient(instance, account).get("/v1/assets")).status);
    await clock.advance(250);
    await new Promise(setImmediate);
    await new Promise(setImmediate);
  }
  const accepted = statuses.filter((status) => status === 200).length;
  expect(accepted).toBeGreaterThanOrEqual(40);
  expect(accepted).toBeLessThanOrEqual(44);
  expect(statuses.slice(-10).every((status) => status === 429)).toBe(true);
});
