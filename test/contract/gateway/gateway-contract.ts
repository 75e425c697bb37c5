import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { EdgeError } from "../../../src/protocol/errors/errors.ts";
import { STREAM_CHANNELS } from "../../../src/protocol/link/stream-data.ts";
import { MAX_STREAM_CREDIT } from "../../../src/protocol/link/streams.ts";
import { RecordedQuery, RecordedStream } from "../../support/gateway/recorded-sink.ts";
import { waitFor } from "../../support/wait-for.ts";
import { ASSET, AUTH, DEPLOYMENT, type GatewayHarness, type GatewayRig } from "./harness.ts";

const LOGS = { app: "web", follow: true, tail: 10 };
const EXEC = { kind: "exec", app: "web", params: { command: ["sh"], tty: true }, credit: 65_536, by: "key_1" } as const;
const CHUNK_BYTES = 16 * 1024;

async function openedStream(rig: GatewayRig) {
  const sink = new RecordedStream();
  const stream = rig.gateway.openStream(ASSET, EXEC, sink);
  const seen = await rig.session.firstStream();
  seen.sink.opened({ credit: 40_000 });
  await waitFor("the stream to open", () => sink.facts.length > 0);
  return { sink, stream, seen };
}

/** Contract of gateways, whichever instance has the device. */
export function gatewayContract(harness: GatewayHarness): void {
  describe(`the gateway: ${harness.name}`, () => {
    test("a query reaches the device, and its answers come in order", async () => {
      await using rig = await harness.open();
      const sink = new RecordedQuery();
      using _query = rig.gateway.query(ASSET, "logs", LOGS, sink);
      const { what, params, sink: device } = await rig.session.firstQuery();
      expect({ what, params }).toEqual({ what: "logs", params: LOGS });
      const answers = Array.from({ length: 100 }, (_, number) => ({ number, text: "zażółć 🚀 \u0000" }));
      for (const answer of answers) await device.answer(answer);
      device.end(undefined);
      await waitFor("the end", () => sink.ends.length > 0);
      expect(sink.answers).toEqual(answers);
      expect(sink.codes).toEqual([undefined]);
      await rig.idle();
    });

    test("an answer of a megabyte comes whole", async () => {
      await using rig = await harness.open();
      const sink = new RecordedQuery();
      using query = rig.gateway.query(ASSET, "device", {}, sink);
      const answer = { text: randomBytes(380_000).toString("hex"), more: "x".repeat(250_000) };
      await (await rig.session.firstQuery()).sink.answer(answer);
      await waitFor("the answer", () => sink.answers.length > 0);
      expect(sink.answers).toEqual([answer]);
      query[Symbol.dispose]();
      await rig.idle();
    });

    test("the error with which the device ends a query", async () => {
      await using rig = await harness.open();
      const sink = new RecordedQuery();
      using _query = rig.gateway.query(ASSET, "volumes", {}, sink);
      const { sink: device } = await rig.session.firstQuery();
      device.end(new EdgeError("VolumeInUse", "in use by web", { apps: ["web"] }));
      await waitFor("the end", () => sink.ends.length > 0);
      expect(sink.ends).toMatchObject([{ code: "VolumeInUse", message: "in use by web", details: { apps: ["web"] } }]);
      await rig.idle();
    });

    test("a query that is disposed of is cancelled on the device, and brings nothing more", async () => {
      await using rig = await harness.open();
      const sink = new RecordedQuery();
      const query = rig.gateway.query(ASSET, "logs", LOGS, sink);
      const seen = await rig.session.firstQuery();
      query[Symbol.dispose]();
      query[Symbol.dispose]();
      await waitFor("the cancellation", () => seen.isCancelled);
      await rig.idle();
      expect([sink.answers, sink.ends]).toEqual([[], []]);
    });

    test("a query that is disposed of at once leaves nothing behind", async () => {
      await using rig = await harness.open();
      const sink = new RecordedQuery();
      rig.gateway.query(ASSET, "logs", LOGS, sink)[Symbol.dispose]();
      await rig.idle();
      expect(rig.session.queries.every(({ isCancelled }) => isCancelled)).toBe(true);
      expect(sink.ends).toEqual([]);
    });

    test("a device that is not connected", async () => {
      await using rig = await harness.open();
      rig.disconnect();
      const sink = new RecordedQuery();
      const stream = new RecordedStream();
      using _query = rig.gateway.query(ASSET, "device", {}, sink);
      using _stream = rig.gateway.openStream(ASSET, EXEC, stream);
      // The caller does not have what it would end yet.
      expect([sink.ends, stream.ends]).toEqual([[], []]);
      await waitFor("both ends", () => sink.ends.length + stream.ends.length === 2);
      expect([sink.codes, stream.ends.map(({ code }) => code)]).toEqual([
        ["DeviceNotReachable"],
        ["DeviceNotReachable"],
      ]);
      await rig.idle();
    });

    test("what was disposed of before its error is not called", async () => {
      await using rig = await harness.open();
      rig.session.refusal = new EdgeError("TooManyRequests");
      const [sink, stream] = [new RecordedQuery(), new RecordedStream()];
      rig.gateway.query(ASSET, "device", {}, sink)[Symbol.dispose]();
      rig.gateway.openStream(ASSET, EXEC, stream)[Symbol.dispose]();
      await rig.idle();
      expect([sink.ends, stream.ends]).toEqual([[], []]);
    });

    test("a query that the device's protocol version does not have", async () => {
      await using rig = await harness.open();
      rig.session.unknownFeatures = new Set(["query volumes"]);
      const sink = new RecordedQuery();
      using _query = rig.gateway.query(ASSET, "volumes", {}, sink);
      await waitFor("the end", () => sink.ends.length > 0);
      expect(sink.codes).toEqual(["DeviceTooOld"]);
      expect(sink.ends[0]?.message).toContain('"query volumes"');
      expect(rig.session.queries).toEqual([]);
      using _other = rig.gateway.query(ASSET, "stats", {}, new RecordedQuery());
      await waitFor("the other query", () => rig.session.queries.length > 0);
    });

    test("what the session refuses", async () => {
      await using rig = await harness.open();
      rig.session.refusal = new EdgeError("TooManyRequests", "Too many.", { limit: 64 });
      const stream = new RecordedStream();
      using _stream = rig.gateway.openStream(ASSET, EXEC, stream);
      await waitFor("the end", () => stream.ends.length > 0);
      expect(stream.ends).toEqual([{ code: "TooManyRequests", message: "Too many." }]);
      await rig.idle();
    });

    test("a stream carries data, credit and the size of the terminal, and ends with the command", async () => {
      await using rig = await harness.open();
      const { sink, stream, seen } = await openedStream(rig);
      expect(seen.request).toEqual(EXEC);
      expect(sink.facts).toEqual([{ credit: 40_000 }]);
      expect(stream.send(STREAM_CHANNELS.data, Buffer.from("ls\n"))).toBe(true);
      expect(stream.credit(1000)).toBe(true);
      stream.resize(80, 25);
      expect(stream.send(STREAM_CHANNELS.end, new Uint8Array())).toBe(true);
      await waitFor("the input", () => seen.data.length === 2);
      expect(seen.data.map(({ channel, bytes }) => [channel, Buffer.from(bytes).toString()])).toEqual([
        [STREAM_CHANNELS.data, "ls\n"],
        [STREAM_CHANNELS.end, ""],
      ]);
      expect([seen.credits, seen.sizes]).toEqual([[1000], [[80, 25]]]);
      seen.sink.data(STREAM_CHANNELS.stdout, Buffer.from("out"));
      seen.sink.credit(3);
      seen.sink.data(STREAM_CHANNELS.stderr, Buffer.from("err"));
      seen.sink.end({ code: undefined, exit_code: 3 });
      await waitFor("the end", () => sink.ends.length > 0);
      expect(sink.received.map(({ channel, bytes }) => [channel, Buffer.from(bytes).toString()])).toEqual([
        [STREAM_CHANNELS.stdout, "out"],
        [STREAM_CHANNELS.stderr, "err"],
      ]);
      expect([sink.credits, sink.ends]).toEqual([[3], [{ code: undefined, exit_code: 3 }]]);
      // It has ended: what is still sent goes nowhere, and is no mistake of the client.
      expect([stream.send(STREAM_CHANNELS.data, Buffer.from("x")), stream.credit(1)]).toEqual([true, true]);
      await rig.idle();
    });

    test("a large transfer comes byte by byte as it was, within the credit", async () => {
      await using rig = await harness.open();
      const { sink, stream, seen } = await openedStream(rig);
      const data = randomBytes(2 * 1024 * 1024);
      let credit: number = EXEC.credit;
      let sent = 0;
      let taken = 0;
      await waitFor(
        "all data",
        () => {
          credit += seen.credits.splice(0).reduce((sum, bytes) => sum + bytes, 0);
          while (sent < data.length && credit > 0) {
            const bytes = data.subarray(sent, sent + Math.min(CHUNK_BYTES, credit));
            seen.sink.data(STREAM_CHANNELS.data, bytes);
            sent += bytes.length;
            credit -= bytes.length;
          }
          if (sink.bytes > taken) expect(stream.credit(sink.bytes - taken)).toBe(true);
          taken = sink.bytes;
          return taken === data.length;
        },
        { intervalMs: 1 },
      );
      expect(Buffer.concat(sink.received.map(({ bytes }) => bytes)).equals(data)).toBe(true);
      stream[Symbol.dispose]();
      await waitFor("the close", () => seen.isClosed);
      await rig.idle();
      expect(sink.ends).toEqual([]);
    });
  });

  describe(`the gateway, beyond queries and streams: ${harness.name}`, () => {
    test("a device's life is checked", async () => {
      await using rig = await harness.open();
      rig.gateway.checkLiveness(ASSET);
      await waitFor("the check", () => rig.session.livenessChecks === 1);
      await rig.idle();
    });

    test("credentials come from the instance that has them", async () => {
      await using rig = await harness.open();
      expect(await waitFor("the credentials", () => rig.gateway.credentials(DEPLOYMENT))).toEqual(AUTH);
      expect(await rig.gateway.credentials("dep_2")).toBeUndefined();
    });
  });
}

/** Contract of gateways between instances: what the session checks by itself on one instance. */
export function remoteStreamContract(harness: GatewayHarness): void {
  test(`a client that goes beyond its credit is told: ${harness.name}`, async () => {
    await using rig = await harness.open();
    const sink = new RecordedStream();
    const stream = rig.gateway.openStream(ASSET, EXEC, sink);
    const seen = await rig.session.firstStream();
    expect(stream.send(STREAM_CHANNELS.data, Buffer.from("x"))).toBe(false);
    seen.sink.opened({ credit: 40_000 });
    await waitFor("the stream to open", () => sink.facts.length > 0);
    expect(stream.send(STREAM_CHANNELS.data, new Uint8Array(40_001))).toBe(false);
    expect(stream.credit(MAX_STREAM_CREDIT)).toBe(false);
    expect(stream.send(STREAM_CHANNELS.data, new Uint8Array(40_000))).toBe(true);
    expect(stream.send(STREAM_CHANNELS.data, new Uint8Array(1))).toBe(false);
  });
}
