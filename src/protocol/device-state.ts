import { z } from "zod";
import { deviceFactsSchema } from "./app-report.ts";
import { sanitizedLine } from "./sanitized-text.ts";

const count = z.int().min(0);

const networkInterface = z
  .object({
    name: sanitizedLine(64),
    kind: z.enum(["ethernet", "wifi", "cellular", "other"]),
    is_up: z.boolean(),
    addresses: z.array(sanitizedLine(64)).max(32),
    received_bytes: count.nullable().meta({ description: "Since the interface came up, as counted by the kernel." }),
    sent_bytes: count.nullable(),
  })
  .meta({ id: "NetworkInterface" });

const container = z
  .object({
    name: sanitizedLine(256),
    app: sanitizedLine(64)
      .nullable()
      .meta({ description: "Name of the app it belongs to; null for a container that the agent does not manage." }),
    image: sanitizedLine(512),
    status: sanitizedLine(32),
  })
  .meta({ id: "DeviceContainer" });

/** The current state of the device. Values that cannot be read are null. */
export const deviceStateSchema = deviceFactsSchema
  .extend({
    uptime_s: z.number().min(0).nullable(),
    agent_uptime_s: z.number().min(0),
    load_1m: z.number().min(0).nullable(),
    cpu_percent: z
      .number()
      .min(0)
      .max(100)
      .nullable()
      .meta({ description: "Of all processors, averaged over about a second." }),
    memory_available_bytes: count.nullable(),
    disk_free_bytes: count.nullable(),
    temperature_celsius: z.number().min(-100).max(300).nullable(),
    interfaces: z.array(networkInterface).max(64),
    containers: z.array(container).max(500),
  })
  .meta({ id: "DeviceState" });
export type DeviceState = z.output<typeof deviceStateSchema>;
export type NetworkInterface = DeviceState["interfaces"][number];
