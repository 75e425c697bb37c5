import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import type { SimType } from "../../protocol/assets/sim.ts";
import type { UsageQuery } from "../../protocol/assets/usage.ts";
import type { Config } from "../config/config.ts";
import type { Asset } from "../core/asset.ts";
import { finalizedUntil, resolveRange } from "../core/usage-period.ts";
import type { Usage } from "../core/usage-view.ts";
import { callOperator } from "../sim-operator/call-operator.ts";
import { operatorFailed } from "../sim-operator/explain-failure.ts";
import { toOperatorSim } from "../sim-operator/sim-operator.ts";
import type { SimOperators } from "../sim-operator/sim-operators.ts";
import type { OperatorUsageReader } from "./operator-usage.ts";
import { StoreUnavailableError } from "../store/unavailable.ts";

export interface UsageSource {
  readonly config: Pick<Config, "supersim_finalization_s" | "prosim_finalization_s">;
  readonly sims: { readonly operators: SimOperators; readonly usage: OperatorUsageReader };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly stopping: AbortSignal;
}

/**
 * Reads the usage of one SIM of an asset. Errors: `InvalidRequest` for the range, `SimNotFound` when the asset has no
 * SIM of this type, `GranularityNotAvailable`, `SimOperatorFailed`.
 */
export async function readUsage(source: UsageSource, asset: Asset, type: SimType, query: UsageQuery): Promise<Usage> {
  const { config, sims, clock, logger, stopping } = source;
  const range = resolveRange(query, clock.now());
  const sim = toOperatorSim(asset, type);
  if (!sim) throw new EdgeError("SimNotFound", `The asset has no ${SIM_NAMES[type]}.`, { sim_type: type });
  const { granularity } = query;
  const operator = await sims.operators.find(asset.accountId, type);
  const periods = { supersim: config.supersim_finalization_s, prosim: config.prosim_finalization_s };
  // What counts as final is not read again: not by a clock that is ahead.
  const until = finalizedUntil(clock.deletionTime(), periods, type);
  const question = { asset, sim, operator, range, granularity, finalizedUntil: until };
  const answer = await (
    operator.usagePeriod === undefined
      ? callOperator(clock, stopping, (signal) => operator.readUsage(sim, range, granularity, signal)).then(
          (totals) => ({
            totals,
            asOf: undefined,
          }),
        )
      : sims.usage.read(question)
  ).catch((cause: unknown) => {
    if (cause instanceof StoreUnavailableError || cause instanceof EdgeError) throw cause;
    logger.error({ err: cause, asset: asset.uuid, sim: type }, "SIM operator did not answer the usage");
    throw operatorFailed(cause, { sim_type: type });
  });
  return { range, granularity, finalizedUntil: until, ...answer };
}

const SIM_NAMES: Readonly<Record<SimType, string>> = { supersim: "Super SIM", prosim: "PRO SIM" };
