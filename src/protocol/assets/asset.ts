import { z } from "zod";
import { attentionReasonSchema } from "./attention.ts";
import { displayText } from "../values/sanitized-text.ts";
import { proSimSchema, superSimSchema } from "./sim.ts";
import { tagsSchema } from "../fleets/tags.ts";
import { isUuid, unixSeconds } from "../values/scalars.ts";

/** Derived: active if at least one of the asset's SIMs is. */
export const assetStatusSchema = z.enum(["active", "inactive"]);
export type AssetStatus = z.output<typeof assetStatusSchema>;

// An identifier is part of URL paths and log lines, so it is plain ASCII without separators.
export const serialNumberSchema = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/,
    "must be 1 to 64 letters, digits, '.', '_', ':' or '-', the first a letter or digit",
  )
  .refine((value) => !isUuid(value), "must not have the form of a UUID")
  .meta({ description: "Serial number of the device, unique in the whole service.", examples: ["GW-2026-000123"] });

export const assetNameSchema = displayText(1, 128).meta({ description: "Display name.", examples: ["Pump house 7"] });

export const assetTypeSchema = displayText(0, 64).meta({
  description: "Kind of device; free text.",
  examples: ["gateway"],
});

/** The deprecated mirror of `supersim`, with that SIM's own status. */
export const legacySimSchema = z
  .strictObject({
    ...superSimSchema.omit({ pending: true }).shape,
    status: assetStatusSchema.meta({ description: "Status of this SIM alone." }),
  })
  .meta({ id: "LegacySim", deprecated: true, description: "Mirror of `supersim`, until its removal." });
export type LegacySim = z.output<typeof legacySimSchema>;

const deviceCloneSchema = z
  .strictObject({
    since: unixSeconds("When both were seen first."),
    last_seen: unixSeconds("When both were seen last."),
    devices: z
      .array(
        z.strictObject({
          boot_id: z.string().meta({ description: "Its boot, as in /proc/sys/kernel/random/boot_id of the device." }),
          address: z.string().meta({ description: "Address from which it connects; empty if that is not known." }),
          since: unixSeconds("When it was first connected in this boot."),
        }),
      )
      .meta({ description: "The device that is served, and the one that is kept away while that is connected." }),
  })
  .meta({ id: "DeviceClone", description: "Two devices that have the token of one asset." });
export type DeviceClone = z.output<typeof deviceCloneSchema>;

const common = {
  uuid: z.string().meta({ description: "Asset identifier.", examples: ["0b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c11"] }),
  serial_number: z.string().meta({ description: "Serial number of the device.", examples: ["GW-2026-000123"] }),
  name: z.string().meta({ description: "Display name.", examples: ["Pump house 7"] }),
  type: z.string().meta({ description: "Kind of device; free text.", examples: ["gateway"] }),
  created_at: unixSeconds("When the asset was registered.").meta({ examples: [1_790_000_000] }),
  updated_at: unixSeconds(
    "When its name, type, tags, variables, hold, acceptance or SIMs were changed last; not its connection or what needs attention.",
  ).meta({ examples: [1_795_000_000] }),
  status: assetStatusSchema.meta({ description: "`active` when any SIM is, `inactive` otherwise." }),
  connected: z.boolean().meta({ description: "Whether the device is connected to the service now." }),
  last_seen: unixSeconds("When the device was last connected; null if it never was.")
    .nullable()
    .meta({ examples: [1_795_178_868] }),
  agent_version: z
    .string()
    .nullable()
    .meta({
      description: "Version of edge-agent that the device said last; null if it never did.",
      examples: ["0.1.0"],
    }),
  accepted_at: unixSeconds("When its device was accepted; null: nothing of a fleet reaches it until it is accepted.")
    .nullable()
    .meta({ examples: [1_790_000_100] }),
  tags: tagsSchema.meta({ description: "Its tags, each a key with a value." }),
  attention: z
    .array(attentionReasonSchema)
    .meta({ description: "Why it needs attention; empty if nothing is known.", examples: [["app_unhealthy"]] }),
  clone: deviceCloneSchema.optional().meta({ description: "Only with the attention `cloned_identity`." }),
  supersim: superSimSchema.optional().meta({ description: "Only if the asset has a Super SIM." }),
  prosim: proSimSchema.optional().meta({ description: "Only if the asset has a PRO SIM." }),
  sim: legacySimSchema.optional(),
};

/** An asset in a list. */
export const assetListItemSchema = z
  .strictObject(common)
  .meta({ id: "AssetListItem", description: "An asset in a list." });
export type AssetListItem = z.output<typeof assetListItemSchema>;

/** An asset with all its fields. */
export const assetSchema = z
  .strictObject({
    ...common,
    network_group: z.string().optional().meta({
      deprecated: true,
      description: "Mirror of `supersim.network_group`, until its removal.",
    }),
  })
  .meta({ id: "Asset" });
export type AssetBody = z.output<typeof assetSchema>;

/** Response of Get Assets. */
export const assetListSchema = z
  .strictObject({
    assets: z.array(assetListItemSchema).meta({ description: "The assets of this page, oldest first." }),
    next_cursor: z.string().nullable().meta({ description: "Cursor of the next page; `null` on the last one." }),
  })
  .meta({ id: "AssetList" });
export type AssetList = z.output<typeof assetListSchema>;
