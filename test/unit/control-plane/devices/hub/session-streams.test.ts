import { expect, test } from "vitest";
import { SessionStreams } from "../../../../../src/control-plane/devices/hub/session-streams.ts";
import type { ControlFrame } from "../../../../../src/protocol/link/frames.ts";
import type { StreamEnd } from "../../../../../src/protocol/link/streams.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";

function openExec() {
  const clock = new FakeClock();
  const sent: ControlFrame[] = [];
  const connection = {
    bufferedAmount: 0,
    send: () => undefined,
    sendFrame: (frame: ControlFrame) => void sent.push(frame),
  };
  const streams = new SessionStreams(connection, clock);
  const ends: StreamEnd[] = [];
  const sink = {
    opened: () => undefined,
    data: () => undefined,
    credit: () => undefined,
    end: (end: StreamEnd) => void ends.push(end),
  };
  streams.open({ kind: "exec", app: "web", params: { command: ["sh"] }, credit: 1_000, by: "key_1" }, sink);
  return { clock, sent, streams, ends };
}

test("a device that opens no stream is given up after a minute", async () => {
  const { clock, sent, ends } = openExec();
  await clock.advance(59_999);
  expect(ends).toEqual([]);
  await clock.advance(1);
  expect(ends).toMatchObject([{ code: "DeviceFailed" }]);
  expect(sent.at(-1)).toEqual({ type: "stream_close", stream_id: 1 });
  expect(clock.pending).toBe(0);
});

test("a stream that is open, refused or over leaves no timer", () => {
  const opened = openExec();
  opened.streams.onFrame({ type: "stream_opened", stream_id: 1, credit: 10 });
  const refused = openExec();
  refused.streams.onFrame({ type: "stream_close", stream_id: 1, code: "PolicyDenied" });
  const over = openExec();
  over.streams.end();
  expect([opened, refused, over].map(({ clock }) => clock.pending)).toEqual([0, 0, 0]);
});
