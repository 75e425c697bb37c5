import { z } from "zod";

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
