import { type Command } from "commander";
import { type AlertSettingsInput, alertSettingsInputSchema } from "../../protocol/alerts/settings.ts";
import { auditEntry } from "../accounts/audit-entry.ts";
import { testChannel } from "../alerts/channel-test.ts";
import { Channels } from "../alerts/channels/channels.ts";
import { Mailer } from "../alerts/channels/mail.ts";
import { Poster } from "../alerts/channels/post.ts";
import { planSettings, type SettingsPlan, UnusableSettingsError } from "../alerts/settings-plan.ts";
import type { AuditAction } from "../core/people/audit-actions.ts";
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
  const about = name === undefined ? {} : { subject: { kind: "alert_channel", id: name } };
  return auditEntry(commandOrigin(account), clock, { action, ...about, details });
}

/** Reads the file, which has secrets. Throws `CommandError`, without anything of the secrets. */
function readFile(file: string): AlertSettingsInput {
  let content: unknown;
  try {
    content = JSON.parse(readPrivateText(file));
  } catch (error) {
    // What the parser says quotes the text.
    const reason = error instanceof SyntaxError ? "it is not JSON" : errorText(error);
    throw new ServiceCommandError(`cannot read ${file}: ${reason}`);
  }
  const parsed = alertSettingsInputSchema.safeParse(content);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw new ServiceCommandError(`${file}: ${problems.join("; ")}`);
}

async function setAll(context: CliContext, store: Store, file: AlertSettingsInput, options: AccountOptions) {
  const { account: accountId } = options;
  const { alertSettings } = store;
  await requireAccount(store, accountId);
  const sealer = await openKeys(store, options);
  const seal = await sealer.sealing();
  const nowMs = Math.floor(context.clock.now());
  let newSecrets: SettingsPlan["newSecrets"] = {};
  try {
    await alertSettings.change(accountId, (current) => {
      const plan = planSettings(current, file, { accountId, sealer, seal, nowMs });
      const { changed, removed } = plan;
      ({ newSecrets } = plan);
      if (changed.length + removed.length === 0) return undefined;
      return { ...plan, audit: entryOf(context, options, "alert_settings.changed", { changed, removed }) };
    });
  } catch (error) {
    throw error instanceof UnusableSettingsError ? new ServiceCommandError(error.message) : error;
  }
  const [routes, channels] = [file.routes, file.channels].map((entries) => Object.keys(entries).length);
  return { rules: file.rules.length, routes, channels, new_secrets: newSecrets };
}

async function tryChannel(context: CliContext, store: Store, name: string, options: AccountOptions) {
  const { account: accountId } = options;
  await requireAccount(store, accountId);
  const { alert_channels: allowed, mail } = configOfOptions(options);
  const channels = new Channels({
    sealer: await openKeys(store, options),
    poster: new Poster({ allowPrivate: allowed.allow_private }),
    mailer: new Mailer(mail),
    clock: foregroundClock,
  });
  const { signal } = new AbortController();
  const audit = entryOf(context, options, "alert_channel.tested", {}, name);
  const result = await testChannel({ store, channels, clock: context.clock, accountId, name, audit, signal });
  if (!result) throw new ServiceCommandError(`the account has no channel ${name}`);
  return result;
}
