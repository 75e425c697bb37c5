import type { SimType } from "../../protocol/assets/sim.ts";
import type { ApiClient } from "../api/client.ts";
import { getDataUsage, getUsage, type Usage } from "../api/usage.ts";
import { ServiceFailure } from "../api/service-failure.ts";
import { type Allowance, getAllowance, listAssetSims, type Sim } from "../api/sims.ts";
import { EXIT, Failure } from "../failure.ts";
import { simName } from "./sim-words.ts";
import { compareUsage, type UsageComparison } from "./compare-usage.ts";

/** Why a part of what was asked for is missing. */
export interface MissingPart {
  readonly code: string;
  readonly message: string;
}

/** What there is, or why it is missing. */
export type Part<T> = { readonly value: T } | { readonly missing: MissingPart };

/** Everything that is known of one SIM. */
export interface SimDetails {
  readonly sim: Sim;
  readonly allowance: Part<Allowance>;
  /** Since the month began. */
  readonly usage: Part<Usage>;
}

export interface AssetSimDetails {
  readonly sims: readonly SimDetails[];
  /** Of all SIMs of the asset, since the month began. */
  readonly comparison: Part<UsageComparison>;
}

/** Failures of a part that leave the rest worth showing. */
const PARTIAL = new Set([
  "SimOperatorFailed",
  "AllowanceNotFound",
  "DeviceTooOld",
  "DeviceFailed",
  "DeviceNotReachable",
  "EngineUnavailable",
]);

const NOT_REPORTED: MissingPart = { code: "NotReported", message: "The device has not reported yet." };

/** Reads all that is known of an asset's SIMs. Errors: exit code 4 if it has no SIM of the given type. */
export async function readSimDetails(
  client: ApiClient,
  asset: string,
  type: SimType | undefined,
): Promise<AssetSimDetails> {
  const sims = await findSims(client, asset, type);
  const [details, comparison] = await Promise.all([
    Promise.all(sims.map((sim) => readDetails(client, asset, sim))),
    readComparison(client, asset),
  ]);
  return { sims: details, comparison };
}

/** Returns the SIMs of an asset, of the given type if there is one. Errors: exit code 4 if there is none. */
export async function findSims(client: ApiClient, asset: string, type: SimType | undefined): Promise<readonly Sim[]> {
  const sims = await listAssetSims(client, asset);
  const found = sims.filter((sim) => type === undefined || sim.type === type);
  if (found.length > 0) return found;
  throw new Failure(`The asset has no ${type === undefined ? "SIM" : simName(type)}.`, {
    exitCode: EXIT.notFound,
    code: "SimNotFound",
    hint: "SIMs are given when an asset is registered; `edgectl sims list` shows those of your account.",
  });
}

async function readComparison(client: ApiClient, asset: string): Promise<Part<UsageComparison>> {
  const read = await partOf(getDataUsage(client, asset, {}));
  if ("missing" in read) return read;
  const value = compareUsage(read.value);
  return value ? { value } : { missing: NOT_REPORTED };
}

async function readDetails(client: ApiClient, asset: string, sim: Sim): Promise<SimDetails> {
  const type = sim.type as SimType;
  const [allowance, usage] = await Promise.all([
    partOf(getAllowance(client, asset, type)),
    partOf(getUsage(client, asset, type, { granularity: "all" })),
  ]);
  return { sim, allowance, usage };
}

async function partOf<T>(reading: Promise<T>): Promise<Part<T>> {
  try {
    return { value: await reading };
  } catch (error) {
    if (!(error instanceof ServiceFailure) || !PARTIAL.has(error.code ?? "")) throw error;
    return { missing: { code: error.code ?? "", message: error.message } };
  }
}
