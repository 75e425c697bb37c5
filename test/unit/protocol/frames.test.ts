import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeAgentFrame, decodeControlFrame } from "../../../src/protocol/link/frames.ts";

const EVENT = { status: "Running", step: "checking", message: "m", device_seq: 1 };

describe("frames", () => {
  it("are read, unknown fields left out", () => {
    const frame = { type: "event", deployment_id: "d", event: EVENT };
    expect(decodeAgentFrame(JSON.stringify({ ...frame, extra: 1, event: { ...EVENT, extra: 2 } }))).toEqual({
      kind: "frame",
      frame,
    });
  });

  it.each([
    ["not json", "bad"],
    ["null", "bad"],
    ["[]", "bad"],
    ['{"type":7}', "bad"],
    ['{"type":"ack"}', "bad"],
    ['{"type":"ack","deployment_id":""}', "bad"],
    ['{"type":"event","deployment_id":"d","event":{"status":"Done"}}', "bad"],
    ['{"type":"telemetry_from_the_future"}', "unknown"],
    ['{"type":"welcome"}', "unknown"],
  ])("%s is %s to the control plane", (text, kind) => {
    expect(decodeAgentFrame(text).kind).toBe(kind);
  });

  it("of the other side are unknown, not bad", () => {
    expect(decodeControlFrame('{"type":"hello"}').kind).toBe("unknown");
  });

  it("take a reason from a newer control plane for an unknown one", () => {
    expect(decodeControlFrame('{"type":"cancel","deployment_id":"d","reason":"budget"}')).toEqual({
      kind: "frame",
      frame: { type: "cancel", deployment_id: "d", reason: "unknown" },
    });
  });

  it("never make the reader throw, and what is said of a bad one repeats none of its values", () => {
    const planted = "planted-secret-value";
    const anything = fc.anything().map((value) => ({ type: "event", deployment_id: planted, event: value }));
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          anything.map((value) => JSON.stringify(value) ?? ""),
        ),
        (text) => {
          const decoded = decodeAgentFrame(text);
          decodeControlFrame(text);
          if (decoded.kind === "bad") expect(decoded.reason).not.toContain(planted);
        },
      ),
    );
  });
});
