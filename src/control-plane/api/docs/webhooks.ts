import { alertWebhookSchema } from "../../../protocol/alerts/webhook.ts";

const TEXT = { schema: { type: "string" } } as const;
const header = (name: string, description: string) =>
  ({ name, in: "header", required: true, description, ...TEXT }) as const;

/** What the service posts to receivers, in the form of an OpenAPI document. The schema is a shared one, by its id. */
export const WEBHOOKS = {
  alert: {
    post: {
      operationId: "receiveAlert",
      summary: "Alerts",
      description:
        "What a channel of the kind `webhook` gets, signed by the [Standard Webhooks](https://www.standardwebhooks.com) specification. It " +
        "may come twice, with the same `webhook-id`, and is sent for a day until the receiver answers 2xx.",
      tags: ["Alerts"],
      security: [],
      parameters: [
        header("webhook-id", "Id of the message."),
        header("webhook-timestamp", "When it was sent, in Unix seconds."),
        header(
          "webhook-signature",
          "`v1,` and a signature in base64 for each secret of the channel, separated by spaces.",
        ),
      ],
      requestBody: {
        required: true,
        content: {
          "application/json": { schema: { $ref: `#/components/schemas/${alertWebhookSchema.meta()?.id ?? ""}` } },
        },
      },
      responses: {
        "2XX": { description: "The receiver has got it." },
        "410": { description: "The receiver wants no more: the channel is given up." },
        default: { description: "It is sent again." },
      },
    },
  },
};
