import fc from "fast-check";
import { expect, test } from "vitest";
import type { Deployment } from "../../../../src/control-plane/core/deployment.ts";
import {
  appendEvent,
  MAX_DETAILS_BYTES,
  MAX_EVENT_BYTES,
  MAX_EVENTS,
} from "../../../../src/control-plane/core/event-log.ts";
import { confirmOnDevice, noteConnectionLost } from "../../../../src/control-plane/core/connection-notes.ts";
import { markForOutcomeQuery, markUncertainOnStart } from "../../../../src/control-plane/core/resolve-outcome.ts";
import { MAX_DEPLOYMENT_DURATION_MS, applyDeviceEvent } from "../../../../src/control-plane/core/transitions.ts";
import { type DeviceEvent, isFinal } from "../../../../src/protocol/deployments/deployment-event.ts";
import { utf8ByteLength } from "../../../../src/protocol/values/utf8-byte-length.ts";
import {
  acknowledged,
  applyChange,
  expireDeadline,
  receivedDeployment,
  T0,
  uncertain,
} from "../../../support/deployment-record.ts";

/** Larger than any single event with its details and message. */
const ONE_EVENT_BYTES = MAX_DETAILS_BYTES + 16 * 1024;

const event = (device_seq: number, fields: Partial<DeviceEvent> = {}): DeviceEvent => ({
  status: "Running",
  message: "Working.",
  step: "pulling",
  device_seq,
  ...fields,
});

test("whatever a device sends, its events stay within the limit, and there is one final event", () => {
  const text = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.constant("\u0000"),
    fc.constant("€"),
    fc.constant("\ud800"),
  );
  const sent = fc.record({
    text: fc.tuple(text, fc.nat(12_000)),
    message: fc.string({ unit: "binary", maxLength: 2000 }),
  });
  fc.assert(
    fc.property(fc.array(sent, { maxLength: 30 }), fc.integer({ min: 1, max: 200_000 }), (events, maxBytes) => {
      let deployment = receivedDeployment();
      const first = deployment.eventBytes;
      let seq = 0;
      let stored = 0;
      for (const {
        text: [part, times],
        message,
      } of events) {
        const log = part.repeat(times).slice(0, 40_000);
        const change = applyDeviceEvent(deployment, event(++seq, { message, details: { log } }), T0, 1, maxBytes);
        if (change?.event?.message === message.slice(0, 2000)) stored++;
        deployment = applyChange(deployment, change);
        expect(deployment.eventBytes).toBeLessThanOrEqual(first + maxBytes + 2 * ONE_EVENT_BYTES);
      }
      const end = applyDeviceEvent(deployment, event(++seq, { status: "Success", step: "done" }), T0, 1, maxBytes);
      expect(end?.event && isFinal(end.event)).toBe(true);
      const left = deployment.omittedEvents;
      expect(end?.event?.details).toEqual(left === 0 ? undefined : { events_left_out: left });
      expect(stored + left).toBeGreaterThanOrEqual(events.length);
      expect(applyDeviceEvent(applyChange(deployment, end), event(++seq), T0, 1, maxBytes)).toBeUndefined();
    }),
    { numRuns: 60 },
  );
});

test("an event reports once that progress is left out, and the final event the count, also with details of maximum length", () => {
  let deployment: Deployment = receivedDeployment({ eventBytes: MAX_EVENT_BYTES });
  const said: string[] = [];
  for (let seq = 1; seq <= 5; seq++) {
    const change = applyDeviceEvent(deployment, event(seq), T0, 1);
    if (change?.event) said.push(change.event.message);
    deployment = applyChange(deployment, change);
  }
  expect(said).toEqual([expect.stringContaining("Further progress is left out")]);
  const details = { log: "x".repeat(MAX_DETAILS_BYTES - 10) };
  const failure = event(6, { status: "Fail", code: "CrashLoopBackOff", details });
  expect(applyDeviceEvent(deployment, failure, T0, 1)?.event?.details).toEqual({ ...details, events_left_out: 5 });
});

test("the last event within the limit reports that progress is left out", () => {
  const deployment = receivedDeployment({ lastSeq: MAX_EVENTS - 1 });
  expect(applyDeviceEvent(deployment, event(1), T0, 1)?.event).toMatchObject({
    seq: MAX_EVENTS,
    details: { events_left_out: "from here" },
  });
});

test("notes of the service that no longer fit are counted, and their other changes are applied", () => {
  const full = receivedDeployment({ eventBytes: MAX_EVENT_BYTES, state: acknowledged() });
  expect(noteConnectionLost(full, T0, 1)?.fields).toMatchObject({
    omittedEvents: 1,
    connection: { epoch: 1, isLost: true },
  });
  const lost = {
    ...full,
    lastEvent: { ...full.lastEvent!, details: { connection: "lost" } },
    connection: { epoch: 1, isLost: true },
  };
  expect(confirmOnDevice(lost, T0, 2)?.fields).toMatchObject({
    omittedEvents: 1,
    connection: { epoch: 2, isLost: false },
  });
  expect(markForOutcomeQuery(lost, T0, 2)?.fields).toMatchObject({
    omittedEvents: 1,
    connection: { epoch: 2, isLost: false },
    state: { uncertainty: "asked" },
  });
  expect(markUncertainOnStart({ ...full, state: uncertain("backup") }, T0, 10_000)?.fields).toMatchObject({
    omittedEvents: 1,
    state: { uncertainty: "restored" },
  });
});

test("details are limited by their size in UTF-8", () => {
  const details = { log: "€".repeat(MAX_DETAILS_BYTES / 3) };
  const told = appendEvent(receivedDeployment(), { ...event(1), details }, T0)?.event?.details;
  expect(told).toEqual({ omitted: `details of ${utf8ByteLength(JSON.stringify(details))} bytes are too long` });
});

test("the length in UTF-8 is that of the bytes", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.integer({ min: 0, max: 0xff_ff }).map((unit) => String.fromCharCode(unit)) }),
      (text) => {
        expect(utf8ByteLength(text)).toBe(Buffer.byteLength(text));
      },
    ),
  );
});

test("a deployment ends however long and often its device reports a wait", () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 1e12, noNaN: true })), (waits) => {
      let deployment = receivedDeployment();
      let now = T0;
      for (const [index, waiting_s] of waits.entries()) {
        deployment = applyChange(
          deployment,
          applyDeviceEvent(deployment, event(index + 1, { details: { waiting_s } }), now, 1),
        );
        now = deployment.deadlineAtMs - 1;
      }
      expect(deployment.deadlineAtMs).toBeLessThanOrEqual(T0 + MAX_DEPLOYMENT_DURATION_MS);
    }),
  );
  const waiting = { device_seq: 1, details: { waiting_s: 40 * 24 * 3600 } };
  let deployment = receivedDeployment();
  for (let day = 0; day < 3; day++) {
    const now = T0 + day * 24 * 3_600_000 * 15;
    deployment = applyChange(
      deployment,
      applyDeviceEvent(deployment, event(day + 1, { ...waiting, device_seq: day + 1 }), now, 1),
    );
  }
  expect(deployment.deadlineAtMs).toBe(T0 + MAX_DEPLOYMENT_DURATION_MS);
  expect(expireDeadline(deployment, "finish", deployment.deadlineAtMs)?.event).toMatchObject({
    code: "DeploymentTimeout",
    message: expect.stringContaining("within 35 days"),
  });
});
