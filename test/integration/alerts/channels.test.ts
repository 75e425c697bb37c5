import { createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";
import { expect, test } from "vitest";
import { formatMessage } from "../../../src/control-plane/alerts/channels/formats.ts";
import { Mailer } from "../../../src/control-plane/alerts/channels/mail.ts";
import { Poster } from "../../../src/control-plane/alerts/channels/post.ts";
import { type AlertMessage, cleanText, composeMessage } from "../../../src/control-plane/alerts/message.ts";
import { type AlertChannelConfig, alertChannelConfigSchema } from "../../../src/protocol/alerts/channel.ts";

const NOW = 1_800_000_000_000;
const SECRETS = [`whsec_${Buffer.alloc(32, 1).toString("base64")}`, `whsec_${Buffer.alloc(24, 2).toString("base64")}`];
const EVIL = 'GW\r\nBcc: eve@example.com\u202E <b onclick="x">@channel</b> <!channel>';

function someMessage(names: readonly string[] = [EVIL], type: "firing" | "resolved" = "firing"): AlertMessage {
  const group = {
    id: "grp_1",
    routeId: "all",
    condition: "device_offline",
    severity: "critical",
    firstSinceMs: NOW,
    openedAtMs: NOW,
    sends: 0,
    sentTotal: 0,
    lastSentAtMs: undefined,
  } as const;
  const counts = { total: names.length, open: names.length, unacknowledged: names.length };
  const told = names.map((name, at) => {
    const subject = { kind: "asset", id: `uuid-${at}`, name, serialNumber: `SN-${at}` } as const;
    return {
      id: `alr_${at}`,
      state: "firing",
      subject,
      sinceMs: NOW,
      firedAtMs: NOW,
      resolvedAtMs: undefined,
      cause: undefined,
    } as const;
  });
  return composeMessage({ accountId: "acc_1", group, counts }, told, type, "https://control.example.com", NOW);
}

interface Posted {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** A server on loopback, that responds as it is told. */
async function receiver(respond: (response: ServerResponse) => void = (response) => response.end("ok")) {
  const posted: Posted[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      posted.push({ path: request.url ?? "", headers: request.headers, body });
      respond(response);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    posted,
    url: `http://127.0.0.1:${port}`,
    host: `127.0.0.1:${port}`,
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const never = (): AbortSignal => new AbortController().signal;

function send(allowed: string, config: AlertChannelConfig, message = someMessage()) {
  if (config.kind === "email") throw new Error("mails are not posted");
  return new Poster({ allowPrivate: [allowed] }).post(formatMessage(config, message, "msg_1", NOW), never());
}

test("a webhook is signed by the Standard Webhooks specification, with each of the secrets", async () => {
  using other = await receiver();
  const config = alertChannelConfigSchema.parse({ kind: "webhook", url: `${other.url}/hook?a=1`, secrets: SECRETS });
  expect(await send(other.host, config)).toEqual({ kind: "delivered", answer: "200 ok" });
  const [{ path, headers, body } = { path: "", headers: {}, body: "" }] = other.posted;
  expect([path, headers["webhook-id"], headers["webhook-timestamp"]]).toEqual(["/hook?a=1", "msg_1", "1800000000"]);
  const expected = [Buffer.alloc(32, 1), Buffer.alloc(24, 2)].map((key) => {
    return `v1,${createHmac("sha256", key).update(`msg_1.1800000000.${body}`).digest("base64")}`;
  });
  expect(headers["webhook-signature"]).toBe(expected.join(" "));
  expect(JSON.parse(body)).toMatchObject({
    type: "alert.firing",
    timestamp: "2027-01-15T08:00:00.000Z",
    data: { id: "msg_1", condition: "device_offline", severity: "critical", total: 1 },
  });
});

test("the others get the message in their forms, in which names mention nobody", async () => {
  using other = await receiver();
  const bodies = async (config: unknown, message?: AlertMessage) => {
    await send(other.host, alertChannelConfigSchema.parse(config), message);
    return JSON.parse(other.posted.at(-1)?.body ?? "null") as Record<string, unknown>;
  };
  const slack = await bodies({ kind: "slack", url: `${other.url}/services/T0` });
  expect(slack["text"]).toMatch(
    /^\[critical\] Device offline: GW .*&lt;!channel&gt; <https:.*\|Open>\nSince 2027-01-15 08:00 UTC\nGW .*: serial number SN-0, asset uuid-0, alert alr_0$/,
  );
  const mattermost = await bodies({ kind: "mattermost", url: `${other.url}/hooks/x` });
  expect(mattermost["text"]).not.toMatch(/@channel|[^\\]</);
  const teams = await bodies({ kind: "teams", url: `${other.url}/x` });
  expect(teams).toMatchObject({
    type: "message",
    attachments: [{ content: { type: "AdaptiveCard", version: "1.4" } }],
  });
  const pagerduty = { kind: "pagerduty", routing_key: "R0", url: `${other.url}/v2/enqueue` };
  expect(await bodies(pagerduty)).toMatchObject({
    routing_key: "R0",
    event_action: "trigger",
    dedup_key: "grp_1",
    payload: { severity: "critical", source: "edge-control", class: "device_offline" },
  });
  const end = await bodies(pagerduty, someMessage(["GW-1"], "resolved"));
  expect(end).toMatchObject({ event_action: "resolve", dedup_key: "grp_1" });
  expect(end).not.toHaveProperty("payload");
  const ntfy = { kind: "ntfy", url: `${other.url}/base/edge-alerts`, token: "tk_1" };
  expect(await bodies(ntfy)).toMatchObject({ topic: "edge-alerts", priority: 5 });
  expect(other.posted.at(-1)).toMatchObject({ path: "/base/", headers: { authorization: "Bearer tk_1" } });
});

test.each([
  ["a redirect is not followed", 302, { Location: "http://127.0.0.1/" }, "failed", /^302: redirects are not followed$/],
  ["410 is for good", 410, {}, "gone", /^410/],
  ["an error is tried again", 500, { "Retry-After": "120" }, "failed", /^500/],
])("%s", async (_name, status, headers, kind, answer) => {
  using other = await receiver((response) => response.writeHead(status, headers).end());
  const got = await send(other.host, { kind: "slack", url: other.url });
  expect(got).toMatchObject({ kind, answer: expect.stringMatching(answer) as string });
  if (status === 500) expect(got).toHaveProperty("retryAfterMs", 120_000);
});

test("of an answer without end a little is read", async () => {
  let written = 0;
  using other = await receiver((response) => {
    const chunk = Buffer.alloc(65_536, "x");
    const write = (): void => {
      while (!response.destroyed && response.write(chunk)) written += chunk.length;
    };
    response.on("drain", write).on("error", () => undefined);
    write();
  });
  const got = await send(other.host, { kind: "slack", url: other.url });
  expect(got.kind).toBe("delivered");
  expect(got.answer.length).toBeLessThanOrEqual(300);
  // What the sockets hold, and no gigabyte.
  expect(written).toBeLessThan(64 * 1024 * 1024);
});

test("one that does not answer is given up with the signal", async () => {
  const arrived = Promise.withResolvers<void>();
  using other = await receiver(() => arrived.resolve());
  const controller = new AbortController();
  const message = formatMessage({ kind: "slack", url: other.url }, someMessage(), "msg_1", NOW);
  const sending = new Poster({ allowPrivate: [other.host] }).post(message, controller.signal);
  await arrived.promise;
  controller.abort();
  expect(await sending).toEqual({ kind: "failed", answer: "no answer in time" });
});

test("an answer that repeats what is secret of the channel is kept without it", async () => {
  const key = "a-key-that-nobody-sees";
  let answer = "";
  using other = await receiver((response) => response.writeHead(404).end(answer));
  const answered = async (config: unknown, text: string) => {
    answer = text;
    return (await send(other.host, alertChannelConfigSchema.parse(config))).answer;
  };
  const slack = { kind: "slack", url: `${other.url}/services/T0/${key}?code=another-key` };
  // As a server says it by default.
  expect(await answered(slack, `Cannot POST /services/T0/${key}`)).toBe("404 Cannot POST ***");
  expect(await answered(slack, `no such hook: ${key}, another-key`)).toBe("404 no such hook: ***, ***");
  // Nor is a part of it there where the answer is cut.
  expect(await answered(slack, `${"x".repeat(290)}${key}`)).not.toContain("a-k");
  expect(await answered({ kind: "ntfy", url: `${other.url}/edge`, token: key }, `Bearer ${key}`)).toBe(
    "404 Bearer ***",
  );
  const pager = { kind: "pagerduty", routing_key: key, url: `${other.url}/v2/enqueue` };
  expect(await answered(pager, `{"invalid": "${key}"}`)).toBe('404 {"invalid": "***"}');
  const hook = { kind: "webhook", url: `${other.url}/`, secrets: SECRETS };
  expect(await answered(hook, `/ ${SECRETS.join(" ")}`)).toBe("404 / *** ***");
});

test("inner addresses are refused, by number and by name, and what has no TLS", async () => {
  const poster = new Poster({
    allowPrivate: ["hooks.lan:8080"],
    lookup: (_host, _options, callback) => callback(null, [{ address: "10.0.0.7", family: 4 }]),
  });
  expect(poster.explainRefusal(new URL("http://hooks.lan:8080/x"))).toBeUndefined();
  expect(poster.explainRefusal(new URL("http://hooks.lan/x"))).toMatch(/without TLS/);
  for (const host of ["169.254.169.254", "[::1]", "127.1", "2130706433"])
    expect(poster.explainRefusal(new URL(`https://${host}/`))).toMatch(/not a public address/);
  const message = formatMessage({ kind: "slack", url: "https://hooks.example.com/" }, someMessage(), "msg_1", NOW);
  expect(await poster.post(message, never())).toEqual({
    kind: "failed",
    answer: "hooks.example.com has no public address",
  });
});

interface Mail {
  readonly to: readonly string[];
  readonly data: string;
}

/** A mail server on loopback without TLS, that does not know `gone@example.com`. */
async function mailbox() {
  const mails: Mail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onRcptTo({ address }, _session, callback) {
      if (address === "gone@example.com") callback(Object.assign(new Error("no such user"), { responseCode: 550 }));
      else callback();
    },
    onData(stream, session, callback) {
      let data = "";
      stream.setEncoding("utf8").on("data", (chunk: string) => (data += chunk));
      stream.on("end", () => {
        mails.push({ to: session.envelope.rcptTo.map(({ address }) => address), data });
        callback();
      });
    },
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.server.address() as AddressInfo;
  return {
    mails,
    mailer: (tls: "none" | "starttls" = "none") =>
      new Mailer({ host: "127.0.0.1", port, tls, from: "alerts@example.com" }),
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
      }),
  };
}

test("a mail has one subject and no header of anybody else, and its HTML runs nothing", async () => {
  await using box = await mailbox();
  const to = ["ops@example.com", "boss@example.com"];
  const message = someMessage([EVIL, "GW-2"]);
  expect(await box.mailer().send(to, message, "msg_1", never())).toMatchObject({ kind: "delivered" });
  // A server that offers no TLS is told nothing.
  expect(await box.mailer("starttls").send(to, message, "msg_2", never())).toMatchObject({ kind: "failed" });
  expect(box.mails).toHaveLength(1);
  const [mail = { to: [], data: "" }] = box.mails;
  expect(mail.to).toEqual(to);
  const headers = mail.data.slice(0, mail.data.indexOf("\r\n\r\n"));
  expect(headers).not.toMatch(/^Bcc:/im);
  expect(headers.match(/^Subject:/gim)).toHaveLength(1);
  expect(headers).toMatch(/^Auto-Submitted: auto-generated\r?$/m);
  expect(headers).toMatch(/^Message-ID: <msg_1@example\.com>\r?$/m);
  const decoded = mail.data.replaceAll("=\r\n", "");
  const html = decoded.slice(decoded.indexOf("Content-Type: text/html"));
  expect(html).not.toContain("<b onclick");
  expect(html).toContain("&lt;b onclick");
  for (const part of [html, decoded]) expect(part).toContain("GW-2: serial number SN-1, asset uuid-1, alert alr_1");
});

test("a mail of which the server refuses one recipient says whom it did not reach", async () => {
  await using box = await mailbox();
  const send = (to: readonly string[]) => box.mailer().send(to, someMessage(["GW-1"]), "msg_1", never());
  expect(await send(["ops@example.com", "gone@example.com"])).toEqual({
    kind: "delivered",
    answer: expect.stringMatching(/^250 .*; not to gone@example\.com: 550 no such user$/) as string,
  });
  expect(box.mails.map(({ to }) => to)).toEqual([["ops@example.com"]]);
  expect(await send(["gone@example.com"])).toMatchObject({ kind: "failed" });
});

test("the mails of a group are one thread, and say since when", async () => {
  await using box = await mailbox();
  for (const [type, id] of [
    ["firing", "msg_1_1"],
    ["resolved", "msg_1_2"],
  ] as const)
    await box.mailer().send(["ops@example.com"], someMessage(["GW-1"], type), id, never());
  const [first = "", end = ""] = box.mails.map(({ data }) => data);
  expect(first).toMatch(/^Message-ID: <msg_1_1@example\.com>\r?$/m);
  expect(first).not.toMatch(/^References:/m);
  for (const header of ["References", "In-Reply-To"])
    expect(end).toMatch(new RegExp(String.raw`^${header}: <msg_1_1@example\.com>\r?$`, "m"));
  expect(first).toContain("Since 2027-01-15 08:00 UTC");
  expect(end).toContain("From 2027-01-15 08:00 to 2027-01-15 08:00 UTC");
});

test("the end of what was critical does not look critical", async () => {
  await using box = await mailbox();
  using other = await receiver();
  const end = someMessage(["GW-1"], "resolved");
  await box.mailer().send(["ops@example.com"], end, "msg_1_2", never());
  expect(box.mails[0]?.data).toMatch(/^Subject: Resolved: Device offline: GW-1\r?$/m);
  for (const kind of ["slack", "mattermost", "teams", "ntfy"]) {
    await send(other.host, alertChannelConfigSchema.parse({ kind, url: `${other.url}/topic` }), end);
    expect(other.posted.at(-1)?.body).toContain("Resolved: Device offline");
    expect(other.posted.at(-1)?.body).not.toContain("critical");
    expect(other.posted.at(-1)?.body.replaceAll("\\", "")).toContain("From 2027-01-15 08:00 to");
  }
});

test("texts of others are one line, without control characters, and cut", () => {
  expect(cleanText("a\r\nb\u202Ec\u0000", 99)).toBe("a  b c ");
  expect(cleanText("x".repeat(200), 10)).toBe(`${"x".repeat(9)}…`);
});
