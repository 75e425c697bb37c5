import { z } from "zod";
import { unixSeconds } from "../values/scalars.ts";
import { alertStateSchema, alertSubjectFields } from "./alert.ts";
import { alertConditionSchema, alertSeveritySchema } from "./condition-schemas.ts";

/** Alerts that one message has. */
export const MAX_ALERTS_IN_MESSAGE = 50;

/** An alert as messages have it. */
const toldAlertSchema = z.strictObject({
  id: z.string().meta({ description: "Id of the alert, by which it is acknowledged." }),
  state: alertStateSchema.meta({ description: "Whether it fires, or is over." }),
  subject: z
    .strictObject({
      ...alertSubjectFields,
      serial_number: z.string().nullable().meta({
        description: "Serial number of the asset; `null` if it is none, or was removed.",
      }),
    })
    .meta({ description: "What the alert is about." }),
  since: unixSeconds("Since when the condition has held."),
  fired_at: unixSeconds("When the alert fired."),
  resolved_at: unixSeconds("When it was over.").nullable(),
});
export type ToldAlertBody = z.output<typeof toldAlertSchema>;

/** What the service posts to a channel of the kind `webhook`. */
export const alertWebhookSchema = z
  .strictObject({
    type: z.enum(["alert.firing", "alert.update", "alert.repeat", "alert.resolved", "alert.test"]).meta({
      description:
        "`alert.firing`: a group begins. `alert.update`: more alerts have joined it. `alert.repeat`: no person has acknowledged them. `alert.resolved`: all of " +
        "them are over. `alert.test`: a person tries the channel, no alert fires.",
    }),
    timestamp: z.string().meta({ format: "date-time", description: "When the service decided to send it." }),
    data: z
      .strictObject({
        id: z.string().meta({ description: "Id of the message, as in `webhook-id`." }),
        account_id: z.string().meta({ description: "Account of the alerts." }),
        group_id: z.string().meta({
          description: "Group of the alerts, the same in all messages about them.",
        }),
        route: z.string().meta({ description: "Name of the route that tells of them." }),
        condition: alertConditionSchema,
        severity: alertSeveritySchema,
        text: z.string().meta({ description: "One line for people." }),
        total: z.int().min(0).meta({ description: "Alerts of the group." }),
        open: z.int().min(0).meta({ description: "Those of them that fire." }),
        alerts: z
          .array(toldAlertSchema)
          .max(MAX_ALERTS_IN_MESSAGE)
          .meta({
            description:
              `At most ${MAX_ALERTS_IN_MESSAGE} of them: those that no message before has told of come first, and of each those that have ` +
              "held for longest. `GET /v1/alerts?group={group_id}` lists all.",
          }),
        since: unixSeconds("Since when the first one has held."),
        url: z.string().nullable().meta({
          description: "Page of the console that shows them; `null` if the service does not know its `public_url`.",
        }),
      })
      .meta({ description: "What the group says." }),
  })
  .meta({
    id: "AlertWebhook",
    examples: [
      {
        type: "alert.firing",
        timestamp: "2026-11-28T03:12:07.000Z",
        data: {
          id: "msg_5d1c2b7a90e34f6c8a1b2c3d_1",
          account_id: "acc_0f1e2d3c4b5a69788796a5b4",
          group_id: "grp_5d1c2b7a90e34f6c8a1b2c3d",
          route: "night",
          condition: "device_offline",
          severity: "critical",
          text: "Device offline: Pump house 7",
          total: 1,
          open: 1,
          alerts: [
            {
              id: "alr_9b8a7c6d5e4f3021aabbccdd",
              state: "firing",
              subject: {
                kind: "asset",
                id: "0b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c11",
                name: "Pump house 7",
                serial_number: "GW-2026-000123",
              },
              since: 1_795_833_720,
              fired_at: 1_795_835_520,
              resolved_at: null,
            },
          ],
          since: 1_795_833_720,
          url: "https://control.example.com/alerts?group=grp_5d1c2b7a90e34f6c8a1b2c3d",
        },
      },
    ],
  });
export type AlertWebhook = z.output<typeof alertWebhookSchema>;
