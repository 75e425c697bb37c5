import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { RequestIssue } from "../../protocol/errors/request-error.ts";
import {
  type AlertChannelConfig,
  alertChannelConfigSchema,
  type AlertChannelInput,
} from "../../protocol/alerts/channel.ts";
import type { AlertSettingsInput } from "../../protocol/alerts/settings.ts";
import type { Seal, Sealer } from "../sealing/sealer.ts";
import type { AlertSettings, StoredChannel } from "../store/alerts.ts";
import { openChannel, sealChannel } from "./channels/channels.ts";

const WEBHOOK_SECRET_BYTES = 32;

export interface SettingsPlan extends AlertSettings {
  /** Secrets that were made, by the name of the channel. */
  readonly newSecrets: Readonly<Record<string, string>>;
  /** What differs from before, such as `rules`, `routes.night` or `channels.ops`. */
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

export interface PlanOptions {
  readonly accountId: string;
  readonly sealer: Pick<Sealer, "open">;
  readonly seal: Seal;
  readonly nowMs: number;
  /** Returns why nothing would be sent to an address. Not given: addresses are not looked at, since the service's configuration is not known. */
  readonly explainRefusal?: ((url: URL) => string | undefined) | undefined;
}

/** The settings do not say what there is nothing from before for, or have addresses to which nothing would be sent. */
export class UnusableSettingsError extends Error {
  readonly issues: readonly RequestIssue[];

  constructor(issues: readonly RequestIssue[]) {
    super(issues.map(({ path, reason }) => `${path}: ${reason}`).join("; "));
    this.issues = issues;
  }
}

/**
 * Decides what the settings of an account are to be: the one way for the HTTP API and the command line. Channels of which nothing
 * differs stay the same objects. Error: `UnusableSettingsError`.
 */
export function planSettings(current: AlertSettings, given: AlertSettingsInput, options: PlanOptions): SettingsPlan {
  const { accountId, sealer, seal, nowMs, explainRefusal } = options;
  const newSecrets: Record<string, string> = {};
  const issues: RequestIssue[] = [];
  const changed: string[] = isDeepStrictEqual(given.rules, current.rules) ? [] : ["rules"];
  const routes = Object.entries(given.routes).map(([name, body]) => ({ name, body }));
  for (const { name, body } of routes) {
    const before = current.routes.find((route) => route.name === name);
    if (!before || !isDeepStrictEqual(before.body, body)) changed.push(`routes.${name}`);
  }
  const channels: StoredChannel[] = [];
  for (const [name, input] of Object.entries(given.channels)) {
    const stored = current.channels.find((channel) => channel.name === name);
    const before = stored && tryOpen(sealer, stored);
    const { config, secret, missing } = completeChannel(input, before);
    for (const field of missing)
      issues.push({ path: `channels.${name}.${field}`, reason: "is needed: there is none from before that may stay" });
    // One that stays as it was is not looked at: other changes do not wait for it.
    const refusal = "url" in input && input.url !== undefined ? explainRefusal?.(new URL(input.url)) : undefined;
    if (refusal !== undefined) {
      const reason = `${refusal}, and alert_channels.allow_private of the service's configuration does not name it`;
      issues.push({ path: `channels.${name}.url`, reason });
    }
    if (!config) continue;
    if (secret !== undefined) newSecrets[name] = secret;
    const isSame = stored && isDeepStrictEqual(config, before) && (stored.disabledAtMs === undefined || isBare(input));
    if (!isSame) changed.push(`channels.${name}`);
    channels.push(isSame ? stored : sealChannel(seal, accountId, name, config, nowMs));
  }
  if (issues.length > 0) throw new UnusableSettingsError(issues);
  const removed = [
    ...current.routes.filter(({ name }) => !Object.hasOwn(given.routes, name)).map(({ name }) => `routes.${name}`),
    ...current.channels
      .filter(({ name }) => !Object.hasOwn(given.channels, name))
      .map(({ name }) => `channels.${name}`),
  ];
  return { rules: given.rules, routes, channels, newSecrets, changed, removed };
}

/** Whether nothing is said of the channel but that it stays: one that was given up stays so then. */
function isBare(input: AlertChannelInput): boolean {
  return input.kind === "email" || input.url === undefined;
}

/** What cannot be opened any more is set anew. */
function tryOpen(sealer: Pick<Sealer, "open">, stored: StoredChannel): AlertChannelConfig | undefined {
  try {
    return openChannel(sealer, stored);
  } catch {
    return undefined;
  }
}

interface Completed {
  readonly config?: AlertChannelConfig;
  /** That was made for it. */
  readonly secret?: string;
  readonly missing: readonly string[];
}

/** Adds what stays from before. A key stays for the same address alone: it would be sent to another one. */
function completeChannel(input: AlertChannelInput, before: AlertChannelConfig | undefined): Completed {
  if (input.kind === "email") return { config: input, missing: [] };
  const same = before?.kind === input.kind ? before : undefined;
  const { kind, url = same?.url } = input;
  if (url === undefined && kind !== "pagerduty") return { missing: ["url"] };
  const parsed = (fields: object) =>
    alertChannelConfigSchema.parse({ kind, ...(url !== undefined && { url }), ...fields });
  const isSameAddress = url === undefined || same?.url === url;
  switch (input.kind) {
    case "webhook": {
      const kept = same?.kind === "webhook" ? same.secrets : undefined;
      if (input.secrets || kept) return { config: parsed({ secrets: input.secrets ?? kept }), missing: [] };
      const secret = `whsec_${randomBytes(WEBHOOK_SECRET_BYTES).toString("base64")}`;
      return { config: parsed({ secrets: [secret] }), secret, missing: [] };
    }
    case "pagerduty": {
      const kept = same?.kind === "pagerduty" && isSameAddress ? same.routing_key : undefined;
      const routingKey = input.routing_key ?? kept;
      return routingKey === undefined
        ? { missing: ["routing_key"] }
        : { config: parsed({ routing_key: routingKey }), missing: [] };
    }
    case "ntfy": {
      const kept = same?.kind === "ntfy" && isSameAddress ? same.token : undefined;
      const token = input.token === undefined ? kept : (input.token ?? undefined);
      return { config: parsed(token === undefined ? {} : { token }), missing: [] };
    }
    case "slack":
    case "mattermost":
    case "teams":
      return { config: parsed({}), missing: [] };
  }
}
