import { formatTime } from "../../lib/terminal/time.ts";
import { MAX_BULK_ROWS } from "../../protocol/assets/bulk.ts";
import { registerAssets, type RegistrationResult, tagAssets } from "../api/assets.ts";
import type { ApiClient } from "../api/client.ts";
import { connect, type Context } from "../context.ts";
import { type NewAsset, readAssetRows } from "../documents/asset-rows.ts";
import { EXIT, SilentExit } from "../failure.ts";
import { readTextOrStdin } from "../io.ts";
import { renderNewAssets } from "../views/asset-view.ts";
import { CodeFile, issueCode } from "./enrolment-codes.ts";

export interface CreateAssetsOptions {
  /** File with the assets, or `-`. */
  readonly file: string;
  /** Accepts the devices that will use the codes. */
  readonly accept: boolean;
  readonly dryRun: boolean;
  /** File for enrolment codes, which must not exist. */
  readonly codes: string | undefined;
  /** How long the codes can be used, in seconds. Default: as the service has it. */
  readonly validS: number | undefined;
}

/** What became of a row. */
interface Outcome {
  readonly asset: NewAsset;
  result: RegistrationResult;
  /** Why its tags are not set; `undefined`: they are, or it has none. */
  tagProblem?: string | undefined;
  /** Unix seconds. */
  codeExpiresAt?: number;
}

/** Errors of the service after which it carries out no other row. */
const SERVICE_FAILS: ReadonlySet<string> = new Set(["ServiceUnavailable", "Internal"]);

/**
 * Registers the assets of a file, tags them, and writes a file with an enrolment code for each. Shows what became of each row, also
 * after a failure. Errors: exit code 2 for a file that cannot be used; 1 if a row is not carried out in full.
 */
export async function createAssets(context: Context, options: CreateAssetsOptions): Promise<void> {
  const { io, printer } = context;
  const { file, accept, dryRun: isDryRun } = options;
  const rows = readAssetRows(await readTextOrStdin(file, io), file === "-" ? "standard input" : file);
  const client = await connect(context);
  // Before anything is changed: codes without a file would be lost.
  await using codes = options.codes === undefined || isDryRun ? undefined : await CodeFile.create(options.codes);
  const outcomes = rows.map((asset): Outcome => ({ asset, result: { status: "skipped" } }));
  const failure = await firstFailure([
    () => register(client, outcomes, accept, isDryRun),
    async () => {
      if (!isDryRun) await tag(client, outcomes);
    },
    async () => {
      if (codes) await issueCodes(context, client, outcomes, codes, options.validS);
    },
  ]);
  const shown = outcomes.map((outcome) => toDocument(outcome, codes !== undefined));
  const document = { dry_run: isDryRun, assets: shown, codes_file: codes && codes.count > 0 ? codes.path : null };
  printer.result(document, () => renderNewAssets(shown, isDryRun, printer.theme, printer.width));
  if (!isDryRun && !printer.json) noteNextSteps(context, outcomes, codes, accept);
  if (failure) throw failure.error;
  if (shown.some(({ problem }) => problem !== undefined)) throw new SilentExit(EXIT.failed);
}

/** Takes all steps, each for the rows that got so far. Returns the first error. */
async function firstFailure(steps: readonly (() => Promise<void>)[]): Promise<{ readonly error: unknown } | undefined> {
  let failure: { readonly error: unknown } | undefined;
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      failure ??= { error };
    }
  }
  return failure;
}

async function register(client: ApiClient, outcomes: readonly Outcome[], accept: boolean, isDryRun: boolean) {
  let waiting = [...outcomes];
  while (waiting.length > 0) {
    const sent = waiting.slice(0, MAX_BULK_ROWS);
    // Naming the field at all takes a permission that installers do not have.
    const body = { assets: sent.map(({ asset }) => asset.registration), ...(accept && { accept }) };
    const results = await registerAssets(client, body, isDryRun);
    for (const [index, outcome] of sent.entries()) outcome.result = results[index] ?? outcome.result;
    const skipped = sent.filter(({ result }) => result.status === "skipped");
    const hasFailed = results.some((result) => result.status === "failed" && SERVICE_FAILS.has(result.error.code));
    if (hasFailed || skipped.length === sent.length) return;
    // The time of the request was over.
    waiting = [...skipped, ...waiting.slice(sent.length)];
  }
}

async function tag(client: ApiClient, outcomes: readonly Outcome[]): Promise<void> {
  const registered = created(outcomes).filter(({ asset }) => Object.keys(asset.tags).length > 0);
  for (const outcome of registered) outcome.tagProblem = "its tags are not set";
  for (let start = 0; start < registered.length; start += MAX_BULK_ROWS) {
    const sent = registered.slice(start, start + MAX_BULK_ROWS);
    const rows = sent.map(({ asset: { registration, tags } }) => ({ asset_id: registration.serial_number, tags }));
    const results = await tagAssets(client, rows);
    for (const [index, outcome] of sent.entries()) {
      const result = results[index];
      if (result?.status === "done") outcome.tagProblem = undefined;
      else if (result?.status === "failed") outcome.tagProblem = `its tags are not set: ${result.error.message}`;
    }
  }
}

async function issueCodes(
  context: Context,
  client: ApiClient,
  outcomes: readonly Outcome[],
  file: CodeFile,
  validS: number | undefined,
): Promise<void> {
  for (const outcome of created(outcomes)) {
    const { serial_number: serialNumber, name = serialNumber } = outcome.asset.registration;
    const code = await issueCode(context, client, serialNumber, validS);
    await file.add({ ...code, name });
    outcome.codeExpiresAt = code.expires_at;
  }
}

function created(outcomes: readonly Outcome[]): readonly Outcome[] {
  return outcomes.filter(({ result }) => result.status === "done");
}

function toDocument({ asset, result, tagProblem, codeExpiresAt }: Outcome, wantsCode: boolean) {
  const { serial_number } = asset.registration;
  if (result.status === "skipped") return { serial_number, created: false, problem: "not tried" };
  if (result.status === "failed") {
    const { code, message } = result.error;
    return { serial_number, created: false, code, problem: message };
  }
  const missing = wantsCode && codeExpiresAt === undefined ? "it has no code" : undefined;
  const problem = [tagProblem, missing].filter((text) => text !== undefined).join("; ") || undefined;
  return { serial_number, created: true, asset_id: result.asset_id, problem };
}

function noteNextSteps(
  { printer }: Context,
  outcomes: readonly Outcome[],
  codes: CodeFile | undefined,
  accept: boolean,
): void {
  const count = created(outcomes).length;
  if (count === 0) return;
  if (!codes) printer.note("Their devices need enrolment codes: edgectl assets code ASSET…");
  else if (codes.count > 0) {
    const [first = 0] = outcomes.flatMap(({ codeExpiresAt }) => codeExpiresAt ?? []);
    const until = `${formatTime(first)} UTC`;
    printer.note(`${codes.path} has ${codes.count} codes, which work once each, until ${until}. Only you can read it.`);
  }
  if (!accept)
    printer.note(
      "Nothing of a fleet reaches them until they are accepted. Once the devices have connected: " +
        "edgectl assets accept --selector '*'",
    );
}
