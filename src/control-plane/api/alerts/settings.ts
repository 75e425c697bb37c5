import { z } from "zod";
import { alertChannelSchema } from "../../../protocol/alerts/channel.ts";
import {
  alertNameSchema,
  type AlertSettingsBody,
  alertSettingsInputSchema,
  alertSettingsSchema,
  type ReplacedAlertSettings,
  replacedAlertSettingsSchema,
} from "../../../protocol/alerts/settings.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { invalidRequest } from "../../../protocol/errors/request-error.ts";
import { planSettings, type SettingsPlan, UnusableSettingsError } from "../../alerts/settings-plan.ts";
import { MAX_CHANNEL_TESTS_PER_HOUR, testChannel } from "../../alerts/channel-test.ts";
import type { AlertSettings, StoredChannel } from "../../store/alerts.ts";
import { accountOf } from "../auth.ts";
import {
  changeResource,
  ifMatchHeaders,
  preconditionOf,
  type Resource,
  sendResource,
  stateOf,
} from "../conditional-requests.ts";
import type { Api, ApiBase, ApiContext } from "../context.ts";
import { errors, errorsWithBody, json } from "../docs/responses.ts";
import { auditOf } from "../audit/audit-of.ts";

const PATH = "/v1/alert-settings";
const channelParams = z.object({ name: alertNameSchema.meta({ description: "Name of the channel." }) });
const testedSchema = z
  .strictObject({
    delivered: z.boolean().meta({ description: "Whether the other side has taken the message." }),
    answer: z.string().meta({ description: "What it answered, cut, or why nothing was sent." }),
  })
  .meta({ id: "AlertChannelTest" });

/** `GET /v1/alert-settings`: what an account says about alerts. */
export function getAlertSettings(api: Api, { store }: ApiBase): void {
  api.get(
    PATH,
    {
      schema: {
        operationId: "getAlertSettings",
        summary: "Get Alert Settings",
        description:
          "Rules, routes and channels of the account. Addresses and secrets of channels are not shown: `rules`, `routes` and " +
          "`channels` can be sent back as they are, and what is secret stays.",
        tags: ["Alerts"],
        response: { 200: json("The settings.", alertSettingsSchema), ...errors() },
      },
    },
    async (request, reply): Promise<AlertSettingsBody> =>
      sendResource(reply, toResource(await store.alertSettings.read(accountOf(request)))),
  );
}

/** `PUT /v1/alert-settings`: replaces all of it. */
export function replaceAlertSettings(
  api: Api,
  { store, sealer, alerts, clock }: ApiContext<"alerts" | "sealer">,
): void {
  const explainRefusal = (url: URL): string | undefined => alerts.channels.explainRefusal(url);
  api.put(
    PATH,
    {
      schema: {
        operationId: "replaceAlertSettings",
        summary: "Replace Alert Settings",
        description:
          "Replaces all rules, routes and channels, in one step; what the request does not have is removed, and what waits for a " +
          "channel that is removed is not sent. Fields of a channel that are absent stay as they were, but no key stays for another " +
          "address. A webhook without secrets gets one, which the response shows once. A channel that was given up is used again if " +
          "the request has its address.",
        tags: ["Alerts"],
        headers: ifMatchHeaders,
        body: alertSettingsInputSchema,
        response: {
          200: json("The settings, with the secrets that were made.", replacedAlertSettingsSchema),
          ...errorsWithBody("PreconditionFailed"),
        },
      },
    },
    async (request, reply): Promise<ReplacedAlertSettings> => {
      const accountId = accountOf(request);
      const seal = await sealer.sealing();
      const nowMs = Math.floor(clock.now());
      const precondition = preconditionOf(request, (current: AlertSettings) => toResource(current).state);
      const present = async () => toResource(await store.alertSettings.read(accountId));
      let plan: SettingsPlan | undefined;
      try {
        await changeResource(reply, present, () =>
          store.alertSettings.change(accountId, (current) => {
            precondition?.(current);
            plan = planSettings(current, request.body, { accountId, sealer, seal, nowMs, explainRefusal });
            const { changed, removed } = plan;
            if (changed.length + removed.length === 0) return undefined;
            const audit = auditOf(request, clock, { action: "alert_settings.changed", details: { changed, removed } });
            return { ...plan, audit };
          }),
        );
      } catch (error) {
        throw error instanceof UnusableSettingsError ? invalidRequest(error.issues) : error;
      }
      const { state, body } = await present();
      return sendResource(reply, { state, body: { ...body, new_secrets: { ...plan?.newSecrets } } });
    },
  );
}

/** `POST /v1/alert-channels/{name}/test`: sends a message, and says what the other side answered. */
export function testAlertChannel(api: Api, context: ApiContext<"alerts">): void {
  const { store, clock, stopping } = context;
  const { channels, tests } = context.alerts;
  api.post(
    "/v1/alert-channels/:name/test",
    {
      schema: {
        operationId: "testAlertChannel",
        summary: "Test Alert Channel",
        description:
          "Sends a message to the channel, within 15 s, and says what the other side answered; a channel that was given up is used " +
          `again if it arrives. ${MAX_CHANNEL_TESTS_PER_HOUR} an hour are sent for an account.`,
        tags: ["Alerts"],
        params: channelParams,
        response: { 200: json("What became of it.", testedSchema), ...errorsWithBody("AlertChannelNotFound") },
      },
    },
    async (request) => {
      const accountId = accountOf(request);
      const { name } = request.params;
      if (!(await store.alertSettings.findChannel(accountId, name))) throw new EdgeError("AlertChannelNotFound");
      tests.requireAllowed(accountId);
      tests.record(accountId);
      const audit = auditOf(request, clock, {
        action: "alert_channel.tested",
        subject: { kind: "alert_channel", id: name },
      });
      const result = await testChannel({ store, channels, clock, accountId, name, audit, signal: stopping });
      if (!result) throw new EdgeError("AlertChannelNotFound");
      return { ...result };
    },
  );
}

function toResource({ rules, routes, channels }: AlertSettings): Resource<AlertSettingsBody> {
  return {
    // Not what is sealed, which changes with keys of the service.
    state: stateOf(
      rules,
      routes,
      channels.map(({ name, kind, changedAtMs }) => [name, kind, changedAtMs]),
    ),
    body: {
      rules: [...rules],
      routes: Object.fromEntries(routes.map(({ name, body }) => [name, body])),
      channels: Object.fromEntries(channels.map((channel) => [channel.name, toChannel(channel)])),
      channel_states: Object.fromEntries(channels.map((channel) => [channel.name, toState(channel)])),
    },
  };
}

function toChannel({ kind, shown }: StoredChannel) {
  const { to } = shown;
  return alertChannelSchema.parse({ kind, ...(to !== undefined && { to }) });
}

function toState({ shown, changedAtMs, failingSinceMs, disabledAtMs }: StoredChannel) {
  const { to, address = (to as readonly string[] | undefined)?.join(", ") ?? "" } = shown;
  return {
    address: String(address),
    changed_at: Math.floor(changedAtMs / 1000),
    failing_since: failingSinceMs === undefined ? null : Math.floor(failingSinceMs / 1000),
    disabled_at: disabledAtMs === undefined ? null : Math.floor(disabledAtMs / 1000),
  };
}
