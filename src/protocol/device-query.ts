import { z } from "zod";
import { appReportSchema, reportDeltaSchema } from "./app-report.ts";
import { appSpecSchema } from "./app-spec.ts";
import { appLogChunkSchema, logsParamsSchema } from "./app-log.ts";
import { dataUsageParamsSchema, deviceDataUsageSchema } from "./data-usage.ts";
import { deploymentOutcomesSchema, deploymentsParamsSchema } from "./deployment-outcome.ts";
import { deviceStateSchema } from "./device-state.ts";

/*
 * The queries to a connected device. The device sends any number of `answer` frames and then `query_end`. A query is
 * never stored and ends with the session.
 */

/** The schemas of each kind of query: its parameters, and the body of an `answer`. */
export const QUERIES = {
  /** One answer: the complete report. */
  report: { params: z.object({}), answer: reportDeltaSchema },
  /** One answer, or `AppNotFound`. `reveal` adds the specification with its environment values. */
  app: {
    params: z.object({ app: z.string().max(64), reveal: z.boolean().default(false) }),
    answer: z.object({ app: appReportSchema, spec: appSpecSchema.exactOptional() }),
  },
  /** One answer. */
  device: { params: z.object({}), answer: deviceStateSchema },
  /** Any number of answers, or `AppNotFound`. */
  logs: { params: logsParamsSchema, answer: appLogChunkSchema },
  /** One answer. */
  data_usage: { params: dataUsageParamsSchema, answer: deviceDataUsageSchema },
  /** One answer: the outcomes by the device's record. Added on 2026-11-29; older agents end it with `InvalidRequest`. */
  deployments: { params: deploymentsParamsSchema, answer: deploymentOutcomesSchema },
} as const satisfies Record<string, { params: z.ZodType; answer: z.ZodType }>;

export type QueryKind = keyof typeof QUERIES;

export type QueryParams<K extends QueryKind> = z.output<(typeof QUERIES)[K]["params"]>;
export type QueryAnswer<K extends QueryKind> = z.output<(typeof QUERIES)[K]["answer"]>;

/** Narrows a string from the wire to a known kind of query. */
export function isQueryKind(kind: string): kind is QueryKind {
  return Object.hasOwn(QUERIES, kind);
}
