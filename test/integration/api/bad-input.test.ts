import { connect } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ERRORS } from "../../../src/protocol/errors/errors.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { someProSim, someSuperSim } from "../../support/control-plane/sims.ts";
import { type CapturedLog, captureLogText } from "../../support/captured-log.ts";

let control: ControlPlane;
let account: TestAccount;
let uuid: string;
let log: CapturedLog;
let before: string;

beforeAll(async () => {
  log = captureLogText();
  control = await startControlPlane({ logger: log.logger, config: { legacy_removal_at: "2999-01-01T00:00:00Z" } });
  account = await control.account();
  ({ uuid } = await control.asset(account, { name: "Untouched", supersim: someSuperSim(), prosim: someProSim() }));
  before = await everything();
});
// Whatever was sent: nothing has changed.
afterEach(async () => expect(await everything()).toBe(before));
afterAll(() => control[Symbol.asyncDispose]());

async function everything(): Promise<string> {
  const filter = { status: undefined, type: undefined, text: undefined };
  const { assets } = await control.store.assets.listAssets(account.accountId, filter, 1000, undefined, {
    now: 0,
    notSeenBefore: 0,
    serviceNowMs: 0,
  });
  // A name that was set and set back again was an update.
  const states = assets.map(({ asset, state }) => ({ asset, state: { ...state, updatedAt: 0 } }));
  return JSON.stringify([states, await control.store.deployments.listUnfinished()]);
}

interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly headers: Headers;
  readonly text: string;
}

async function send(path: string, init: RequestInit): Promise<Refusal> {
  const response = await fetch(control.url + path, {
    ...init,
    headers: { "X-API-Key": account.apiKey, ...(init.headers as Record<string, string>) },
  });
  const text = await response.text();
  // The deploy endpoint answers with one event, the others with the error itself.
  const { code } = JSON.parse(text.replace(/^data: /, "")) as { code: string };
  expect(Object.keys(ERRORS)).toContain(code);
  return { status: response.status, code, headers: response.headers, text };
}

const JSON_TYPE = { "Content-Type": "application/json" };
const BODIES = [
  ["POST", "/v1/assets"],
  ["PATCH", "/v1/assets/ID"],
  ["PATCH", "/v1/assets/ID/sim"],
  ["PATCH", "/assets/ID/sim"],
  ["POST", "/v1/assets/ID/edge/apps"],
  ["PATCH", "/v1/assets/ID/edge/apps/web"],
] as const;

describe.each(BODIES)("%s %s", (method, template) => {
  const path = (): string => template.replace("ID", uuid);

  test.each([
    ["broken JSON", '{"name":'],
    ["no JSON at all", "name=x"],
    ["an empty body", ""],
    ["a lone quote", '"'],
    ["what is not UTF-8", Buffer.from('{"name":"\xff"}', "latin1")],
  ])("%s", async (_what, body) => {
    const answer = await send(path(), { method, headers: JSON_TYPE, body });
    expect([answer.status, answer.code]).toEqual([400, "InvalidJson"]);
  });

  test.each([
    ["a prototype in disguise", '{"__proto__":{"status":"inactive"},"status":"inactive"}', "__proto__"],
    ["a field given twice", '{"status":"active","status":"inactive"}', "status"],
    ["a field of a list given twice", '{"ports":[{},{"host_port":1,"host\\u005fport":2}]}', "ports[1].host_port"],
  ])("%s", async (_what, body, field) => {
    const answer = await send(path(), { method, headers: JSON_TYPE, body });
    expect([answer.status, answer.code]).toEqual([422, "InvalidRequest"]);
    expect(answer.text).toContain(`"path":"${field}"`);
  });

  test.each([["null"], ["[]"], ["7"], ['"text"'], ["true"], ["[{}]"], ['{"nonsense":1}'], ['{"name":{"a":[]}}']])(
    "JSON of the wrong shape: %s",
    async (body) => {
      const answer = await send(path(), { method, headers: JSON_TYPE, body });
      expect(answer.status).toBe(422);
    },
  );

  test.each([
    "text/plain",
    "application/xml",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "json",
    "a/b/c",
  ])("content type %s", async (type) => {
    const answer = await send(path(), { method, headers: { "Content-Type": type }, body: '{"name":"x"}' });
    expect([answer.status, answer.code]).toEqual([415, "UnsupportedMediaType"]);
  });

  test("a body beyond 256 KiB", async () => {
    const body = JSON.stringify({ name: "x".repeat(257 * 1024) });
    const answer = await send(path(), { method, headers: JSON_TYPE, body });
    expect([answer.status, answer.code]).toEqual([413, "PayloadTooLarge"]);
  });

  test("JSON nested a hundred thousand deep", async () => {
    const body = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    const answer = await send(path(), { method, headers: JSON_TYPE, body });
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.status).toBeLessThan(500);
  });
});

describe("what is wrong is said", () => {
  test.each([
    ["GET", "/v1/assets?q=%zz", undefined, 400, "The query has a %"],
    ["GET", "/v1/assets?q=%ff", undefined, 400, "The query has a %"],
    ["POST", "/v1/assets/ID/edge/apps?wait_for_device_s=5", "{}", 422, "is a field of the body, not a query parameter"],
    ["POST", "/v1/assets/ID/edge/apps", '{"name":"a",}', 400, "line 1, column 13"],
    ["POST", "/v1/assets", '{\n  "name": x\n}', 400, "The request body is not valid JSON"],
    ["POST", "/v1/assets", '{"serial_number":"secret', 400, "The request body is not valid JSON"],
    ["GET", "/v1/events?types=asset.*,deployment", undefined, 422, '\\"deployment\\" is no type of events; there are'],
    ["PATCH", "/v1/assets/ID", '{"name":"  "}', 422, "must not consist of spaces alone"],
    ["POST", "/v1/assets", '{"serial_number":".."}', 422, "the first a letter or digit"],
    [
      "DELETE",
      "/v1/assets/ID/edge/apps/web",
      '{"wait_for_device_s":5}',
      422,
      "`wait_for_device_s` belongs in the query",
    ],
  ])("%s %s with %s", async (method, path, body, status, words) => {
    const headers = body === undefined ? {} : JSON_TYPE;
    const answer = await send(path.replace("ID", uuid), { method, headers, body: body ?? null });
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(words)]);
    expect(answer.text).not.toContain("secret");
  });
});

describe("methods", () => {
  test.each([
    ["/v1/assets", "GET, HEAD, POST"],
    ["/v1/assets/ID", "DELETE, GET, HEAD, PATCH"],
    ["/v1/assets/ID/sims/supersim/usages", "GET, HEAD"],
    ["/v1/assets/ID/sim", "PATCH"],
    ["/assets/ID/sim/usages", "GET, HEAD"],
    ["/v1/assets/ID/edge/apps", "GET, HEAD, POST"],
    ["/v1/assets/ID/edge/apps/web", "DELETE, GET, HEAD, PATCH"],
    ["/v1/assets/ID/edge/apps/web/stop", "POST"],
    ["/v1/assets/ID/edge/apps/web/logs", "GET"],
    ["/v1/assets/ID/edge/device", "GET, HEAD"],
    ["/healthz", "GET, HEAD"],
  ])("%s allows %s and no other", async (template, allowed) => {
    const path = template.replace("ID", uuid);
    const others = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].filter((method) => !allowed.includes(method));
    for (const method of others) {
      const answer = await send(path, { method });
      expect([answer.status, answer.code], method).toEqual([405, "MethodNotAllowed"]);
      expect(answer.headers.get("allow")).toBe(allowed);
    }
  });
});

describe("the identifier in the path", () => {
  const hostile = [
    ["a path", "..%2F..%2Fetc%2Fpasswd"],
    ["an encoded slash", "a%2Fb"],
    ["NUL", "a%00b"],
    ["line ends", "a%0D%0ASet-Cookie:%20x=1"],
    ["SQL", "'%20OR%20'1'='1"],
    ["more SQL", "x';DROP%20TABLE%20assets;--"],
    ["wildcards", "%25"],
    ["an underscore", "_"],
    ["another alphabet", encodeURIComponent("серийный-№")],
    ["an emoji", encodeURIComponent("👻")],
    ["a right-to-left override", "%E2%80%AEabc"],
    ["a full-width digit", encodeURIComponent("１２３")],
    ["8 KiB", "x".repeat(8192)],
    ["spaces", "%20%20"],
    ["a key of objects", "__proto__"],
    ["another one", "constructor"],
    ["JSON", "%7B%22%24gt%22%3A%22%22%7D"],
  ] as const;
  const uses = [
    ["GET", ""],
    ["PATCH", ""],
    ["DELETE", ""],
    ["GET", "/sims/supersim/usages"],
    ["GET", "/sim/usages"],
    ["GET", "/connectivity"],
    ["GET", "/uptime"],
    ["GET", "/health"],
    ["PATCH", "/sim"],
    ["POST", "/edge/apps"],
    ["GET", "/edge/apps"],
    ["GET", "/edge/apps/web"],
    ["PATCH", "/edge/apps/web"],
    ["DELETE", "/edge/apps/web"],
    ["POST", "/edge/apps/web/restart"],
    ["GET", "/edge/apps/web/logs"],
    ["GET", "/edge/device"],
    ["GET", "/edge/data-usage"],
    ["GET", "/edge/volumes"],
    ["DELETE", "/edge/volumes/data"],
    ["GET", "/edge/deployments"],
  ] as const;
  const bodies: Readonly<Record<string, string>> = {
    PATCH: '{"name":"Changed"}',
    "PATCH/sim": '{"status":"inactive"}',
    "PATCH/edge/apps/web": "{}",
    "POST/edge/apps": '{"name":"app","image":"app"}',
  };

  test.each(hostile)("%s names no asset", async (_what, id) => {
    for (const [method, rest] of uses) {
      const body = bodies[method + rest];
      const answer = await send(`/v1/assets/${id}${rest}`, { method, ...(body && { body, headers: JSON_TYPE }) });
      expect([answer.status, answer.code], `${method} ${rest}`).toEqual([404, "AssetNotFound"]);
    }
  });

  test.each([
    ["%", 400],
    ["%zz", 400],
    ["%ff", 400],
    ["%c0%ae", 400],
  ])("an escape that is none (%s) is a bad request", async (id, status) => {
    expect((await send(`/v1/assets/${id}`, { method: "GET" })).status).toBe(status);
  });

  test("neither an empty nor a doubled segment reaches an asset", async () => {
    for (const path of [
      "/v1/assets/",
      "/v1/assets//",
      `/v1//assets/${uuid}`,
      `/v1/assets/${uuid}/`,
      `//v1/assets/${uuid}`,
    ]) {
      expect((await raw(`GET ${path} HTTP/1.1`)).status, path).toBe(404);
    }
  });

  test("path segments that a server might resolve do not", async () => {
    for (const path of [
      "/v1/assets/%2E%2E",
      "/v1/assets/%2E%2E%2Fassets",
      `/v1/assets/x/../${uuid}`,
      `/v1/./assets/${uuid}`,
      `/v1/assets/${uuid}/..;/`,
    ]) {
      expect((await raw(`GET ${path} HTTP/1.1`)).status, path).toBe(404);
    }
  });
});

describe("strings in bodies", () => {
  const hostile = [
    "'; DROP TABLE assets; --",
    "\\'; SELECT 1",
    '" OR ""="',
    "%_%",
    "${jndi:ldap://x}",
    "{{7*7}}",
    "<script>",
  ];

  test.each(hostile)("%s is only a name, and is stored to the letter", async (name) => {
    const patch = await fetch(`${control.url}/v1/assets/${uuid}`, {
      method: "PATCH",
      headers: { "X-API-Key": account.apiKey, ...JSON_TYPE },
      body: JSON.stringify({ name }),
    });
    expect(patch.status).toBe(200);
    expect(await patch.json()).toMatchObject({ name });
    await control.store.assets.describeAsset(uuid, { name: "Untouched" });
  });

  test.each(["line\nbreak", "carriage\rreturn", "null\0byte", "escape\u001B[31m", "\u2028", "\u202Egnp.exe"])(
    "%j is refused as a name: it could forge a line of a log or a list",
    async (name) => {
      const answer = await send(`/v1/assets/${uuid}`, {
        method: "PATCH",
        headers: JSON_TYPE,
        body: JSON.stringify({ name }),
      });
      expect([answer.status, answer.code]).toEqual([422, "InvalidRequest"]);
    },
  );

  test("no field of a log line comes from what a client puts into an address, a name or a key", async () => {
    const mark = "log4shell-\nforged";
    await send(`/v1/assets/${encodeURIComponent(mark)}`, { method: "GET" });
    await send(`/v1/assets?q=${encodeURIComponent(mark)}`, { method: "GET" }).catch(() => {});
    await send(`/v1/assets/${uuid}`, { method: "PATCH", headers: JSON_TYPE, body: JSON.stringify({ [mark]: mark }) });
    expect(log.text()).toContain('"route":"/v1/assets/:asset_id"');
    expect(log.text()).not.toContain("log4shell");
    expect(log.text()).not.toContain(account.apiKey);
  });
});

describe("headers", () => {
  test("a key that is far too long is a wrong key", async () => {
    const answer = await send("/v1/assets", { method: "GET", headers: { "X-API-Key": `ek_${"x".repeat(8000)}` } });
    expect([answer.status, answer.code]).toEqual([401, "Unauthorized"]);
  });

  test("a key sent twice is no key", async () => {
    expect((await raw("GET /v1/assets HTTP/1.1", [`X-API-Key: ${account.apiKey}`])).status).toBe(401);
  });

  test.each([
    ["two of Host", "GET /v1/assets HTTP/1.1", ["Host: elsewhere"]],
    ["another version of HTTP", "GET /v1/assets HTTP/2.0", []],
    ["a coding that is not undone", "GET /v1/assets HTTP/1.1", ["Transfer-Encoding: gzip, chunked"]],
    ["an unknown method", "FOO /v1/assets HTTP/1.1", []],
  ])("%s is refused: a proxy may read it differently", async (_what, line, headers) => {
    expect((await raw(line, headers)).status).toBe(400);
  });

  test("an entity tag without quotes is refused, on reads, too", async () => {
    const answer = await send(`/v1/assets/${uuid}`, { method: "GET", headers: { "If-None-Match": "abc" } });
    expect([answer.status, answer.text]).toEqual([422, expect.stringContaining("If-None-Match")]);
  });

  test("a request line or header that is no HTTP is refused, and the server lives on", async () => {
    for (const line of ["GET", "GARBAGE / HTTP/1.1", "GET /v1/assets HTTP/9.9", "\0\0\0\0"]) {
      expect((await raw(line)).status).toBe(400);
    }
    expect((await fetch(`${control.url}/healthz`)).status).toBe(200);
  });
});

/** Sends a request line as it is, with the key of the account, and answers the status. */
function raw(line: string, headers: readonly string[] = []): Promise<{ readonly status: number }> {
  const { port } = new URL(control.url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), "127.0.0.1");
    let received = "";
    socket.on("data", (data) => {
      received += data.toString();
      const status = /^HTTP\/1\.1 (\d{3})/.exec(received)?.[1];
      if (status === undefined) return;
      socket.destroy();
      resolve({ status: Number(status) });
    });
    socket.on("error", reject);
    socket.on("end", () => reject(new Error(`closed after ${JSON.stringify(received)}`)));
    const lines = [line, "Host: localhost", `X-API-Key: ${account.apiKey}`, ...headers, "Connection: close", "", ""];
    socket.write(lines.join("\r\n"));
  });
}
