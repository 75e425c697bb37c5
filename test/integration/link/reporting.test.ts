import { expect, onTestFinished, test } from "vitest";
import type { DeviceReporting } from "../../../src/agent/link/ports.ts";
import { ControlPeer, WELCOME, answerAll } from "../../support/link/control-peer.ts";
import { runUplink } from "../../support/link/running-uplink.ts";
import { SlowLink } from "../../support/slow-link.ts";
import { waitFor } from "../../support/wait-for.ts";

const BYTES_PER_SECOND = 50_000;

const isAnswer = ({ type }: { readonly type: string }): boolean => type === "answer";

test("an event of a deployment overtakes a log that exceeds the link's bandwidth", async () => {
  let sent = 0;
  const reporting: DeviceReporting = {
    queries: {
      async handle({ send, signal }) {
        while (!signal.aborted) sent += await send({ lines: ["x".repeat(16_000)] });
        return undefined;
      },
    },
    reports: {
      since: () => undefined,
      outdatedForS: () => undefined,
      onReport: () => ({ [Symbol.dispose]: () => undefined }),
    },
  };
  await using peer = await ControlPeer.start({
    onFrame: (session, frame) => {
      if (frame.type === "hello") session.send(WELCOME);
      else answerAll(session, frame);
    },
  });
  await using link = await SlowLink.to(peer.port, BYTES_PER_SECOND, "both");
  await using uplink = runUplink({ url: `ws://${link.host}/v1/agent` }, { reporting });
  onTestFinished(() => uplink.stop());
  const session = await peer.session(0);
  await waitFor("the handshake", () => session.frames.length > 0);
  session.send({ type: "query", query_id: "q1", what: "logs", params: {} });
  await waitFor("some of the log", () => session.frames.filter(isAnswer).length > 5);
  const before = session.frames.filter(isAnswer).length;
  uplink.events.add("d1");
  await waitFor("the event", () => session.frames.some(({ type }) => type === "event"));
  // Only what was on the line already arrives before the event: no more than the line takes in 4 s.
  const ahead = session.frames
    .slice(
      0,
      session.frames.findIndex(({ type }) => type === "event"),
    )
    .filter(isAnswer);
  expect((ahead.length - before) * 16_000).toBeLessThan(4 * BYTES_PER_SECOND);
  // The line was not left idle, either.
  const arrived = session.frames.filter(isAnswer).length * 16_000;
  expect(sent - arrived).toBeLessThan(100_000);
});
