import type { AlertChannel, AlertChannelDefinition } from "../../../protocol/api-types.ts";

export type ChannelKind = AlertChannel["kind"];

/** Kinds of channels, with what their address is. */
export const CHANNEL_KINDS: Readonly<Record<ChannelKind, { readonly label: string; readonly hint: string }>> = {
  email: { label: "Email", hint: "Sent by the server that “mail” in the service's configuration names." },
  webhook: { label: "Webhook", hint: "Gets JSON, signed by the Standard Webhooks specification." },
  slack: { label: "Slack", hint: "Address of an incoming webhook of Slack, or of what takes its format." },
  teams: { label: "Microsoft Teams", hint: "Address of a workflow that posts what it gets to a channel." },
  mattermost: { label: "Mattermost", hint: "Address of an incoming webhook." },
  pagerduty: { label: "PagerDuty", hint: "A group of alerts is an incident, and its end resolves it." },
  ntfy: { label: "ntfy", hint: "Address of a topic, such as https://ntfy.sh/my-gateways." },
};

const SECRET_BYTES = 32;

/** A channel as a person fills it in. */
export interface ChannelFields {
  readonly name: string;
  readonly kind: ChannelKind;
  readonly url: string;
  readonly to: string;
  readonly secrets: string;
  readonly key: string;
  readonly removesToken: boolean;
}

/** Returns the channel as the API takes it: what is empty stays as it was. */
export function channelOf({
  kind,
  url: typed,
  to,
  secrets,
  key: typedKey,
  removesToken,
}: Omit<ChannelFields, "name">): AlertChannelDefinition {
  const url = typed.trim() === "" ? {} : { url: typed.trim() };
  const key = typedKey.trim();
  switch (kind) {
    case "email":
      return { kind, to: wordsOf(to) };
    case "webhook": {
      const given = wordsOf(secrets);
      return { kind, ...url, ...(given.length > 0 && { secrets: given }) };
    }
    case "pagerduty":
      return { kind, ...url, ...(key !== "" && { routing_key: key }) };
    case "ntfy":
      return { kind, ...url, ...(key === "" ? removesToken && { token: null } : { token: key }) };
    case "slack":
    case "teams":
    case "mattermost":
      return { kind, ...url };
  }
}

/** Returns what a text has on its lines, also between commas. */
export function wordsOf(text: string): string[] {
  return text.split(/[\s,;]+/).filter((word) => word !== "");
}

/** Makes a secret that signs a webhook. */
export function newSecret(): string {
  return `whsec_${btoa(String.fromCodePoint(...crypto.getRandomValues(new Uint8Array(SECRET_BYTES))))}`;
}
