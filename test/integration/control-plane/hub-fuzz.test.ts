import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { expect, test } from "vitest";
import { startControlPlane } from "../../support/control-plane.ts";
import { someApp } from "../../support/control-plane/device-samples.ts";
import { openStream } from "../../support/event-stream.ts";
import { FakeDevice } from "../../support/fake-device.ts";

const FRAMES = process.env["CHAOS"] === "full" ? 10_000 : 2_000;

const app = fc.constantFrom("web", "other").map((name) => someApp(name));

// Valid frames to start from; the mutations below break some of them.
const frame = (id: string): fc.Arbitrary<object> =>
  fc.oneof(
    fc.record({ type: fc.constant("ack"), deployment_id: fc.constantFrom(id, "dep_x", "") }),
    fc.record({
      type: fc.constant("event"),
      deployment_id: fc.constantFrom(id, "dep_x"),
      event: fc.record(
        {
          status: fc.constantFrom("Running", "Nonsense"),
          message: fc.string({ maxLength: 50 }),
          step: fc.constantFrom("pulling", "received", "nowhere"),
          device_seq: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.double()),
          age_ms: fc.oneof(fc.nat(), fc.constant(-1)),
          details: fc.jsonValue(),
        },
        { requiredKeys: ["status", "device_seq"] },
      ),
    }),
    fc.record({
      type: fc.constant("report"),
      base: fc.constantFrom(null, "a", "b", 7),
      hash: fc.constantFrom("a", "b", "c"),
      apps: fc.array(fc.oneof(fc.jsonValue(), app), { maxLength: 3 }),
      removed_apps: fc.array(fc.constantFrom("web", "other"), { maxLength: 2 }),
    }),
    fc.record({ type: fc.constant("report_held"), since_s: fc.oneof(fc.maxSafeNat(), fc.constantFrom(null, -1, "1")) }),
    fc.record({ type: fc.constant("answer"), query_id: fc.constantFrom("x", ""), body: fc.jsonValue() }),
    fc.record({ type: fc.constant("query_end"), query_id: fc.constant("x"), code: fc.constantFrom("Internal", "No") }),
    fc.record({ type: fc.constant("hello"), protocol: fc.integer(), deployments: fc.anything() }),
    fc.record({ type: fc.string(), rest: fc.jsonValue() }),
  );

const damaged = (id: string): fc.Arbitrary<string | Buffer> => {
  const text = frame(id).map((value) => JSON.stringify(value));
  const cut = fc.tuple(text, fc.nat()).map(([value, at]) => value.slice(0, at % (value.length + 1)));
  const flipped = fc.tuple(text, fc.nat(), fc.nat({ max: 255 })).map(([value, at, byte]) => {
    const bytes = Buffer.from(value);
    bytes[at % bytes.length] = byte;
    return bytes.toString("latin1");
  });
  return fc.oneof(
    text,
    cut,
    flipped,
    fc.string({ maxLength: 200 }),
    fc.json(),
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  );
};

/** What is in use, without the garbage that nobody has had the time to collect. */
function heldBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}

test(`${FRAMES} random and mutated frames break nothing: the running deployment and the next one succeed`, async () => {
  const seed = Date.now();
  await using control = await startControlPlane();
  const account = await control.account();
  const { uuid, deviceToken } = await control.asset(account);
  const deploy = (name: string) =>
    openStream(`${control.url}/v1/assets/${uuid}/edge/apps`, {
      apiKey: account.apiKey,
      body: { name, image: "web:1" },
    });
  let device = await FakeDevice.connect(control.agentUrl, deviceToken);
  const during = await deploy("during");
  const id = during.deploymentId;
  await device.next("deploy");
  let sent = 0;
  let sessions = 1;
  const memoryBefore = heldBytes();
  for (const message of fc.sample(damaged(id), { numRuns: FRAMES, seed })) {
    if (device.isClosed) {
      device = await FakeDevice.connect(control.agentUrl, deviceToken, { held: [id] });
      sessions++;
    }
    device.send(message);
    if (++sent % 10 === 0) await device.flushed();
  }
  expect(sessions, `seed ${seed}`).toBeGreaterThan(10);
  expect(heldBytes() - memoryBefore).toBeLessThan(200 * 1024 * 1024);
  await device[Symbol.asyncDispose]();
  await using last = await FakeDevice.connect(control.agentUrl, deviceToken, { held: [id] });
  last.event(id, { device_seq: 1000, status: "Success", message: "Up.", step: "done" });
  expect(await during.ended, `seed ${seed}`).toBe(true);
  const seqs = during.events.map(({ seq }) => seq);
  expect(seqs).toEqual(seqs.map((_seq, index) => index + 1));
  expect(during.events.filter(({ status }) => status !== "Running")).toHaveLength(1);
  const next = await deploy("next");
  last.success(next.deploymentId);
  await next.ended;
  expect(next.events.map(({ status }) => status)).toEqual(["Running", "Success"]);
});
