import { z } from "zod";

const count = z.int().min(0).nullable();

/** Measured values of the machine; `null` for what could not be measured. */
export const readingsSchema = z.object({
  uptime_s: z.number().min(0).nullable(),
  load_1m: z.number().min(0).nullable(),
  cpu_percent: z.number().min(0).max(100).nullable(),
  memory_available_bytes: count,
  temperature_celsius: z.number().min(-100).max(300).nullable(),
  interfaces: z.array(
    z.object({
      name: z.string(),
      kind: z.enum(["ethernet", "wifi", "cellular", "other"]),
      is_up: z.boolean(),
      addresses: z.array(z.string()),
      received_bytes: count,
      sent_bytes: count,
    }),
  ),
});
export type Readings = z.output<typeof readingsSchema>;
export type InterfaceReading = Readings["interfaces"][number];

/** Readings when nothing could be measured. */
export const NO_READINGS: Readings = {
  uptime_s: null,
  load_1m: null,
  cpu_percent: null,
  memory_available_bytes: null,
  temperature_celsius: null,
  interfaces: [],
};
