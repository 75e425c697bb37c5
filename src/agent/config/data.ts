import { z } from "zod";
import { minuteOfDay, parseTimeWindow } from "../core/traffic/time-window.ts";
import { NETWORK_KINDS } from "../core/traffic/network-kind.ts";

const kind = z.enum(NETWORK_KINDS);
const bytes = z.int().min(0).optional();

/** Limits for metered networks. */
export const data = z.strictObject({
  metered: z.array(kind).default(["modem", "other"]).meta({
    description:
      "Kinds of network that are metered, to which the budgets below apply: `ethernet`, `wifi`, `modem`, or `other` if the kernel does not tell.",
  }),
  interfaces: z
    .record(z.string(), kind)
    .default({})
    .meta({
      description: "Kind of network by interface name, if the kernel reports a wrong one or none.",
      examples: [{ eth1: "modem" }],
    }),
  daily_bytes: bytes.meta({
    description: "Bytes the agent itself may use in a UTC day. Beyond that, downloads wait for the next day.",
  }),
  monthly_bytes: bytes.meta({
    description: "Bytes the agent itself may use in a UTC month. Beyond that, downloads wait for the next month.",
  }),
  rate_limit_bytes_per_s: z.int().min(1024).optional().meta({
    description: "Maximum bytes per second of all downloads together.",
  }),
  hours: z
    .array(z.string().refine((text) => parseTimeWindow(text) !== undefined, "must be hours such as 22:00-05:00"))
    .default([])
    .meta({
      description: "Hours in which downloads may begin; empty for any time. A download that has begun continues.",
      examples: [["22:00-05:00"]],
    }),
  timezone: z
    .string()
    .refine(isTimeZone, "is not a known time zone, such as Europe/Vienna")
    .default("UTC")
    .meta({ description: "Time zone of `hours`." }),
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
