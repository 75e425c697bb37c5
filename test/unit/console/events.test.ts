import { describe, expect, it } from "vitest";
import { outdatedBy } from "../../../src/console/live/events.ts";
import { readMessages } from "../../../src/console/live/line-stream.ts";

const event = { id: "1", timestamp: 0 } as const;

it("an event makes outdated what shows it", () => {
  expect(outdatedBy({ ...event, type: "key.changed", key_id: "key_1" })).toEqual([["api-keys"], ["audit"]]);
  expect(outdatedBy({ ...event, type: "alert.changed" })).toEqual([["alerts"]]);
  const ofAsset = [["overview"], ["assets"], ["asset", "a"]];
  expect(outdatedBy({ ...event, type: "device.disconnected", asset_id: "a" })).toEqual(ofAsset);
  expect(outdatedBy({ ...event, type: "asset.changed", asset_id: "a" })).toEqual([
    ...ofAsset,
    ["sims"],
    ["sims-of", "a"],
  ]);
  expect(outdatedBy({ ...event, type: "sim.changed", asset_id: "a" })).toEqual([
    ...ofAsset,
    ["sims"],
    ["sims-of", "a"],
  ]);
});

describe("a stream of messages", () => {
  it("is read whatever its pieces are, without the blank lines that keep it alive", async () => {
    const bytes = new TextEncoder().encode(
      `data: {"id":"1"}\n\n\ndata: {"text":"gr\u00FCn 👍"}\n\n{"line":3}\ndata: {"cut`,
    );
    for (const size of [1, 3, bytes.length]) {
      const messages: unknown[] = [];
      for await (const message of readMessages(inPieces(bytes, size))) messages.push(message);
      expect(messages).toEqual([{ id: "1" }, { text: "gr\u00FCn 👍" }, { line: 3 }]);
    }
  });
});

function inPieces(bytes: Uint8Array, size: number): ReadableStream<Uint8Array<ArrayBuffer>> {
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    Uint8Array.from(bytes.subarray(index * size, (index + 1) * size)),
  );
  return new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
}
