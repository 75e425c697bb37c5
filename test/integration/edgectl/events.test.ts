import { expect, test } from "vitest";
import { edgectlUser } from "../../support/edgectl/process.ts";
import { type Respond, startScriptedService } from "../../support/edgectl/scripted-service.ts";

const eventOf = (id: number) => ({ type: "asset.changed", id: String(id), at_ms: 1_000, asset_id: `a${id}` });

/** A stream that the service ends after these events. */
const streamOf =
  (...events: readonly object[]): Respond =>
  (response) => {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
  };

async function showSince(...streams: readonly Respond[]) {
  const service = await startScriptedService();
  const user = await edgectlUser();
  service.on("GET /v1/events", ...streams);
  const env = { EDGECTL_URL: service.url, EDGECTL_API_KEY: "ek_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG" };
  try {
    const result = await user.run(["events", "--after", "10", "--json"], { env });
    const shown = result.stdout.split("\n").filter((line) => line !== "");
    const ids = shown.map((line) => Number((JSON.parse(line) as { id: string }).id));
    return { ...result, ids, asked: service.requests.map(({ path }) => path) };
  } finally {
    await user[Symbol.asyncDispose]();
    await service[Symbol.asyncDispose]();
  }
}

const HELLO = streamOf({ type: "hello", id: "13" });

test("a stream that ends before the last event is taken up again: each event is shown once", async () => {
  const { code, ids, asked } = await showSince(HELLO, streamOf(eventOf(11)), streamOf(eventOf(12), eventOf(13)));
  expect({ code, ids }).toEqual({ code: 0, ids: [11, 12, 13] });
  expect(asked.at(-1)).toBe("/v1/events?after=11");
});

test("a stream that ends again and again without an event is a failure that says where to go on", async () => {
  const { code, ids, stderr } = await showSince(HELLO, streamOf(eventOf(11)), streamOf());
  expect({ code, ids }).toEqual({ code: 5, ids: [11] });
  expect(stderr).toContain("--after 11");
});

test("a stream that does not say where the events end is a failure", async () => {
  expect(await showSince(streamOf())).toMatchObject({ code: 5, ids: [] });
});
