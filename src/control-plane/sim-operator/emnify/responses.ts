import { z } from "zod";
import type { AssetStatus } from "../../../protocol/assets/asset.ts";

/** Of one page, or of the days of one question. */
const MAX_ENTRIES = 2_000;

// Of the operator's answers only what the service needs: other fields may come and go.

export const tokenSchema = z.object({ auth_token: z.string().min(1) });

export const simSchema = z.object({
  id: z.int().positive(),
  /** Without the Luhn digit. */
  iccid: z.string(),
  iccid_with_luhn: z.string().nullish(),
  imsi: z.string().nullish(),
  status: z.object({ id: z.int(), description: z.string().nullish() }),
  /** A SIM without an endpoint has never been put into use. */
  endpoint: z.object({ id: z.int().positive() }).nullish(),
});
export type EmnifySim = z.output<typeof simSchema>;

export const simPageSchema = z.array(simSchema).max(MAX_ENTRIES);

export const endpointSchema = z.object({
  service_profile: z.object({ name: z.string().nullish() }).nullish(),
});

export const dailyUsageSchema = z
  .array(
    z.object({
      date: z.iso.date(),
      data: z
        .object({
          /** Megabytes of 10^6 bytes, with a fraction. */
          volume: z.number().nonnegative().nullish(),
        })
        .nullish(),
    }),
  )
  .max(MAX_ENTRIES);

// Ids of statuses.
export const ACTIVATED = 1;
export const SUSPENDED = 2;
export const DELETED = 3;

/** By the id of the status: issued, activated, suspended. A SIM that is deleted (3) or in a factory test (4) is neither. */
export const STATUSES: Readonly<Record<number, AssetStatus>> = {
  0: "inactive",
  [ACTIVATED]: "active",
  [SUSPENDED]: "inactive",
};

export const STATUS_WORDS: Readonly<Record<number, string>> = {
  0: "issued",
  [ACTIVATED]: "activated",
  [SUSPENDED]: "suspended",
  [DELETED]: "deleted",
  4: "factory test",
};
