import { z } from "zod";
import { appReportSchema, reportDeltaSchema } from "./app-report.ts";
import { appSpecSchema } from "./app-spec.ts";
import { appLogChunkSchema, logsParamsSchema } from "./app-log.ts";
import { dataUsageParamsSchema, deviceDataUsageSchema } from "./data-usage.ts";
import { deploymentOutcomesSchema, deploymentsParamsSchema } from "./deployment-outcome.ts";
import { deviceStateSchema } from "./device-state.ts";

/*
 * What a device can be asked while it is connected. A query is answered any number of times and then ended; it is
 * never stored, and gone with the session.
 */

/** The parameters of each kind of query, and what one `answer` to it holds. */
export const QUERIES = {
  /** Answered once: the complete report. */
  report: { params: z.object({}), answer: reportDeltaSchema },
  /** Answered once; `AppNotFound` otherwise. `reveal` gives the specification with the values of its environment. */
  app: {
    params: z.object({ app: z.string().max(64), reveal: z.boolean().default(false) }),
    answer: z.object({ app: appReportSchema, spec: appSpecSchema.exactOptional() }),
  },
  /** Answered once. */
  device: { params: z.object({}), answer: deviceStateSchema },
  /** Answered any number of times; `AppNotFound` where there is no such app. */
  logs: { params: logsParamsSchema, answer: appLogChunkSchema },
  /** Answered once. */
  data_usage: { params: dataUsageParamsSchema, answer: deviceDataUsageSchema },
  /** Answered once: what the device has on record of these deployments. Asked since 2026-11-29; older agents end it with a code. */
  deployments: { params: deploymentsParamsSchema, answer: deploymentOutcomesSchema },
} as const satisfies Record<string, { params: z.ZodType; answer: z.ZodType }>;

export type QueryKind = keyof typeof QUERIES;

export type QueryParams<K extends QueryKind> = z.output<(typeof QUERIES)[K]["params"]>;
export type QueryAnswer<K extends QueryKind> = z.output<(typeof QUERIES)[K]["answer"]>;

/** Narrows a kind from the wire to one that is known. */
export function isQueryKind(kind: string): kind is QueryKind {
  return Object.hasOwn(QUERIES, kind);
}
