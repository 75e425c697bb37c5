import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import type { RowError } from "../../../protocol/assets/bulk.ts";
import { booleanString } from "../../../protocol/values/scalars.ts";
import type { ApiBase } from "../context.ts";
import { toErrorBody, toPublicError } from "../errors.ts";

/** Time for the rows of one request: a client, and proxies in between, wait about as long for a response. */
export const MAX_BULK_MS = 45_000;

export const bulkQuery = z.strictObject({
  dry_run: booleanString()
    .default(false)
    .meta({ description: "Whether everything is checked, and nothing is changed." }),
});

type Status = "done" | "failed" | "skipped";
type RowResult<T> = { readonly index: number; readonly status: Status; readonly error?: RowError } & T;

interface BulkResult<T> {
  readonly dry_run: boolean;
  readonly done: number;
  readonly failed: number;
  readonly skipped: number;
  readonly results: RowResult<T>[];
}

interface BulkRows<Row, Fields> {
  readonly rows: readonly Row[];
  readonly isDryRun: boolean;
  /** What a row's result has in any case. */
  readonly known: (row: Row) => Fields;
  readonly carryOut: (row: Row) => Promise<Partial<Fields>>;
}

/** The error of a row, with fields that its result has besides. */
export class RowFailure<Fields> extends Error {
  readonly error: EdgeError;
  readonly fields: Partial<Fields>;

  constructor(error: EdgeError, fields: Partial<Fields>) {
    super(error.message, { cause: error });
    this.error = error;
    this.fields = fields;
  }
}

/**
 * Carries out rows one after the other, each on its own, until they are done, the time is over or the service fails. Nothing is
 * said of a row but what is known.
 */
export async function carryOutRows<Row, Fields extends object>(
  { clock, logger, stopping }: ApiBase,
  request: FastifyRequest,
  { rows, isDryRun, known, carryOut }: BulkRows<Row, Fields>,
): Promise<BulkResult<Fields>> {
  const end = clock.monotonic() + MAX_BULK_MS;
  const results: RowResult<Fields>[] = [];
  let hasServiceFailed = false;
  for (const [index, row] of rows.entries()) {
    const fields = known(row);
    if (hasServiceFailed || stopping.aborted || clock.monotonic() >= end) {
      results.push({ index, status: "skipped", ...fields });
      continue;
    }
    try {
      results.push({ index, status: "done", ...fields, ...(await carryOut(row)) });
    } catch (thrown) {
      const failure = thrown instanceof RowFailure ? (thrown as RowFailure<Fields>) : undefined;
      const error = toPublicError(failure?.error ?? thrown, request, logger);
      hasServiceFailed = error.code === "ServiceUnavailable" || error.code === "Internal";
      const shown = hasServiceFailed ? unknownOutcome(error) : error;
      results.push({ index, status: "failed", ...fields, ...failure?.fields, error: toErrorBody(shown) });
    }
  }
  const count = (status: Status) => results.filter((each) => each.status === status).length;
  return { dry_run: isDryRun, done: count("done"), failed: count("failed"), skipped: count("skipped"), results };
}

/** The database may have carried out what it did not confirm. */
function unknownOutcome({ code, message, details }: EdgeError): EdgeError {
  return new EdgeError(code, `${message} Whether this row was carried out is not known: read it.`, details);
}
