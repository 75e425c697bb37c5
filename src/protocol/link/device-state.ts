import { z } from "zod";
import { deviceFactsSchema } from "../apps/app-report.ts";
import { sanitizedLine } from "../values/sanitized-text.ts";

const count = z.int().min(0);

const networkInterface = z
  .object({
    name: sanitizedLine(64).meta({ description: "Name of the interface.", examples: ["wwan0"] }),
    kind: z.enum(["ethernet", "wifi", "cellular", "other"]).meta({ description: "Kind of network." }),
    is_up: z.boolean().meta({ description: "Whether the interface is up." }),
    addresses: z
      .array(sanitizedLine(64))
      .max(32)
      .meta({ description: "Its IP addresses.", examples: [["10.64.12.9"]] }),
    received_bytes: count.nullable().meta({ description: "Since the interface came up, as counted by the kernel." }),
    sent_bytes: count.nullable().meta({ description: "Since the interface came up, as counted by the kernel." }),
  })
  .meta({ id: "NetworkInterface" });

const container = z
  .object({
    name: sanitizedLine(256).meta({ description: "Name of the container." }),
    app: sanitizedLine(64)
      .nullable()
      .meta({ description: "Name of the app it belongs to; null for a container that the agent does not manage." }),
    image: sanitizedLine(512).meta({ description: "Image it was created from." }),
    status: sanitizedLine(32).meta({ description: "Status in the engine's words.", examples: ["running"] }),
  })
  .meta({ id: "DeviceContainer" });

/** The current state of the device. Values that cannot be read are null. */
export const deviceStateSchema = deviceFactsSchema
  .extend({
    uptime_s: z.number().min(0).nullable().meta({ description: "Seconds since the device started." }),
    clock: count.exactOptional().meta({
      description:
        "Time of the device's own clock when it responded, to compare with `reported_at`. Unix seconds, UTC. Absent where " +
        "the agent on the device is too old to report it.",
      examples: [1_795_178_868],
    }),
    agent_uptime_s: z.number().min(0).meta({ description: "Seconds since the agent started." }),
    load_1m: z.number().min(0).nullable().meta({ description: "Load average over one minute." }),
    cpu_percent: z
      .number()
      .min(0)
      .max(100)
      .nullable()
      .meta({ description: "Of all processors, averaged over about a second." }),
    memory_available_bytes: count.nullable().meta({ description: "Memory available to programs, in bytes." }),
    disk_free_bytes: count
      .nullable()
      .meta({ description: "Free bytes on the file system on which the engine keeps images." }),
    temperature_celsius: z
      .number()
      .min(-100)
      .max(300)
      .nullable()
      .meta({ description: "Temperature of the processor, in degrees Celsius." }),
    interfaces: z.array(networkInterface).max(64).meta({ description: "Network interfaces." }),
    containers: z
      .array(container)
      .max(500)
      .meta({ description: "Containers of the engine, those of other programs included." }),
  })
  .meta({ id: "DeviceState", description: "The current state of a device. Values that cannot be read are null." });
export type DeviceState = z.output<typeof deviceStateSchema>;
export type NetworkInterface = DeviceState["interfaces"][number];
