import { type Command, InvalidArgumentError, Option } from "commander";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { formatTime } from "../../lib/terminal/time.ts";
import { alertConditionSchema, alertSeveritySchema } from "../../protocol/alerts/condition-schemas.ts";
import { JsonLimitError, parseBoundedJson } from "../../protocol/values/bounded-json.ts";
import {
  acknowledgeAlert,
  acknowledgeGroup,
  createSilence,
  endSilence,
  listAlertDeliveries,
  listAlerts,
  listSilences,
  readAlertSettings,
  replaceAlertSettings,
  testAlertChannel,
} from "../api/alerts.ts";
import { ifUnchanged } from "../api/if-unchanged.ts";
import { connect, createContext } from "../context.ts";
import { EXIT, SilentExit, usageFailure } from "../failure.ts";
import { type Io, readTextOrStdin } from "../io.ts";
import { renderAlerts, renderDeliveries, renderRoutes, renderSilences } from "../views/alert-view.ts";
import { parseDuration } from "./asset-settings.ts";
import { addPagingOptions, collect, listPages, noteMorePages, type PagingOptions } from "./options.ts";

interface ListOptions extends PagingOptions {
  readonly resolved?: true;
  readonly condition?: string;
  readonly severity?: string;
  readonly selector?: string;
  readonly asset?: string;
  readonly group?: string;
}

interface SilenceOptions {
  readonly reason: string;
  /** In seconds. */
  readonly for: number;
  readonly selector?: string;
  readonly asset?: string;
  readonly condition?: readonly string[];
}

interface DeliveryOptions extends PagingOptions {
  readonly channel?: string;
  readonly state?: string;
}

/** `alerts list`, `ack` and `deliveries`. */
export function addAlertsCommands(alerts: Command, io: Io): void {
  const list = alerts.command("list").description("list the alerts that fire, or those that are over, newest first");
  addPagingOptions(list)
    .option("--resolved", "those that are over")
    .addOption(new Option("--condition <condition>", "only of this condition").choices(alertConditionSchema.options))
    .addOption(new Option("--severity <severity>", "only of this severity").choices(alertSeveritySchema.options))
    .option("--selector <selector>", "only about assets that match it now")
    .option("--asset <asset>", "only about this asset")
    .option("--group <id>", "only what this message is about, by its group_id")
    .action(async ({ resolved, ...options }: ListOptions, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const client = await connect(context);
      const { condition, severity, selector, asset, group } = options;
      const filter = { condition, severity, selector, asset, group, state: resolved && ("resolved" as const) };
      const { items, next } = await listPages(options, async (position) => {
        const page = await listAlerts(client, { ...filter, ...position });
        return { items: page.alerts, next: page.next_cursor };
      });
      printer.result({ alerts: items, next_cursor: next }, () => renderAlerts(items, printer.theme, printer.width));
      noteMorePages(printer, next);
    });
  alerts
    .command("ack")
    .description("say that you look after alerts: their messages are not repeated; that they are over is still told")
    .argument("<ids...>", "ids of alerts, or group_id of a message for all that it has told of")
    .action(async (ids: string[], _options: unknown, command: Command) => {
      const context = createContext(io, command);
      const client = await connect(context);
      const done: { id: string; acknowledged?: number; acknowledged_by?: string | null }[] = [];
      for (const id of ids) {
        if (id.startsWith("grp_")) done.push({ id, acknowledged: await acknowledgeGroup(client, id) });
        else done.push({ id, acknowledged_by: (await acknowledgeAlert(client, id)).acknowledged_by });
      }
      context.printer.result(done, () =>
        done
          .map(({ id, acknowledged, acknowledged_by: by }) => {
            if (acknowledged !== undefined) return sanitizeLine(`${id}: ${acknowledged} acknowledged.`);
            return sanitizeLine(typeof by === "string" ? `${id} is acknowledged by ${by}.` : `${id} is over.`);
          })
          .join("\n"),
      );
    });
  const deliveries = alerts.command("deliveries").description("list what was sent in the last 30 days, newest first");
  addPagingOptions(deliveries)
    .option("--channel <name>", "only to this channel")
    .addOption(new Option("--state <state>", "only in this state").choices(["waiting", "delivered", "failed"]))
    .action(async (options: DeliveryOptions, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const client = await connect(context);
      const { channel, state } = options;
      const { items, next } = await listPages(options, async (position) => {
        const page = await listAlertDeliveries(client, { channel, state, ...position });
        return { items: page.deliveries, next: page.next_cursor };
      });
      const render = () => renderDeliveries(items, printer.theme, printer.width);
      printer.result({ deliveries: items, next_cursor: next }, render);
      noteMorePages(printer, next);
    });
}

/** `alerts silence`, `silences` and `end-silence`. */
export function addSilenceCommands(alerts: Command, io: Io): void {
  alerts
    .command("silence")
    .description("have nothing told of some alerts for a time")
    .requiredOption("--reason <text>", "why, for people")
    .requiredOption("--for <duration>", "how long, such as 90m, 24h or 7d", parseDuration)
    .option("--selector <selector>", "only about assets that match it (everything if not given)")
    .addOption(new Option("--asset <asset>", "only about this asset").conflicts("selector"))
    .option("--condition <condition>", "only of this condition (repeatable)", collect(parseCondition))
    .action(async ({ reason, for: seconds, selector, asset, condition }: SilenceOptions, command: Command) => {
      const context = createContext(io, command);
      const until = Math.floor(io.clock.now() / 1000) + seconds;
      const body = { reason, until, selector, asset, conditions: condition };
      const silence = await createSilence(await connect(context), body);
      context.printer.result(silence, () => sanitizeLine(`${silence.id} until ${formatTime(silence.until)} UTC.`));
    });
  const list = alerts.command("silences").description("list the silences that have not ended");
  addPagingOptions(list)
    .option("--asset <asset>", "only those that silence this asset")
    .action(async (options: PagingOptions & { readonly asset?: string }, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const client = await connect(context);
      const { asset } = options;
      const { items, next } = await listPages(options, async (position) => {
        const page = await listSilences(client, { asset, ...position });
        return { items: page.silences, next: page.next_cursor };
      });
      printer.result({ silences: items, next_cursor: next }, () => renderSilences(items, printer.theme, printer.width));
      noteMorePages(printer, next);
    });
  alerts
    .command("end-silence")
    .description("end a silence before its time")
    .argument("<silence>", "id of the silence")
    .action(async (id: string, _options: unknown, command: Command) => {
      const context = createContext(io, command);
      await endSilence(await connect(context), id);
      context.printer.result({ silence_id: id, ended: true }, () => sanitizeLine(`${id} has ended.`));
    });
}

/** `alerts routes`, `alerts settings get`, `alerts settings set` and `alerts test`. */
export function addAlertSettingsCommands(alerts: Command, io: Io): void {
  alerts
    .command("routes")
    .description("list who is told what: the routes, by name, with their channels")
    .action(async (_options: object, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const { routes } = (await readAlertSettings(await connect(context))).value;
      const named = Object.entries(routes).map(([name, route]) => Object.assign({}, route, { name }));
      printer.result({ routes }, () => renderRoutes(named, printer.theme, printer.width));
    });
  const settings = alerts.command("settings").description("show and replace rules, routes and channels");
  settings
    .command("get")
    .description("print rules, routes and channels as JSON, without addresses and secrets, to be changed and set again")
    .action(async (_options: object, command: Command) => {
      const context = createContext(io, command);
      const { value, tag: etag } = await readAlertSettings(await connect(context));
      const { rules, routes, channels } = value;
      context.printer.result({ etag, ...value }, () => JSON.stringify({ etag, rules, routes, channels }, undefined, 2));
    });
  settings
    .command("set")
    .description("replace rules, routes and channels by those of a JSON file; what the file does not have is removed")
    .requiredOption("-f, --file <file>", "the file, or - for standard input")
    .addHelpText("after", SET_HELP)
    .action(async ({ file }: { readonly file: string }, command: Command) => {
      const context = createContext(io, command);
      const { body, tag } = takeTag(parse(await readTextOrStdin(file, io), file));
      const client = await connect(context);
      const what = "the settings";
      const hint = "Get them anew and make your change there: edgectl alerts settings get";
      const { value, tag: etag } = await ifUnchanged({ tag, what, hint }, (headers) =>
        replaceAlertSettings(client, body, headers),
      );
      const replaced = { etag, ...value };
      const { rules, routes, channels, new_secrets: secrets } = value;
      const [routeCount, channelCount] = [routes, channels].map((entries) => Object.keys(entries).length);
      context.printer.result(replaced, () =>
        [
          `${rules.length} rules, ${routeCount} routes and ${channelCount} channels are set.`,
          ...Object.entries(secrets).map(([name, secret]) => sanitizeLine(`Secret of ${name}: ${secret}`)),
        ].join("\n"),
      );
      if (Object.keys(secrets).length > 0)
        context.printer.note("Secrets are not shown again: keep them in a safe place.");
    });
  alerts
    .command("test")
    .description("send a message to a channel, and say what the other side answered")
    .argument("<channel>", "name of the channel")
    .action(async (name: string, _options: unknown, command: Command) => {
      const context = createContext(io, command);
      const result = await testAlertChannel(await connect(context), name);
      context.printer.result(result, () =>
        sanitizeLine(`${result.delivered ? "Delivered" : "Not delivered"}: ${result.answer}`),
      );
      if (!result.delivered) throw new SilentExit(EXIT.failed);
    });
}

function parseCondition(text: string): string {
  const { success, data } = alertConditionSchema.safeParse(text);
  if (success) return data;
  throw new InvalidArgumentError(`Give one of ${alertConditionSchema.options.join(", ")}.`);
}

function parse(text: string, file: string): unknown {
  try {
    return parseBoundedJson(text, "file");
  } catch (error) {
    if (error instanceof JsonLimitError) throw usageFailure(`${file} ${error.message}.`);
    // What the parser says quotes the text, which may have secrets.
    throw usageFailure(`${file === "-" ? "Standard input" : file} is not JSON.`);
  }
}

const ENTITY_TAG = /^(?:W\/)?"[\x21\x23-\x7e]*"$/;

/** Takes the entity tag out of a file, which is no setting. Errors: exit code 2 for what is none. */
function takeTag(content: unknown): { readonly body: unknown; readonly tag: string | undefined } {
  if (typeof content !== "object" || content === null || !("etag" in content)) return { body: content, tag: undefined };
  const { etag: tag, ...body } = content;
  if (typeof tag === "string" && ENTITY_TAG.test(tag)) return { body, tag };
  throw usageFailure(
    "etag is not as `edgectl alerts settings get` prints it.",
    "Leave it out to replace the settings whatever they are now.",
  );
}

const SET_HELP = `
What is absent of a channel that is there already stays as it was, so that what
\`edgectl alerts settings get\` prints can be changed and set again: its etag has
the command refuse to undo what others have changed since. A file without etag,
such as one in version control, replaces whatever is there. A file with
addresses and secrets is for its owner alone: keep it with mode 600.`;
