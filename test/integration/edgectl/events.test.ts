import { expect, test } from "vitest";
import { edgectlUser } from "../../support/edgectl/process.ts";
import { json, type Respond, startScriptedService } from "../../support/edgectl/scripted-service.ts";

const eventOf = (id: number) => ({ type: "asset.changed", id: String(id), timestamp: 1, asset_id: `a${id}` });

/** A stream that the service ends after these events. */
const streamOf =
  (...events: readonly object[]): Respond =>
  (response) => {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
  };

const ENV = { EDGECTL_API_KEY: "ek_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG" };

/** What a proxy says while the service behind it restarts. */
const proxyError =
  (status: number): Respond =>
  (response) => {
    response.writeHead(status, { "Content-Type": "text/html" });
    response.end("<h1>Bad Gateway</h1>");
  };
const UNAVAILABLE = json(503, { code: "ServiceUnavailable", message: "The database is away." });
const REVOKED = json(401, { code: "Unauthorized", message: "The API key is not valid." });

/** Follows until the service refuses for good. */
async function follow(...streams: readonly Respond[]) {
  await using service = await startScriptedService();
  await using user = await edgectlUser();
  const times: number[] = [];
  const timed = streams.map((respond): Respond => (response, request) => {
    times.push(performance.now());
    return respond(response, request);
  });
  service.on("GET /v1/events", ...timed);
  const result = await user.run(["events", "--follow", "--json"], { env: { ...ENV, EDGECTL_URL: service.url } });
  const shown = result.stdout.split("\n").filter((line) => line !== "");
  const ids = shown.map((line) => Number((JSON.parse(line) as { id: string }).id));
  const pauses = times.slice(1).map((at, index) => at - (times[index] ?? at));
  return { ...result, ids, pauses, asked: service.requests.map(({ path }) => path) };
}

async function showSince(...streams: readonly Respond[]) {
  const service = await startScriptedService();
  const user = await edgectlUser();
  service.on("GET /v1/events", ...streams);
  const env = { ...ENV, EDGECTL_URL: service.url };
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

test("following goes on over a service and a proxy that are busy or restarting, and says so once", async () => {
  const { code, ids, asked, pauses, stderr } = await follow(
    streamOf({ type: "hello", id: "10" }, eventOf(11)),
    proxyError(502),
    UNAVAILABLE,
    json(500, { code: "InternalError", message: "Something failed." }),
    streamOf({ type: "hello", id: "11" }, eventOf(12)),
    REVOKED,
  );
  expect({ code, ids }).toEqual({ code: 3, ids: [10, 11, 11, 12] });
  expect(asked.slice(1, 5)).toEqual(Array.from({ length: 4 }, () => "/v1/events?after=11"));
  expect(stderr.match(/trying again/g)).toHaveLength(1);
  expect(stderr.match(/Connected again/g)).toHaveLength(1);
  // Each pause is twice the one before; a busy machine adds to them.
  const [first = 0, second = 0, third = 0, fourth = 0] = pauses;
  expect([first > 490, second > 990, third > 1_990, fourth > 3_990]).toEqual([true, true, true, true]);
});

test("following waits as long as a busy service asks for", async () => {
  const busy = json(429, { code: "RateLimited", message: "Too many requests." }, { "Retry-After": "2" });
  const { code, pauses } = await follow(streamOf({ type: "hello", id: "10" }), busy, REVOKED);
  expect(code).toBe(3);
  expect(pauses[1]).toBeGreaterThan(1990);
});

test.each([401, 403, 404])("following ends with a refusal that is final: %d", async (status) => {
  const refusal = json(status, { code: "Refused", message: "It is refused." });
  const { asked, stderr } = await follow(streamOf({ type: "hello", id: "10" }), refusal);
  expect(asked).toHaveLength(2);
  expect(stderr).toContain("It is refused.");
});
