import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { MAX_CHANNEL_TESTS_PER_HOUR } from "../../../src/control-plane/alerts/channel-test.ts";
import { groupAlert, openAlert } from "../../support/alerts/open-alert.ts";
import { type ApiClient, apiClient } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const NOW = 1_800_000_000;
const PATH = "/v1/alert-settings";
const SECRET = "T0/a-path-that-nobody-sees";
const ADDRESS = `https://hooks.example.com/${SECRET}`;

let control: ControlPlane;
let account: TestAccount;
let api: ApiClient;
const clock = new FakeClock(NOW * 1000);
beforeAll(async () => {
  const config = { alert_channels: { allow_private: ["127.0.0.1"] } };
  control = await startControlPlane({ clock, config });
});
afterAll(() => control[Symbol.asyncDispose]());

async function newAccount(): Promise<void> {
  account = await control.account();
  api = apiClient(control, account);
}

type Body = Readonly<Record<string, unknown>>;

async function put(body: object, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(control.url + PATH, {
    method: "PUT",
    headers: { "X-API-Key": account.apiKey, "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, etag: response.headers.get("etag") ?? "", body: (await response.json()) as Body };
}

test("an address to which nothing would be sent is refused when it is set, not in the night of the first alert", async () => {
  await newAccount();
  for (const [url, reason] of [
    ["http://hooks.example.com/x", "hooks.example.com would be reached without TLS"],
    ["https://169.254.169.254/x", "169.254.169.254 is not a public address"],
    ["https://2130706434/x", "127.0.0.2 is not a public address"],
  ]) {
    const { status, body } = await put({ channels: { chat: { kind: "slack", url } } });
    expect([status, body["code"]]).toEqual([422, "InvalidRequest"]);
    expect(body["details"]).toEqual({
      issues: [
        { path: "channels.chat.url", reason: expect.stringContaining(`${reason}, and alert_channels.`) as string },
      ],
    });
  }
  expect((await api.get(PATH)).body["channels"]).toEqual({});
  expect((await put({ channels: { chat: { kind: "slack", url: "http://127.0.0.1:9/x" } } })).status).toBe(200);
});

/** A receiver on loopback. */
async function receiver(status = 200) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    request.resume().on("end", () => response.writeHead(status).end("taken"));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { requests, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/topic` };
}

const entries = async () => {
  const { body } = await api.get("/v1/audit?action=alert_settings.changed");
  return (body["entries"] as { details: unknown }[]).map(({ details }) => details);
};

test("what is read has no secret, and can be sent back: nothing changes", async () => {
  await newAccount();
  const settings = {
    rules: [{ condition: "device_offline", selector: "role=van", for_s: 7200 }],
    routes: { all: { channels: ["hook", "chat"], repeat_s: 3600 } },
    channels: {
      hook: { kind: "webhook", url: ADDRESS },
      chat: { kind: "slack", url: ADDRESS },
      page: { kind: "pagerduty", routing_key: SECRET },
      push: { kind: "ntfy", url: ADDRESS, token: SECRET },
      mail: { kind: "email", to: ["ops@example.com"] },
    },
  };
  const first = await put(settings);
  expect(first.status).toBe(200);
  const { new_secrets: secrets } = first.body as { new_secrets: Record<string, string> };
  expect(secrets).toEqual({ hook: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) as string });

  const { body, headers } = await api.get(PATH);
  expect(headers.get("etag")?.split(".")[0]).toBe(first.etag.split(".")[0]);
  expect(body["channels"]).toEqual({
    hook: { kind: "webhook" },
    chat: { kind: "slack" },
    page: { kind: "pagerduty" },
    push: { kind: "ntfy" },
    mail: { kind: "email", to: ["ops@example.com"] },
  });
  const state = { changed_at: NOW, failing_since: null, disabled_at: null };
  expect(body["channel_states"]).toMatchObject({
    chat: { address: "hooks.example.com", ...state },
    page: { address: "events.pagerduty.com", ...state },
    mail: { address: "ops@example.com", ...state },
  });
  const { channel_states: _states, ...rest } = body;
  const again = await put(rest, { "If-Match": first.etag });
  expect([again.status, again.body["new_secrets"], again.etag.split(".")[0]]).toEqual([
    200,
    {},
    first.etag.split(".")[0],
  ]);
  expect(await entries()).toHaveLength(1);
  const { body: log } = await api.get("/v1/audit");
  for (const text of [JSON.stringify(body), JSON.stringify(again.body), JSON.stringify(log)]) {
    expect(text).not.toContain(SECRET);
    expect(text).not.toContain("whsec_");
  }
});

test("what the request does not have is removed; of two changes with the same tag one is made", async () => {
  await newAccount();
  const chat = { kind: "slack", url: ADDRESS };
  const { etag } = await put({ routes: { all: { channels: ["chat"] } }, channels: { chat } });
  const both = await Promise.all([
    put({ channels: { chat: { kind: "slack" } } }, { "If-Match": etag }),
    put({ channels: {} }, { "If-Match": etag }),
  ]);
  expect(both.map(({ status }) => String(status)).toSorted()).toEqual(["200", "412"]);
  await put({});
  expect((await api.get(PATH)).body).toEqual({ rules: [], routes: {}, channels: {}, channel_states: {} });
  expect((await entries()).at(-1)).toEqual({ changed: ["routes.all", "channels.chat"], removed: [] });
});

test.each([
  [{ channels: { new: { kind: "slack" } } }, "channels.new.url: is needed"],
  [{ channels: { new: { kind: "pagerduty" } } }, "channels.new.routing_key: is needed"],
  [{ channels: { page: { kind: "pagerduty", url: "https://elsewhere.example.com/" } } }, "channels.page.routing_key"],
  // Of another kind nothing stays.
  [{ channels: { page: { kind: "teams" } } }, "channels.page.url: is needed"],
  [{ routes: { all: { channels: ["nowhere"] } } }, "names the channel nowhere, which is not among the channels"],
  [{ channels: { "Not-A-Name": { kind: "slack", url: ADDRESS } } }, "must be 1 to 63 lower-case letters"],
  [{ routes: { all: { channels: ["page"], repeat_s: 1 } } }, "repeat_s"],
  [{ channels: { page: { kind: "email", to: ["x@example.com\r\nBcc: y@example.com"] } } }, "must be a mail address"],
  [{ channels: { page: { kind: "slack", url: "file:///etc/passwd" } } }, "must be an address with http"],
  [{ channels: {}, channel_states: {} }, "channel_states"],
])("%j is refused, and changes nothing", async (body, reason) => {
  await newAccount();
  await put({ channels: { page: { kind: "pagerduty", routing_key: SECRET } } });
  const before = (await api.get(PATH)).body;
  const refused = await put(body);
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([422, expect.stringContaining(reason)]);
  expect(JSON.stringify(refused.body)).not.toContain(SECRET);
  expect((await api.get(PATH)).body).toEqual(before);
});

test("a token stays for the same address alone: it is not sent to another one", async () => {
  await newAccount();
  const [mine, other] = [await receiver(), await receiver()];
  const tokenOf = async ({ requests }: typeof mine) => {
    const { status, body } = await api.post("/v1/alert-channels/push/test");
    expect([status, body]).toEqual([200, { delivered: true, answer: "200 taken" }]);
    return requests.at(-1)?.headers.authorization;
  };
  await put({ channels: { push: { kind: "ntfy", url: mine.url, token: SECRET } } });
  await put({ channels: { push: { kind: "ntfy", url: mine.url } } });
  expect(await tokenOf(mine)).toBe(`Bearer ${SECRET}`);
  await put({ channels: { push: { kind: "ntfy", url: other.url } } });
  expect(await tokenOf(other)).toBeUndefined();
});

test("a test says what the other side answered, and has a channel used again that was given up", async () => {
  await newAccount();
  const [gone, back] = [await receiver(410), await receiver()];
  await put({ routes: { all: { channels: ["hook"] } }, channels: { hook: { kind: "webhook", url: gone.url } } });
  const tested = () => api.post("/v1/alert-channels/hook/test").then(({ body }) => body);
  expect(await tested()).toEqual({ delivered: false, answer: "410 taken" });
  // A test gives up nothing.
  const disabledAt = async () => {
    const { body } = await api.get(PATH);
    return (body["channel_states"] as Record<string, { disabled_at: unknown }>)["hook"]?.disabled_at;
  };
  expect(await disabledAt()).toBeNull();
  await put({ routes: { all: { channels: ["hook"] } }, channels: { hook: { kind: "webhook", url: back.url } } });
  await disable("hook");
  expect(await disabledAt()).toBe(NOW);
  // That another thing is changed does not have it used again.
  await put({ channels: { hook: { kind: "webhook" } } });
  expect(await disabledAt()).toBe(NOW);
  expect(await tested()).toEqual({ delivered: true, answer: "200 taken" });
  expect(await disabledAt()).toBeNull();
  const { body } = await api.get("/v1/audit?action=alert_channel.tested&limit=1");
  expect(body["entries"]).toMatchObject([
    { subject: { kind: "alert_channel", id: "hook" }, details: { delivered: true, answer: "200 taken" } },
  ]);
});

/** Has a message to the channel answered with 410. */
async function disable(channel: string): Promise<void> {
  const { alertOutbox } = control.store;
  await groupAlert(control, account, await openAlert(control, account, { condition: "disk_low" }));
  const due = (await alertOutbox.listDueGroups(Date.now() + 1_000, 50)).find(
    ({ accountId }) => accountId === account.accountId,
  );
  if (!due) throw new Error("no group is due");
  const message = JSON.stringify({ type: "firing", text: "Disk space low: GW-1" });
  const said = { id: `msg_${due.group.id}`, message, channels: [channel], total: 1 };
  const step = { message: "firing", nextAtMs: undefined, isClosed: false } as const;
  await alertOutbox.step(due, step, said, NOW * 1000);
  const [claimed] = await alertOutbox.claim("ins_test", NOW * 1000, NOW * 1000 + 1, 1, []);
  if (!claimed) throw new Error("nothing was claimed");
  const end = { state: "failed", dueMs: undefined, failingSinceMs: NOW * 1000, disables: true } as const;
  await alertOutbox.finish(claimed, "ins_test", end, "410 gone", NOW * 1000);
}

test("messages are listed with what was answered, by channel and state, to operators of the account", async () => {
  await newAccount();
  await put({ channels: { hook: { kind: "slack", url: ADDRESS }, chat: { kind: "slack", url: ADDRESS } } });
  await disable("hook");
  await disable("chat");
  const list = async (query = "", client = api) => {
    const { status, body } = await client.get(`/v1/alert-deliveries${query}`);
    return status === 200 ? (body["deliveries"] as Body[]).map(({ channel }) => channel) : status;
  };
  const { body } = await api.get("/v1/alert-deliveries?limit=1");
  expect(body["deliveries"]).toEqual([
    {
      message_id: expect.stringMatching(/^msg_/) as string,
      group_id: expect.stringMatching(/^grp_/) as string,
      channel: "chat",
      type: "firing",
      text: "Disk space low: GW-1",
      state: "failed",
      attempts: 1,
      created_at: NOW,
      answered_at: NOW,
      answer: "410 gone",
    },
  ]);
  expect(await list(`?cursor=${String(body["next_cursor"])}`)).toEqual(["hook"]);
  expect(await list("?channel=hook&state=failed")).toEqual(["hook"]);
  expect(await list("?state=waiting")).toEqual([]);
  expect(await list("?cursor=LTE")).toBe(422);
  const of = async (role: "viewer" | "operator") => apiClient(control, await control.key(account, [], { role }));
  expect([await list("", await of("viewer")), await list("", await of("operator"))]).toEqual([403, ["chat", "hook"]]);
  expect(await list("", apiClient(control, await control.account()))).toEqual([]);
});

test("inner addresses, channels of others and more than so many tests an hour are refused", async () => {
  await newAccount();
  // By its name, which is looked up when something is sent.
  await put({ channels: { inner: { kind: "slack", url: "https://localhost/latest" } } });
  const path = "/v1/alert-channels/inner/test";
  expect((await api.post(path)).body).toEqual({
    delivered: false,
    answer: "localhost has no public address",
  });
  const stranger = apiClient(control, await control.account());
  expect((await stranger.post(path)).body["code"]).toBe("AlertChannelNotFound");
  expect((await api.post("/v1/alert-channels/%00/test")).status).toBe(422);
  for (let at = 1; at < MAX_CHANNEL_TESTS_PER_HOUR; at++) expect((await api.post(path)).status).toBe(200);
  const { status, headers } = await api.post(path);
  expect([status, Number(headers.get("retry-after"))]).toEqual([429, 3600]);
});
