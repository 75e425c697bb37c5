import { z } from "zod";
import {
  assetListItemSchema,
  assetNameSchema,
  assetSchema,
  assetStatusSchema,
  assetTypeSchema,
  serialNumberSchema,
} from "./asset.ts";
import { attentionReasonSchema } from "./attention.ts";
import { booleanString, cursorSchema, integerString, MAX_UNIX_SECONDS, pageSizeSchema } from "../values/scalars.ts";
import { selectorSchema } from "../fleets/selector.ts";
import { networkGroupSchema, proSimRegistrationSchema, superSimRegistrationSchema } from "./sim.ts";

/** What is said of an asset that is registered. */
export const assetRegistrationFields = {
  serial_number: serialNumberSchema,
  name: assetNameSchema.optional().meta({ description: "Display name; the serial number by default." }),
  type: assetTypeSchema.default("").meta({ description: "Kind of device; free text." }),
  supersim: superSimRegistrationSchema.optional(),
  prosim: proSimRegistrationSchema.optional(),
  accept: z.boolean().default(false).meta({
    description:
      "Accepts the device that will have the token, so that fleets reach it. Needs the permission `assets.accept`.",
  }),
};

interface Iccids {
  readonly supersim?: { readonly iccid: string } | undefined;
  readonly prosim?: { readonly iccid: string } | undefined;
}

export function requireDifferentSims<T extends z.ZodType<Iccids>>(schema: T): T {
  return schema.refine((asset) => asset.supersim === undefined || asset.supersim.iccid !== asset.prosim?.iccid, {
    path: ["prosim", "iccid"],
    message: "must differ from supersim.iccid",
  });
}

/** Body of Register Asset. */
export const assetRegistrationSchema = requireDifferentSims(z.strictObject(assetRegistrationFields)).meta({
  id: "AssetRegistration",
  examples: [
    {
      serial_number: "GW-2026-000123",
      name: "Pump house 7",
      type: "gateway",
      supersim: {
        sid: "HS0123456789abcdef0123456789abcdef",
        iccid: "8988307000001234567",
        network_group: "default_1gb",
      },
    },
  ],
});
export type AssetRegistration = z.output<typeof assetRegistrationSchema>;

/** Response of Register Asset: the asset and the device token, which is shown only once. */
export const registeredAssetSchema = z
  .strictObject({
    ...assetSchema.shape,
    device_token: z.string().meta({
      description: "The device's credential. Shown only once; the service stores its hash.",
      examples: ["ed_…"],
    }),
  })
  .meta({ id: "RegisteredAsset" });
export type RegisteredAsset = z.output<typeof registeredAssetSchema>;

/** Body of Update Asset. Omitted fields keep their values; at least one field is required. */
export const assetUpdateSchema = z
  .strictObject({
    name: assetNameSchema.optional(),
    type: assetTypeSchema.optional().meta({
      description:
        "Kind of device; free text. Selectors of fleets may select by it. Needs the permission `assets.tag`.",
    }),
    status: assetStatusSchema.optional().meta({ description: "Activates or deactivates every SIM of the asset." }),
    supersim: z
      .strictObject({ network_group: networkGroupSchema.optional() })
      .optional()
      .meta({ description: "Changes of the Super SIM." }),
  })
  .meta({
    id: "AssetUpdate",
    minProperties: 1,
    examples: [
      { name: "Pump house 7", type: "gateway", status: "active", supersim: { network_group: "default_10gb" } },
    ],
  });
export type AssetUpdate = z.output<typeof assetUpdateSchema>;

/** Body of the deprecated Update SIM. */
export const legacySimUpdateSchema = z
  .strictObject({
    status: assetStatusSchema.optional().meta({ description: "Activates or deactivates the Super SIM." }),
    network_group: networkGroupSchema.optional(),
  })
  .meta({ id: "LegacySimUpdate", deprecated: true, minProperties: 1, examples: [{ status: "inactive" }] });
export type LegacySimUpdate = z.output<typeof legacySimUpdateSchema>;

/** Orders of a list of assets. */
const ASSET_ORDERS = ["created_at", "-created_at", "updated_at", "-updated_at"] as const;
export type AssetOrder = (typeof ASSET_ORDERS)[number];

/** Query of Get Assets. */
export const assetListQuerySchema = z.strictObject({
  limit: pageSizeSchema.optional(),
  cursor: cursorSchema.optional(),
  status: assetListItemSchema.shape.status.optional(),
  type: z.string().max(64).optional().meta({ description: "Only assets of exactly this type." }),
  selector: selectorSchema.optional(),
  sort: z
    .enum(ASSET_ORDERS)
    .optional()
    .meta({
      description:
        "Order of the list: by registration, or by the last update; with `-` the newest first. `created_at` by default, and " +
        "`updated_at` with `updated_since`.",
    }),
  updated_since: integerString(0, MAX_UNIX_SECONDS).optional().meta({
    description: "Only assets whose `updated_at` is this time or later. Unix seconds. Not with `sort` by registration.",
  }),
  connected: booleanString().optional().meta({ description: "Only assets whose device is connected, or is not." }),
  accepted: booleanString().optional().meta({ description: "Only assets whose device was accepted, or waits for it." }),
  attention: z
    .enum(["any", ...attentionReasonSchema.options])
    .optional()
    .meta({ description: "Only assets that need attention for this reason; `any` for every reason." }),
  agent_version: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .meta({ description: "Only assets whose device has exactly this version of edge-agent.", examples: ["0.1.0"] }),
  q: z.string().min(1).max(128).optional().meta({
    description: "Only assets whose name or serial number contains this text; ASCII letters in either case.",
  }),
});
