import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { firstSeed, SeededRandom } from "../support/chaos/seeded-random.ts";
import { openStream } from "../support/event-stream.ts";
import { postgresUnavailableReason } from "../support/postgres.ts";
import { Cluster } from "../support/system/cluster.ts";
import type { Account, Asset } from "../support/system/control.ts";
import { ReturningDevice } from "../support/system/returning-device.ts";
import { waitFor } from "../support/wait-for.ts";

/*
 * Kills the instance that holds the device's session with SIGKILL at single chunks of its traffic with PostgreSQL, while the
 * client is on the other instance. `CHAOS=full` tries every point, otherwise a few chosen by the seed.
 */

const FULL = process.env["CHAOS"] === "full";
const SAMPLE = 3;
/** More than a deployment takes. */
const MAX_CHUNKS = 30;

const seed = firstSeed();
const reason = await postgresUnavailableReason();

const POINTS = (["up", "down"] as const).flatMap((direction) =>
  Array.from({ length: MAX_CHUNKS }, (_, index) => ({ direction, number: index + 1 })),
);

describe.skipIf(reason !== undefined)("an instance killed at a write to PostgreSQL, or at its result", () => {
  let cluster: Cluster;
  let account: Account;
  let asset: Asset;
  let device: ReturningDevice;
  let reached = 0;
  beforeAll(async () => {
    cluster = await Cluster.start();
    account = await cluster.createAccount("acme");
    asset = await cluster.addAsset(account.accountId, "GW-1");
    const options = { url: cluster.agentUrl, deviceToken: asset.deviceToken, eventMs: 50, runningEvents: 3 };
    device = new ReturningDevice(options);
  });
  afterAll(async () => {
    await device[Symbol.asyncDispose]();
    await cluster[Symbol.asyncDispose]();
    console.log(`seed ${seed}; killed at ${reached} points`);
  });

  test("the deployment comes to its end, with each event once", { timeout: FULL ? 1_800_000 : 900_000 }, async () => {
    const random = new SeededRandom(seed);
    const chosen = FULL ? POINTS : Array.from({ length: SAMPLE }, () => random.pick(POINTS));
    for (const { direction, number } of chosen) {
      const what = `seed ${seed}: chunk ${number} ${direction}`;
      await waitFor("the device", () => device.isConnected);
      const holder = await cluster.holderOf(asset);
      const [victim, other] = [cluster.instance(holder), cluster.instance(1 - holder)];
      let left = number;
      victim.databaseLink.onChunk = (of) => {
        if (of !== direction || --left !== 0) return true;
        victim.signal("SIGKILL");
        return false;
      };
      const body = { name: "web", image: "registry.example/team/web:1" };
      using stream = await openStream(`${other.url}/v1/assets/GW-1/edge/apps`, { apiKey: account.apiKey, body });
      await stream.ended;
      victim.databaseLink.onChunk = undefined;
      if (left <= 0) {
        await victim.exited();
        reached++;
        await victim.start();
      }
      await waitFor("both instances", () => cluster.proxy.ready.every(Boolean));
      const { events } = stream;
      expect(
        events.map(({ seq }) => seq),
        what,
      ).toEqual(events.map((_event, index) => index + 1));
      expect(
        events.filter(({ status }) => status !== "Running"),
        what,
      ).toHaveLength(1);
      const work = events.map(({ message }) => message).filter((message) => message.startsWith("Working"));
      expect([events.at(-1)?.status, work], `${what}\n${cluster.tail()}`).toEqual([
        "Success",
        [1, 2, 3].map((part) => `Working, part ${part}.`),
      ]);
      expect(device.cancelled, what).toEqual([]);
    }
  });
});
