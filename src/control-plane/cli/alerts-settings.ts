import { isDeepStrictEqual } from "node:util";
import { type Command } from "commander";
import type { AlertChannelConfig } from "../../protocol/alerts/channel.ts";
import { auditEntry } from "../accounts/audit-entry.ts";
import { type AlertsFile, alertsFileSchema, withSecrets } from "../alerts/alerts-file.ts";
import { Channels, openChannel, sealChannel } from "../alerts/channels/channels.ts";
import { Mailer } from "../alerts/channels/mail.ts";
import { Poster } from "../alerts/channels/post.ts";
import { testMessage } from "../alerts/message.ts";
import type { AuditAction } from "../core/people/audit-actions.ts";
import type { Sealer } from "../sealing/sealer.ts";
import type { StoredChannel } from "../store/alerts.ts";
import type { Store } from "../store/store.ts";
import { foregroundClock } from "../../lib/clock.ts";
import { readPrivateText } from "../../lib/private-text.ts";
import { errorText } from "../../lib/error-text.ts";
import {
  type AdministrationOptions,
  configOfOptions,
  requireAccount,
  runAdministration,
  withAdministrationOptions,
} from "./administration.ts";
import { commandOrigin } from "./command-origin.ts";
import { type CliContext, ServiceCommandError } from "./context.ts";
import { openKeys } from "./open-keys.ts";

export interface AccountOptions extends AdministrationOptions {
  readonly account: string;
}

/** `alerts set` and `alerts test`. */
export function addAlertSettingsCommands(alerts: Command, context: CliContext): void {
  withAdministrationOptions(alerts.command("set <file>"))
    .description(
      "set rules, routes and channels of an account as a JSON file has them; what it does not have is removed",
    )
    .requiredOption("--account <id>", "account that they are of")
    .action((file: string, options: AccountOptions) =>
      runAdministration(
        context,
        options,
        (store) => setAll(context, store, readFile(file), options),
        ({ rules, routes, channels, new_secrets }) =>
          [
            `${rules} rules, ${routes} routes and ${channels} channels are set`,
            ...Object.entries(new_secrets).map(([name, secret]) => `secret of ${name}, not shown again: ${secret}`),
          ].join("\n"),
      ),
    );
  withAdministrationOptions(alerts.command("test <channel>"))
    .description("send a message to a channel, and say what the other side answered")
    .requiredOption("--account <id>", "account that it is of")
    .action((name: string, options: AccountOptions) =>
      runAdministration(
        context,
        options,
        (store) => tryChannel(context, store, name, options),
        ({ delivered, answer }) => `${delivered ? "delivered" : "not delivered"}: ${answer}`,
      ),
    );
}

/** Returns the entry of the audit log for what the command does. */
export function entryOf(
  { clock }: CliContext,
  { account }: AccountOptions,
  action: AuditAction,
  details: Readonly<Record<string, unknown>> = {},
  name?: string,
) {
  const kind = action.startsWith("alert_route") ? "alert_route" : "alert_channel";
  const about = name === undefined ? {} : { subject: { kind, id: name } };
  return auditEntry(commandOrigin(account), clock, { action, ...about, details });
}

/** Reads the file, which has secrets. Throws `CommandError`, without anything of the secrets. */
function readFile(file: string): AlertsFile {
  let content: unknown;
  try {
    content = JSON.parse(readPrivateText(file));
  } catch (error) {
    // What the parser says quotes the text.
    const reason = error instanceof SyntaxError ? "it is not JSON" : errorText(error);
    throw new ServiceCommandError(`cannot read ${file}: ${reason}`);
  }
  const parsed = alertsFileSchema.safeParse(content);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw new ServiceCommandError(`${file}: ${problems.join("; ")}`);
}

async function setAll(context: CliContext, store: Store, file: AlertsFile, options: AccountOptions) {
  const { account } = options;
  const { alertSettings } = store;
  await requireAccount(store, account);
  const sealer = await openKeys(store, options);
  const seal = await sealer.sealing();
  const existing = new Map((await alertSettings.listChannels(account)).map((channel) => [channel.name, channel]));
  const newSecrets: Record<string, string> = {};
  // Channels first: no route names one that is not there.
  for (const [name, given] of Object.entries(file.channels)) {
    const stored = existing.get(name);
    const before = stored && tryOpen(sealer, stored);
    const config = withSecrets(given, before);
    if (config.kind === "webhook" && given.kind === "webhook" && !given.secrets && before?.kind !== "webhook")
      newSecrets[name] = config.secrets?.join(" ") ?? "";
    if (stored?.disabledAtMs === undefined && isDeepStrictEqual(config, before)) continue;
    const channel = sealChannel(seal, account, name, config, Math.floor(context.clock.now()));
    await alertSettings.putChannel(
      channel,
      entryOf(context, options, "alert_channel.changed", { kind: config.kind }, name),
    );
  }
  await alertSettings.setRules(
    account,
    file.rules,
    entryOf(context, options, "alert_rules.changed", { rules: file.rules.length }),
  );
  for (const [name, body] of Object.entries(file.routes)) {
    const { channels } = body;
    await alertSettings.putRoute(
      account,
      name,
      body,
      entryOf(context, options, "alert_route.changed", { channels }, name),
    );
  }
  for (const { name } of await alertSettings.listRoutes(account))
    if (!Object.hasOwn(file.routes, name))
      await alertSettings.removeRoute(account, name, entryOf(context, options, "alert_route.removed", {}, name));
  for (const name of existing.keys())
    if (!Object.hasOwn(file.channels, name))
      await alertSettings.removeChannel(account, name, entryOf(context, options, "alert_channel.removed", {}, name));
  const [routes, channels] = [file.routes, file.channels].map((entries) => Object.keys(entries).length);
  return { rules: file.rules.length, routes, channels, new_secrets: newSecrets };
}

/** What cannot be opened any more is set anew. */
function tryOpen(sealer: Sealer, stored: StoredChannel): AlertChannelConfig | undefined {
  try {
    return openChannel(sealer, stored);
  } catch {
    return undefined;
  }
}

async function tryChannel(context: CliContext, store: Store, name: string, options: AccountOptions) {
  const { account } = options;
  await requireAccount(store, account);
  const channel = await store.alertSettings.findChannel(account, name);
  if (!channel) throw new ServiceCommandError(`the account has no channel ${name}`);
  const { alert_channels: allowed, mail } = configOfOptions(options);
  const channels = new Channels({
    sealer: await openKeys(store, options),
    poster: new Poster({ allowPrivate: allowed.allow_private }),
    mailer: new Mailer(mail),
    clock: foregroundClock,
  });
  const nowMs = context.clock.now();
  const { kind, answer } = await channels.send(
    channel,
    testMessage(account, name, nowMs),
    `msg_test_${Math.floor(nowMs)}`,
    new AbortController().signal,
  );
  await store.audit.addEntry(entryOf(context, options, "alert_channel.tested", { answer }, name));
  return { delivered: kind === "delivered", answer };
}
