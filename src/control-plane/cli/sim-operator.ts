import type { Command } from "commander";
import { foregroundClock } from "../../lib/clock.ts";
import { SIM_TYPES, type SimType } from "../../protocol/assets/sim.ts";
import { UnsealError } from "../sealing/sealer.ts";
import type { OperatorAccess } from "../sim-operator/operator-access.ts";
import { OperatorPool } from "../sim-operator/operator-pool.ts";
import { openAccess } from "../sim-operator/sealed-access.ts";
import { type CheckLine, type SimOperator, SimOperatorError } from "../sim-operator/sim-operator.ts";
import { UnusableOperator } from "../sim-operator/unusable-operator.ts";
import { readOperatorAccess } from "../config/sim-operators-config.ts";
import type { Store } from "../store/store.ts";
import {
  type AdministrationOptions,
  configOfOptions,
  formatTable,
  openStoreOf,
  printResult,
  requireAccount,
  withAdministrationOptions,
} from "./administration.ts";
import { type CliContext, ServiceCommandError } from "./context.ts";
import { openKeys } from "./open-keys.ts";
import { addShowSimCredentials } from "./show-sim-credentials.ts";
import { addSimCredentialCommands } from "./sim-credentials.ts";

interface CheckOptions extends AdministrationOptions {
  readonly account?: string;
}

interface Used {
  readonly type: SimType;
  readonly operator: SimOperator;
  /** Whose credentials they are. */
  readonly of: "account" | "service";
}

interface Checked extends CheckLine {
  readonly sim_type: SimType;
  readonly credentials: Used["of"];
}

/** `sim-operator set`, `sim-operator show`, `sim-operator remove` and `sim-operator check`. */
export function addSimOperatorCommands(program: Command, context: CliContext): void {
  const operators = program.command("sim-operator").description("manage the companies that run the SIMs");
  addSimCredentialCommands(operators, context);
  addShowSimCredentials(operators, context);
  withAdministrationOptions(operators.command("check"))
    .description("try the credentials at the operators, without changing anything")
    .option("--account <id>", "those that this account uses: its own, or the service's; without it, the service's")
    .action(async (options: CheckOptions) => {
      const checked: Checked[] = [];
      for (const { type, operator, of } of await findUsed(context, options)) {
        const lines = await operator.check(new AbortController().signal).catch(asLine);
        for (const { what, allows, isAllowed, answer } of lines)
          checked.push({ sim_type: type, credentials: of, what, allows, isAllowed, answer });
      }
      printResult(context, options, checked, describe);
      if (checked.some(({ isAllowed }) => isAllowed === false))
        throw new ServiceCommandError("the service cannot do all that it needs: see above");
    });
}

/** The operators that the service or the account uses. Throws `CommandError` if there are none. */
async function findUsed(context: CliContext, options: CheckOptions): Promise<readonly Used[]> {
  const { account } = options;
  const pool = new OperatorPool(foregroundClock);
  const service = usedOf(pool, readOperatorAccess(configOfOptions(options).sim_operators), "service");
  if (account === undefined) {
    if (service.length > 0) return service;
    throw new ServiceCommandError("no SIM operator is configured: set sim_operators in the configuration");
  }
  await using store = await openStoreOf(context, options);
  await requireAccount(store, account);
  const own = await findOwn(pool, store, account, options);
  const used = [...own, ...service.filter(({ type }) => !own.some((each) => each.type === type))];
  if (used.length > 0) return used;
  throw new ServiceCommandError(
    `${account} has no SIM operator: set its credentials with edge-control sim-operator set, or the service's in sim_operators`,
  );
}

async function findOwn(
  pool: OperatorPool,
  store: Store,
  account: string,
  options: CheckOptions,
): Promise<readonly Used[]> {
  const all = await store.simCredentials.listCredentials();
  const found = all.filter(({ accountId }) => accountId === account);
  if (found.length === 0) return [];
  const sealer = await openKeys(store, options);
  return found.flatMap((stored) => {
    try {
      return usedOf(pool, openAccess(sealer, stored), "account");
    } catch (error) {
      if (!(error instanceof UnsealError)) throw error;
      return [{ type: stored.type, operator: new UnusableOperator(stored.type, error), of: "account" as const }];
    }
  });
}

function usedOf(pool: OperatorPool, access: OperatorAccess, of: Used["of"]): readonly Used[] {
  return SIM_TYPES.flatMap((type) => {
    const operator = pool.open(access, type);
    return operator ? [{ type, operator, of }] : [];
  });
}

function describe(checked: readonly Checked[]): string {
  return formatTable([
    ["SIM TYPE", "CREDENTIALS OF", "PERMISSION", "ALLOWED", "ANSWER", "WITH IT THE SERVICE CAN"],
    ...checked.map(({ sim_type, credentials, what, isAllowed, answer, allows }) => [
      sim_type,
      `the ${credentials}`,
      what,
      isAllowed === undefined ? "?" : isAllowed ? "yes" : "no",
      answer,
      allows,
    ]),
  ]);
}

function asLine(error: unknown): readonly CheckLine[] {
  if (!(error instanceof SimOperatorError)) throw error;
  return [{ what: "sign in", allows: "everything", isAllowed: false, answer: error.message }];
}
