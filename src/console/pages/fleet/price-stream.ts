import { send } from "../../api/client.ts";
import { ApiFailure } from "../../api/failure.ts";
import type { AssetPrice, RolloutPrice, RolloutPriceEvent } from "../../../protocol/api-types.ts";
import { readMessages } from "../../live/line-stream.ts";

/** What a rollout would cost, as far as assets have answered. */
export interface RolloutPriceSoFar {
  /** Assets that have answered so far. */
  readonly answered: number;
  /** The assets that would download most, the largest first. */
  readonly largest: readonly AssetPrice[];
  /** The sums, once all have answered. */
  readonly sums: RolloutPrice | undefined;
}

export const NO_PRICE: RolloutPriceSoFar = { answered: 0, largest: [], sums: undefined };

const MAX_LARGEST = 10;

/** Adds an event of the dry run. Throws `Failure` for one that says that it failed. */
export function addPriceEvent(price: RolloutPriceSoFar, event: RolloutPriceEvent): RolloutPriceSoFar {
  const { status, asset, details, code = "BadResponse", message } = event;
  if (status === "Fail" && !details) throw new ApiFailure(code, message, 0);
  const answered = price.answered + (asset ? 1 : 0);
  const isPriced = asset?.download_bytes !== undefined && asset.download_bytes > 0;
  const largest = isPriced ? [...price.largest, asset].toSorted(bySize).slice(0, MAX_LARGEST) : price.largest;
  return { answered, largest, sums: details ?? price.sums };
}

/** Asks every connected member what it would download, and tells how far it has come. */
export async function followPrice(
  fleet: string,
  revision: number,
  onPrice: (price: RolloutPriceSoFar) => void,
  signal: AbortSignal,
): Promise<void> {
  const response = await send("POST /v1/fleets/{fleet}/rollouts", {
    path: { fleet },
    query: { dry_run: "true" },
    body: { revision },
    signal,
  });
  let price = NO_PRICE;
  for await (const event of readMessages(response.body ?? new ReadableStream())) {
    price = addPriceEvent(price, event as RolloutPriceEvent);
    onPrice(price);
  }
  if (!price.sums)
    throw new ApiFailure("Unreachable", "The link to the service was lost before all assets answered.", 0);
}

function bySize(a: AssetPrice, b: AssetPrice): number {
  return (b.download_bytes ?? 0) - (a.download_bytes ?? 0);
}
