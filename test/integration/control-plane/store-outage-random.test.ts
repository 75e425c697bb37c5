import { statusOf } from "../../../src/control-plane/core/deployment.ts";
import { describe, expect, test } from "vitest";
import { StoreOutageLog } from "../../../src/control-plane/store/outage-log.ts";
import { watchedStore } from "../../../src/control-plane/store/watched-store.ts";
import { captureLogText } from "../../support/captured-log.ts";
import { startControlPlane, type TestAccount, type TestAsset } from "../../support/control-plane.ts";
import { type FailingStore, type Fate, failingStore } from "../../support/control-plane/failing-store.ts";
import { openStream } from "../../support/event-stream.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { FastClock } from "../../support/fast-clock.ts";
import { waitFor } from "../../support/wait-for.ts";

const SEEDS = (process.env["OUTAGE_SEEDS"] ?? "1,2,3,4").split(",").map(Number);
const DEVICES = 2;
const CLIENTS = 3;
const DEPLOYMENTS = 4;

/** A generator of numbers in [0, 1) that depends on nothing but its seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Outages of some calls, between stretches without: calls of an outage do not reach the database, or their results do not return. */
function fates(random: () => number): () => Fate {
  let left = 0;
  let isOut = false;
  return () => {
    if (left-- <= 0) {
      isOut = !isOut;
      left = Math.floor(random() * (isOut ? 30 : 60));
    }
    if (!isOut) return "done";
    return random() < 0.5 ? "refused" : "result_lost";
  };
}

describe("a database that is lost again and again", () => {
  test.each(SEEDS)(
    "seed %i: nothing that was answered is lost, nothing is answered twice, everything ends by itself",
    async (seed) => {
      const random = randomOf(seed);
      const clock = new FastClock(50);
      const log = captureLogText();
      let failing: FailingStore | undefined;
      await using control = await startControlPlane({
        clock,
        logger: log.logger,
        config: { ack_timeout_s: 600, deployment_timeout_s: 100_000 },
        decorateStore: (store) => {
          failing = failingStore(store);
          return watchedStore(failing.store, new StoreOutageLog(clock, log.logger));
        },
      });
      if (!failing) throw new Error("the store was not decorated");
      const account = await control.account();
      const assets = await Promise.all(Array.from({ length: DEVICES }, () => control.asset(account)));
      await using devices = new AsyncDisposableStack();
      const connected = await Promise.all(
        assets.map(async ({ deviceToken }) => devices.use(await FakeDevice.connect(control.agentUrl, deviceToken))),
      );
      const stop = new AbortController();
      const working = connected.map((device) => work(device, stop.signal));
      failing.fate = fates(random);
      const clients = assets.flatMap((asset) =>
        Array.from({ length: CLIENTS }, (_, client) => deployAll(control.url, account, asset, `${seed}-${client}`)),
      );
      const answered = (await Promise.all(clients)).flat();
      failing.fate = () => "done";
      expect(failing.failures).toBeGreaterThan(10);
      // The client may hear of the end before the device does.
      await waitFor("each device to hear that its last events are stored", () =>
        answered.every(({ id }) => connected.some((device) => isAcknowledged(device, id))),
      );
      stop.abort();
      await Promise.all(working);

      // Each request became one deployment, whatever its client heard in between.
      expect(new Set(answered.map(({ id }) => id)).size).toBe(DEVICES * CLIENTS * DEPLOYMENTS);
      let stored = 0;
      for (const [index, { uuid }] of assets.entries()) {
        const { deployments } = await control.store.deployments.listDeployments(uuid, 200);
        stored += deployments.length;
        const device = connected[index] as FakeDevice;
        expect(device.isClosed).toBe(false);
        for (const deployment of deployments) {
          const { id } = deployment;
          expect(statusOf(deployment), id).toBe("Success");
          // The command went out once, and each event of the device was acknowledged once.
          const frames = device.received.filter((frame) => "deployment_id" in frame && frame.deployment_id === id);
          expect(
            frames.filter(({ type }) => type === "deploy"),
            id,
          ).toHaveLength(1);
          expect(
            frames.flatMap((frame) => (frame.type === "event_ack" ? [frame.device_seq] : [])),
            id,
          ).toEqual([1, 2, 3]);
          const { events: record } = await control.store.deployments.readEvents(id, 0, 100);
          // What was streamed is what is on record, each event once and in order.
          const events = record.map(({ json }) => JSON.parse(json) as unknown);
          expect(answered.find((answer) => answer.id === id)?.events, id).toEqual(events);
          expect(
            record.map(({ seq }) => seq),
            id,
          ).toEqual(record.map((_event, at) => at + 1));
        }
      }
      expect(stored).toBe(DEVICES * CLIENTS * DEPLOYMENTS);
      const errors = log
        .text()
        .split("\n")
        .filter((line) => line.includes('"level":50'));
      expect(errors.filter((line) => !line.includes("the database cannot be reached"))).toEqual([]);
    },
  );
});

function isAcknowledged({ received }: FakeDevice, id: string): boolean {
  return received.some((frame) => frame.type === "event_ack" && frame.deployment_id === id && frame.device_seq === 3);
}

interface Answered {
  readonly id: string;
  readonly events: readonly unknown[];
}

/** Deploys one app after the other, and repeats a request that was answered with 503. */
async function deployAll(url: string, account: TestAccount, asset: TestAsset, client: string): Promise<Answered[]> {
  const answered: Answered[] = [];
  for (let round = 0; round < DEPLOYMENTS; round++) {
    const request = {
      apiKey: account.apiKey,
      headers: { "Idempotency-Key": `${asset.uuid}-${client}-${round}` },
      body: { name: `app-${client}-${round}`, image: "web:1" },
    };
    for (;;) {
      using stream = await openStream(`${url}/v1/assets/${asset.uuid}/edge/apps`, request);
      expect(await stream.ended).toBe(true);
      if (stream.status === 200) {
        answered.push({ id: stream.deploymentId, events: stream.events });
        break;
      }
      expect([stream.status, stream.events.map(({ code }) => code)]).toEqual([503, ["ServiceUnavailable"]]);
    }
  }
  return answered;
}

/** The device carries out every deployment it gets, once. */
async function work(device: FakeDevice, signal: AbortSignal): Promise<void> {
  const done = new Set<string>();
  while (!signal.aborted) {
    for (const frame of device.received) {
      if (frame.type !== "deploy" || done.has(frame.deployment_id)) continue;
      done.add(frame.deployment_id);
      device.event(frame.deployment_id, { step: "pulling", message: "Pulling." });
      device.event(frame.deployment_id, { step: "starting", message: "Starting." });
      device.success(frame.deployment_id);
    }
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
}
