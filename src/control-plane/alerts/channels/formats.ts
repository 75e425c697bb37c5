import { createHmac } from "node:crypto";
import type { AlertSeverity } from "../../../protocol/alerts/condition.ts";
import type { AlertChannelConfig } from "../../../protocol/alerts/channel.ts";
import { type AlertMessage, detailsOf, timesOf } from "../message.ts";

/** A message as it is posted. */
export interface HttpMessage {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** What an answer that is kept must not have: servers repeat addresses and keys in their errors. */
  readonly secrets: readonly string[];
}

type HttpConfig = Exclude<AlertChannelConfig, { readonly kind: "email" }>;

type Formatted = Omit<HttpMessage, "secrets">;

/** Alerts of which a message in a chat says how to find them: as many as its first line names. */
const DETAILED_IN_CHAT = 3;
/** The same where there is more room. */
export const DETAILED = 10;

/** Returns the message in the form of the channel. @param id the same however often it is sent */
export function formatMessage(config: HttpConfig, message: AlertMessage, id: string, nowMs: number): HttpMessage {
  return { ...inFormOf(config, message, id, nowMs), secrets: secretsOf(config) };
}

/** Shorter parts of an address are words. */
const MIN_PART_LENGTH = 8;

function secretsOf(config: HttpConfig): readonly string[] {
  const { pathname, search, searchParams } = new URL(config.url);
  const parts = [...pathname.split("/"), ...searchParams.values()].filter(({ length }) => length >= MIN_PART_LENGTH);
  return [...keysOf(config), pathname + search, pathname, ...parts];
}

function keysOf(config: HttpConfig): readonly string[] {
  switch (config.kind) {
    case "webhook":
      return config.secrets ?? [];
    case "pagerduty":
      return [config.routing_key];
    case "ntfy":
      return config.token === undefined ? [] : [config.token];
    case "slack":
    case "mattermost":
    case "teams":
      return [];
  }
}

function inFormOf(config: HttpConfig, message: AlertMessage, id: string, nowMs: number): Formatted {
  const url = new URL(config.url);
  switch (config.kind) {
    case "webhook":
      return signedWebhook(url, config.secrets ?? [], message, id, nowMs);
    case "slack":
      return json(url, {
        text: [linked(escapeSlack(lineOf(message)), message.url), ...chatDetails(message).map(escapeSlack)].join("\n"),
      });
    case "mattermost": {
      const line = `${escapeMarkdown(lineOf(message))}${message.url === null ? "" : ` ${message.url}`}`;
      return json(url, { text: [line, ...chatDetails(message).map(escapeMarkdown)].join("\n") });
    }
    case "teams":
      return json(url, teamsCard(message));
    case "pagerduty":
      return json(url, pagerDutyEvent(config.routing_key, message));
    case "ntfy":
      return ntfyMessage(url, config.token, message);
  }
}

/** Returns the line of a message for people. The end of something is not critical. */
export function lineOf({ type, severity, text }: Pick<AlertMessage, "type" | "severity" | "text">): string {
  return type === "resolved" ? text : `[${severity}] ${text}`;
}

function chatDetails(message: AlertMessage): readonly string[] {
  return [...timesOf(message), ...detailsOf(message, DETAILED_IN_CHAT)];
}

function json(url: URL, body: unknown, headers: Readonly<Record<string, string>> = {}): Formatted {
  return { url, headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify(body) };
}

/** As https://www.standardwebhooks.com describes it: every secret signs, so that they can be rotated. */
function signedWebhook(
  url: URL,
  secrets: readonly string[],
  message: AlertMessage,
  id: string,
  nowMs: number,
): Formatted {
  const { type, at, ...data } = message;
  const event = { type: `alert.${type}`, timestamp: new Date(at * 1000).toISOString(), data: { id, ...data } };
  const body = JSON.stringify(event);
  const timestamp = String(Math.floor(nowMs / 1000));
  const signatures = secrets.map((secret) => `v1,${sign(secret, `${id}.${timestamp}.${body}`)}`);
  const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
  return { url, headers: { "Content-Type": "application/json", ...headers }, body };
}

function sign(secret: string, content: string): string {
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  return createHmac("sha256", key).update(content).digest("base64");
}

/** A name in a message mentions no user and formats nothing. */
function escapeSlack(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function escapeMarkdown(text: string): string {
  return text.replaceAll(/[\\`*_{}()#+.!|<>~[\]-]/g, String.raw`\$&`).replaceAll("@", "@\u200B");
}

function linked(text: string, url: string | null): string {
  return url === null ? text : `${text} <${url}|Open>`;
}

function textBlock(text: string, more: object = {}): object {
  return { type: "TextBlock", wrap: true, text: escapeMarkdown(text), ...more };
}

function teamsCard(message: AlertMessage): unknown {
  const { url } = message;
  const content = {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.4",
    body: [
      textBlock(lineOf(message), { weight: "Bolder" }),
      ...[...timesOf(message), ...detailsOf(message, DETAILED)].map((line) => textBlock(line, { spacing: "None" })),
    ],
    ...(url !== null && { actions: [{ type: "Action.OpenUrl", title: "Open", url }] }),
  };
  const attachment = { contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content };
  return { type: "message", attachments: [attachment] };
}

/** Events API v2: the group is the incident, so that what is repeated is no second one. */
function pagerDutyEvent(routingKey: string, message: AlertMessage): unknown {
  const { type, text, severity, group_id, condition, total, open, alerts, since, url } = message;
  const payload = {
    summary: text.slice(0, 1024),
    source: "edge-control",
    severity,
    class: condition,
    timestamp: new Date(since * 1000).toISOString(),
    custom_details: { total, open, alerts },
  };
  return {
    routing_key: routingKey,
    event_action: type === "resolved" ? "resolve" : "trigger",
    dedup_key: group_id,
    ...(type !== "resolved" && { payload }),
    ...(url !== null && { links: [{ href: url, text: "Open" }] }),
  };
}

const NTFY_PRIORITY: Readonly<Record<AlertSeverity, number>> = { critical: 5, warning: 4, info: 3 };

/** Published as JSON to the root of the server, since headers take no text of others. */
function ntfyMessage(url: URL, token: string | undefined, message: AlertMessage): Formatted {
  const topic = decodeURIComponent(url.pathname.split("/").findLast((part) => part !== "") ?? "");
  const { severity, type, url: click } = message;
  const isOver = type === "resolved";
  const body = {
    topic,
    message: [message.text, ...chatDetails(message)].join("\n"),
    title: `edge-control: ${isOver ? type : severity}`,
    priority: isOver ? 3 : NTFY_PRIORITY[severity],
    ...(click !== null && { click }),
  };
  const root = new URL(url.href);
  root.pathname = url.pathname.replace(/\/[^/]*\/?$/, "/");
  return json(root, body, token === undefined ? {} : { Authorization: `Bearer ${token}` });
}
