import { expect, test } from "vitest";
import { ServiceWatch, type ServiceWatchOptions } from "../../../../src/control-plane/alerts/service-watch.ts";
import type { ServiceTrouble } from "../../../../src/control-plane/store/alerts.ts";
import { createLogger } from "../../../../src/lib/logger.ts";
import { captureLogText } from "../../../support/captured-log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const GIB = 1024 ** 3;
const DAY_MS = 86_400_000;
const MINUTE = 60_000;

/** A watch on a store that only remembers troubles. */
async function rig(fields: Partial<ServiceWatchOptions> = {}) {
  const clock = new FakeClock();
  const troubles = new Map<string, ServiceTrouble>();
  const state = { freeBytes: 50 * GIB, stuck: 0, stuckSinceMs: 0, endsAtMs: undefined as number | undefined, asked: 0 };
  const store = {
    isShared: false,
    leases: {},
    alerts: {
      keepTrouble: async (trouble: ServiceTrouble) => {
        const before = troubles.get(trouble.condition);
        if (before && before.untilMs >= trouble.sinceMs) troubles.set(trouble.condition, trouble);
      },
      noteTrouble: async (trouble: ServiceTrouble) => void troubles.set(trouble.condition, trouble),
      endTrouble: async ({ condition }: Pick<ServiceTrouble, "condition">) => void troubles.delete(condition),
    },
    alertOutbox: {
      countStuck: async (sinceMs: number) => {
        state.stuckSinceMs = sinceMs;
        return state.stuck;
      },
    },
  } as unknown as ServiceWatchOptions["store"];
  const options: ServiceWatchOptions = {
    store,
    accountId: "acc_1",
    publicUrl: "https://control.example.com",
    dataDir: "/data",
    clock,
    logger: await createLogger({ name: "edge-control", level: "fatal" }),
    instanceId: "ins_1",
    readDisk: async () => ({ freeBytes: state.freeBytes, totalBytes: 100 * GIB }),
    readCertificateEnd: async ({ host }) => {
      expect(host).toBe("control.example.com");
      state.asked++;
      return state.endsAtMs;
    },
    ...fields,
  };
  let watch = new ServiceWatch(options);
  const restart = async () => {
    await watch[Symbol.asyncDispose]();
    watch = new ServiceWatch(options);
  };
  const held = () =>
    [...troubles.values()].flatMap((each) => (each.untilMs > clock.now() ? [each.condition] : [])).toSorted();
  return { clock, store, troubles, state, held, restart, [Symbol.asyncDispose]: () => watch[Symbol.asyncDispose]() };
}

test("what is the matter is noted while it is, until a time after the next look, and ended when it is over", async () => {
  await using r = await rig();
  await r.clock.advance(MINUTE);
  expect(r.held()).toEqual([]);
  r.state.freeBytes = GIB;
  r.state.stuck = 3;
  await r.clock.advance(MINUTE);
  expect(r.held()).toEqual(["messages_stuck", "service_disk_low"]);
  const { accountId, subject, untilMs = 0 } = r.troubles.get("service_disk_low") ?? {};
  expect([accountId, subject?.name, untilMs - r.clock.now() > MINUTE]).toEqual(["acc_1", "data directory", true]);
  expect(r.clock.now() - r.state.stuckSinceMs).toBe(15 * MINUTE);
  r.state.freeBytes = 50 * GIB;
  r.state.stuck = 0;
  await r.clock.advance(MINUTE);
  expect(r.held()).toEqual([]);
});

test("the certificate is looked at once an hour; one that was never read says nothing", async () => {
  await using r = await rig();
  await r.clock.advance(MINUTE);
  r.state.endsAtMs = r.clock.now() + 3 * DAY_MS;
  await r.clock.advance(30 * MINUTE);
  expect([r.held(), r.state.asked]).toEqual([[], 1]);
  await r.clock.advance(30 * MINUTE);
  expect(r.held()).toEqual(["tls_expiring"]);
  const { subject, untilMs = 0 } = r.troubles.get("tls_expiring") ?? {};
  expect([subject?.id, untilMs - r.clock.now() > 60 * MINUTE]).toEqual(["control.example.com", true]);
  r.state.endsAtMs = r.clock.now() + 90 * DAY_MS;
  await r.clock.advance(60 * MINUTE);
  expect([r.held(), r.state.asked]).toEqual([[], 3]);
});

test("while the certificate cannot be read, the end that was read last is what counts", async () => {
  await using r = await rig();
  r.state.endsAtMs = r.clock.now() + 14.5 * DAY_MS;
  await r.clock.advance(60 * MINUTE);
  expect(r.held()).toEqual([]);
  r.state.endsAtMs = undefined;
  for (let hour = 0; hour < 24; hour++) await r.clock.advance(60 * MINUTE);
  expect(r.held()).toEqual(["tls_expiring"]);
  expect((r.troubles.get("tls_expiring")?.untilMs ?? 0) > r.clock.now()).toBe(true);
  r.state.endsAtMs = r.clock.now() + 90 * DAY_MS;
  await r.clock.advance(60 * MINUTE);
  expect(r.held()).toEqual([]);
});

test("what cannot be looked at any more stays as it was, however long, also over a restart", async () => {
  const failing = { is: false };
  const readDisk = async () => {
    if (failing.is) throw new Error("EIO");
    return { freeBytes: r.state.freeBytes, totalBytes: 100 * GIB };
  };
  const countStuck = async () => {
    if (failing.is) throw new Error("the query was cancelled");
    return r.state.stuck;
  };
  await using r = await rig({ readDisk });
  r.store.alertOutbox.countStuck = countStuck;
  r.state.freeBytes = GIB;
  r.state.stuck = 3;
  r.state.endsAtMs = r.clock.now() + 3 * DAY_MS;
  await r.clock.advance(MINUTE);
  expect(r.held()).toEqual(["messages_stuck", "service_disk_low", "tls_expiring"]);
  failing.is = true;
  r.state.endsAtMs = undefined;
  for (let minute = 0; minute < 200; minute++) await r.clock.advance(MINUTE);
  expect(r.held()).toEqual(["messages_stuck", "service_disk_low", "tls_expiring"]);
  await r.restart();
  for (let minute = 0; minute < 200; minute++) await r.clock.advance(MINUTE);
  expect(r.held()).toEqual(["messages_stuck", "service_disk_low", "tls_expiring"]);
  failing.is = false;
  r.state.freeBytes = 50 * GIB;
  r.state.stuck = 0;
  r.state.endsAtMs = r.clock.now() + 90 * DAY_MS;
  for (let minute = 0; minute < 60; minute++) await r.clock.advance(MINUTE);
  expect(r.held()).toEqual([]);
});

test("a look that fails keeps no other from being taken", async () => {
  const log = captureLogText();
  await using r = await rig({ readDisk: () => Promise.reject(new Error("EIO")), logger: log.logger });
  r.state.stuck = 3;
  r.state.endsAtMs = r.clock.now() + 3 * DAY_MS;
  await r.clock.advance(MINUTE);
  expect(r.held()).toEqual(["messages_stuck", "tls_expiring"]);
  expect(log.text()).toContain("EIO");
});

test.each(["http://control.example.com", "https://192.0.2.7", undefined])(
  "%s has no certificate to look at",
  async (publicUrl) => {
    await using r = await rig({ publicUrl });
    await r.clock.advance(MINUTE);
    expect(r.state.asked).toBe(0);
  },
);
