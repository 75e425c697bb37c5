import type { FastifyRequest } from "fastify";
import { z } from "zod";
import {
  type AcknowledgedGroup,
  acknowledgedGroupSchema,
  type AlertBody,
  type AlertList,
  alertListQuerySchema,
  alertListSchema,
  alertSchema,
} from "../../../protocol/alerts/alert.ts";
import { DEFAULT_PAGE_SIZE } from "../../../protocol/limits.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { termsOfSelector } from "../../core/selector-terms.ts";
import { decodeCursor, encodeCursor, invalidCursor } from "../../core/cursor.ts";
import { type AlertCursor, MAX_RESOLVED_ALERTS, MAX_SCANNED_ALERTS, type StoredAlert } from "../../store/alerts.ts";
import { accountOf, principalOf } from "../auth.ts";
import type { Api, ApiBase } from "../context.ts";
import { errors, errorsWithBody, json } from "../docs/responses.ts";
import { auditOf } from "../audit/audit-of.ts";

const CURSOR = /^([0-9]{1,16}) (alr_[0-9a-f]{1,64})$/;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Of what has none of these, databases refuse some. */
const ID = /^[a-z]{3}_[0-9a-f]{1,64}$/;
const groupParams = z.object({ group_id: z.string().meta({ description: "`group_id` of a message." }) });
const alertParams = z.object({ alert_id: z.string().meta({ description: "Id of the alert." }) });

/** `GET /v1/alerts`: the alerts of the account that fire, or that are over, newest first. */
export function listAlerts(api: Api, { store }: ApiBase): void {
  api.get(
    "/v1/alerts",
    {
      schema: {
        operationId: "listAlerts",
        summary: "List Alerts",
        description:
          `What is the matter in the account, or with \`state=resolved\` what was: the newest ${MAX_RESOLVED_ALERTS} are kept. ` +
          "An alert whose condition has not held for long enough is not listed. A page looks at " +
          `${MAX_SCANNED_ALERTS} alerts at most.`,
        tags: ["Alerts"],
        querystring: alertListQuerySchema,
        response: { 200: json("One page of alerts.", alertListSchema), ...errors() },
      },
    },
    async (request): Promise<AlertList> => {
      const { limit = DEFAULT_PAGE_SIZE, cursor, state = "firing", selector, asset, group, ...others } = request.query;
      const accountId = accountOf(request);
      const subjectId = asset === undefined ? undefined : await findSubject(store, accountId, asset);
      const terms = selector === undefined ? undefined : termsOfSelector(selector);
      const filter = { state, ...others, subjectId, groupId: group, selector: terms };
      const after = cursor === undefined ? undefined : decode(cursor);
      const { alerts, next } = await store.alerts.list(accountId, filter, limit, after);
      const counts = await store.alerts.countFiring(accountId);
      return {
        alerts: alerts.map(toBody),
        ...counts,
        next_cursor: next ? encodeCursor(`${next.firedAtMs} ${next.id}`) : null,
      };
    },
  );
}

/** Returns the UUID of an asset, also of one that was removed. What is no asset finds nothing. */
async function findSubject({ assets }: ApiBase["store"], accountId: string, identifier: string): Promise<string> {
  const found = await assets.findAsset(accountId, identifier);
  return found?.uuid ?? (UUID.test(identifier) ? identifier.toLowerCase() : "");
}

/** `POST /v1/alerts/{alert_id}/acknowledge`: a person looks after the alert. */
export function acknowledgeAlert(api: Api, context: ApiBase): void {
  const { store, clock } = context;
  api.post(
    "/v1/alerts/:alert_id/acknowledge",
    {
      schema: {
        operationId: "acknowledgeAlert",
        summary: "Acknowledge Alert",
        description:
          "Says that a person looks after the alert: its message is not repeated. That it is over is still told. Has no further " +
          "effect when repeated, nor for an alert that is over.",
        tags: ["Alerts"],
        params: alertParams,
        response: { 200: json("The alert.", alertSchema), ...errorsWithBody("AlertNotFound") },
      },
    },
    async (request): Promise<AlertBody> => {
      const { id, condition, subject } = await findAlert(context, request);
      const audit = auditOf(request, clock, {
        action: "alert.acknowledged",
        subject: { kind: "alert", id, name: `${condition} ${subject.name}` },
        ...(subject.kind === "asset" && { assetUuid: subject.id }),
        details: { alerts: 1 },
      });
      await store.alerts.acknowledge(
        accountOf(request),
        { ids: [id] },
        Math.floor(clock.now()),
        nameOf(request),
        audit,
      );
      return toBody(await findAlert(context, request));
    },
  );
}

/** `POST /v1/alert-groups/{group_id}/acknowledge`: a person looks after everything that a message is about. */
export function acknowledgeAlertGroup(api: Api, { store, clock }: ApiBase): void {
  api.post(
    "/v1/alert-groups/:group_id/acknowledge",
    {
      schema: {
        operationId: "acknowledgeAlertGroup",
        summary: "Acknowledge Alert Group",
        description:
          "Acknowledges the alerts of the group that fire: what one message, and those that followed it, have told of. Has no " +
          "further effect when repeated, except for alerts that have joined the group since.",
        tags: ["Alerts"],
        params: groupParams,
        response: { 200: json("How many.", acknowledgedGroupSchema), ...errorsWithBody("AlertGroupNotFound") },
      },
    },
    async (request): Promise<AcknowledgedGroup> => {
      const { group_id: groupId } = request.params;
      const accountId = accountOf(request);
      if (!ID.test(groupId) || !(await store.alertOutbox.hasGroup(accountId, groupId)))
        throw new EdgeError("AlertGroupNotFound");
      const audit = auditOf(request, clock, { action: "alert.acknowledged", details: { group: groupId } });
      const nowMs = Math.floor(clock.now());
      return { acknowledged: await store.alerts.acknowledge(accountId, { groupId }, nowMs, nameOf(request), audit) };
    },
  );
}

/** Returns the name, or the id, of who acts with the request. */
export function nameOf(request: FastifyRequest): string {
  const { name, id } = principalOf(request);
  return name ?? id;
}

/** Error: `AlertNotFound`. */
async function findAlert(
  { store }: Pick<ApiBase, "store">,
  request: FastifyRequest<{ Params: { alert_id: string } }>,
): Promise<StoredAlert> {
  const { alert_id: id } = request.params;
  const alert = ID.test(id) ? await store.alerts.find(accountOf(request), id) : undefined;
  if (!alert) throw new EdgeError("AlertNotFound");
  return alert;
}

function decode(cursor: string): AlertCursor {
  const [, firedAtMs, id] = CURSOR.exec(decodeCursor(cursor)) ?? [];
  if (firedAtMs === undefined || id === undefined) throw invalidCursor();
  return { firedAtMs: Number(firedAtMs), id };
}

function toBody({ id, condition, severity, state, subject, ...alert }: StoredAlert): AlertBody {
  return {
    id,
    condition,
    severity,
    state,
    subject: { ...subject },
    since: Math.floor(alert.sinceMs / 1000),
    fired_at: Math.floor(alert.firedAtMs / 1000),
    resolved_at: seconds(alert.resolvedAtMs),
    usual_pause_s: seconds(alert.usualPauseMs),
    acknowledged_at: seconds(alert.acknowledgedAtMs),
    acknowledged_by: alert.acknowledgedBy ?? null,
    group_ids: [...alert.groupIds],
  };
}

function seconds(ms: number | undefined): number | null {
  return ms === undefined ? null : Math.floor(ms / 1000);
}
