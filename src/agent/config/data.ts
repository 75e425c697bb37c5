import { z } from "zod";
import { minuteOfDay, parseTimeWindow } from "../core/traffic/time-window.ts";
import { NETWORK_KINDS } from "../core/traffic/network-kind.ts";

const kind = z.enum(NETWORK_KINDS);
const bytes = z.int().min(0).optional();

/** What downloads may cost on networks that are paid by the byte. */
export const data = z.strictObject({
  metered: z.array(kind).default(["modem", "other"]).meta({
    description:
      "Kinds of network the bounds below are for: `ethernet`, `wifi`, `modem`, or `other` where the kernel does not tell.",
  }),
  interfaces: z
    .record(z.string(), kind)
    .default({})
    .meta({
      description: "What an interface is, by its name, where the kernel tells it wrong or not at all.",
      examples: [{ eth1: "modem" }],
    }),
  daily_bytes: bytes.meta({
    description: "Bytes the agent itself may use in a day of UTC before downloads wait for the next.",
  }),
  monthly_bytes: bytes.meta({
    description: "Bytes the agent itself may use in a month of UTC before downloads wait for the next.",
  }),
  rate_limit_bytes_per_s: z.int().min(1024).optional().meta({
    description: "Bytes a second that all downloads together may take.",
  }),
  hours: z
    .array(z.string().refine((text) => parseTimeWindow(text) !== undefined, "must be hours such as 22:00-05:00"))
    .default([])
    .meta({
      description: "Hours in which downloads may begin; empty for any time. One that began goes on.",
      examples: [["22:00-05:00"]],
    }),
  timezone: z
    .string()
    .refine(isTimeZone, "is no time zone that is known, such as Europe/Vienna")
    .default("UTC")
    .meta({ description: "Time zone `hours` are meant in." }),
});

function isTimeZone(name: string): boolean {
  if (name === "UTC") return true;
  try {
    minuteOfDay(0, name);
    return true;
  } catch {
    return false;
  }
}
