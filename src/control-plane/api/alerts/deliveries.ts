import {
  type AlertDeliveryBody,
  type AlertDeliveryList,
  alertDeliveryListSchema,
  alertDeliveryQuerySchema,
} from "../../../protocol/alerts/delivery.ts";
import { DEFAULT_PAGE_SIZE } from "../../../protocol/limits.ts";
import type { AlertMessage } from "../../alerts/message.ts";
import { decodeCursor, encodeCursor, invalidCursor } from "../../core/cursor.ts";
import { DELIVERY_RETENTION_MS, type AlertDelivery } from "../../store/alerts.ts";
import { accountOf } from "../auth.ts";
import type { Api, ApiBase } from "../context.ts";
import { errors, json } from "../docs/responses.ts";

const CURSOR = /^[1-9][0-9]{0,14}$/;

/** `GET /v1/alert-deliveries`: what was sent, where to, and what was answered. */
export function listAlertDeliveries(api: Api, { store }: ApiBase): void {
  api.get(
    "/v1/alert-deliveries",
    {
      schema: {
        operationId: "listAlertDeliveries",
        summary: "List Alert Deliveries",
        description:
          `The messages of the last ${DELIVERY_RETENTION_MS / 86_400_000} days, newest first, one entry for each channel that a ` +
          "message was for, with what the other side answered last.",
        tags: ["Alerts"],
        querystring: alertDeliveryQuerySchema,
        response: { 200: json("One page of messages.", alertDeliveryListSchema), ...errors() },
      },
    },
    async (request): Promise<AlertDeliveryList> => {
      const { limit = DEFAULT_PAGE_SIZE, cursor, channel, state } = request.query;
      const before = cursor === undefined ? undefined : decode(cursor);
      // One more than the page holds shows whether there is another page.
      const filter = { channel, state };
      const found = await store.alertOutbox.listDeliveries(accountOf(request), filter, limit + 1, before);
      const page = found.slice(0, limit);
      const last = found.length > limit ? page.at(-1) : undefined;
      return { deliveries: page.map(toBody), next_cursor: last ? encodeCursor(String(last.id)) : null };
    },
  );
}

function decode(cursor: string): number {
  const id = decodeCursor(cursor);
  if (!CURSOR.test(id)) throw invalidCursor();
  return Number(id);
}

function toBody(delivery: AlertDelivery): AlertDeliveryBody {
  const { type, text } = JSON.parse(delivery.message) as AlertMessage;
  return {
    message_id: delivery.messageId,
    group_id: delivery.groupId,
    channel: delivery.channel,
    type,
    text,
    state: delivery.state,
    attempts: delivery.attempts,
    created_at: Math.floor(delivery.createdAtMs / 1000),
    answered_at: delivery.answeredAtMs === undefined ? null : Math.floor(delivery.answeredAtMs / 1000),
    answer: delivery.answer ?? null,
  };
}
