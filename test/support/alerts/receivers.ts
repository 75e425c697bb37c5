import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";
import { z } from "zod";
import { alertWebhookSchema } from "../../../src/protocol/alerts/webhook.ts";

/** A message as a receiver has understood it. */
export interface Receipt {
  readonly channel: string;
  readonly atMs: number;
  /** The same however often a message is sent; of chat formats, which have none, the text. */
  readonly id: string;
  readonly text: string;
  /** As it came. */
  readonly body: string;
}

/** What a receiver does with a message: `hang` never answers. */
type Answer = number | "hang";

const WINDOW_S = 5 * 60;
const text = z.string().min(1);
const chatBody = z.strictObject({ text });
const adaptiveCard = z.looseObject({
  type: z.literal("AdaptiveCard"),
  version: text,
  body: z.array(z.looseObject({ type: z.literal("TextBlock"), text })).min(1),
});
const teamsBody = z.strictObject({
  type: z.literal("message"),
  attachments: z
    .array(
      z.strictObject({
        contentType: z.literal("application/vnd.microsoft.card.adaptive"),
        contentUrl: z.null(),
        content: adaptiveCard,
      }),
    )
    .length(1),
});
const link = z.array(z.strictObject({ href: z.url(), text })).optional();
const pagerDutyBody = z.discriminatedUnion("event_action", [
  z.strictObject({
    routing_key: text,
    event_action: z.literal("trigger"),
    dedup_key: text.max(255),
    payload: z.looseObject({
      summary: text.max(1024),
      source: text,
      severity: z.enum(["critical", "error", "warning", "info"]),
      timestamp: z.iso.datetime(),
    }),
    links: link,
  }),
  z.strictObject({
    routing_key: text,
    event_action: z.literal("resolve"),
    dedup_key: text.max(255),
    links: link,
  }),
]);
const ntfyBody = z.strictObject({
  topic: z.literal("edge"),
  message: text,
  title: text,
  priority: z.int().min(1).max(5),
  click: z.url().optional(),
});

/**
 * What messages of alerts are sent to, on real sockets: a server for webhooks, chats, PagerDuty and ntfy, which refuses what is not in
 * the form of the channel, and a mail server. The first part of a path is the kind, the second one the name of the channel.
 */
export class Receivers implements AsyncDisposable {
  readonly receipts: Receipt[] = [];
  /** What was not in its form. */
  readonly problems: string[] = [];
  /** Groups that webhooks have named, in the order of the messages. */
  readonly groupIds: string[] = [];
  /** What a channel answers. */
  answer: (channel: string) => Answer = () => 200;
  /** Secrets of webhooks, by the name of the channel. */
  secrets: Readonly<Record<string, string>> = {};
  readonly #now: () => number;
  readonly #http = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.on("end", () => this.#take(request.url ?? "", request.headers, body, response));
  });
  readonly #smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onData: (stream, _session, callback) => {
      let data = "";
      stream.setEncoding("utf8").on("data", (chunk: string) => (data += chunk));
      stream.on("end", () => {
        this.#takeMail(data);
        callback();
      });
    },
  });

  private constructor(now: () => number) {
    this.#now = now;
  }

  /** @param now the service's time of day, in milliseconds */
  static async start(now: () => number): Promise<Receivers> {
    const receivers = new Receivers(now);
    await new Promise<void>((resolve) => {
      receivers.#http.listen(0, "127.0.0.1", resolve);
    });
    await new Promise<void>((resolve) => {
      receivers.#smtp.listen(0, "127.0.0.1", resolve);
    });
    return receivers;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  get mailPort(): number {
    return (this.#smtp.server.address() as AddressInfo).port;
  }

  of(channel: string): readonly Receipt[] {
    return this.receipts.filter((receipt) => receipt.channel === channel);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#http.closeAllConnections();
    this.#http.close();
    await new Promise<void>((resolve) => {
      this.#smtp.close(() => resolve());
    });
  }

  #take(path: string, headers: IncomingHttpHeaders, body: string, response: ServerResponse): void {
    const [, kind = "", name = kind] = path.split("/");
    let read: Pick<Receipt, "id" | "text">;
    try {
      read = this.#read(kind, name, headers, body);
    } catch (error) {
      this.problems.push(`${path}: ${String(error)}`);
      return void response.writeHead(400).end("not in its form");
    }
    this.receipts.push({ channel: name === "" ? "ntfy" : name, atMs: this.#now(), body, ...read });
    const answer = this.answer(name);
    if (answer !== "hang") response.writeHead(answer).end("taken");
  }

  #read(kind: string, name: string, headers: IncomingHttpHeaders, body: string): Pick<Receipt, "id" | "text"> {
    const json: unknown = JSON.parse(body);
    switch (kind) {
      case "webhook": {
        const id = this.#verify(this.secrets[name] ?? "", headers, body);
        const { data } = alertWebhookSchema.parse(json);
        if (data.id !== id) throw new Error("the id of the body is not that of the header");
        this.groupIds.push(data.group_id);
        return { id, text: data.text };
      }
      case "chat": {
        const { text: line } = chatBody.parse(json);
        return { id: line, text: line };
      }
      case "teams": {
        const line = teamsBody.parse(json).attachments[0]?.content.body[0]?.text ?? "";
        return { id: line, text: line };
      }
      case "v2": {
        const event = pagerDutyBody.parse(json);
        const summary = event.event_action === "trigger" ? event.payload.summary : "resolve";
        return { id: `${event.event_action} ${event.dedup_key}`, text: summary };
      }
      default: {
        if (headers.authorization !== "Bearer tk_ntfy") throw new Error("no access token");
        const { message } = ntfyBody.parse(json);
        return { id: message, text: message };
      }
    }
  }

  /** As the Standard Webhooks specification tells receivers to. Returns the id. */
  #verify(secret: string, headers: IncomingHttpHeaders, body: string): string {
    const id = String(headers["webhook-id"]);
    const timestamp = String(headers["webhook-timestamp"]);
    if (Math.abs(this.#now() / 1000 - Number(timestamp)) > WINDOW_S) throw new Error("the timestamp is too far off");
    const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
    const expected = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest();
    const isSigned = String(headers["webhook-signature"])
      .split(" ")
      .some((signature) => {
        const given = Buffer.from(signature.replace(/^v1,/, ""), "base64");
        return signature.startsWith("v1,") && given.length === expected.length && timingSafeEqual(given, expected);
      });
    if (!isSigned) throw new Error("the signature is not right");
    return id;
  }

  #takeMail(data: string): void {
    const header = (name: string): string => {
      const found = new RegExp(String.raw`^${name}: (.*(?:\r\n[ \t].*)*)`, "im").exec(data);
      if (!found) this.problems.push(`a mail has no ${name}`);
      return (found?.[1] ?? "").replaceAll(/\r\n[ \t]/g, " ");
    };
    if (!/text\/plain/.test(data) || !/text\/html/.test(data)) this.problems.push("a mail is not both text and HTML");
    const read = { id: header("Message-ID"), text: header("Subject") };
    this.receipts.push({ channel: "mail", atMs: this.#now(), body: data, ...read });
  }
}
