import fc from "fast-check";
import { expect, test } from "vitest";
import { deliveryOf } from "../../../../src/control-plane/core/delivery.ts";
import { statusOf } from "../../../../src/control-plane/core/deployment.ts";
import { createLogger } from "../../../../src/lib/logger.ts";
import { isFinal } from "../../../../src/protocol/deployments/deployment-event.ts";
import { SeededRandom } from "../../../support/chaos/seeded-random.ts";
import { factsOf } from "../../../support/deployment-record.ts";
import {
  DEPLOYMENT_TIMEOUT_MS,
  type FaultCounts,
  InterleavedService,
} from "../../../support/control-plane/interleaved-service.ts";

const STEPS = 40;

/** Requests, cancellations, connects and disconnects, device events and time, in an order that the seed decides. */
async function live(service: InterleavedService, random: SeededRandom): Promise<void> {
  const act = async (): Promise<void> => {
    switch (random.between(0, 11)) {
      case 0:
      case 1:
        return service.request(random.pick(["deploy", "stop", "remove"]));
      case 2:
        if (service.clients.size > 0) service.cancel(random.pick([...service.clients.keys()]));
        return;
      case 3:
      case 4:
        return service.connect();
      case 5:
        return service.disconnect();
      case 6:
      case 7:
      case 8: {
        const held = [...service.device.held.keys()];
        if (held.length > 0)
          service.device.report(random.pick(held), random.pick(["Running", "Running", "Success", "Fail"]));
        return;
      }
      case 9:
        return service.clock.advance(random.between(0, 3_000));
      case 10:
        return service.clock.advance(random.between(0, 12_000));
      default:
        return random.chance(0.2) ? service.restart() : service.clock.advance(random.between(0, 500));
    }
  };
  for (let step = 0; step < STEPS; step++) {
    await act();
    if (!random.chance(0.1)) continue;
    await service.waitUntilIdle();
    await expectConnectionNotesToMatch(service);
    service.request("stop");
    await expectDelivered(service);
  }
}

/**
 * While nothing is in progress: a connected device has every command, unless it is asked about it first, and nothing waits
 * for it.
 */
async function expectDelivered(service: InterleavedService): Promise<void> {
  await service.waitUntilIdle();
  await service.pollUntilIdle();
  if (!service.isConnected) return;
  const waiting = (await service.unfinished()).filter((deployment) => deliveryOf(deployment) === "command");
  expect(waiting.map(({ id }) => id)).toEqual([]);
}

/** While nothing is in progress: the last connection note of each deployment must match the connection. */
async function expectConnectionNotesToMatch(service: InterleavedService): Promise<void> {
  for (const { id, state } of await service.unfinished()) {
    if (state.kind !== "acknowledged") continue;
    const last = connectionNotes(await service.storedEvents(id)).at(-1);
    if (service.isConnected) expect({ id, last }).not.toMatchObject({ last: "lost" });
  }
}

function connectionNotes(events: Awaited<ReturnType<InterleavedService["storedEvents"]>>): unknown[] {
  return events.map(({ details }) => details?.["connection"]).filter((note) => note !== undefined);
}

async function expectPromises(service: InterleavedService): Promise<void> {
  expect(service.errors).toEqual([]);
  expect(service.device.undoneAfterSuccess).toEqual([]);
  expect(service.device.sentTwice).toEqual([]);
  for (const record of await service.records()) {
    const events = await service.storedEvents(record.id);
    const last = events.at(-1);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(events.filter(isFinal)).toEqual([last]);
    expect(factsOf(record)).toMatchObject({ status: last?.status, code: last?.code, lastSeq: last?.seq });
    expect(service.clients.get(record.id)).toMatchObject({ events, ended: true });
    const notes = connectionNotes(events);
    expect(notes).toEqual(notes.map((_, index) => (index % 2 === 0 ? "lost" : "restored")));
    const ended = service.device.ended.get(record.id);
    if (ended) expect(statusOf(record)).toBe(ended);
    // A device can report an end only while it is connected.
    if (statusOf(record) === "Success") expect(notes.at(-1)).not.toBe("lost");
  }
}

const ENDINGS = ["device-returns", "device-stays-away", "device-is-silent"] as const;

/** Returns how often what several instances are about has happened. */
async function run(seed: number, ending: (typeof ENDINGS)[number], instances: number): Promise<FaultCounts> {
  const random = new SeededRandom(seed);
  const service = new InterleavedService(random, await createLogger({ name: "test", level: "fatal" }), instances);
  try {
    await service.start();
    await live(service, random);
    if (ending === "device-stays-away") service.disconnect();
    await service.waitUntilIdle();
    if (ending !== "device-stays-away") {
      // The service closes the connection if it hears of an earlier one later.
      for (let isDone = false; !isDone; isDone = service.isConnected) {
        service.connect();
        await service.waitUntilIdle();
      }
      await expectConnectionNotesToMatch(service);
      if (ending === "device-returns")
        for (const id of service.device.held.keys()) service.device.report(id, "Success");
      await service.waitUntilIdle();
    }
    await service.clock.advance(DEPLOYMENT_TIMEOUT_MS + 60_000);
    await service.waitUntilIdle();
    await expectPromises(service);
    return service.faults;
  } finally {
    await service.close();
  }
}

const SEED = Number(process.env["INTERLEAVINGS_SEED"] ?? 12);
/** A run takes 50 to 100 ms of processor time. */
const RUNS = Number(process.env["INTERLEAVINGS"] ?? (process.env["CHAOS"] === "full" ? 1_000 : 40));
const MAX_RUN_MS = 120_000 + RUNS * 1_000;
const runs = { numRuns: RUNS };

test.each(ENDINGS)(
  "over a store that takes its time every promise holds: %s",
  async (ending) => {
    await fc.assert(
      fc.asyncProperty(fc.noShrink(fc.integer({ min: 1, max: 2 ** 31 - 1 })), async (seed) => {
        await run(seed, ending, 1);
      }),
      { ...runs, seed: SEED },
    );
  },
  MAX_RUN_MS,
);

test.each(ENDINGS)(
  "with two instances, of which one may die or not know that it lost the device, every promise holds: %s",
  async (ending) => {
    const faults: FaultCounts = { staleWrites: 0, lostMessages: 0, repeatedMessages: 0, kills: 0, halfOpen: 0 };
    await fc.assert(
      fc.asyncProperty(fc.noShrink(fc.integer({ min: 1, max: 2 ** 31 - 1 })), async (seed) => {
        const counts = await run(seed, ending, 2);
        for (const name of Object.keys(faults) as (keyof FaultCounts)[]) faults[name] += counts[name];
      }),
      { ...runs, seed: SEED },
    );
    // Each of them has been refused or survived.
    expect(Object.entries(faults).filter(([, count]) => count === 0)).toEqual([]);
  },
  MAX_RUN_MS,
);
