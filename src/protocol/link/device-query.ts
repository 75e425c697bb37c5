import { z } from "zod";
import { appReportSchema, reportDeltaSchema } from "../apps/app-report.ts";
import { appSpecSchema } from "../apps/app-spec.ts";
import { appLogChunkSchema, logsParamsSchema } from "../apps/app-log.ts";
import { appStatsSchema, statsParamsSchema } from "../apps/app-stats.ts";
import { dataUsageParamsSchema, deviceDataUsageSchema } from "./data-usage.ts";
import { deploymentOutcomesSchema, deploymentsParamsSchema } from "../deployments/deployment-outcome.ts";
import { deviceHealthSchema, healthParamsSchema } from "./device-health.ts";
import { deviceStateSchema } from "./device-state.ts";
import {
  removeVolumeParamsSchema,
  volumeListSchema,
  volumeRemovedSchema,
  volumesParamsSchema,
} from "../apps/volume-list.ts";

/*
 * The queries to a connected device. The device sends any number of `answer` frames and then `query_end`. A query is
 * never stored and ends with the session.
 */

/** The parameters of each kind of query, the content of one `answer` to it, and how many answers it has. */
export const QUERIES = {
  /** The complete report. */
  report: { params: z.object({}), answer: reportDeltaSchema, answers: "one" },
  /** Ends with `AppNotFound` where there is no such app. `reveal` gives the specification with the values of its environment. */
  app: {
    params: z.object({ app: z.string().max(64), reveal: z.boolean().default(false) }),
    answer: z.object({ app: appReportSchema, spec: appSpecSchema.exactOptional() }),
    answers: "one",
  },
  device: { params: z.object({}), answer: deviceStateSchema, answers: "one" },
  /** Ends with `AppNotFound` where there is no such app. */
  logs: { params: logsParamsSchema, answer: appLogChunkSchema, answers: "many" },
  /** What the apps use now. Ends with `AppNotFound` where there is no such app. */
  stats: { params: statsParamsSchema, answer: appStatsSchema, answers: "many" },
  data_usage: { params: dataUsageParamsSchema, answer: deviceDataUsageSchema, answers: "one" },
  /** How the device was, from the samples that it keeps. */
  health: { params: healthParamsSchema, answer: deviceHealthSchema, answers: "one" },
  /** The device's records of these deployments. */
  deployments: { params: deploymentsParamsSchema, answer: deploymentOutcomesSchema, answers: "one" },
  /** The volumes that the agent manages. Since version 3, as the next one. */
  volumes: { params: volumesParamsSchema, answer: volumeListSchema, answers: "one" },
  /** Deletes a volume with its data. Ends with `VolumeInUse` while an app has it, and with `VolumeNotFound`. */
  remove_volume: { params: removeVolumeParamsSchema, answer: volumeRemovedSchema, answers: "one" },
} as const satisfies Record<string, { params: z.ZodType; answer: z.ZodType; answers: "one" | "many" }>;

export type QueryKind = keyof typeof QUERIES;

/** Kinds of query with a single answer. */
export type SingleQuery = {
  [K in QueryKind]: (typeof QUERIES)[K]["answers"] extends "one" ? K : never;
}[QueryKind];

export type QueryParams<K extends QueryKind> = z.output<(typeof QUERIES)[K]["params"]>;
export type QueryAnswer<K extends QueryKind> = z.output<(typeof QUERIES)[K]["answer"]>;

/** Narrows a string from the wire to a known kind of query. */
export function isQueryKind(kind: string): kind is QueryKind {
  return Object.hasOwn(QUERIES, kind);
}
