import type { Command } from "commander";
import { foregroundClock } from "../../lib/clock.ts";
import type { SimType } from "../../protocol/sim.ts";
import { openOperator } from "../sim-operator/open-operators.ts";
import { type CheckLine, SimOperatorError } from "../sim-operator/sim-operator.ts";
import { readOperatorAccess } from "../sim-operators-config.ts";
import { SIM_TYPES } from "../sim-operator/sim-types.ts";
import {
  type AdministrationOptions,
  configOfOptions,
  formatTable,
  printResult,
  withAdministrationOptions,
} from "./administration.ts";
import { addSimCredentialCommands } from "./sim-credentials.ts";
import { type CliContext, CommandError } from "./context.ts";

interface Checked extends CheckLine {
  readonly sim_type: SimType;
}

/** `sim-operator check`. */
export function addSimOperatorCommands(program: Command, context: CliContext): void {
  const operators = program.command("sim-operator").description("manage the companies that run the SIMs");
  addSimCredentialCommands(operators, context);
  withAdministrationOptions(operators.command("check"))
    .description("try the credentials at the operators that the configuration names, without changing anything")
    .action(async (options: AdministrationOptions) => {
      const access = readOperatorAccess(configOfOptions(options).sim_operators);
      const checked: Checked[] = [];
      for (const type of SIM_TYPES) {
        const operator = openOperator(access, type, foregroundClock);
        const lines = (await operator?.check(new AbortController().signal).catch(asLine)) ?? [];
        for (const { what, allows, isAllowed, answer } of lines)
          checked.push({ sim_type: type, what, allows, isAllowed, answer });
      }
      if (checked.length === 0)
        throw new CommandError("no SIM operator is configured: set sim_operators in the configuration");
      printResult(context, options, checked, describe);
      if (checked.some(({ isAllowed }) => isAllowed === false))
        throw new CommandError("the service cannot do all that it needs: see above");
    });
}

function describe(checked: readonly Checked[]): string {
  return formatTable([
    ["SIM TYPE", "PERMISSION", "ALLOWED", "ANSWER", "WITH IT THE SERVICE CAN"],
    ...checked.map(({ sim_type, what, isAllowed, answer, allows }) => [
      sim_type,
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
