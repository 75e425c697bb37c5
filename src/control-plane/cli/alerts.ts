import { type Command, Option } from "commander";
import { ALERT_CONDITIONS, type AlertCondition } from "../../protocol/alerts/condition.ts";
import { MAX_SILENCE_S, MIN_SILENCE_S, silenceReasonSchema } from "../../protocol/alerts/silence.ts";
import { selectorSchema } from "../../protocol/fleets/selector.ts";
import { createId } from "../accounts/secrets.ts";
import type { AlertMessage } from "../alerts/message.ts";
import type { StoredAlert } from "../store/alerts.ts";
import type { Store } from "../store/store.ts";
import { formatTable, requireAccount, runAdministration, withAdministrationOptions } from "./administration.ts";
import { type AccountOptions, addAlertSettingsCommands, entryOf } from "./alerts-settings.ts";
import { commandOrigin } from "./command-origin.ts";
import { type CliContext, ServiceCommandError } from "./context.ts";

/** As many as one list has. */
const MAX_LISTED = 200;
const DEFAULT_SILENCE_S = 3_600;

interface SilenceOptions extends AccountOptions {
  readonly reason: string;
  readonly forS: string;
  readonly selector: string;
  readonly asset?: string;
  readonly condition?: AlertCondition;
}

/** `alerts list`, `ack`, `silence`, `deliveries`, `set` and `test`. */
export function addAlertsCommands(program: Command, context: CliContext): void {
  const alerts = program.command("alerts").description("see the alerts of an account, and set whom they are told");
  withAdministrationOptions(alerts.command("list"))
    .description("list the alerts that fire, newest first")
    .requiredOption("--account <id>", "account that they are of")
    .option("--resolved", "those that are over")
    .action((options: AccountOptions & { readonly resolved?: true }) =>
      runAdministration(context, options, (store) => list(store, options), describeAlerts),
    );
  withAdministrationOptions(alerts.command("ack <id...>"))
    .description("acknowledge alerts, or all of a group: their messages are not repeated")
    .requiredOption("--account <id>", "account that they are of")
    .action((ids: string[], options: AccountOptions) =>
      runAdministration(
        context,
        options,
        (store) => acknowledge(context, store, ids, options),
        ({ acknowledged }) => `${acknowledged} acknowledged`,
      ),
    );
  withAdministrationOptions(alerts.command("silence"))
    .description("tell nothing of some alerts for a time")
    .requiredOption("--account <id>", "account that they are of")
    .requiredOption("--reason <text>", "why, for the others")
    .option("--for-s <seconds>", "how long", String(DEFAULT_SILENCE_S))
    .option("--selector <selector>", "of these assets alone", "*")
    .addOption(new Option("--asset <asset>", "of this asset alone").conflicts("selector"))
    .addOption(new Option("--condition <condition>", "of this condition alone").choices(Object.keys(ALERT_CONDITIONS)))
    .action((options: SilenceOptions) =>
      runAdministration(
        context,
        options,
        (store) => silence(context, store, options),
        ({ silence_id, until }) => `${silence_id} until ${new Date(until * 1000).toISOString()}`,
      ),
    );
  withAdministrationOptions(alerts.command("deliveries"))
    .description("list what was sent in the last 30 days, and what was answered, newest first")
    .requiredOption("--account <id>", "account that they are of")
    .action((options: AccountOptions) =>
      runAdministration(context, options, (store) => listDeliveries(store, options), describeDeliveries),
    );
  addAlertSettingsCommands(alerts, context);
}

async function list(store: Store, { account, resolved }: AccountOptions & { readonly resolved?: true }) {
  await requireAccount(store, account);
  const { alerts: found } = await store.alerts.list(account, { state: resolved ? "resolved" : "firing" }, MAX_LISTED);
  return found.map((alert) => ({
    id: alert.id,
    condition: alert.condition,
    severity: alert.severity,
    subject: alert.subject,
    state: alert.state,
    since: unix(alert.sinceMs),
    fired_at: unix(alert.firedAtMs),
    resolved_at: unix(alert.resolvedAtMs),
    usual_pause_s: unix(alert.usualPauseMs),
    acknowledged_at: unix(alert.acknowledgedAtMs),
    acknowledged_by: alert.acknowledgedBy ?? null,
  }));
}

type Listed = Awaited<ReturnType<typeof list>>;

function describeAlerts(alerts: Listed): string {
  return formatTable([
    ["ID", "SEVERITY", "CONDITION", "OF", "SINCE", "ACKNOWLEDGED"],
    ...alerts.map(({ id, severity, condition, subject, since, usual_pause_s: usual, acknowledged_by: by }) => [
      id,
      severity,
      usual === null ? condition : `${condition} (usually gone for up to ${Math.round(usual / 360) / 10} h)`,
      subject.name,
      new Date((since ?? 0) * 1000).toISOString(),
      by ?? "no",
    ]),
  ]);
}

async function acknowledge(context: CliContext, store: Store, ids: readonly string[], options: AccountOptions) {
  const { account } = options;
  await requireAccount(store, account);
  const by = commandOrigin(account).actor.id;
  const nowMs = Math.floor(context.clock.now());
  let acknowledged = 0;
  for (const id of ids) {
    const of = id.startsWith("grp_") ? { groupId: id } : { ids: [id] };
    const details = "groupId" in of ? { group: id } : { alerts: 1 };
    const entry = entryOf(context, options, "alert.acknowledged", details);
    acknowledged += await store.alerts.acknowledge(account, of, nowMs, by, entry);
  }
  return { acknowledged };
}

async function silence(context: CliContext, store: Store, options: SilenceOptions) {
  const { account, reason, forS, selector, asset: identifier, condition } = options;
  await requireAccount(store, account);
  const durationS = Number(forS);
  if (!Number.isInteger(durationS) || durationS < MIN_SILENCE_S || durationS > MAX_SILENCE_S)
    throw new ServiceCommandError(`--for-s must be from ${MIN_SILENCE_S} to ${MAX_SILENCE_S} seconds`);
  for (const [option, parsed] of [
    ["--selector", selectorSchema.safeParse(selector)],
    ["--reason", silenceReasonSchema.safeParse(reason)],
  ] as const)
    if (!parsed.success) throw new ServiceCommandError(`${option}: ${parsed.error.issues[0]?.message ?? ""}`);
  const nowMs = Math.floor(context.clock.now());
  const endsAtMs = nowMs + durationS * 1000;
  const id = createId("sil_");
  const conditions = condition && [condition];
  const asset = identifier === undefined ? undefined : await store.assets.findAsset(account, identifier);
  if (identifier !== undefined && !asset) throw new ServiceCommandError(`the account has no asset ${identifier}`);
  const about = { id, accountId: account, conditions, selector, asset, reason };
  const details = { reason, selector, asset: asset?.name, conditions, until: Math.floor(endsAtMs / 1000) };
  const stored = await store.alertSettings.createSilence(
    { ...about, createdBy: commandOrigin(account).actor.id, createdAtMs: nowMs, endsAtMs },
    entryOf(context, options, "silence.created", details),
  );
  if (stored === "no_asset") throw new ServiceCommandError("the asset was removed meanwhile");
  if (stored === "too_many") throw new ServiceCommandError("the account has as many silences as it may have");
  return { silence_id: id, until: Math.floor(endsAtMs / 1000) };
}

async function listDeliveries(store: Store, { account }: AccountOptions) {
  await requireAccount(store, account);
  const found = await store.alertOutbox.listDeliveries(account, {}, MAX_LISTED);
  return found.map(({ message, ...delivery }) => ({
    message_id: delivery.messageId,
    group_id: delivery.groupId,
    channel: delivery.channel,
    state: delivery.state,
    text: (JSON.parse(message) as AlertMessage).text,
    attempts: delivery.attempts,
    created_at: unix(delivery.createdAtMs),
    answered_at: unix(delivery.answeredAtMs),
    answer: delivery.answer ?? null,
  }));
}

function describeDeliveries(deliveries: Awaited<ReturnType<typeof listDeliveries>>): string {
  return formatTable([
    ["AT", "CHANNEL", "STATE", "ATTEMPTS", "ANSWER", "MESSAGE"],
    ...deliveries.map(({ created_at: at, channel, state, attempts, answer, text }) => [
      new Date((at ?? 0) * 1000).toISOString(),
      channel,
      state,
      String(attempts),
      answer ?? "",
      text,
    ]),
  ]);
}

function unix(ms: StoredAlert["resolvedAtMs"]): number | null {
  return ms === undefined ? null : Math.floor(ms / 1000);
}
