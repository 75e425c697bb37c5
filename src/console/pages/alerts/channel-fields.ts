import type { AlertChannelDefinition } from "../../../protocol/api-types.ts";
import type { ChannelKind } from "./channel-words.ts";

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
